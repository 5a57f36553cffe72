# SPDX-License-Identifier: MIT
# What depends on the machine, on one that the test makes up (machine_fake.h).
function(pinject_machine_test name)
  pinject_unit_test(${name} SOURCES test_${name}.c machine_fake.c ${ARGN} LINK pinject_collector pinject_common)
  target_compile_definitions(test_${name} PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  foreach(function buffer_read_file fopen open access statvfs getrlimit getrusage fallocate geteuid sysconf uname
          sched_getaffinity stacks_try probe_inherits_values syscall)
    target_link_options(test_${name} PRIVATE -Wl,--wrap=${function})
  endforeach()
endfunction()
set(preload ${PROJECT_SOURCE_DIR}/preload)
set(collector ${PROJECT_SOURCE_DIR}/collector)
pinject_machine_test(info)
pinject_machine_test(list_events)
pinject_machine_test(units)
pinject_machine_test(doctor_facts)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$") # where stacks can be dumped
  pinject_machine_test(event_config_golden)
  target_link_options(test_event_config_golden PRIVATE -Wl,--wrap=probe_reports_ends)
endif()
pinject_machine_test(doctor_lines doctor_scene_events.c doctor_scene_places.c doctor_scene_commands.c
  ${collector}/doctor/doctor.c ${collector}/doctor/doctor_inject.c ${collector}/launch/launch.c ${preload}/exec_kind.c
  ${preload}/environ.c ${preload}/safe_read.c)
target_include_directories(test_doctor_lines PRIVATE ${preload})
target_link_options(test_doctor_lines PRIVATE -Wl,--wrap=doctor_guard_program
  -Wl,--wrap=doctor_facts_init -Wl,--wrap=doctor_facts_release)
