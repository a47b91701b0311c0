# Options and compiler settings. Nothing here changes a project that adds Tenon with add_subdirectory.

option(TENON_DEVELOPER_MODE "Build tests and benchmarks; warnings are errors" OFF)
option(TENON_ENABLE_CUDA "Build the CUDA plugin (libtenon_cuda.so)" OFF)
option(TENON_INSTALL "Generate install rules" ${PROJECT_IS_TOP_LEVEL})
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
