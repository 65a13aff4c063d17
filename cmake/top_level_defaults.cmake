# Conveniences of a build of this project itself; included projects decide for themselves.

get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(WORDLOOM_CCACHE ccache)
  mark_as_advanced(WORDLOOM_CCACHE)
  if(WORDLOOM_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${WORDLOOM_CCACHE})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${WORDLOOM_CCACHE})
  endif()
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
