# SPDX-License-Identifier: MIT
# kind: editor: scripts, filters through programs, jobs
# packages: vim
# users: root nobody
# leave: .viminfo .vim/*
prepare() {
    seq 60000 >text
    cat >run.vim <<'END'
edit text
%s/\(\d\)\(\d\)/\2\1/g
g/7$/normal Ax
%!sort -r | head -n 2000
write made
let n = 0
for i in range(200000) | let n = (n * 33 + i) % 65521 | endfor
call writefile([n, system('echo from the shell; exit 3'), v:shell_error], 'figures')
let job = job_start(['sh', '-c', 'echo job; exit 4'], {'out_io': 'file', 'out_name': 'job'})
while job_status(job) == 'run' | sleep 10m | endwhile
call writefile([job_info(job).exitval], 'ended')
qall!
END
}
program() {
    vim -u NONE -es -S run.vim; echo $?
    cat figures job ended
}
