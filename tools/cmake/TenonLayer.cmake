# tenon_layer(<name> FOLDERS <dir>... [COLD_FOLDERS <dir>...] [GENERATED] [PROTOBUF] [PUBLIC <lib>...] [PRIVATE <lib>...])
#
# One static library `tenon_<name>`, alias `tenon::<name>`, from the .cc files lying directly in FOLDERS, from
# the generated .cc files of the same folders (GENERATED), and from their .proto files (PROTOBUF). A layer
# without any source is an interface library, so that a missing folder breaks nothing. COLD_FOLDERS are those of
# FOLDERS whose code sanitized builds do not optimise (tenon_cold_when_sanitized).

set_property(GLOBAL PROPERTY TENON_LIBRARIES "")
# Of all layers: their archives, for programs; their objects and the libraries outside Tenon that they link, for
# TenonShared.cmake.
set_property(GLOBAL PROPERTY TENON_ARCHIVES "")
set_property(GLOBAL PROPERTY TENON_OBJECTS "")
set_property(GLOBAL PROPERTY TENON_PUBLIC_DEPENDENCIES "")
set_property(GLOBAL PROPERTY TENON_PRIVATE_DEPENDENCIES "")
set(TENON_LAYER_INCLUDES
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/gen>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/source>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include/generated>
    $<INSTALL_INTERFACE:include>)

# Hosts write "tenon/ir/core/builder.h", installed or not: links stand for the prefix in the build folder. They name single
# folders, as a link to all of the source tree would contain itself.
foreach(_folder ir pass drr patterns transforms kernels executor frontends)
  foreach(_place source generated)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/${_place}/tenon")
  endforeach()
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${_folder}" "${PROJECT_BINARY_DIR}/include/source/tenon/${_folder}" SYMBOLIC)
  file(CREATE_LINK "${PROJECT_BINARY_DIR}/gen/${_folder}" "${PROJECT_BINARY_DIR}/include/generated/tenon/${_folder}" SYMBOLIC)
endforeach()

set_property(GLOBAL PROPERTY TENON_FOLDERS "")

# Ends the configuration if .cc files lie in a folder of the library that no layer takes.
function(tenon_check_folders)
  get_property(known GLOBAL PROPERTY TENON_FOLDERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
       "${PROJECT_SOURCE_DIR}/ir/*.cc" "${PROJECT_SOURCE_DIR}/pass/*.cc" "${PROJECT_SOURCE_DIR}/drr/*.cc"
       "${PROJECT_SOURCE_DIR}/patterns/*.cc" "${PROJECT_SOURCE_DIR}/transforms/*.cc" "${PROJECT_SOURCE_DIR}/kernels/*.cc"
       "${PROJECT_SOURCE_DIR}/executor/*.cc" "${PROJECT_SOURCE_DIR}/frontends/*.cc")
  foreach(source ${sources})
    get_filename_component(folder "${source}" DIRECTORY)
    if(NOT folder IN_LIST known AND NOT folder MATCHES "^(kernels/gpu|frontends/python)")
      message(FATAL_ERROR "${source}: no layer compiles this folder (expected it in FOLDERS of a tenon_layer, CMakeLists.txt)")
    endif()
  endforeach()
endfunction()

