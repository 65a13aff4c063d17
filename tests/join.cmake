# cmake -D OUTPUT=FILE -P join.cmake -- SOURCE...: one file that includes all of the sources, so that
# what they share, as the trainers of most, is compiled once. What they include stands first, so that
# each source, whose names are its own, can stand in a namespace.

set(sources)
set(after_dashes FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after_dashes)
    list(APPEND sources "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after_dashes TRUE)
  endif()
endforeach()

set(headers "")
set(bodies "")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  # Conditions too, as some headers need an optional library.
  file(STRINGS ${source} lines REGEX "^#(include|if|ifdef|ifndef|elif|else|endif)")
  list(JOIN lines "\n" lines)
  string(APPEND headers "${lines}\n")
  string(APPEND bodies "namespace joined_${name} {\n#include \"${source}\"\n}\n")
endforeach()
file(WRITE ${OUTPUT} "${headers}\n${bodies}")
