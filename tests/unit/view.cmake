# SPDX-License-Identifier: MIT
if(TARGET pinject_view)
  pinject_unit_test(view SOURCES test_view.c test_view_fake.c LINK pinject_view)
  pinject_unit_test(views SOURCES test_views.c test_view_fake.c LINK pinject_view)
  pinject_unit_test(order SOURCES test_order.c test_view_fake.c LINK pinject_view)
  pinject_unit_test(top SOURCES test_top.c test_view_fake.c LINK pinject_view)
  pinject_unit_test(view_text SOURCES test_view_text.c LINK pinject_view)
endif()