function(tenon_layer name)
  cmake_parse_arguments(LAYER "GENERATED;PROTOBUF" "" "FOLDERS;COLD_FOLDERS;PUBLIC;PRIVATE" ${ARGN})
  set(target tenon_${name})
  set_property(GLOBAL APPEND PROPERTY TENON_FOLDERS ${LAYER_FOLDERS})

  set(sources "")
  foreach(folder ${LAYER_FOLDERS})
    file(GLOB found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${folder}/*.cc")
    list(APPEND sources ${found})
    if(LAYER_GENERATED)
      tenon_generated_sources(generated ${folder})
      list(APPEND sources ${generated})
    endif()
    if(LAYER_PROTOBUF)
      tenon_protobuf_sources(generated ${folder})
      list(APPEND sources ${generated})
    endif()
  endforeach()
  tenon_isa_sources(sources)
  tenon_loop_sources(${sources})

  if(sources)
    set(cold "")
    if(TENON_SANITIZE AND LAYER_COLD_FOLDERS)
      tenon_cold_objects(cold ${target} sources "${LAYER_COLD_FOLDERS}" ${LAYER_PUBLIC} ${LAYER_PRIVATE})
    endif()
    add_library(${target} STATIC ${sources} ${cold})
    set_property(GLOBAL APPEND PROPERTY TENON_ARCHIVES $<TARGET_FILE:${target}>)
    set_property(GLOBAL APPEND PROPERTY TENON_OBJECTS $<TARGET_OBJECTS:${target}> ${cold})
    set(scope PUBLIC)
    tenon_target_options(${target})
    target_link_libraries(${target} PRIVATE ${LAYER_PRIVATE})
    if(LAYER_GENERATED AND TARGET tenon_codegen)
      add_dependencies(${target} tenon_codegen)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
  endif()
  if(LAYER_PROTOBUF)
    target_link_libraries(${target} ${scope} ${TENON_PROTOBUF_ARCHIVES} protobuf::libprotobuf)
    # No public header includes what protoc generates.
    set_property(GLOBAL APPEND PROPERTY TENON_PRIVATE_DEPENDENCIES protobuf::libprotobuf)
  endif()
  tenon_outer_dependencies(PUBLIC ${LAYER_PUBLIC})
  tenon_outer_dependencies(PRIVATE ${LAYER_PRIVATE})
  target_link_libraries(${target} ${scope} ${LAYER_PUBLIC})
  target_include_directories(${target} ${scope} ${TENON_LAYER_INCLUDES})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(tenon::${name} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES ${target})
endfunction()

# Takes note of those of the libraries that are not layers. Archives for programs are none of them.
function(tenon_outer_dependencies scope)
  set(libraries ${ARGN})
  list(FILTER libraries EXCLUDE REGEX "^tenon::|TENON_PROGRAM")
  set_property(GLOBAL APPEND PROPERTY TENON_${scope}_DEPENDENCIES ${libraries})
endfunction()

# Moves the files of `folders` from the list named `list` into a library of objects that is not optimised, and which links
# with the libraries named last. The variable named `result` stands for its objects.
function(tenon_cold_objects result target list folders)
  set(cold "")
  set(kept "")
  foreach(source ${${list}})
    get_filename_component(folder "${source}" DIRECTORY)
    if(folder IN_LIST folders)
      list(APPEND cold ${source})
    else()
      list(APPEND kept ${source})
    endif()
  endforeach()
  add_library(${target}_cold OBJECT ${cold})
  tenon_target_options(${target}_cold)
  tenon_cold_when_sanitized(${target}_cold)
  target_link_libraries(${target}_cold PRIVATE ${ARGN})
  if(TARGET tenon_codegen)
    add_dependencies(${target}_cold tenon_codegen)
  endif()
  set(${list} "${kept}" PARENT_SCOPE)
  set(${result} $<TARGET_OBJECTS:${target}_cold> PARENT_SCOPE)
endfunction()

include(CheckCXXCompilerFlag)
# Intel's processors from Skylake to Cascade Lake decode anew, each time, a jump that meets a multiple of 32 bytes.
set(CMAKE_REQUIRED_QUIET ON)
check_cxx_compiler_flag(-Wa,-mbranches-within-32B-boundaries TENON_HAS_BRANCH_ALIGNMENT)
unset(CMAKE_REQUIRED_QUIET)

# Sets the instruction set of the files named for one (kernels/cpu/isa.h lists the levels); drops them from the
# list where the compiler does not target x86-64.
function(tenon_isa_sources list)
  set(avx2 -mavx2 -mfma -mf16c)
  if(TENON_HAS_BRANCH_ALIGNMENT)
    list(APPEND avx2 -Wa,-mbranches-within-32B-boundaries)
  endif()
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
             -Wno-uninitialized)  # GCC 12's own AVX-512 headers
  set(avx512_vnni ${avx512} -mavx512vnni)
  set(avx512_bf16 ${avx512_vnni} -mavx512bf16)
  set(kept "")
  foreach(source ${${list}})
    if(source MATCHES "_(avx2|avx512|avx512_vnni|avx512_bf16)\\.cc$")
      set(level ${CMAKE_MATCH_1})
      if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        continue()
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${level}}")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list} "${kept}" PARENT_SCOPE)
endfunction()

# Keeps files with loops tuned to the compiler (those that include a "…-inl.h") out of unity builds: what surrounds a loop
# in its file changes what is inlined into it.
function(tenon_loop_sources)
  foreach(source ${ARGN})
    if(source MATCHES "^kernels/cpu/")
      file(STRINGS "${PROJECT_SOURCE_DIR}/${source}" loops REGEX "^#include \".*-inl\\.h\"" LIMIT_COUNT 1)
      if(loops)
        set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()

# tenon_group(<name> MEMBERS <target>...): an interface target that stands for several layers.
function(tenon_group name)
  cmake_parse_arguments(GROUP "" "" "MEMBERS" ${ARGN})
  add_library(tenon_${name} INTERFACE)
  target_link_libraries(tenon_${name} INTERFACE ${GROUP_MEMBERS})
  set_target_properties(tenon_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(tenon::${name} ALIAS tenon_${name})
  set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES tenon_${name})
endfunction()

# Compiles <folder>/*.proto; the C++ lands in the generated tree at the same path.
function(tenon_protobuf_sources result folder)
  set(outputs "")
  file(GLOB protos CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${folder}/*.proto")
  foreach(proto ${protos})
    string(REGEX REPLACE "\\.proto$" ".pb" stem "${TENON_GENERATED_DIR}/${proto}")
    add_custom_command(
      OUTPUT ${stem}.cc ${stem}.h
      COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${TENON_GENERATED_DIR} ${proto}
      WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
      DEPENDS "${PROJECT_SOURCE_DIR}/${proto}"
      COMMENT "Compiling ${proto}"
      VERBATIM)
    set_source_files_properties(${stem}.cc PROPERTIES COMPILE_OPTIONS "-w")
    list(APPEND outputs ${stem}.cc ${stem}.h)
  endforeach()
  set(${result} "${outputs}" PARENT_SCOPE)
endfunction()
