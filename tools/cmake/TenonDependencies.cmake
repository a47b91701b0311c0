# What Tenon needs from the system. tools/setup installs all of it on Debian.

function(tenon_find package)
  find_package(${package} QUIET ${ARGN})
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Tenon needs ${package}, which was not found. Run tools/setup, or install it by hand.")
  endif()
  # Results must outlive this function.
  foreach(_variable Protobuf_LIBRARIES Protobuf_INCLUDE_DIRS Protobuf_PROTOC_EXECUTABLE
                    Python3_EXECUTABLE)
    if(DEFINED ${_variable})
      set(${_variable} "${${_variable}}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(CMAKE_THREAD_PREFER_PTHREAD ON)
tenon_find(Threads)
tenon_find(absl)
tenon_find(fmt)
tenon_find(Protobuf)
tenon_find(nlohmann_json)
tenon_find(OpenMP COMPONENTS CXX)
tenon_find(hwy)
# Debian's oneDNN asks for OpenCL in its own package file; without it find_package stops with a puzzling error.
find_package(OpenCL QUIET)
if(NOT OpenCL_FOUND)
  message(FATAL_ERROR "oneDNN needs the OpenCL headers (package ocl-icd-opencl-dev). Run tools/setup.")
endif()
tenon_find(dnnl)

set(TENON_ABSL absl::status absl::statusor absl::strings absl::span absl::inlined_vector absl::hash
               absl::flat_hash_map absl::flat_hash_set absl::synchronization)

find_path(TENON_XXHASH_INCLUDE_DIR xxhash.h)
if(NOT TENON_XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "Tenon needs xxhash.h (package libxxhash-dev). Run tools/setup.")
endif()
add_library(tenon_xxhash INTERFACE)  # used with XXH_INLINE_ALL: nothing to link
target_include_directories(tenon_xxhash SYSTEM INTERFACE
                           $<BUILD_INTERFACE:${TENON_XXHASH_INCLUDE_DIR}>)

# The assembler of fused.group's machine code. Without it such groups are interpreted.
find_path(TENON_XBYAK_INCLUDE_DIR xbyak/xbyak.h)
if(TENON_XBYAK_INCLUDE_DIR)
  set_source_files_properties(kernels/cpu/jit/pointwise_jit.cc kernels/cpu/jit/emit_function.cc
                              kernels/cpu/jit/emit_node.cc PROPERTIES
                              COMPILE_DEFINITIONS TENON_HAVE_XBYAK
                              COMPILE_OPTIONS "-idirafter;${TENON_XBYAK_INCLUDE_DIR}")
endif()

# Regular expressions and formats of images. What a build lacks, it refuses to run, with the name of the package.
set(TENON_OPTIONAL_LIBRARIES "")
foreach(_part "RE2;re2/re2.h;re2" "JPEG;jpeglib.h;jpeg" "PNG;png.h;png" "WEBP;webp/decode.h;webp" "TIFF;tiffio.h;tiff"
              "OPENJPEG;openjpeg-2.5/openjpeg.h;openjp2")
  list(GET _part 0 _name)
  list(GET _part 1 _header)
  list(GET _part 2 _library)
  find_path(TENON_${_name}_INCLUDE_DIR ${_header})
  find_library(TENON_${_name}_LIBRARY ${_library})
  mark_as_advanced(TENON_${_name}_INCLUDE_DIR TENON_${_name}_LIBRARY)
  if(TENON_${_name}_INCLUDE_DIR AND TENON_${_name}_LIBRARY)
    list(APPEND TENON_OPTIONAL_LIBRARIES ${_library})
    set_property(SOURCE kernels/images/image_libraries.cc kernels/reference/strings.cc APPEND PROPERTY
                 COMPILE_DEFINITIONS TENON_HAVE_${_name})
  else()
    message(STATUS "Without ${_header}: Tenon is built without it (tools/setup installs it)")
  endif()
endforeach()

if(TENON_ENABLE_CUDA)
  find_package(CUDAToolkit 12.0 REQUIRED)  # whose compiler takes C++20
endif()

# The interpreter must have PyYAML. The system's own is tried first: a python3 earlier in PATH (pyenv, conda)
# rarely has it.
if(NOT Python3_EXECUTABLE)
  foreach(_candidate /usr/bin/python3 python3)
    find_program(_tenon_python ${_candidate} NO_CACHE)
    if(_tenon_python)
      execute_process(COMMAND "${_tenon_python}" -c "import yaml" RESULT_VARIABLE _status
                      OUTPUT_QUIET ERROR_QUIET)
      if(_status EQUAL 0)
        set(Python3_EXECUTABLE "${_tenon_python}" CACHE FILEPATH "Python with PyYAML")
        break()
      endif()
    endif()
    unset(_tenon_python)
  endforeach()
endif()
tenon_find(Python3 COMPONENTS Interpreter)
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import yaml" RESULT_VARIABLE _status
                OUTPUT_QUIET ERROR_QUIET)
if(NOT _status EQUAL 0)
  message(FATAL_ERROR
    "The code generator needs PyYAML, and ${Python3_EXECUTABLE} cannot import it. Install python3-yaml "
    "(tools/setup does), or name another interpreter with -DPython3_EXECUTABLE=/path/to/python3.")
endif()
