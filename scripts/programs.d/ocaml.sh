# SPDX-License-Identifier: MIT
# kind: language runtime: native and byte code compiler, forks and threads
# packages: ocaml-nox gcc
# users: root nobody
# leave: *.cmt
prepare() {
    cat >run.ml <<'END'
let work n = let s = ref n in for i = 0 to 8_000_000 do s := (!s * 33 + i) mod 65521 done; !s
let () =
  let threads = List.init 3 (fun n -> Thread.create (fun () -> ignore (work n)) ()) in
  List.iter Thread.join threads;
  let pids = List.init 4 (fun n -> match Unix.fork () with 0 -> exit (work n mod 100) | pid -> pid) in
  List.iter (fun pid -> match Unix.waitpid [] pid with _, Unix.WEXITED n -> Printf.printf "%d\n" n | _ -> ()) pids;
  flush stdout;
  ignore (Unix.system "echo from the shell");
  let ch = Unix.open_process_in "echo from a pipe" in
  print_endline (input_line ch); ignore (Unix.close_process_in ch)
END
}
program() {
    ocamlfind ocamlopt -package unix,threads -linkpkg run.ml -o native 2>/dev/null ||
        ocamlopt -I +threads unix.cmxa threads.cmxa run.ml -o native || return
    ocamlc -I +threads unix.cma threads.cma run.ml -o bytes || return
    ./native && ocamlrun bytes
}
