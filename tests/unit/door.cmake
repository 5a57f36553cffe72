# SPDX-License-Identifier: MIT
pinject_unit_test(pressure SOURCES test_pressure.c LINK pinject_collector)
pinject_unit_test(arrivals SOURCES test_arrivals.c LINK pinject_collector)
pinject_unit_test(plan SOURCES test_plan.c LINK pinject_collector)
pinject_unit_test(session SOURCES test_session.c LINK pinject_collector)
pinject_unit_test(attach SOURCES test_attach.c LINK pinject_collector)
pinject_unit_test(door SOURCES test_door.c LINK pinject_collector)
pinject_unit_test(door_hostile SOURCES test_door_hostile.c LINK pinject_collector)
pinject_unit_test(net SOURCES test_net.c LINK pinject_collector)
