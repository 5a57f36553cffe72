# SPDX-License-Identifier: MIT
# kind: web server with two workers, behind a threaded haproxy
# packages: lighttpd haproxy apache2-utils curl
# users: root nobody
# leave: *.log
prepare() {
    mkdir -p www
    seq 20000 >www/numbers.txt
    cat >lighttpd.conf <<END
server.document-root = var.CWD + "/www"
server.port = 18412
server.bind = "127.0.0.1"
server.max-worker = 2
END
    cat >haproxy.cfg <<END
global
    nbthread 2
    maxconn 100
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
frontend in
    bind 127.0.0.1:18413
    default_backend out
backend out
    server one 127.0.0.1:18412
END
}
program() {
    setsid lighttpd -D -f lighttpd.conf >lighttpd.log 2>&1 &
    lighttpd=$!
    setsid haproxy -W -db -f haproxy.cfg >haproxy.log 2>&1 &
    haproxy=$!
    for port in 18412 18413; do
        until (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.05; done
    done
    ab -q -n 3000 -c 8 http://127.0.0.1:18413/numbers.txt | grep -E '^(Complete|Failed)'
    curl -s http://127.0.0.1:18413/numbers.txt | md5sum
    kill $haproxy && wait $haproxy
    echo haproxy $?
    kill $lighttpd && wait $lighttpd
    echo lighttpd $?
}
