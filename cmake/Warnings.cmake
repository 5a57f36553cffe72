# SPDX-License-Identifier: MIT
# Warnings and sanitizers for every target: link to pinject_flags.
add_library(pinject_flags INTERFACE)
target_compile_definitions(pinject_flags INTERFACE _GNU_SOURCE=)
target_compile_options(pinject_flags INTERFACE -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes
  -Wformat=2 -Wpointer-arith -Wwrite-strings -Wno-missing-field-initializers)
if(PINJECT_WERROR)
  target_compile_options(pinject_flags INTERFACE -Werror)
endif()
# Never applied to the preload object: it needs libc alone.
add_library(pinject_sanitize INTERFACE)
if(PINJECT_SANITIZE)
  target_compile_options(pinject_sanitize INTERFACE -fsanitize=${PINJECT_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(pinject_sanitize INTERFACE -fsanitize=${PINJECT_SANITIZE})
endif()
# For a program that the tests start some thousand times: with the sanitizers inside, and at fixed addresses, it starts in
# half the time. Unit tests that replace functions of libc cannot be linked so.
add_library(pinject_sanitize_inside INTERFACE)
if(PINJECT_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  target_link_options(pinject_sanitize_inside INTERFACE -no-pie -static-libasan -static-libubsan)
endif()
