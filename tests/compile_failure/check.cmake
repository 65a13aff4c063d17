# cmake -D SOURCE=FILE [-D ALONE=ON] -P check.cmake -- COMPILER ARGUMENT...
# ALONE: also checks that it compiles as it stands.

set(command)
set(after_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after_dashes)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()

file(STRINGS ${SOURCE} expectations REGEX "^// expect: .")
if(NOT expectations)
  message(FATAL_ERROR "${SOURCE} has no line '// expect: REGEX'")
endif()

if(ALONE)
  execute_process(COMMAND ${command} -fsyntax-only ${SOURCE}
                  RESULT_VARIABLE status ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} must compile without WORDLOOM_EXPECT_FAILURE:\n${output}")
  endif()
endif()

# One that expects one message of a whole compilation need not go on to the next.
list(LENGTH expectations count)
if(ALONE AND count EQUAL 1)
  list(APPEND command -Wfatal-errors)
endif()
execute_process(COMMAND ${command} -fsyntax-only -DWORDLOOM_EXPECT_FAILURE ${SOURCE}
                RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} must not compile with WORDLOOM_EXPECT_FAILURE")
endif()
foreach(expectation IN LISTS expectations)
  string(REPLACE "// expect: " "" regex "${expectation}")
  if(NOT output MATCHES "${regex}")
    message(FATAL_ERROR "${SOURCE} fails as it must, but no message matches '${regex}':\n${output}")
  endif()
endforeach()
