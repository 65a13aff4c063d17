# `cmake --install`: the headers and a package for find_package(wordloom).

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# Headers only, so nothing depends on the architecture.
set(wordloom_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/wordloom)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/wordloom TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl"
        PATTERN "*.cuh")
install(TARGETS wordloom EXPORT wordloom_targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
foreach(name cuda mpi nccl cublas)
  if(TARGET wordloom_${name})
    install(TARGETS wordloom_${name} EXPORT wordloom_targets)
  endif()
endforeach()
install(EXPORT wordloom_targets FILE wordloomTargets.cmake NAMESPACE wordloom::
        DESTINATION ${wordloom_package_dir})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/wordloomConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/cmake/wordloomConfig.cmake
                              INSTALL_DESTINATION ${wordloom_package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/wordloomConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/cmake/wordloomConfig.cmake
              ${PROJECT_BINARY_DIR}/cmake/wordloomConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindCBLAS.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindLIBLINEAR.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake
        DESTINATION ${wordloom_package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC)
