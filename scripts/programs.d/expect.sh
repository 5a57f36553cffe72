# SPDX-License-Identifier: MIT
# kind: scripted dialogues with programs on terminals
# packages: expect bc
# users: root nobody
prepare() {
    cat >run.exp <<'END'
log_user 0
for {set i 0} {$i < 12} {incr i} {
    spawn -noecho sh -c {echo ready; while read a; do echo "got $a"; done; exit 3}
    expect ready
    for {set j 0} {$j < 40} {incr j} { send "line $j\r"; expect "got line $j" }
    send "\004"
    expect eof
    puts [lindex [wait] 3]
}
spawn -noecho bash --norc
send "echo \$((6 * 7)); tty >/dev/null && echo terminal\r"
expect -re {42\r\nterminal}
send "exit 5\r"
expect eof
puts [lindex [wait] 3]
END
}
program() {
    for i in 1 2 3; do expect run.exp; done
}
