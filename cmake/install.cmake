# `cmake --install`: the headers, a package for find_package(wordloom [COMPONENTS NAME...]),
# wordloom.pc, and of the rest what has been built: the compiled library and the programs.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(wordloom_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/wordloom)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wordloom TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl"
        PATTERN "*.cuh")
install(TARGETS wordloom EXPORT wordloom_targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT wordloom_targets FILE wordloomTargets.cmake NAMESPACE wordloom::
        DESTINATION ${wordloom_package_dir})
# A file for each component, so that only those asked for need their libraries.
foreach(component IN LISTS wordloom_components)
  install(TARGETS wordloom_${component} EXPORT wordloom_${component}_targets)
  install(EXPORT wordloom_${component}_targets FILE wordloom_${component}.cmake NAMESPACE wordloom::
          DESTINATION ${wordloom_package_dir})
endforeach()

# Optional: `cmake --install` of a fresh configuration installs the headers. The files by which CMake and
# pkg-config find a library are installed with it or not at all.
function(wordloom_install_with library file destination)
  if(NOT IS_ABSOLUTE ${destination})
    string(PREPEND destination "\${CMAKE_INSTALL_PREFIX}/")
  endif()
  install(CODE "if(EXISTS \"$<TARGET_FILE:wordloom_${library}>\")
    file(INSTALL \"${file}\" DESTINATION \"${destination}\")
  endif()")
endfunction()
foreach(library IN ITEMS precompiled any_trainer)
  install(TARGETS wordloom_${library} EXPORT wordloom_${library}_targets
          ARCHIVE OPTIONAL LIBRARY OPTIONAL RUNTIME OPTIONAL)
  install(EXPORT wordloom_${library}_targets FILE wordloom_${library}_targets.cmake NAMESPACE wordloom::
          DESTINATION ${wordloom_package_dir})
  set(file ${PROJECT_BINARY_DIR}/cmake/wordloom_${library}.cmake)
  file(WRITE ${file} "include(\${CMAKE_CURRENT_LIST_DIR}/wordloom_${library}_targets.cmake)\n")
  wordloom_install_with(${library} ${file} ${wordloom_package_dir})
endforeach()
if(TARGET wordloom_blas AND NOT BUILD_SHARED_LIBS)  # a shared library brings its own
  set(any_trainer_packages CBLAS)
  set(any_trainer_components blas)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wordloomConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/cmake/wordloomConfig.cmake
                              INSTALL_DESTINATION ${wordloom_package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/wordloomConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/wordloomConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/wordloomConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/build_type_notice.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCBLAS.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindHNSWLIB.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindLIBLINEAR.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake
        DESTINATION ${wordloom_package_dir})

# For builds without CMake: `pkg-config --cflags wordloom`; wordloom-precompiled has the library, too.
# Both name folders relative to their own, unless these are absolute, so that an installation can be moved.
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(pkgconfig_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${pkgconfig_dir})
  file(RELATIVE_PATH up /${pkgconfig_dir} /)
  set(pkgconfig_prefix "\${pcfiledir}/${up}")
endif()
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
  set(pkgconfig_${folder} ${CMAKE_INSTALL_${folder}})
  if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_${folder}})
    set(pkgconfig_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
  endif()
endforeach()
foreach(name IN ITEMS wordloom wordloom-precompiled)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/cmake/${name}.pc @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/cmake/wordloom.pc DESTINATION ${pkgconfig_dir})
# The library's file name depends on the configuration, by a postfix.
set(generated ${PROJECT_BINARY_DIR}/cmake/pkgconfig_$<CONFIG>/wordloom-precompiled.pc)
file(GENERATE OUTPUT ${generated} INPUT ${PROJECT_BINARY_DIR}/cmake/wordloom-precompiled.pc)
wordloom_install_with(precompiled ${generated} ${pkgconfig_dir})

# A project around this one has documents and packages of its own.
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

# Guides with their links, examples, and pictures.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
              ${PROJECT_SOURCE_DIR}/INSTALL.md ${PROJECT_SOURCE_DIR}/TUNING.md
              ${PROJECT_SOURCE_DIR}/CHANGELOG.md TYPE DOC)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include TYPE DOC FILES_MATCHING PATTERN "*.md"
        PATTERN detail EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples TYPE DOC FILES_MATCHING PATTERN "*.cpp" PATTERN "*.hpp"
        PATTERN "*.md")

install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/python DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
        FILES_MATCHING PATTERN "*.py" PATTERN "*.toml" PATTERN CMakeLists.txt PATTERN build EXCLUDE)

set(CPACK_PACKAGE_NAME libwordloom-dev)
set(CPACK_PACKAGE_VENDOR "the Wordloom authors")
set(CPACK_PACKAGE_CONTACT "the Wordloom authors <wordloom@invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libhwy-dev)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS
    "libopenblas-dev, zlib1g-dev, liblinear-dev, libeigen3-dev, libhnswlib-dev, libopenmpi-dev")
find_program(WORDLOOM_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(WORDLOOM_SHLIBDEPS)
if(WORDLOOM_SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
# Packs and installs what has been built, not all tests and benchmarks first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
