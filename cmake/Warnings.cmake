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
# The tests start panalyze some thousand times. It starts in half the time if the sanitizers are linked into it, at fixed
# addresses. Some compilers lack these libraries. Unit tests that replace functions of libc cannot be linked so.
add_library(pinject_sanitize_inside INTERFACE)
if(PINJECT_SANITIZE MATCHES address AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_LINK_OPTIONS -fsanitize=${PINJECT_SANITIZE} -no-pie -static-libasan -static-libubsan)
  check_c_source_compiles("int main(void) { return 0; }" PINJECT_SANITIZERS_LINK_INSIDE)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(PINJECT_SANITIZERS_LINK_INSIDE)
    target_link_options(pinject_sanitize_inside INTERFACE -no-pie -static-libasan -static-libubsan)
  endif()
endif()
