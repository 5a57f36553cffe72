# SPDX-License-Identifier: MIT
# pinject-run itself, but for --doctor, --info and the search for the preload object, which the test has others for.
set(collector ${PROJECT_SOURCE_DIR}/collector)
set(preload ${PROJECT_SOURCE_DIR}/preload)
pinject_unit_test(main SOURCES test_main.c test_result_kit.c ${collector}/main.c ${collector}/launch/launch.c
  ${collector}/launch/live.c ${collector}/show_stacks.c ${preload}/exec_kind.c ${preload}/environ.c
  ${preload}/safe_read.c
  LINK pinject_collector pinject_common)
target_include_directories(test_main PRIVATE ${preload})
set_source_files_properties(${collector}/main.c PROPERTIES COMPILE_DEFINITIONS main=pinject_run_main
  COMPILE_OPTIONS -Wno-missing-prototypes)
target_link_options(test_main PRIVATE -Wl,--wrap=launch_find_preload -Wl,--wrap=launch_look_for_preload)
pinject_unit_test(live SOURCES test_live.c ${collector}/launch/live.c LINK pinject_collector pinject_common)
target_link_options(test_live PRIVATE -Wl,--wrap=readlink)
foreach(test launch launch_preload)
  pinject_unit_test(${test} SOURCES test_${test}.c ${collector}/launch/launch.c ${preload}/exec_kind.c ${preload}/environ.c
    ${preload}/safe_read.c LINK pinject_collector pinject_common)
  target_include_directories(test_${test} PRIVATE ${preload})
endforeach()
foreach(function pipe2 fork syscall strdup read priority_outruns_other_sessions)
  target_link_options(test_launch PRIVATE -Wl,--wrap=${function})
endforeach()
target_link_options(test_launch_preload PRIVATE -Wl,--wrap=readlink,--wrap=access)
