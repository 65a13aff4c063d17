# Examples, benchmarks and tests link `wordloom_own_program`: our flags, the optional parts and the
# precompiled library. What tries the headers alone links `wordloom_own_flags`, or `wordloom_own_parts`
# with the optional parts.

include(CheckCXXCompilerFlag)

option(WORDLOOM_NATIVE "Build our own programs for this machine's instruction set only" OFF)
option(WORDLOOM_WERROR "Make warnings of our own programs errors" OFF)

add_library(wordloom_own_flags INTERFACE)
target_link_libraries(wordloom_own_flags INTERFACE wordloom::wordloom)
target_compile_options(wordloom_own_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>")
# GCC 12 warns of its own AVX-512 intrinsics (https://gcc.gnu.org/PR105593) and of its own
# std::string (https://gcc.gnu.org/PR105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(wordloom_own_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wno-uninitialized;-Wno-maybe-uninitialized;-Wno-restrict>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wno-restrict>")
endif()
# GCC collects garbage from 128 MiB on: a twentieth of its time for files like ours.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(wordloom_own_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>")
endif()
# Clang says that a local of a nested class shadows a member of the class around it.
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(wordloom_own_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>")
endif()
if(WORDLOOM_WERROR)
  target_compile_options(wordloom_own_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Werror>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(WORDLOOM_NATIVE)
  check_cxx_compiler_flag(-march=native WORDLOOM_HAS_MARCH_NATIVE)
  if(WORDLOOM_HAS_MARCH_NATIVE)
    target_compile_options(wordloom_own_flags INTERFACE
      "$<$<COMPILE_LANGUAGE:CXX>:-march=native>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=native>")
  endif()
endif()

add_library(wordloom_own_parts INTERFACE)
target_link_libraries(wordloom_own_parts INTERFACE wordloom_own_flags)
# All optional parts that are here; those of several processes and devices are few programs'.
foreach(component IN ITEMS blas eigen hnswlib liblinear openmp zlib)
  if(TARGET wordloom::${component})
    target_link_libraries(wordloom_own_parts INTERFACE wordloom::${component})
  endif()
endforeach()
add_library(wordloom_own_program INTERFACE)
target_link_libraries(wordloom_own_program INTERFACE wordloom_own_parts wordloom::precompiled)
if(NOT TARGET wordloom::eigen)
  message(FATAL_ERROR "Wordloom: Eigen3 is not found, which the programs of this project need. Debian and Ubuntu "
                      "have it in the package libeigen3-dev.")
endif()
foreach(library IN ITEMS precompiled any_trainer)
  target_link_libraries(wordloom_${library} PRIVATE $<BUILD_INTERFACE:wordloom_own_flags>)
endforeach()
# UBSan of Clang takes four times as long for the kernels with these two checks; ASan checks what
# they access.
set_source_files_properties(src/bf16_kernel.cpp src/fused_kernel.cpp src/fused_variants.cpp PROPERTIES
                            COMPILE_OPTIONS -fno-sanitize=pointer-overflow,object-size)

# Programs and tests are long to optimise; kernels, the default trainer and those that word2vec and
# node2vec choose among are in libraries. GCC takes a fifth longer with -O1.
set(little_optimisation $<$<CONFIG:Release>:-Og>)

# wordloom_header_set(NAME HEADER...): headers that are parsed once for all programs that reuse those
# of the target NAME.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/foreign_headers.cpp CONTENT "")
function(wordloom_header_set name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/foreign_headers.cpp)
  target_link_libraries(${name} PRIVATE wordloom_own_program)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/foreign_headers.hpp ${ARGN})
endfunction()
# Those of benchmarks. No header of the library is among them: a change of one is to compile only
# what includes it.
if(WORDLOOM_BUILD_BENCHMARKS)
  wordloom_header_set(wordloom_foreign_headers)
endif()
# Those of examples and tests, which all include the library. Not what few use, as unused inline
# functions take time too.
if(WORDLOOM_BUILD_EXAMPLES OR WORDLOOM_BUILD_TESTS)
  wordloom_header_set(wordloom_own_headers <wordloom/graph.hpp> <wordloom/wordloom.hpp>)
  target_compile_options(wordloom_own_headers PRIVATE ${little_optimisation})
endif()
if(WORDLOOM_BUILD_TESTS)
  wordloom_require(Catch2 catch2)
  target_link_libraries(wordloom_own_headers PRIVATE Catch2::Catch2)
  target_precompile_headers(wordloom_own_headers PRIVATE ${PROJECT_SOURCE_DIR}/tests/catch.hpp)
endif()

# Position-independent code cannot use those of the programs.
target_precompile_headers(wordloom_any_trainer PRIVATE ${PROJECT_SOURCE_DIR}/cmake/foreign_headers.hpp)
