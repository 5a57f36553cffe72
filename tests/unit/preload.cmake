# SPDX-License-Identifier: MIT
# Parts of the preload object, linked to the test: text.c's functions stand for libc's there only.
set(preload ${PROJECT_SOURCE_DIR}/preload)
pinject_unit_test(environ SOURCES test_environ.c ${preload}/environ.c ${preload}/safe_read.c LABELS preload)
pinject_unit_test(exec_kind SOURCES test_exec_kind.c ${preload}/exec_kind.c ${preload}/environ.c ${preload}/safe_read.c
  LABELS preload)
pinject_unit_test(spawn_directory SOURCES test_spawn_directory.c ${preload}/spawn_directory.c ${preload}/safe_read.c
  LABELS preload)
pinject_unit_test(room SOURCES test_room.c ${preload}/room.c LINK Threads::Threads LABELS preload)
pinject_unit_test(request SOURCES test_request.c ${preload}/request.c LINK Threads::Threads LABELS preload)
pinject_unit_test(filter SOURCES test_filter.c ${preload}/filter.c LABELS preload)
pinject_unit_test(timer_sample SOURCES test_timer_sample.c ${preload}/timer_sample.c LABELS preload)
pinject_unit_test(thread_records SOURCES test_thread_records.c ${preload}/thread_records.c LINK Threads::Threads LABELS
  preload)
# Compiled once more with the test's clock, futexes and CPU.
foreach(module request thread_records)
  pinject_unit_test(${module}_time SOURCES test_${module}_time.c ${preload}/${module}.c LABELS preload)
  target_compile_options(test_${module}_time PRIVATE -include ${CMAKE_CURRENT_SOURCE_DIR}/played_time.h)
endforeach()
# Libraries for test_next_symbols: one with each kind of hash table, and one that the test loads.
set(value 1)
foreach(kind sysv gnu both)
  add_library(test-symbols-${kind} SHARED next_symbols_library.c)
  target_link_options(test-symbols-${kind} PRIVATE -Wl,--hash-style=${kind})
  target_compile_definitions(test-symbols-${kind} PRIVATE TEST_VALUE=${value}
    TEST_FUNCTION=$<IF:$<STREQUAL:${kind},both>,late,$<IF:$<STREQUAL:${kind},sysv>,old_hash,gnu_hash>>_function)
  set_target_properties(test-symbols-${kind} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit)
  math(EXPR value "${value} + 1")
endforeach()
pinject_unit_test(next_symbols SOURCES test_next_symbols.c ${preload}/symbols.c
  LINK test-symbols-sysv test-symbols-gnu ${CMAKE_DL_LIBS} LABELS preload)
set_target_properties(test_next_symbols PROPERTIES ENABLE_EXPORTS ON)
target_compile_definitions(test_next_symbols PRIVATE TEST_LATE="$<TARGET_FILE:test-symbols-both>")
add_dependencies(test_next_symbols test-symbols-both)
pinject_unit_test(timer_signal SOURCES test_timer_signal.c ${preload}/timer_signal.c LABELS preload)
pinject_unit_test(timer_signal_race SOURCES test_timer_signal_race.c ${preload}/timer_signal.c LABELS preload)
