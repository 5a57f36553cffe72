# SPDX-License-Identifier: MIT
pinject_unit_test(unwind_parts SOURCES test_unwind_parts.c LINK pinject_unwind pinject_common)
pinject_unit_test(cfi SOURCES test_cfi.c LINK pinject_unwind pinject_common)
target_include_directories(test_cfi PRIVATE ${DW_INCLUDE_DIRS})
# Without frame pointers, as distributions build x86-64; the loader binds late, so that it is met too.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  pinject_unit_test(unwind SOURCES test_unwind.c unwind_kit.c LINK pinject_unwind Threads::Threads)
  target_compile_options(test_unwind PRIVATE -O2 -fomit-frame-pointer)
  target_link_options(test_unwind PRIVATE -Wl,-z,lazy)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
  set(engine_tests libunwind_engine engines)
  pinject_unit_test(libunwind_engine SOURCES test_libunwind_engine.c unwind_kit.c LINK pinject_engine
    Threads::Threads)
  target_include_directories(test_libunwind_engine PRIVATE ${DW_INCLUDE_DIRS})
  pinject_unit_test(engines SOURCES test_engines.c unwind_kit.c LINK pinject_engine Threads::Threads
    ${CMAKE_DL_LIBS})
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
    pinject_unit_test(engines_signed SOURCES test_engines.c unwind_kit.c LINK pinject_engine Threads::Threads
      ${CMAKE_DL_LIBS})
    target_compile_options(test_engines_signed PRIVATE -mbranch-protection=pac-ret)
    list(APPEND engine_tests engines_signed)
  endif()
  foreach(test ${engine_tests})
    target_compile_options(test_${test} PRIVATE -O2 -fomit-frame-pointer)
  endforeach()
  pinject_unit_test(stacks SOURCES test_stacks.c LINK pinject_collector pinject_common Threads::Threads)
  pinject_unit_test(dumps SOURCES test_dumps.c LINK pinject_collector pinject_common)
  target_link_options(test_dumps PRIVATE -Wl,--wrap=probe_open)
  pinject_unit_test(stack_predictor SOURCES test_stack_predictor.c LINK pinject_collector pinject_common
    Threads::Threads)
endif()
