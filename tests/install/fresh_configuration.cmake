# Fails unless a configuration without a build can be installed, and installs what can be included.
# Usage: cmake -D SOURCE=... -D CXX=<compiler> -D FOLDER=<of its own> -P fresh_configuration.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${FOLDER}/build -DCMAKE_CXX_COMPILER=${CXX}
                        -DWORDLOOM_ENABLE_CUDA=OFF -DWORDLOOM_BUILD_TESTS=OFF
                        -DWORDLOOM_BUILD_BENCHMARKS=OFF
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${FOLDER}/build --prefix ${FOLDER}/prefix
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(file IN ITEMS include/wordloom/wordloom.hpp share/doc/wordloom/README.md
        share/doc/wordloom/examples/quickstart.cpp)
  if(NOT EXISTS ${FOLDER}/prefix/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
# The files by which the compiled library is found are not installed without it.
file(GLOB_RECURSE finders ${FOLDER}/prefix/*/wordloom_precompiled.cmake ${FOLDER}/prefix/*-precompiled.pc)
if(finders)
  message(FATAL_ERROR "installed without the library: ${finders}")
endif()
# Headers alone, copied anywhere, are enough.
file(WRITE ${FOLDER}/version.cpp "#include <wordloom/version.hpp>\nint main() { return 0; }\n")
execute_process(COMMAND ${CXX} -std=c++20 -O1 -fsyntax-only -I${FOLDER}/prefix/include ${FOLDER}/version.cpp
                COMMAND_ERROR_IS_FATAL ANY)
