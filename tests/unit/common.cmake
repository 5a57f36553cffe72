# SPDX-License-Identifier: MIT
foreach(module buffer cursor events follow nearest options report search table)
  pinject_unit_test(${module} SOURCES test_${module}.c LINK pinject_common)
endforeach()
target_link_options(test_table PRIVATE -Wl,--wrap=malloc,--wrap=calloc)
