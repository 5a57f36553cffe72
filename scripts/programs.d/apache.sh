# SPDX-License-Identifier: MIT
# kind: web server: prefork, then event workers, CGI programs; a threaded client
# packages: apache2 apache2-utils curl
# users: root nobody
# same: /^(Total transferred: +674)\d+ bytes$/\1 kB/
# leave: error.log cgisock*
prepare() {
    mkdir -p www cgi
    printf '#!/bin/sh\necho Content-Type: text/plain; echo; for i in 1 2 3; do /bin/echo $i; done | sort -r\n' >cgi/sort
    chmod 755 cgi/sort
    seq 2000 >www/numbers.txt
    for mpm in prefork event; do
        cat >$mpm.conf <<END
ServerRoot "/usr/lib/apache2"
LoadModule mpm_${mpm}_module modules/mod_mpm_$mpm.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule deflate_module modules/mod_deflate.so
LoadModule filter_module modules/mod_filter.so
LoadModule $([ $mpm = event ] && echo cgid || echo cgi)_module modules/mod_$([ $mpm = event ] && echo cgid || echo cgi).so
LoadModule alias_module modules/mod_alias.so
ServerName localhost
Listen 127.0.0.1:18411
User nobody
Group nogroup
PidFile WORK/pid
ScriptSock WORK/cgisock
ErrorLog WORK/error.log
DocumentRoot WORK/www
ScriptAlias /cgi WORK/cgi
SetOutputFilter DEFLATE
DeflateCompressionLevel 9
<Directory />
Require all granted
</Directory>
END
        [ $mpm = event ] || sed -i /ScriptSock/d $mpm.conf
    done
}
program() {
    chmod 755 . www cgi
    for mpm in prefork event; do
        sed -i "s,WORK,$PWD,g" $mpm.conf
        /usr/sbin/apache2 -f $PWD/$mpm.conf -k start || return
        until (: </dev/tcp/127.0.0.1/18411) 2>/dev/null; do sleep 0.05; done
        ab -q -n 1500 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:18411/numbers.txt | grep -E '^(Complete|Failed|Total transf)'
        seq 60 | xargs -P 6 -I N curl -s -o got.N http://127.0.0.1:18411/cgi/sort; cat got.* | md5sum
        /usr/sbin/apache2 -f $PWD/$mpm.conf -k stop
        while [ -e pid ]; do sleep 0.05; done
        while (: </dev/tcp/127.0.0.1/18411) 2>/dev/null; do sleep 0.05; done
    done
}
