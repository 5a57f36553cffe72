# SPDX-License-Identifier: MIT
# kind: language runtime: compiler, threads that the garbage collector stops by signals, started programs
# packages: sbcl
# users: root nobody
prepare() {
    cat >run.lisp <<'END'
(defun work (n) (declare (fixnum n)) (let ((l nil)) (dotimes (i 400000) (push (mod (+ (* n 33) i) 65521) l)) (reduce #'logxor l)))
(compile 'work)
(print (mapcar #'sb-thread:join-thread
  (loop for n below 6 collect (let ((n n)) (sb-thread:make-thread (lambda () (loop repeat 5 do (work n)) (work n)))))))
(gc :full t)
(print (with-output-to-string (s) (sb-ext:run-program "/bin/sh" '("-c" "echo out; exit 3") :output s)))
(print (sb-ext:process-exit-code (sb-ext:run-program "/bin/sh" '("-c" "exit 3"))))
(terpri)
(with-open-file (s "made.lisp" :direction :output :if-exists :supersede) (print '(defun f (x) (* x 2)) s))
(load (compile-file "made.lisp" :verbose nil))
(print (f 21))
(terpri)
END
}
# leave: made.fasl
# same: /^; .*\n//
program() {
    sbcl --non-interactive --no-userinit --load run.lisp
}
