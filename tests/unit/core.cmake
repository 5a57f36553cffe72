# SPDX-License-Identifier: MIT
# The event loop's parts: rings and records made by hand, files read back.
foreach(test ring space records process unseen)
  pinject_unit_test(${test} SOURCES test_${test}.c LINK pinject_collector pinject_common)
endforeach()
foreach(test tasks tasks_images tasks_end tasks_bounds timed)
  pinject_unit_test(${test} SOURCES test_${test}.c test_tasks_kit.c test_result_kit.c
    LINK pinject_collector pinject_common)
endforeach()
