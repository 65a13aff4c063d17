# Finds a BLAS with its C interface, OpenBLAS first: target CBLAS::CBLAS, variable CBLAS_FOUND.
# Give CBLAS_LIBRARY and CBLAS_INCLUDE_DIR to choose another.

find_package(OpenBLAS CONFIG QUIET)
if(OpenBLAS_FOUND AND OpenBLAS_LIBRARIES)
  set(CBLAS_LIBRARY ${OpenBLAS_LIBRARIES} CACHE STRING "BLAS library with the C interface")
elseif(NOT CBLAS_LIBRARY)
  find_package(BLAS QUIET)
  if(BLAS_FOUND)
    set(CBLAS_LIBRARY ${BLAS_LIBRARIES} CACHE STRING "BLAS library with the C interface")
  endif()
endif()
find_path(CBLAS_INCLUDE_DIR cblas.h HINTS ${OpenBLAS_INCLUDE_DIRS} PATH_SUFFIXES openblas)
mark_as_advanced(CBLAS_LIBRARY CBLAS_INCLUDE_DIR)

if(CBLAS_LIBRARY AND CBLAS_INCLUDE_DIR)
  include(CheckCXXSourceCompiles)
  include(CMakePushCheckState)
  cmake_push_check_state(RESET)
  set(CMAKE_REQUIRED_INCLUDES ${CBLAS_INCLUDE_DIR})
  set(CMAKE_REQUIRED_LIBRARIES ${CBLAS_LIBRARY})
  set(CMAKE_REQUIRED_QUIET ON)
  check_cxx_source_compiles("
    #include <cblas.h>
    int main() {
      float x = 1;
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, 1, 1, 1, 1.0f, &x, 1, &x, 1, 0.0f, &x, 1);
    }" CBLAS_LINKS)
  cmake_pop_check_state()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBLAS REQUIRED_VARS CBLAS_LIBRARY CBLAS_INCLUDE_DIR CBLAS_LINKS)

if(CBLAS_FOUND AND NOT TARGET CBLAS::CBLAS)
  add_library(CBLAS::CBLAS INTERFACE IMPORTED)
  set_target_properties(CBLAS::CBLAS PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${CBLAS_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${CBLAS_LIBRARY}")
endif()
