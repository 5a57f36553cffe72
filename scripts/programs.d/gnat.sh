# SPDX-License-Identifier: MIT
# kind: compiler and its runtime: tasks of Ada
# packages: gnat
# users: root nobody
prepare() {
    cat >run.adb <<'END'
with Ada.Text_IO;
procedure Run is
   Sums : array (1 .. 4) of Long_Integer := (others => 0);
   task type Worker (N : Integer);
   task body Worker is
   begin
      Sums (N) := Long_Integer (N);
      for I in 1 .. 15_000_000 loop
         Sums (N) := (Sums (N) * 33 + Long_Integer (I)) mod 65521;
      end loop;
   end Worker;
begin
   declare
      A : Worker (1); B : Worker (2); C : Worker (3); D : Worker (4);
   begin
      select delay 0.01; then abort null; end select;
   end;
   for S of Sums loop
      Ada.Text_IO.Put_Line (S'Image);
   end loop;
end Run;
END
    sed -i '/select delay/s/.*/      null;/' run.adb
}
program() {
    gnatmake -q -O1 run.adb && ./run
}
# leave: *.ali
