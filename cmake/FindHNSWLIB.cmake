# Finds hnswlib, which is headers only: target HNSWLIB::HNSWLIB, variable HNSWLIB_FOUND. Give
# HNSWLIB_INCLUDE_DIR to choose another.

find_path(HNSWLIB_INCLUDE_DIR hnswlib/hnswlib.h)
mark_as_advanced(HNSWLIB_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HNSWLIB REQUIRED_VARS HNSWLIB_INCLUDE_DIR)

if(HNSWLIB_FOUND AND NOT TARGET HNSWLIB::HNSWLIB)
  add_library(HNSWLIB::HNSWLIB INTERFACE IMPORTED)
  set_target_properties(HNSWLIB::HNSWLIB PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${HNSWLIB_INCLUDE_DIR}")
endif()
