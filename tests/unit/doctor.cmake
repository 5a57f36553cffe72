# SPDX-License-Identifier: MIT
# These parts of pinject-run lie outside of the collector's library.
set(preload ${PROJECT_SOURCE_DIR}/preload)
set(collector ${PROJECT_SOURCE_DIR}/collector)
pinject_unit_test(doctor SOURCES test_doctor.c ${collector}/doctor/doctor_inject.c ${collector}/launch/launch.c
  ${preload}/exec_kind.c ${preload}/environ.c ${preload}/safe_read.c LINK pinject_collector)
target_link_options(test_doctor PRIVATE -Wl,--wrap=clock_gettime)
pinject_unit_test(doctor_executable SOURCES test_doctor_executable.c LINK pinject_collector)
target_include_directories(test_doctor PRIVATE ${preload})
