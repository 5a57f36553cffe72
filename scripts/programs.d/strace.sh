# SPDX-License-Identifier: MIT
# kind: tracer of system calls: traces threads, forks and other programs
# packages: strace make gcc
# users: root nobody
# leave: trace calls
prepare() {
    printf 'all: a b c d\n%%: %%.c\n\tgcc -O2 -o $@ $<\n' >Makefile
    for i in a b c d; do echo 'int printf(const char *, ...); int main(void) { return printf("hello\n") != 6; }' >$i.c; done
}
program() {
    strace -f -o trace make -s -j2
    for i in a b c d; do ./$i; done
    strace -f -c -e trace=process -o calls sh -c './a; ./b; (./c & wait); exit 4'; echo $?
    grep -c execve calls
}
