# SPDX-License-Identifier: MIT
pinject_unit_test(reader SOURCES test_reader.c perfdata_writer.c LINK pinject_read)
pinject_unit_test(reader_files SOURCES test_reader_files.c perfdata_writer.c LINK pinject_read)
pinject_unit_test(profile SOURCES test_profile.c perfdata_writer.c LINK pinject_model)
pinject_unit_test(profile_files SOURCES test_profile_files.c perfdata_writer.c LINK pinject_model)
pinject_unit_test(folder SOURCES test_folder.c perfdata_writer.c LINK pinject_read)
pinject_unit_test(perf_files SOURCES test_perf_files.c perfdata_writer.c LINK pinject_model)
pinject_unit_test(packed SOURCES test_packed.c LINK pinject_read pinject_collector pinject_common)
pinject_unit_test(profile_golden SOURCES test_profile_golden.c LINK pinject_model)
target_compile_definitions(test_profile_golden PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
pinject_unit_test(profile_memory SOURCES test_profile_memory.c LINK pinject_model)
target_compile_definitions(test_profile_memory PRIVATE TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
  TEST_SEEDS="${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/reader")
target_link_options(test_profile_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray)
