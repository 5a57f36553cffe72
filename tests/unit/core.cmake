# SPDX-License-Identifier: MIT
# The event loop's parts: rings and records made by hand, files read back.
foreach(test ring net_ring space records process unseen unseen_ledger stacks_text)
  pinject_unit_test(${test} SOURCES test_${test}.c LINK pinject_collector pinject_common)
endforeach()
foreach(test tasks task_view tasks_images tasks_end tasks_bounds tasks_reaped timed admit finish)
  pinject_unit_test(${test} SOURCES test_${test}.c test_tasks_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
endforeach()
pinject_unit_test(records_bytes SOURCES test_records_bytes.c LINK pinject_collector pinject_common)
# These replace the parts that look at the machine.
foreach(test outcome netted)
  pinject_unit_test(${test} SOURCES test_${test}.c test_tasks_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
endforeach()
foreach(function channels_counted channels_held opener_counts opener_cpu_ns steal_ns)
  target_link_options(test_outcome PRIVATE -Wl,--wrap=${function})
endforeach()
foreach(function nets_live nets_take nets_ids nets_know nets_open procfs_scheduled_ns procfs_read found_open
    tasks_now_ns errands_do)
  target_link_options(test_netted PRIVATE -Wl,--wrap=${function})
endforeach()
pinject_unit_test(procfs SOURCES test_procfs.c LINK pinject_collector pinject_common)
pinject_unit_test(collect SOURCES test_collect.c test_result_kit.c LINK pinject_collector pinject_common)
pinject_unit_test(drain SOURCES test_drain.c test_tasks_kit.c test_result_kit.c LINK pinject_collector pinject_common)
target_link_options(test_drain PRIVATE -Wl,--wrap=tasks_now_ns)
pinject_unit_test(kernelmap SOURCES test_kernelmap.c LINK pinject_collector pinject_common)
target_link_options(test_kernelmap PRIVATE -Wl,--wrap=fopen)
foreach(test collect_files collect_rounds)
  pinject_unit_test(${test} SOURCES test_${test}.c rounds_kit.c LINK pinject_collector pinject_common)
  foreach(function epoll_wait ppoll malloc_trim tasks_init tasks_now_ns tasks_write tasks_arrive tasks_close
      results_trim session_renew_doors)
    target_link_options(test_${test} PRIVATE -Wl,--wrap=${function})
  endforeach()
endforeach()
# These replace the system calls behind them.
pinject_unit_test(signals SOURCES test_signals.c LINK pinject_collector pinject_common Threads::Threads)
foreach(function signalfd getsid kill raise syscall waitid pthread_sigmask witness_has witness_start witness_end)
  target_link_options(test_signals PRIVATE -Wl,--wrap=${function})
endforeach()
pinject_unit_test(mapped_file SOURCES test_mapped_file.c LINK pinject_collector pinject_common)
foreach(function open close syscall fstat fstatfs statx buffer_read_file clock_gettime)
  target_link_options(test_mapped_file PRIVATE -Wl,--wrap=${function})
endforeach()
