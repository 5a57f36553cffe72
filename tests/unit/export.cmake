# SPDX-License-Identifier: MIT
pinject_unit_test(export SOURCES test_export.c test_view_fake.c LINK pinject_export)
target_compile_definitions(test_export PRIVATE TEST_SEEDS="${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/reader")
# What all views and exports print, compared with tests/data/golden.
pinject_unit_test(golden SOURCES test_golden.c test_view_fake.c LINK pinject_export)
target_compile_definitions(test_golden PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
pinject_unit_test(cli SOURCES test_cli.c ${PROJECT_SOURCE_DIR}/analyze/cli.c LINK pinject_export)
