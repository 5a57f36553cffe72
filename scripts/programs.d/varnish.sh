# SPDX-License-Identifier: MIT
# kind: cache that compiles its configuration with cc, loads it, and runs its workers as other users
# packages: varnish lighttpd curl gcc libc6-dev
# users: root nobody
# leave: *.log var/* 
prepare() {
    mkdir -p www
    seq 3000 >www/numbers.txt
    printf 'server.document-root = var.CWD + "/www"\nserver.port = 18422\nserver.bind = "127.0.0.1"\n' >lighttpd.conf
    printf 'vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "18422"; }\n' >default.vcl
}
program() {
    chmod 755 .
    lighttpd -D -f lighttpd.conf >lighttpd.log 2>&1 &
    lighttpd=$!
    until (: </dev/tcp/127.0.0.1/18422) 2>/dev/null; do sleep 0.05; done
    /usr/sbin/varnishd -F -n $PWD/var -a 127.0.0.1:18423 -f $PWD/default.vcl -T none -s malloc,8m >varnish.log 2>&1 &
    varnish=$!
    until (: </dev/tcp/127.0.0.1/18423) 2>/dev/null; do sleep 0.05; done
    seq 200 | xargs -P 4 -I N curl -s -o got.N 'http://127.0.0.1:18423/numbers.txt?N'; cat got.* | md5sum
    seq 200 | xargs -P 4 -I N curl -s -o got.N 'http://127.0.0.1:18423/numbers.txt?N'; cat got.* | md5sum
    kill $varnish; wait $varnish
    echo varnish $?
    kill $lighttpd; wait $lighttpd
}
