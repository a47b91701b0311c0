# tenon_add_dialect(<target> <file.yaml>... [WITHOUT_PATTERNS])
#
# Adds dialects to a target, each from a YAML file that is named after it (docs/guide/generate-a-dialect.md). For acme.yaml
# the target gets acme_ops.h with a class for each operation and the function tenon::AcmeDialect(), and acme_patterns.h with
# functions for rules. Both have their .cc file. WITHOUT_PATTERNS leaves the second pair out, for targets that link tenon::ir
# alone. acme.md, beside them in <target>.dialects of the build folder, is a reference page. The generator needs Python with
# PyYAML.

# TENON_CODEGEN_DIR has the generator, TENON_HEADERS_DIR the headers of Tenon.
function(tenon_add_dialect target)
  cmake_parse_arguments(DIALECT "WITHOUT_PATTERNS" "" "" ${ARGN})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "tenon_add_dialect: there is no target ${target}")
  endif()
  if(NOT DIALECT_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_dialect(${target}): no file (expected acme.yaml)")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import yaml" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "tenon_add_dialect needs PyYAML, and ${Python3_EXECUTABLE} cannot import it. Install python3-yaml, or "
                        "name another interpreter with -DPython3_EXECUTABLE=/path/to/python3.")
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.dialects")
  file(GLOB generator CONFIGURE_DEPENDS "${TENON_CODEGEN_DIR}/*.py")
  foreach(file ${DIALECT_UNPARSED_ARGUMENTS})
    get_filename_component(file "${file}" ABSOLUTE)
    get_filename_component(name "${file}" NAME_WE)
    set(sources "${folder}/${name}_ops.h" "${folder}/${name}_ops.cc" "${folder}/${name}_patterns.h")
    if(NOT DIALECT_WITHOUT_PATTERNS)
      list(APPEND sources "${folder}/${name}_patterns.cc")
    endif()
    add_custom_command(
      OUTPUT ${sources}
      BYPRODUCTS "${folder}/${name}.md"
      COMMAND "${Python3_EXECUTABLE}" -B "${TENON_CODEGEN_DIR}/tenon_codegen.py" --external --out "${folder}"
              --headers "${TENON_HEADERS_DIR}" "${file}"
      DEPENDS "${file}" ${generator}
      COMMENT "Generating C++ from ${name}.yaml"
      VERBATIM)
    target_sources(${target} PRIVATE ${sources})
  endforeach()
  target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${folder}>")
endfunction()
