# SPDX-License-Identifier: MIT
# kind: editor as a language runtime: byte compiler, processes, network
# packages: emacs-nox
# users: root nobody
# leave: .emacs.d/*
prepare() {
    cp /usr/share/emacs/*/lisp/simple.el.gz /usr/share/emacs/*/lisp/subr.el.gz . 2>/dev/null
    for i in $(seq 300); do echo "(defun f$i (x y) (let ((l nil)) (dotimes (i x) (push (* i y $i) l)) (nreverse l)))"; done >many.el
    echo '(require (quote many)) ' >/dev/null
    cat >run.el <<'END'
(princ (shell-command-to-string "echo from the shell; pwd | wc -l"))
(princ (format "%s\n" (call-process "sh" nil nil nil "-c" "exit 3")))
(let ((p (make-process :name "x" :command '("sh" "-c" "echo async; exit 4") :connection-type 'pty
          :filter (lambda (_ s) (princ (upcase (string-replace "\r" "" s)))) :sentinel #'ignore)))
  (while (accept-process-output p)) (while (process-live-p p) (sleep-for 0.01)) (princ (process-exit-status p)))
(load (expand-file-name "many.elc")) (princ (length (f300 2000 3))) (terpri)
END
}
program() {
    gunzip -f *.gz 2>/dev/null
    emacs -Q --batch -f batch-byte-compile many.el
    emacs -Q --batch -l run.el
}
