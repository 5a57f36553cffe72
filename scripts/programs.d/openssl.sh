# SPDX-License-Identifier: MIT
# kind: cryptography: forked workers, a server with clients
# packages: openssl
# users: root nobody
# leave: *.log key* cert* ca* speed
program() {
    openssl speed -multi 3 -seconds 1 -mr sha256 >speed 2>&1; echo $?
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
    openssl s_server -accept 127.0.0.1:18431 -key key.pem -cert cert.pem -quiet -www >server.log 2>&1 &
    until (: </dev/tcp/127.0.0.1/18431) 2>/dev/null; do sleep 0.05; done
    for i in $(seq 12); do printf 'GET / HTTP/1.0\r\n\r\n' | openssl s_client -connect 127.0.0.1:18431 -quiet 2>/dev/null | head -n 1; done
    kill %1; wait %1; echo $?
}
