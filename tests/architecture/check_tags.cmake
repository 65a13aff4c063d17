# Fails when source indexers see too little of the library: Universal Ctags found 79 of 4,700
# definitions where a namespace was opened as `namespace a::inline b {`.
# Usage: cmake -DINCLUDE=<folder that holds wordloom/> -P check_tags.cmake
find_program(CTAGS ctags)
if(NOT CTAGS)
  message(STATUS "skipped: this case cannot run here: there is no ctags")
  return()
endif()
execute_process(COMMAND ${CTAGS} --recurse --languages=C++ --langmap=C++:+.inl.cuh -f - ${INCLUDE}/wordloom
                OUTPUT_VARIABLE tags ERROR_VARIABLE error RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${CTAGS}: ${error}")
endif()
string(REGEX MATCHALL "\n[^!]" lines "\n${tags}")
list(LENGTH lines count)
if(count LESS 4500)
  message(FATAL_ERROR "ctags finds ${count} definitions, at least 4500 are expected")
endif()
message(STATUS "ctags finds ${count} definitions")
