# SPDX-License-Identifier: MIT
# kind: database: set-up scripts, a server with a thread per client, a dump
# packages: mariadb-server mariadb-client
# users: root nobody
# leave: data data/* server.log socket* setup.log
# same: /^\d{4}-\d\d-\d\d +[\d:]+/TIME/
# same: /^-- Dump completed.*\n//
prepare() {
    mkdir -p data
    cat >work.sql <<'END'
CREATE DATABASE IF NOT EXISTS t; USE t;
CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(40), KEY (v)) ENGINE=InnoDB;
INSERT INTO a SELECT seq, MD5(seq) FROM seq_1_to_30000;
SELECT COUNT(*), SUM(CRC32(v)) FROM a;
SELECT a.id, b.id FROM a JOIN a b ON a.v > b.v AND b.id = a.id + 7 ORDER BY a.id LIMIT 5;
UPDATE a SET v = CONCAT(v, 'x') WHERE id % 3 = 0;
SELECT MD5(GROUP_CONCAT(v ORDER BY id)) FROM a WHERE id < 1000;
END
}
program() {
    mariadb-install-db --no-defaults --datadir=$PWD/data --auth-root-authentication-method=normal --skip-test-db \
        $([ $(id -u) = 0 ] && echo --user=root) >setup.log 2>&1 || { cat setup.log; return 1; }
    mariadbd --no-defaults --datadir=$PWD/data --socket=$PWD/socket --skip-networking --skip-log-bin \
        $([ $(id -u) = 0 ] && echo --user=root) --log-error=$PWD/server.log &
    until mariadb-admin --no-defaults -u root -S $PWD/socket ping >/dev/null 2>&1; do sleep 0.1; done
    mariadb --no-defaults -u root -S $PWD/socket <work.sql
    for i in 1 2 3 4; do
        mariadb --no-defaults -u root -S $PWD/socket t -e "SELECT BENCHMARK(300000, SHA1('$i')), $i" >client$i & jobs="$jobs $!"
    done
    wait $jobs
    mariadb-dump --no-defaults -u root -S $PWD/socket t >dump.sql
    sed -i '/Dump completed/d' dump.sql
    mariadb-admin --no-defaults -u root -S $PWD/socket shutdown; wait %1
    echo server $?
}
