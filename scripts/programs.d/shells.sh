# SPDX-License-Identifier: MIT
# kind: shells: zsh, ksh, fish, dash, with jobs, pipes, co-processes and traps
# packages: zsh ksh93u+m fish dash
# users: root nobody
# leave: .config/* .local/* .cache/*
prepare() {
    cat >any.sh <<'END'
i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; echo $i
for i in 1 2 3 4 5 6 7 8; do /bin/echo $i | cat | sort; done
(exit 3); echo $?
trap 'echo trapped' USR1; kill -USR1 $$
for i in 1 2 3; do (exec /bin/true) & done; wait
x=$(echo $(echo $(/bin/echo deep))); echo $x
sh -c 'kill -9 $$'; echo $?
END
    echo 'coproc cat; print -p hello; read -p line; print $line; for i in {1..5}; do print =(echo $i) >/dev/null; done; diff <(seq 5) <(seq 6)' >only.zsh
    echo 'cat |& print -p hello; read -p line; print $line; diff <(seq 5) <(seq 6)' >only.ksh
    echo 'for i in (seq 20); /bin/echo $i; end | sort -rn | head -n 3; set x (math "3 * 4"); echo $x; begin; seq 3; end | while read l; echo "<$l>"; end; sh -c "exit 7"; echo $status; diff (seq 5 | psub) (seq 6 | psub)' >only.fish
}
program() {
    for shell in zsh ksh93 dash bash; do echo $shell; $shell any.sh; echo $?; done 2>&1
    zsh -f only.zsh; ksh93 only.ksh; fish --no-config only.fish
}
# same: /: +\d+:? Killed/: Killed/
# same: /\/tmp\/[\w\/.-]*(psub|zsh|fd)[\w.\/-]*/FILE/
