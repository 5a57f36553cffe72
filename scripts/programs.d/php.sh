# SPDX-License-Identifier: MIT
# kind: language runtime: its own web server with four workers, and clients
# packages: php-cli php-curl curl
# users: root nobody
# same: /^\[.*?\] (?=\S)//
# same: /127\.0\.0\.1:\d+/HOST/
# leave: server.err
prepare() {
    echo '<?php $s = 0; for ($i = 0; $i < 200000; $i++) $s += crc32("a$i") % 7; echo "$_GET[n]: $s ", md5($s), "\n";' \
        >index.php
    echo '<?php $p = proc_open(["sh", "-c", "cat; exit 4"], [["pipe", "r"], ["pipe", "w"]], $pipes);
fwrite($pipes[0], "through a pipe\n"); fclose($pipes[0]); echo stream_get_contents($pipes[1]), proc_close($p), "\n";
echo shell_exec("echo by the shell"), exec("pwd > /dev/null; echo last"), "\n"; passthru("echo passed");' >run.php
}
program() {
    PHP_CLI_SERVER_WORKERS=4 php -S 127.0.0.1:18410 -t . >server.err 2>&1 &
    until (: </dev/tcp/127.0.0.1/18410) 2>/dev/null; do sleep 0.05; done
    seq 40 | xargs -P 4 -I N curl -s "http://127.0.0.1:18410/?n=N" | sort -n
    server=$!
    kill $server $(ps -o pid= --ppid $server); wait $server
    echo "server: $?"
    php run.php
}
