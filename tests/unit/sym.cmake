# SPDX-License-Identifier: MIT
pinject_unit_test(jit_dump SOURCES test_jit_dump.c LINK pinject_sym pinject_common)
pinject_unit_test(symbols SOURCES test_symbols.c LINK pinject_sym)
# These compile what they look at, so that the truth comes from the compiler and from binutils.
pinject_unit_test(symbol_files SOURCES test_symbol_files.c LINK pinject_sym)
pinject_unit_test(symbols_hostile SOURCES test_symbols_hostile.c LINK pinject_sym)
pinject_unit_test(sym_lines SOURCES test_sym_lines.c LINK pinject_sym)
target_link_options(test_sym_lines PRIVATE
  -Wl,--wrap=debuginfod_new,--wrap=debuginfod_free,--wrap=debuginfod_find)
foreach(target test_symbol_files test_symbols_hostile test_sym_lines)
  target_compile_definitions(${target} PRIVATE TEST_CC="${CMAKE_C_COMPILER}")
endforeach()
set_tests_properties(unit/symbol_files unit/symbols_hostile unit/sym_lines PROPERTIES TIMEOUT 300)
# test_no_memory makes each allocation of the resolver fail in turn.
target_link_options(test_symbols_hostile PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup)
pinject_unit_test(dwarf_form SOURCES test_dwarf_form.c LINK pinject_sym)
pinject_unit_test(dwarf_scope SOURCES test_dwarf_scope.c LINK pinject_sym)
target_link_options(test_dwarf_scope PRIVATE -Wl,--wrap=calloc,--wrap=realloc)
foreach(test dwarf_form dwarf_scope)
  target_include_directories(test_${test} PRIVATE ${DW_INCLUDE_DIRS})
endforeach()
pinject_unit_test(code SOURCES test_code.c LINK pinject_sym)
target_link_options(test_code PRIVATE -Wl,--wrap=calloc,--wrap=realloc,--wrap=strndup,--wrap=fdopen)
pinject_unit_test(code_lines SOURCES test_code_lines.c LINK pinject_sym)
target_link_options(test_code_lines PRIVATE -Wl,--wrap=symbols_rows,--wrap=calloc,--wrap=realloc,--wrap=strdup)
pinject_unit_test(sym_kernel SOURCES test_sym_kernel.c LINK pinject_sym)
target_link_options(test_sym_kernel PRIVATE -Wl,--wrap=text_names_init,--wrap=uname)
