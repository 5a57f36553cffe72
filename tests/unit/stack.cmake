# SPDX-License-Identifier: MIT
# From a frame to its caller, with tables that are made up; files that are made up.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  set(stack_tests stack_rows stack_ways)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    list(APPEND stack_tests stack_linked)
  endif()
  foreach(test ${stack_tests})
    pinject_unit_test(${test} SOURCES test_${test}.c steps_kit.c ${PROJECT_SOURCE_DIR}/unwind/stack.c
      ${PROJECT_SOURCE_DIR}/unwind/signal_frame.c LINK pinject_common)
  endforeach()
  pinject_unit_test(unwind_files SOURCES test_unwind_files.c LINK pinject_unwind pinject_common)
  target_include_directories(test_unwind_files PRIVATE ${DW_INCLUDE_DIRS})
  target_link_options(test_unwind_files PRIVATE -Wl,--wrap=pread,--wrap=pwrite)
endif()
