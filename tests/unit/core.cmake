# SPDX-License-Identifier: MIT
# The event loop's parts: rings and records made by hand, files read back.
foreach(test ring inherited_ring space records process life missed missed_reasons stacks_text notes)
  pinject_unit_test(${test} SOURCES test_${test}.c LINK pinject_collector pinject_common)
endforeach()
foreach(test tasks task_view tasks_generations tasks_snapshots tasks_end tasks_late_requests tasks_bounds tasks_reaped
  tasks_arguments backlog notification_order timer_fallback timer_not_sampled admit finish orphans tasks_data relief)
  pinject_unit_test(${test} SOURCES test_${test}.c test_tasks_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
endforeach()
pinject_unit_test(values SOURCES test_values.c LINK pinject_collector pinject_common)
pinject_unit_test(records_bytes SOURCES test_records_bytes.c LINK pinject_collector pinject_common)
# These replace the parts that look at the machine.
pinject_unit_test(outcome SOURCES test_outcome.c test_tasks_kit.c test_result_kit.c
  LINK pinject_collector pinject_common)
foreach(function channels_counted channels_held opener_counts opener_cpu_ns machine_time_read)
  target_link_options(test_outcome PRIVATE -Wl,--wrap=${function})
endforeach()
foreach(test inherited_tasks inherited_writers inherited_late)
  pinject_unit_test(${test} SOURCES test_${test}.c inherited_kit.c test_tasks_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
  foreach(function inherited_live inherited_take inherited_ids inherited_know inherited_open_of inherited_forget
    inherited_made_by inherited_is_root numbers_hold
      procfs_scheduled_ns procfs_read attach_late_open monotonic_ns errands_do tasks_unwind)
    target_link_options(test_${test} PRIVATE -Wl,--wrap=${function})
  endforeach()
endforeach()
pinject_unit_test(pidfd SOURCES test_pidfd.c LINK pinject_collector pinject_common)
target_link_options(test_pidfd PRIVATE -Wl,--wrap=fstatfs)
pinject_unit_test(procfs SOURCES test_procfs.c LINK pinject_collector pinject_common)
pinject_unit_test(collect SOURCES test_collect.c test_result_kit.c LINK pinject_collector pinject_common)
pinject_unit_test(drain SOURCES test_drain.c test_tasks_kit.c test_result_kit.c LINK pinject_collector pinject_common)
target_link_options(test_drain PRIVATE -Wl,--wrap=monotonic_ns,--wrap=tasks_meet_timer_sample,--wrap=tasks_unwind)
target_link_options(test_relief PRIVATE -Wl,--wrap=inherited_open_system_wide)
target_link_options(test_admit PRIVATE -Wl,--wrap=calloc)
target_link_options(test_finish PRIVATE -Wl,--wrap=tasks_retry_inherit,--wrap=tasks_look_for_programs)
target_link_options(test_collect PRIVATE -Wl,--wrap=calloc,--wrap=epoll_create1,--wrap=process_ask_clock)
pinject_unit_test(items SOURCES test_items.c LINK pinject_collector pinject_common)
pinject_unit_test(kernelmap SOURCES test_kernelmap.c LINK pinject_collector pinject_common)
target_link_options(test_kernelmap PRIVATE -Wl,--wrap=fopen)
foreach(test collect_files collect_rounds)
  pinject_unit_test(${test} SOURCES test_${test}.c rounds_kit.c LINK pinject_collector pinject_common)
  foreach(function epoll_wait ppoll malloc_trim tasks_init monotonic_ns tasks_write tasks_notify tasks_close
      results_trim service_renew_workers
      opener_take)
    target_link_options(test_${test} PRIVATE -Wl,--wrap=${function})
  endforeach()
endforeach()
# These replace the system calls behind them.
pinject_unit_test(signals SOURCES test_signals.c LINK pinject_collector pinject_common Threads::Threads)
foreach(function signalfd getsid kill raise syscall waitid pthread_sigmask procfs_read opendir witness_has witness_start
  witness_end)
  target_link_options(test_signals PRIVATE -Wl,--wrap=${function})
endforeach()
if(PINJECT_PSTACK)
  pinject_unit_test(capture SOURCES test_capture.c LINK pinject_pstack Threads::Threads)
  target_link_options(test_capture PRIVATE -Wl,--wrap=ptrace)
endif()
pinject_unit_test(mapped_file SOURCES test_mapped_file.c LINK pinject_collector pinject_common)
foreach(function open close syscall fstat stat fstatfs statx ioctl geteuid buffer_read_file clock_gettime)
  target_link_options(test_mapped_file PRIVATE -Wl,--wrap=${function})
endforeach()
pinject_unit_test(shared_file SOURCES test_shared_file.c LINK pinject_collector pinject_common)
target_link_options(test_shared_file PRIVATE -Wl,--wrap=fallocate,--wrap=fchown,--wrap=fchmod)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  pinject_unit_test(stacks_auto SOURCES test_stacks_auto.c LINK pinject_collector pinject_common)
  target_link_options(test_stacks_auto PRIVATE -Wl,--wrap=monotonic_ns,--wrap=unwind_stack,--wrap=stack_sizes_add_stack)
endif()
pinject_unit_test(request_fields SOURCES test_request_fields.c LINK pinject_collector pinject_common)
target_link_options(test_request_fields PRIVATE -Wl,--wrap=calloc)
pinject_unit_test(stack_files SOURCES test_stack_files.c LINK pinject_collector pinject_common)
pinject_unit_test(table_time SOURCES test_table_time.c LINK pinject_collector pinject_common)
target_link_options(test_table_time PRIVATE -Wl,--wrap=getrusage)
foreach(function opener_ask opener_settle unwind_files_copy unwind_files_know unwind_files_vdso tasks_look_at_maps
        unwind_files_are_many unwind_file_leaves unwind_files_trim table_time_begin table_time_end)
  target_link_options(test_stack_files PRIVATE -Wl,--wrap=${function})
endforeach()
pinject_unit_test(looked_for SOURCES test_looked_for.c test_tasks_kit.c test_result_kit.c
  LINK pinject_collector pinject_common)
target_link_options(test_looked_for PRIVATE -Wl,--wrap=errands_exec,--wrap=errands_cmdline
    -Wl,--wrap=numbers_are_anothers,--wrap=numbers_process_is_gone)
