# SPDX-License-Identifier: MIT
# kind: language runtime: Prolog threads, processes
# packages: swi-prolog-nox
# users: root nobody
# leave: .config/* .local/*
prepare() {
    cat >run.pl <<'END'
:- use_module(library(process)).
:- use_module(library(readutil)).
work(0, S, S) :- !.
work(N, S, R) :- T is (S * 33 + N) mod 65521, M is N - 1, work(M, T, R).
main :- concurrent_maplist([N, R]>>work(400000, N, R), [1, 2, 3, 4], L), print(L), nl,
    process_create(path(sh), ['-c', 'echo out; exit 3'], [stdout(pipe(O)), process(P)]), read_line_to_string(O, Line), close(O),
    process_wait(P, E), print(Line-E), nl, shell('echo shell; exit 4', X), print(X), nl,
    fork(C), ( C == child -> halt(5) ; process_wait(C, F), print(F), nl ), halt(0).
END
}
program() {
    swipl -q -g main run.pl; echo $?
}
