# Fails when a comment begins with a clause instead of a noun phrase or a verb: a reader, an editor
# and a reference show it without the comment before it.
# Usage: cmake -DROOT=<folder> -P check_comments.cmake; included by CMake, adds the tests.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_test(NAME architecture/comments
           COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -P ${CMAKE_CURRENT_LIST_FILE})
  add_test(NAME architecture/comments_without_subject_are_refused
           COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_CURRENT_LIST_DIR}/clauses
                   -P ${CMAKE_CURRENT_LIST_FILE})
  set_tests_properties(architecture/comments_without_subject_are_refused PROPERTIES
    PASS_REGULAR_EXPRESSION "3 comments.*hpp: The same.*hpp: Of both.*hpp: Whether")
  return()
endif()

set(sources "")
foreach(folder IN ITEMS include src examples)
  foreach(ending IN ITEMS hpp inl cuh cpp cu)
    file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.${ending})
    list(APPEND sources ${found})
  endforeach()
endforeach()
if(NOT sources)
  message(FATAL_ERROR "${ROOT} holds no sources")
endif()
set(failures "")
foreach(source IN LISTS sources)
  file(READ ${ROOT}/${source} text)
  string(REGEX REPLACE "[[;]|]" "" text "\n${text}")  # characters that lists of CMake do not hold
  # The line before, or the code before a comment on the same line.
  string(REGEX MATCHALL
    "\n[^\n]*[\n ] *///?<? *(The same|What|Of|Where|How|Whether)[ ,.:][^\n]*" comments "${text}")
  foreach(comment IN LISTS comments)
    if(NOT comment MATCHES "^\n *//[/!]? *[^/! \n]")  # else it continues a comment
      string(REGEX REPLACE ".*// *<? *" "" comment "${comment}")
      list(APPEND failures "${source}: ${comment}")
    endif()
  endforeach()
endforeach()
list(LENGTH failures count)
if(failures)
  list(JOIN failures "\n  " lines)
  message(FATAL_ERROR "${count} comments begin without their subject, "
                      "see the rules of CONTRIBUTING.md:\n  ${lines}")
endif()
list(LENGTH sources count)
message(STATUS "${count} files: all comments begin with a noun phrase or a verb")
