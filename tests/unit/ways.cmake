# SPDX-License-Identifier: MIT
# The way of a sample and of a request, as docs/ARCHITECTURE.md lists them, compared with the calls that are made: with
# the collector, the unwinder and the preload object's requests compiled once more, so that each call is reported.
if(PINJECT_PSTACK) # where stacks can be dumped
  set(traced)
  foreach(library pinject_collector pinject_unwind pinject_engine)
    get_target_property(sources ${library} SOURCES)
    get_target_property(directory ${library} SOURCE_DIR)
    foreach(source ${sources})
      get_filename_component(source ${source} ABSOLUTE BASE_DIR ${directory})
      list(APPEND traced ${source})
    endforeach()
  endforeach()
  foreach(module environ preload request safe_read)
    list(APPEND traced ${PROJECT_SOURCE_DIR}/preload/${module}.c)
  endforeach()
  add_library(pinject_traced STATIC ${traced})
  target_include_directories(pinject_traced PRIVATE ${DW_INCLUDE_DIRS})
  target_compile_definitions(pinject_traced PRIVATE PINJECT_LIBUNWIND)
  # Functions that are not inlined, and debug information with their files, whatever the build type.
  target_compile_options(pinject_traced PRIVATE -O0 -U_FORTIFY_SOURCE -g -finstrument-functions)
  target_link_libraries(pinject_traced PUBLIC pinject_counts pinject_common pinject_headers PkgConfig::ELF PkgConfig::ZLIB
    PkgConfig::UNWIND Threads::Threads rt PRIVATE pinject_flags pinject_sanitize)
  # Without requests and sessions of its own.
  add_library(unit_ways_preload_kit OBJECT preload_kit.c)
  target_include_directories(unit_ways_preload_kit PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(unit_ways_preload_kit PRIVATE pinject_preload_open=kit_preload_open
    pinject_request_covered=kit_request_covered pinject_request_claim=kit_request_claim
    pinject_request_send=kit_request_send pinject_request_note_stall=kit_request_note_stall)
  target_link_libraries(unit_ways_preload_kit PRIVATE pinject_headers pinject_flags pinject_sanitize PkgConfig::CMOCKA)
  pinject_unit_test(ways SOURCES test_ways.c test_tasks_kit.c test_result_kit.c
    $<TARGET_OBJECTS:unit_ways_preload_kit> LINK pinject_traced PkgConfig::DW)
  target_compile_definitions(test_ways PRIVATE TEST_ARCHITECTURE="${PROJECT_SOURCE_DIR}/docs/ARCHITECTURE.md")
  target_link_options(test_ways PRIVATE -Wl,--wrap=epoll_wait,--wrap=tasks_init,--wrap=monotonic_ns,--wrap=opener_take)
endif()
