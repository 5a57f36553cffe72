# SPDX-License-Identifier: MIT
# kind: compiler and a program with OpenMP threads
# packages: gfortran
# users: root nobody
prepare() {
    cat >run.f90 <<'END'
program run
  use omp_lib
  implicit none
  integer(8) :: s, t
  integer :: i, j, status
  s = 0
  do j = 1, 20
    !$omp parallel do private(t) reduction(+:s) num_threads(4)
    do i = 1, 4000000
      t = mod(int(i, 8) * 33_8 + j, 65521_8)
      s = s + t
    end do
    !$omp end parallel do
  end do
  print *, s
  call execute_command_line('echo from the shell; exit 3', exitstat=status)
  print *, status
end program
END
}
program() {
    gfortran -O1 -fopenmp run.f90 -o run && ./run && OMP_WAIT_POLICY=active OMP_NUM_THREADS=2 ./run
}
