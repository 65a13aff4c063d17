# `cmake --build <folder> --target docs`: the reference, in <folder>/docs/html. Warnings end it.

find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E false
                    COMMENT "Doxygen is not found: install it (Debian: doxygen) and configure again")
  return()
endif()
set(DOXYGEN_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE ${PROJECT_SOURCE_DIR}/README.md)
set(DOXYGEN_EXTRACT_ALL YES)
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_EXCLUDE_SYMBOLS detail simd)
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_HAVE_DOT NO)
set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
set(DOXYGEN_MACRO_EXPANSION YES)
set(DOXYGEN_INCLUDE_PATH include)
set(DOXYGEN_PREDEFINED "WORDLOOM_ABI=" "WORDLOOM_PRECOMPILED=1" "WORDLOOM_HAS_BLAS=1" "WORDLOOM_HAS_LIBLINEAR=1"
    "WORDLOOM_HAS_MPI=1" "inline="
    "HWY_INLINE=" "HWY_ATTR=")
set(DOXYGEN_FILE_PATTERNS *.hpp *.md)
set(DOXYGEN_EXCLUDE_PATTERNS "*/benchmarks/*.hpp")
doxygen_add_docs(docs README.md INSTALL.md CONTRIBUTING.md CHANGELOG.md include benchmarks
                 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Writing the reference")
