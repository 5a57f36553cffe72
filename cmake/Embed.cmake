# SPDX-License-Identifier: MIT
# pinject_embed(TARGET FILE SYMBOL): FILE as the string SYMBOL of C, with a NUL behind it, in TARGET. Declare it as
# extern const char SYMBOL[];
function(pinject_embed target file symbol)
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} bytes HEX)
  string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(GENERATE OUTPUT ${made}
    CONTENT "/* Made from ${file}. */\nextern const char ${symbol}[];\nconst char ${symbol}[] = {\n    ${bytes}0};\n")
  set_source_files_properties(${made} PROPERTIES GENERATED TRUE)
  target_sources(${target} PRIVATE ${made})
endfunction()
