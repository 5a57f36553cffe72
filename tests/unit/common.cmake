# SPDX-License-Identifier: MIT
foreach(module buffer cursor events follow nearest options report)
  pinject_unit_test(${module} SOURCES test_${module}.c LINK pinject_common)
endforeach()
