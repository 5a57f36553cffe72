# SPDX-License-Identifier: MIT
# The hooks, each linked to hook_kit.c instead of the rest of the preload object: there execve() is hook_execve().
set(preload ${PROJECT_SOURCE_DIR}/preload)
set(hooked execve execv execvpe execvp fexecve execveat execl execlp execle posix_spawn posix_spawnp
  pidfd_spawn pidfd_spawnp
  wait wait3 wait4 waitpid waitid setuid seteuid setreuid setresuid _Fork __libc_start_main dl_iterate_phdr
  prctl timer_create mq_notify aio_read aio_write aio_fsync lio_listio aio_read64 aio_write64 aio_fsync64 lio_listio64
  getaddrinfo_a system popen unshare setns clone sigaction sigaltstack signal sigprocmask pthread_sigmask pthread_create
  thrd_create)
list(TRANSFORM hooked REPLACE "(.+)" "\\1=hook_\\1")
foreach(family exec filter inherit process signal spawn thread user wait)
  set_source_files_properties(${preload}/hook_${family}.c PROPERTIES COMPILE_DEFINITIONS "${hooked}")
endforeach()
foreach(test hook_exec hook_spawn)
  pinject_unit_test(${test} SOURCES test_${test}.c exec_kit.c hook_kit.c ${preload}/hook_exec.c ${preload}/hook_spawn.c
    ${preload}/environ.c ${preload}/safe_read.c LABELS preload)
endforeach()
pinject_unit_test(hook_wait SOURCES test_hook_wait.c hook_kit.c ${preload}/hook_wait.c ${preload}/hook_user.c
  ${preload}/hook_process.c LINK Threads::Threads LABELS preload)
pinject_unit_test(hook_inherit SOURCES test_hook_inherit.c hook_kit.c ${preload}/hook_inherit.c
  ${preload}/hook_filter.c ${preload}/safe_read.c LABELS preload)
pinject_unit_test(hook_signal SOURCES test_hook_signal.c hook_kit.c ${preload}/hook_signal.c ${preload}/safe_read.c
  LABELS preload)
pinject_unit_test(hook_thread SOURCES test_hook_thread.c hook_kit.c ${preload}/hook_thread.c
  LINK Threads::Threads ${CMAKE_DL_LIBS} LABELS preload)
