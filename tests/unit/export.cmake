# SPDX-License-Identifier: MIT
pinject_unit_test(export SOURCES test_export.c test_view_fake.c LINK pinject_script pinject_export PkgConfig::ZLIB)
target_compile_definitions(test_export PRIVATE TEST_SEEDS="${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/reader")
pinject_unit_test(script SOURCES test_script.c perfdata_writer.c LINK pinject_script)
pinject_unit_test(fields SOURCES test_fields.c perfdata_writer.c LINK pinject_fields)
pinject_unit_test(script_bits SOURCES test_script_bits.c LINK pinject_script)
pinject_unit_test(merge SOURCES test_merge.c perfdata_writer.c LINK pinject_script pinject_export)
pinject_unit_test(merge_spool SOURCES test_merge_spool.c perfdata_writer.c LINK pinject_script pinject_export)
target_link_options(test_merge_spool PRIVATE -Wl,--wrap=open)
# What all views and exports print, compared with tests/data/golden.
pinject_unit_test(golden SOURCES test_golden.c test_view_fake.c LINK pinject_fields pinject_script pinject_export)
target_compile_definitions(test_golden PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
pinject_unit_test(cli SOURCES test_cli.c ${PROJECT_SOURCE_DIR}/analyze/cli.c ${PROJECT_SOURCE_DIR}/analyze/cli_check.c
  LINK pinject_script pinject_export)
# Whole command lines, by main() itself, compared with tests/data/commands.
set(analyze ${PROJECT_SOURCE_DIR}/analyze)
pinject_unit_test(commands SOURCES test_commands.c test_commands_steps.c test_commands_inputs.c
  test_commands_recordings.c perfdata_writer.c ${analyze}/main.c ${analyze}/cli.c ${analyze}/cli_check.c ${analyze}/inputs.c
  ${analyze}/progress.c ${analyze}/live/live.c ${analyze}/live/screen.c ${analyze}/live/snapshot.c
  LINK pinject_fields pinject_script pinject_export PkgConfig::ZLIB)
pinject_unit_test(inputs SOURCES test_inputs.c ${analyze}/inputs.c LINK pinject_script pinject_export)
pinject_unit_test(screen SOURCES test_screen.c ${analyze}/live/screen.c LINK pinject_common)
target_link_options(test_screen PRIVATE -Wl,--wrap=tcgetpgrp)
pinject_unit_test(snapshot SOURCES test_snapshot.c ${analyze}/live/snapshot.c LINK pinject_script pinject_export)
target_link_options(test_snapshot PRIVATE -Wl,--wrap=memfd_create)
target_compile_definitions(test_commands PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
  $<$<BOOL:${JANSSON_FOUND}>:PINJECT_JANSSON>)
set_source_files_properties(${analyze}/main.c PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes
  COMPILE_DEFINITIONS "main=panalyze_main;PANALYZE_VERSION=\"0\"")
# Its clock and its debuginfod server are its own.
add_library(test-debuginfod SHARED debuginfod_library.c)
set_target_properties(test-debuginfod PROPERTIES OUTPUT_NAME debuginfod SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit/debuginfod)
pinject_unit_test(analyze_parts SOURCES test_analyze_parts.c ${analyze}/progress.c LINK pinject_view test-debuginfod)
target_link_options(test_analyze_parts PRIVATE -Wl,--wrap=clock_gettime,--wrap=calloc)
