# Fails when an example or a guide names `detail`, which users and authors of policies do without.
# Usage: cmake -DROOT=<folder> -P check_detail.cmake; included by CMake, adds the tests.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_test(NAME architecture/examples_without_detail
           COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_FILE})
  add_test(NAME architecture/detail_in_an_example_is_refused
           COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_LIST_DIR}/detail
                   -P ${CMAKE_CURRENT_LIST_FILE})
  set_tests_properties(architecture/detail_in_an_example_is_refused PROPERTIES
    PASS_REGULAR_EXPRESSION "3 lines.*README.md: .*hash.hpp.*example.cpp: .*hash.hpp.*shown")
  return()
endif()

file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/examples/*.hpp ${ROOT}/examples/*.cpp
     ${ROOT}/examples/*.cu ${ROOT}/include/*.md)
file(GLOB guides RELATIVE ${ROOT} ${ROOT}/*.md)
set(failures "")
set(count 0)
foreach(source IN LISTS guides sources)
  if(source STREQUAL "CHANGELOG.md")  # says where names were
    continue()
  endif()
  math(EXPR count "${count} + 1")
  file(STRINGS ${ROOT}/${source} lines
       REGEX "(^|wordloom::|[^A-Za-z0-9_:])detail::[A-Za-z]|[/]detail/[a-z_]+[.]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "[[;]|]" "" line "${line}")  # characters that lists of CMake do not hold
    list(APPEND failures "${source}: ${line}")
  endforeach()
endforeach()
if(count EQUAL 0)
  message(FATAL_ERROR "${ROOT} holds no examples and no guides")
endif()
if(failures)
  list(LENGTH failures length)
  list(JOIN failures "\n  " text)
  message(FATAL_ERROR "${length} lines of examples and guides name detail:\n  ${text}")
endif()
message(STATUS "${count} examples and guides: none names detail")
