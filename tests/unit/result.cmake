# SPDX-License-Identifier: MIT
# Result files and what goes into them.
foreach(test result result_files)
  pinject_unit_test(${test} SOURCES test_${test}.c test_result_kit.c LINK pinject_collector pinject_common)
endforeach()
# These replace the system calls that write.
pinject_unit_test(result_faults SOURCES test_result_faults.c test_result_kit.c LINK pinject_collector pinject_common)
target_link_options(test_result_files PRIVATE -Wl,--wrap=linkat)
target_link_options(test_result_faults PRIVATE -Wl,--wrap=pwrite,--wrap=fallocate,--wrap=linkat)
foreach(test buildid buildid_users files opener opener_parts machine)
  pinject_unit_test(${test} SOURCES test_${test}.c LINK pinject_collector pinject_common)
endforeach()
# These meet the seams of the parts that they test.
target_link_options(test_opener_parts PRIVATE -Wl,--wrap=nanosleep)
target_link_options(test_machine PRIVATE -Wl,--wrap=open,--wrap=read,--wrap=close)
target_link_options(test_buildid PRIVATE -Wl,--wrap=opener_ask,--wrap=opener_settle,--wrap=siphash)
target_link_options(test_buildid_users PRIVATE -Wl,--wrap=opener_ask,--wrap=procfs_uid)
pinject_unit_test(siphash SOURCES test_siphash.c LINK pinject_common)
pinject_unit_test(summary SOURCES test_summary.c test_result_kit.c LINK pinject_collector pinject_common)
target_link_options(test_summary PRIVATE -Wl,--wrap=results_bytes)
pinject_unit_test(topology SOURCES test_topology.c LINK pinject_collector pinject_common)
# On a machine that the test makes up, and where memory ends.
foreach(test features features_bytes)
  pinject_unit_test(${test} SOURCES test_${test}.c features_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
  target_link_options(test_${test} PRIVATE -Wl,--wrap=machine_read,--wrap=buffer_read_file
    -Wl,--wrap=topology_append)
endforeach()
target_link_options(test_features PRIVATE -Wl,--wrap=kernelmap_make,--wrap=buildids_find
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
pinject_unit_test(identify SOURCES test_identify.c LINK pinject_collector pinject_common)
target_link_options(test_identify PRIVATE -Wl,--wrap=buildids_find)
