# SPDX-License-Identifier: MIT
# kind: language runtime: threads, futures, forks, byte-code compiler
# packages: guile-3.0
# users: root nobody
# same: /^;;;.*\n//
# leave: .cache/*
prepare() {
    cat >run.scm <<'END'
(use-modules (ice-9 futures) (ice-9 threads) (ice-9 popen) (ice-9 rdelim))
(define (work n) (let loop ((i 0) (s n)) (if (= i 3000000) s (loop (+ i 1) (modulo (+ (* s 33) i) 65521)))))
(display (map touch (list (future (work 1)) (future (work 2)) (future (work 3))))) (newline)
(display (par-map work '(4 5 6 7))) (newline)
(let ((pid (primitive-fork)))
  (if (= pid 0) (primitive-exit 7) (begin (display (status:exit-val (cdr (waitpid pid)))) (newline))))
(let ((port (open-input-pipe "echo from a pipe"))) (display (read-line port)) (close-pipe port) (newline))
(display (system* "sh" "-c" "exit 3")) (newline)
END
}
program() {
    guile --no-auto-compile run.scm
    guile --no-auto-compile -c '(use-modules (system base compile)) (compile-file "run.scm" #:output-file "run.go")'; ls
}
