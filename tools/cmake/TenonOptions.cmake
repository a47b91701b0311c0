# Options and compiler settings. Nothing here changes a project that adds Tenon with add_subdirectory.

option(TENON_DEVELOPER_MODE "Build tests and benchmarks; warnings are errors" OFF)
option(TENON_ENABLE_CUDA "Build the CUDA plugin (libtenon_cuda.so)" OFF)
option(TENON_PYTHON "Build the Python package (docs/guide/use-from-python.md)" OFF)
option(TENON_FUZZERS "Build targets of libFuzzer (target fuzzers); needs Clang and -fsanitize=fuzzer-no-link" OFF)
option(TENON_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
# Most of the time of a build goes into headers, which one file after the other would read anew. Without, a change of one
# file compiles that file alone: the presets for development turn it off.
option(TENON_UNITY "Compile several source files at a time: a cold build takes less than half of the time" ON)
set(TENON_UNITY_BATCH 24 CACHE STRING "With TENON_UNITY: the largest number of source files compiled at a time")
mark_as_advanced(TENON_UNITY_BATCH)
set(TENON_SANITIZE "" CACHE STRING "Sanitizers, as given to -fsanitize=: address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
    set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

  find_program(TENON_CCACHE ccache)
  foreach(_language C CXX CUDA)
    if(TENON_CCACHE AND NOT DEFINED CMAKE_${_language}_COMPILER_LAUNCHER)
      set(CMAKE_${_language}_COMPILER_LAUNCHER "${TENON_CCACHE}")
    endif()
  endforeach()
endif()

if(TENON_ENABLE_CUDA)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # Machine code for both, and of the newest what drivers translate for devices that come after it.
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
endif()

# Settings of our own targets only; consumers inherit the language level and nothing else.
function(tenon_target_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  if(TENON_UNITY)
    # Batches of equal sizes. CMake leaves out files that have options of their own.
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cc$")
    list(LENGTH sources files)
    if(files GREATER 0)
      math(EXPR batches "(${files} + ${TENON_UNITY_BATCH} - 1) / ${TENON_UNITY_BATCH}")
      math(EXPR size "(${files} + ${batches} - 1) / ${batches}")
      set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    endif()
    # GCC takes the files of a batch for headers, in which members of unnamed types would be wrong.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  endif()
  if(TENON_DEVELOPER_MODE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror>)
    # GCC 12 sees both inside correct code of absl::InlinedVector and std::string.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized -Wno-restrict>)
  endif()
  if(TENON_SANITIZE)
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all
                                -fno-omit-frame-pointer>)
    # At a fixed address the millions of records of the sanitizers need no relocation at each start of a program.
    set(executable $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
    target_link_options(${target} PUBLIC
      $<BUILD_INTERFACE:-fsanitize=${TENON_SANITIZE}> $<BUILD_INTERFACE:$<${executable}:-no-pie>>)
  endif()
endfunction()

# For code that runs once in a process: its compilation takes more time than its speed can save.
function(tenon_cold_target target)
  if(TENON_SANITIZE)
    tenon_cold_when_sanitized(${target})
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
endfunction()

# For code that users want fast, and of which tests run little. With sanitizers the optimiser takes half of the time of a
# compilation.
function(tenon_cold_when_sanitized target)
  if(TENON_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  endif()
endfunction()
