# What the library is built on: WORDLOOM_ENABLE_* say which optional parts, by default all that are
# found.

list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)

# find_package that, when nothing is found, says what to install.
macro(wordloom_require package debian_package)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Wordloom: ${package} is not found. Debian and Ubuntu have it in the "
                        "package ${debian_package}.${wordloom_hint}")
  endif()
endmacro()

# An option that is on when `package` is found; when it is on nevertheless, the package must be found.
macro(wordloom_optional name package debian_package purpose)
  find_package(${package} QUIET)
  option(WORDLOOM_ENABLE_${name} "${purpose}" ${${package}_FOUND})
  if(WORDLOOM_ENABLE_${name})
    set(wordloom_hint " Or configure with -DWORDLOOM_ENABLE_${name}=OFF.")
    wordloom_require(${package} ${debian_package})
    unset(wordloom_hint)
  endif()
  message(STATUS "Wordloom: ${purpose} (WORDLOOM_ENABLE_${name}): ${WORDLOOM_ENABLE_${name}}")
endmacro()

wordloom_require(hwy libhwy-dev CONFIG)
wordloom_require(Threads libc6-dev)

wordloom_optional(BLAS CBLAS libopenblas-dev "GemmKernel on CBLAS")
wordloom_optional(EIGEN Eigen3 libeigen3-dev "views of Eigen")
wordloom_optional(HNSWLIB HNSWLIB libhnswlib-dev "approximate neighbours")
wordloom_optional(OPENMP OpenMP "libgomp1 (with g++) or libomp-dev (with clang++)"
                  "threads in the team of OpenMP")
wordloom_optional(ZLIB ZLIB zlib1g-dev "corpora in .gz files")
wordloom_optional(LIBLINEAR LIBLINEAR liblinear-dev "evaluation by logistic regression")

# Kernels for GPUs: on where this project is built itself, for the machine that builds it, and there is
# an nvcc that they were tried with.
include(CheckLanguage)
if((PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING) OR WORDLOOM_ENABLE_CUDA)
  check_language(CUDA)
endif()
set(has_cuda OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CROSSCOMPILING AND CMAKE_CUDA_COMPILER)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc ERROR_QUIET)
  if(nvcc MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 13)
    set(has_cuda ON)
  endif()
endif()
option(WORDLOOM_ENABLE_CUDA "training on GPUs" ${has_cuda})
if(WORDLOOM_ENABLE_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "Wordloom: there is no CUDA compiler. Name nvcc with "
                        "-DCMAKE_CUDA_COMPILER=, or configure with -DWORDLOOM_ENABLE_CUDA=OFF.")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)  # 90 with PTX, for what comes after
  endif()
  enable_language(CUDA)
endif()
message(STATUS "Wordloom: training on GPUs (WORDLOOM_ENABLE_CUDA): ${WORDLOOM_ENABLE_CUDA}")

# MPI's C interface is enough; programs that do not train on clusters need not link it.
set(MPI_CXX_SKIP_MPICXX ON)
wordloom_optional(MPI MPI libopenmpi-dev "training by several processes")
# Tests that start Open MPI, perhaps as root in a container and with more processes than cores. Each has
# a folder for Open MPI's files: in the one that they share otherwise, a job that ends may remove what
# another is about to use, which then fails.
function(wordloom_mpi_tests)
  foreach(name IN LISTS ARGN)
    set(folder ${PROJECT_BINARY_DIR}/open_mpi/${name})
    file(MAKE_DIRECTORY ${folder})
    set_property(TEST ${name} APPEND PROPERTY LABELS mpi)
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
      OMPI_MCA_orte_tmpdir_base=${folder})
  endforeach()
endfunction()

# Several GPUs: NVIDIA's, for programs that train on GPUs anyway.
set(has_nccl OFF)
if(WORDLOOM_ENABLE_CUDA)
  find_package(NCCL QUIET)
  set(has_nccl ${NCCL_FOUND})
endif()
option(WORDLOOM_ENABLE_NCCL "training on several GPUs" ${has_nccl})
if(WORDLOOM_ENABLE_NCCL)
  if(NOT WORDLOOM_ENABLE_CUDA)
    message(FATAL_ERROR "Wordloom: WORDLOOM_ENABLE_NCCL needs WORDLOOM_ENABLE_CUDA.")
  endif()
  find_package(NCCL QUIET)
  if(NOT NCCL_FOUND)
    message(FATAL_ERROR "Wordloom: NCCL is not found. NVIDIA's repositories have it in the package "
                        "libnccl-dev. Or configure with -DWORDLOOM_ENABLE_NCCL=OFF.")
  endif()
endif()
message(STATUS "Wordloom: training on several GPUs (WORDLOOM_ENABLE_NCCL): ${WORDLOOM_ENABLE_NCCL}")

# Encoders on a GPU: cuBLAS, which the CUDA toolkit has; their parameters are those of the host's.
set(has_cublas OFF)
if(WORDLOOM_ENABLE_CUDA AND WORDLOOM_ENABLE_BLAS)
  find_package(CUDAToolkit QUIET)
  if(TARGET CUDA::cublas)
    set(has_cublas ON)
  endif()
endif()
option(WORDLOOM_ENABLE_CUBLAS "encoders on a GPU" ${has_cublas})
if(WORDLOOM_ENABLE_CUBLAS AND NOT has_cublas)
  message(FATAL_ERROR "Wordloom: WORDLOOM_ENABLE_CUBLAS needs WORDLOOM_ENABLE_CUDA, "
                      "WORDLOOM_ENABLE_BLAS and the cuBLAS of the CUDA toolkit. Or configure with "
                      "-DWORDLOOM_ENABLE_CUBLAS=OFF.")
endif()
message(STATUS "Wordloom: encoders on a GPU (WORDLOOM_ENABLE_CUBLAS): ${WORDLOOM_ENABLE_CUBLAS}")
