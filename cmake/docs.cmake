# `cmake --build <folder> --target docs`: the reference, in <folder>/docs/html. Warnings and dead
# links end it.

find_package(Doxygen QUIET)
find_package(Python3 QUIET COMPONENTS Interpreter)
find_program(WORDLOOM_AWK awk)
mark_as_advanced(WORDLOOM_AWK)
if(NOT DOXYGEN_FOUND OR NOT Python3_FOUND OR NOT WORDLOOM_AWK)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E false
                    COMMENT "Install Doxygen, Python 3 and awk (Debian: doxygen, python3, mawk)")
  return()
endif()
set(wordloom_reference ${CMAKE_CURRENT_LIST_DIR}/reference)
set(wordloom_pages ${PROJECT_BINARY_DIR}/reference)
file(MAKE_DIRECTORY ${wordloom_pages})
set(DOXYGEN_PROJECT_NAME Wordloom)
set(DOXYGEN_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/docs)
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE ${wordloom_pages}/readme.md)
set(DOXYGEN_GENERATE_TREEVIEW YES)
set(DOXYGEN_GENERATE_TAGFILE ${PROJECT_BINARY_DIR}/docs/wordloom.tag)
set(DOXYGEN_FILTER_PATTERNS "*.hpp=${WORDLOOM_AWK} -f ${wordloom_reference}/filter.awk"
                            "*.cuh=${WORDLOOM_AWK} -f ${wordloom_reference}/filter.awk")
set(DOXYGEN_EXTENSION_MAPPING cuh=C++)
set(DOXYGEN_EXTRACT_ALL YES)
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_EXCLUDE_SYMBOLS detail simd)
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_HAVE_DOT NO)
set(DOXYGEN_EXPAND_ONLY_PREDEF YES)
set(DOXYGEN_MACRO_EXPANSION YES)
set(DOXYGEN_SEARCH_INCLUDES NO)
set(DOXYGEN_STRIP_FROM_PATH ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
set(DOXYGEN_STRIP_FROM_INC_PATH include)
set(DOXYGEN_IMAGE_PATH benchmarks/results)
set(DOXYGEN_EXAMPLE_PATH examples)
set(DOXYGEN_PREDEFINED "WORDLOOM_HAS_BLAS=1" "WORDLOOM_HAS_LIBLINEAR=1"
    "WORDLOOM_HAS_MPI=1" "WORDLOOM_BOTH=" "inline="
    "HWY_INLINE=" "HWY_ATTR=")
set(DOXYGEN_FILE_PATTERNS *.hpp *.cuh *.md *.dox)
set(DOXYGEN_EXCLUDE_PATTERNS "*/detail/*" "*README.md")
doxygen_add_docs(docs ${wordloom_pages} ${wordloom_reference} include
                 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMENT "Writing the reference")
add_custom_target(wordloom_pages
                  COMMAND ${CMAKE_COMMAND} -E rm -rf ${PROJECT_BINARY_DIR}/docs/html
                  COMMAND ${Python3_EXECUTABLE} ${wordloom_reference}/make_pages.py
                          ${PROJECT_SOURCE_DIR} ${wordloom_pages})
add_dependencies(docs wordloom_pages)
add_custom_command(TARGET docs POST_BUILD
                   COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/readme/check_links.py
                           ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/docs/html
                           ${DOXYGEN_GENERATE_TAGFILE})
