# SPDX-License-Identifier: MIT
# Parts of the object, linked to the test: text.c's functions stand for libc's there only.
set(preload ${PROJECT_SOURCE_DIR}/preload)
pinject_unit_test(environ SOURCES test_environ.c ${preload}/environ.c ${preload}/reach.c LABELS preload)
pinject_unit_test(image SOURCES test_image.c ${preload}/image.c ${preload}/environ.c ${preload}/reach.c LABELS preload)
pinject_unit_test(request SOURCES test_request.c ${preload}/request.c LINK Threads::Threads LABELS preload)
pinject_unit_test(filter SOURCES test_filter.c ${preload}/filter.c LABELS preload)
pinject_unit_test(timer_sample SOURCES test_timer_sample.c ${preload}/timer_sample.c LABELS preload)
pinject_unit_test(thread_pool SOURCES test_thread_pool.c ${preload}/thread_pool.c LINK Threads::Threads LABELS preload)
