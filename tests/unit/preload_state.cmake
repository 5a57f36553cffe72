# SPDX-License-Identifier: MIT
# The preload object's own state and files; what is around them is played by preload_kit.c and session_kit.c.
set(preload ${PROJECT_SOURCE_DIR}/preload)
set_source_files_properties(${preload}/preload.c PROPERTIES
  COMPILE_DEFINITIONS "getauxval=own_getauxval;pthread_atfork=own_atfork")
foreach(test preload preload_requests)
  pinject_unit_test(${test} SOURCES test_${test}.c preload_kit.c ${preload}/preload.c ${preload}/environ.c
    ${preload}/safe_read.c LINK Threads::Threads LABELS preload)
endforeach()
foreach(test preload_session preload_user)
  pinject_unit_test(${test} SOURCES test_${test}.c session_kit.c ${preload}/session.c LINK Threads::Threads
    LABELS preload)
endforeach()
pinject_unit_test(own_environ SOURCES test_own_environ.c ${preload}/own_environ.c ${preload}/environ.c
  ${preload}/safe_read.c LINK Threads::Threads LABELS preload)
pinject_unit_test(next SOURCES test_next.c ${preload}/next.c LABELS preload)
set_source_files_properties(${preload}/program.c PROPERTIES COMPILE_DEFINITIONS getauxval=own_getauxval)
pinject_unit_test(program SOURCES test_program.c ${preload}/program.c LABELS preload)
set(own memcpy memmove memset memcmp memchr strlen strnlen strncmp strcmp strchr strrchr)
list(TRANSFORM own REPLACE "(.+)" "\\1=own_\\1")
set_source_files_properties(${preload}/text.c PROPERTIES COMPILE_DEFINITIONS "${own}" COMPILE_OPTIONS -fno-builtin)
pinject_unit_test(text SOURCES test_text.c ${preload}/text.c LABELS preload)
foreach(test timer timer_end)
  pinject_unit_test(${test} SOURCES test_${test}.c timer_kit.c ${preload}/timer.c ${preload}/timer_table.c
    LINK Threads::Threads LABELS preload)
endforeach()
target_link_options(test_timer_end PRIVATE -Wl,--wrap=getauxval)
pinject_unit_test(timer_table SOURCES test_timer_table.c ${preload}/timer_table.c LINK Threads::Threads LABELS preload)
pinject_unit_test(start SOURCES test_start.c ${preload}/start.c ${preload}/environ.c ${preload}/safe_read.c LABELS
  preload)
pinject_unit_test(peer SOURCES test_peer.c ${preload}/peer.c LABELS preload)
