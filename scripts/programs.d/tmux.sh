# SPDX-License-Identifier: MIT
# kind: terminal multiplexer: a daemon, shells on terminals of their own
# packages: tmux
# users: root nobody
program() {
    tmux() { command tmux -f /dev/null -S "$PWD/socket" "$@"; }
    tmux new-session -d -x 80 -y 24 -s a 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo $i >one; tty >/dev/null && echo tty >>one'
    tmux new-session -d -s b "seq 200000 | sort -rn | md5sum >two"
    tmux new-window -t a "stty size >three; printf 'x\n' >>three; echo \$TERM >>three"
    while tmux list-sessions >/dev/null 2>&1; do sleep 0.05; done
    cat one two three
}
# leave: socket
