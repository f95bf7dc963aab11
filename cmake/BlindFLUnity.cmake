# Several sources compiled as one, so that what they include is read once. scripts/unity_groups says which go together:
# names in their anonymous namespaces need not differ.
set(BLINDFL_UNITY none CACHE STRING "Which sources are compiled in groups: none, torch (those that see it), all")
set_property(CACHE BLINDFL_UNITY PROPERTY STRINGS none torch all)

if(BLINDFL_UNITY STREQUAL all AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes a source that another includes for a header, where anonymous namespaces are a mistake.
  add_compile_options(-Wno-subobject-linkage)
endif()

# blindfl_unity(<target> <kind: torch or other> <sources>)
function(blindfl_unity target kind)
  if(NOT (BLINDFL_UNITY STREQUAL all OR BLINDFL_UNITY STREQUAL kind))
    return()
  endif()
  set(largest 12)
  if(kind STREQUAL torch)
    set(largest 5)  # a changed file costs its group
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scripts/unity_groups ${ARGN})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/unity_groups ${largest} ${ARGN}
    OUTPUT_VARIABLE groups OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "|" groups "${groups}")
  string(REPLACE "\n" ";" groups "${groups}")
  set(number 0)
  foreach(group IN LISTS groups)
    math(EXPR number "${number} + 1")
    string(REPLACE "|" ";" group "${group}")
    set_source_files_properties(${group} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
