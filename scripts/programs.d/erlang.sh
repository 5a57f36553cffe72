# SPDX-License-Identifier: MIT
# kind: language runtime: schedulers as threads, a spawn server, ports
# packages: erlang-base
# users: root nobody
# leave: .erlang.cookie .cache/*
prepare() {
    cat >run.erl <<'END'
-module(run).
-export([main/0]).
work(0, S) -> S;
work(N, S) -> work(N - 1, (S * 33 + N) rem 65521).
main() ->
    Me = self(),
    [spawn(fun() -> Me ! {N, work(2000000, N)} end) || N <- lists:seq(1, 12)],
    io:format("~p~n", [lists:sort([receive {N, S} -> {N, S} end || _ <- lists:seq(1, 12)])]),
    io:format("~s", [os:cmd("echo from a shell; echo err >&2")]),
    Port = open_port({spawn_executable, "/bin/sh"}, [{args, ["-c", "echo port; exit 3"]}, exit_status, stream]),
    receive {Port, {data, D}} -> io:format("~s", [D]) end,
    receive {Port, {exit_status, E}} -> io:format("~p~n", [E]) end,
    [os:cmd("true") || _ <- lists:seq(1, 50)],
    halt(0).
END
}
program() {
    erlc run.erl && erl +S 4 -noshell -s run main
}
