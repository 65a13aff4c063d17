# Fails when a folder of include/wordloom includes a folder that stands above it. The folders are
# listed from the bottom up, so a graph that passes has no cycle.
# Usage: cmake -DINCLUDE=<folder that holds wordloom/> -P check_includes.cmake
set(layers core simd corpus graph model objective sampler schedule optimizer kernel testing encoder sync train
           io evaluation cuda)

file(GLOB_RECURSE headers RELATIVE ${INCLUDE}/wordloom
     ${INCLUDE}/wordloom/*.hpp ${INCLUDE}/wordloom/*.inl ${INCLUDE}/wordloom/*.cuh)
if(NOT headers)
  message(FATAL_ERROR "${INCLUDE}/wordloom holds no header")
endif()
set(failures "")
foreach(header IN LISTS headers)
  cmake_path(GET header PARENT_PATH folder)
  if(folder STREQUAL "")
    continue()  # umbrella headers stand above all folders
  endif()
  list(FIND layers ${folder} layer)
  if(layer EQUAL -1)
    list(APPEND failures "${header}: the folder '${folder}' is not in the list of layers")
    continue()
  endif()
  file(STRINGS ${INCLUDE}/wordloom/${header} lines REGEX "<wordloom/[^>]+>")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "<wordloom/([^>]+)>" found "${line}")
    cmake_path(GET CMAKE_MATCH_1 PARENT_PATH target)
    list(FIND layers "${target}" target_layer)
    if(target_layer EQUAL -1 OR target_layer GREATER layer)
      list(APPEND failures "${header} includes ${CMAKE_MATCH_1}, which stands above '${folder}'")
    endif()
  endforeach()
endforeach()
if(failures)
  list(JOIN failures "\n  " text)
  message(FATAL_ERROR "upward includes:\n  ${text}")
endif()
list(LENGTH headers count)
message(STATUS "${count} headers: no folder includes one above it")
