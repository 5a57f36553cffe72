# SPDX-License-Identifier: MIT
# What -e may say (collector/events): on the CPUs of tests/data/pmus and on what a test makes up.
foreach(test event_error event_modifiers event_cache event_pmu event_terms event_symbol event_probe event_breakpoint
  event_tracepoint event_pfm event_list event_parse event_choice event_catalog)
  pinject_unit_test(${test} SOURCES test_${test}.c LINK pinject_collector pinject_common)
  target_compile_definitions(test_${test} PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
endforeach()
