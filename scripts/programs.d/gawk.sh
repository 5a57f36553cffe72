# SPDX-License-Identifier: MIT
# kind: language runtime: pipes, co-processes and sockets of awk
# packages: gawk
# users: root nobody
program() {
    seq 300000 | gawk '{ a[$1 % 1009] += length($0) * NR } END { for (i = 0; i < 1009; i++) s = (s * 31 + a[i]) % 65521; print s
        "date -u -d @0 +%Y" | getline y; print y; cmd = "sort -r"; for (i = 0; i < 5; i++) print i |& cmd; close(cmd, "to")
        while ((cmd |& getline line) > 0) print line; close(cmd); print system("exit 3"); print "x" | "cat 1>&2" }'
}
