# SPDX-License-Identifier: MIT
# kind: language runtime: parallel compiler and tests, on the Erlang machine
# packages: elixir
# users: root nobody
# same: /Finished in.*//
# same: /seed[: ]+\d+/seed/
# leave: *.beam .cache/* .erlang.cookie
prepare() {
    for i in $(seq 8); do
        echo "defmodule M$i do
          def work(n), do: Enum.reduce(1..200_000, n, fn i, s -> rem(s * 33 + i, 65521) end) + $i
        end" >m$i.ex
    done
    echo 'ExUnit.start(seed: 0, max_cases: 4)
    for n <- 1..4 do
      defmodule Module.concat(["T#{n}"]) do
        use ExUnit.Case, async: true
        test "work" do
          assert Task.async_stream([M1, M2, M3, M4], & &1.work(3)) |> Enum.count() == 4
          assert System.cmd("sh", ["-c", "echo x; exit 2"]) == {"x\n", 2}
        end
      end
    end' >test.exs
}
program() {
    mkdir -p out && elixirc -o out m?.ex && elixir -pa out test.exs && ls out | sort
}
