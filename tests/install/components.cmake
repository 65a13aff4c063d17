# Fails unless find_package(wordloom) finds the components that were installed and no others, says
# which is missing and what it needs, and without components asks for none of their libraries.
# Usage: cmake -D PREFIX=<installation> -D CXX=<compiler> -D FOLDER=<of its own> -D COMPONENTS=<those
#        installed> -P components.cmake
cmake_policy(VERSION 3.25)
file(REMOVE_RECURSE ${FOLDER})

# Configures a project with these arguments of find_package; `text` is what CMake says then.
function(configure text status)
  list(POP_FRONT ARGN arguments)
  file(WRITE ${FOLDER}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(host LANGUAGES CXX)
find_package(wordloom ${arguments})
message(STATUS \"wordloom_FOUND is \${wordloom_FOUND}\")
")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${FOLDER} -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${PREFIX}
                          -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF ${ARGN}
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE result)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  set(${text} "${output}" PARENT_SCOPE)
  set(${status} ${result} PARENT_SCOPE)
endfunction()

function(expect_text text regex)
  if(NOT text MATCHES "${regex}")
    message(FATAL_ERROR "expected '${regex}' in: ${text}")
  endif()
endfunction()

set(with_libraries)
set(without_libraries)
foreach(package IN ITEMS CBLAS ZLIB LIBLINEAR Eigen3 HNSWLIB OpenMP MPI NCCL)
  list(APPEND with_libraries -DCMAKE_DISABLE_FIND_PACKAGE_${package}=OFF)
  list(APPEND without_libraries -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
configure(text status "REQUIRED" ${without_libraries})
expect_text("${text}" "wordloom_FOUND is 1")
foreach(component IN LISTS COMPONENTS)
  if(NOT component MATCHES "^(cuda|nccl|cublas)$")
    configure(text status "REQUIRED COMPONENTS ${component}" ${with_libraries})
    expect_text("${text}" "wordloom_FOUND is 1")
    configure(text status "COMPONENTS ${component}" ${without_libraries})
    expect_text("${text}" "component ${component} needs [A-Za-z0-9]+, which is not found")
    expect_text("${text}" "wordloom_FOUND is 0")
  endif()
endforeach()
configure(text status "REQUIRED COMPONENTS telepathy" ${with_libraries})
expect_text("${text}" "this installation has no component telepathy")
if(status EQUAL 0)
  message(FATAL_ERROR "a component that is not there was found")
endif()
