# SPDX-License-Identifier: MIT
pinject_unit_test(reader SOURCES test_reader.c perfdata_writer.c LINK pinject_read)
pinject_unit_test(profile SOURCES test_profile.c perfdata_writer.c LINK pinject_model)
