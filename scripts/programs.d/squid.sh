# SPDX-License-Identifier: MIT
# kind: proxy: helpers by vfork, workers that change user
# packages: squid lighttpd curl
# users: root nobody
# leave: *.log squid.pid cores/* err
prepare() {
    mkdir -p www
    seq 30000 >www/numbers.txt
    printf 'server.document-root = var.CWD + "/www"\nserver.port = 18419\nserver.bind = "127.0.0.1"\n' >lighttpd.conf
    printf '#!/bin/sh\nwhile read -r id url rest; do echo OK; done\n' >rewrite && chmod 755 rewrite
    cat >squid.conf <<END
http_port 127.0.0.1:18420
pid_filename WORK/squid.pid
access_log stdio:WORK/access.log
cache_log WORK/cache.log
cache_store_log none
coredump_dir WORK/cores
netdb_filename none
cache_mem 8 MB
pinger_enable off
http_access allow all
store_id_program WORK/rewrite
store_id_children 3 startup=3 idle=1
shutdown_lifetime 0 seconds
visible_hostname localhost
END
}
program() {
    mkdir -p cores
    chmod 777 . cores
    sed -i "s,WORK,$PWD,g" squid.conf
    lighttpd -D -f lighttpd.conf >lighttpd.log 2>&1 &
    lighttpd=$!
    squid -f squid.conf -N -d 0 2>squid.log &
    squid=$!
    for port in 18419 18420; do
        until (: </dev/tcp/127.0.0.1/$port) 2>/dev/null; do sleep 0.05; done
    done
    seq 150 | xargs -P 4 -I N curl -s -o got.N -x http://127.0.0.1:18420 'http://127.0.0.1:18419/numbers.txt?N'; cat got.* | md5sum
    squid -f squid.conf -k parse 2>&1 | grep -c Processing
    kill $squid; wait $squid
    echo squid $?
    kill $lighttpd; wait $lighttpd
}
