# SPDX-License-Identifier: MIT
pinject_unit_test(count_store SOURCES test_count_store.c LINK pinject_counts)
target_link_options(test_count_store PRIVATE -Wl,--wrap=realloc,--wrap=calloc)
pinject_unit_test(count_metric SOURCES test_count_metric.c LINK pinject_counts)
pinject_unit_test(count_print SOURCES test_count_print.c LINK pinject_counts)
pinject_unit_test(count_output SOURCES test_count_output.c LINK pinject_collector)
pinject_unit_test(settings_counting SOURCES test_settings_counting.c LINK pinject_collector)
