# tenon_dialect(<target> <file>.yaml): makes <dialect>_ops.h and <dialect>_ops.cc of the definitions in the file when
# <target> is built, compiles them into <target>, and lets it include the header. docs/guide/define-a-dialect.md shows it.
# The generator needs Python 3.9 and PyYAML. TENON_CODEGEN is its path.
function(tenon_dialect target yaml)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  get_filename_component(_yaml "${yaml}" ABSOLUTE)
  get_filename_component(_dialect "${_yaml}" NAME_WE)
  get_filename_component(_codegen "${TENON_CODEGEN}" DIRECTORY)
  file(GLOB _scripts CONFIGURE_DEPENDS "${_codegen}/*.py")
  set(_out "${CMAKE_CURRENT_BINARY_DIR}/${target}_dialects")
  file(MAKE_DIRECTORY "${_out}")
  add_custom_command(
    OUTPUT "${_out}/${_dialect}_ops.h" "${_out}/${_dialect}_ops.cc"
    COMMAND "${Python3_EXECUTABLE}" -B "${TENON_CODEGEN}" --dialect "${_out}" "${_yaml}"
    DEPENDS "${_yaml}" ${_scripts}
    COMMENT "Generating C++ from ${yaml}"
    VERBATIM)
  target_sources(${target} PRIVATE "${_out}/${_dialect}_ops.h" "${_out}/${_dialect}_ops.cc")
  target_include_directories(${target} PRIVATE "${_out}")
endfunction()
