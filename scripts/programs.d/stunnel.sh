# SPDX-License-Identifier: MIT
# kind: daemon with a thread per connection, between socat and its forked children
# packages: stunnel4 socat openssl
# users: root nobody
# leave: *.log pid key.pem
prepare() {
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
    head -c 3000000 /usr/bin/gdb >data
    cat >server.conf <<END
foreground = yes
pid =
debug = 3
[in]
accept = 127.0.0.1:18424
connect = 127.0.0.1:18425
cert = cert.pem
key = key.pem
[out]
client = yes
accept = 127.0.0.1:18426
connect = 127.0.0.1:18424
END
}
program() {
    socat TCP-LISTEN:18425,bind=127.0.0.1,reuseaddr,fork EXEC:'md5sum' 2>socat.log &
    socat=$!
    stunnel server.conf >stunnel.log 2>&1 &
    stunnel=$!
    for port in 18425 18424 18426; do
        until (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.05; done
    done
    for i in $(seq 20); do socat -t 10 - TCP:127.0.0.1:18426 <data; done
    kill $stunnel; wait $stunnel
    echo stunnel $?
    kill $socat; wait $socat 
    echo socat $?
}
