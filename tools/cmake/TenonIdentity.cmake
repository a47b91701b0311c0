# BuildIdentity of executor/weights/build_identity.h: a hash of the sources that decide what packed weights and
# lowered programs are. As a script, `cmake -DOUT=FILE -DSOURCE_DIR=DIR -P TenonIdentity.cmake` writes the .cc.

set(_patterns kernels/*.cc kernels/*.h kernels/*.def executor/*.cc executor/*.h ir/dialect/*.yaml)

if(CMAKE_SCRIPT_MODE_FILE)
  list(TRANSFORM _patterns PREPEND "${SOURCE_DIR}/")
  file(GLOB_RECURSE _sources RELATIVE "${SOURCE_DIR}" ${_patterns})
  list(SORT _sources)
  set(_all "")
  foreach(source ${_sources})
    file(SHA256 "${SOURCE_DIR}/${source}" _hash)
    string(APPEND _all "${source} ${_hash}\n")
  endforeach()
  string(SHA256 _identity "${_all}")
  set(_text "// Written by tools/cmake/TenonIdentity.cmake.\n#include \"executor/weights/build_identity.h\"\n\n")
  string(APPEND _text "namespace tenon {\n\nstd::string_view BuildIdentity() {\n  return \"${_identity}\";\n}\n\n}  // namespace tenon\n")
  file(WRITE "${OUT}" "${_text}")
  return()
endif()

set(_identity_file "${TENON_GENERATED_DIR}/executor/weights/build_identity.cc")
set(_globs ${_patterns})
list(TRANSFORM _globs PREPEND "${PROJECT_SOURCE_DIR}/")
file(GLOB_RECURSE _identity_inputs CONFIGURE_DEPENDS ${_globs})
add_custom_command(
  OUTPUT "${_identity_file}"
  COMMAND "${CMAKE_COMMAND}" "-DOUT=${_identity_file}" "-DSOURCE_DIR=${PROJECT_SOURCE_DIR}" -P "${CMAKE_CURRENT_LIST_FILE}"
  DEPENDS ${_identity_inputs} "${CMAKE_CURRENT_LIST_FILE}"
  COMMENT "Hashing the sources of kernels and executor"
  VERBATIM)
target_sources(tenon_executor PRIVATE "${_identity_file}")
set_source_files_properties("${_identity_file}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
