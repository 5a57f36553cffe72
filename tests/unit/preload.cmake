# SPDX-License-Identifier: MIT
# Parts of the object, linked to the test: text.c's functions stand for libc's there only.
set(preload ${PROJECT_SOURCE_DIR}/preload)
pinject_unit_test(environ SOURCES test_environ.c ${preload}/environ.c ${preload}/reach.c LABELS preload)
pinject_unit_test(request SOURCES test_request.c ${preload}/request.c LINK Threads::Threads LABELS preload)
foreach(module environ request)
  target_compile_definitions(test_${module} PRIVATE _GNU_SOURCE)
endforeach()
