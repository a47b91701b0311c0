# Runs tools/codegen/tenon_codegen.py over ir/dialect/*.yaml. The script names its own outputs
# (--list-outputs), and each generated .cc goes to the layer whose folder it lies in.

set(TENON_GENERATED_DIR "${PROJECT_BINARY_DIR}/gen")
file(MAKE_DIRECTORY "${TENON_GENERATED_DIR}")
set(TENON_GENERATED_FILES "")
set(_script "${PROJECT_SOURCE_DIR}/tools/codegen/tenon_codegen.py")

if(EXISTS "${_script}")
  file(GLOB _yaml CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/ir/dialect/*.yaml")
  file(GLOB_RECURSE _inputs CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/codegen/*.py"
       "${PROJECT_SOURCE_DIR}/frontends/onnx/*.yaml")
  # Members of tenon.ir.Operation: generated classes of Python keep clear of their names.
  list(APPEND _inputs "${PROJECT_SOURCE_DIR}/frontends/python/tenon/_core.pyi")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_yaml} ${_inputs})
  set(_command "${Python3_EXECUTABLE}" -B "${_script}" --out "${TENON_GENERATED_DIR}")
  execute_process(COMMAND ${_command} --list-outputs ${_yaml}
                  WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
                  RESULT_VARIABLE _status OUTPUT_VARIABLE _listed ERROR_VARIABLE _message)
  if(_status EQUAL 0)
    string(STRIP "${_listed}" _listed)
    string(REPLACE "\n" ";" _listed "${_listed}")
    set(TENON_GENERATED_LIST "${_listed}" CACHE INTERNAL "Outputs of the code generator")
  elseif(TENON_GENERATED_LIST)
    # The build will fail at the generator with the same message, and recover once the file is mended.
    message(WARNING "Code generation failed:\n${_message}")
  else()
    message(FATAL_ERROR "Code generation failed:\n${_message}")
  endif()
  list(TRANSFORM TENON_GENERATED_LIST PREPEND "${TENON_GENERATED_DIR}/" OUTPUT_VARIABLE TENON_GENERATED_FILES)
  add_custom_command(
    OUTPUT ${TENON_GENERATED_FILES}
    COMMAND ${_command} ${_yaml}
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    DEPENDS ${_yaml} ${_inputs}
    COMMENT "Generating C++ from ir/dialect/*.yaml"
    VERBATIM)
  add_custom_target(tenon_codegen DEPENDS ${TENON_GENERATED_FILES})
endif()

# The generated .cc files lying directly in <folder>.
function(tenon_generated_sources result folder)
  set(sources "")
  foreach(path ${TENON_GENERATED_FILES})
    get_filename_component(directory "${path}" DIRECTORY)
    if(directory STREQUAL "${TENON_GENERATED_DIR}/${folder}" AND path MATCHES "\\.cc$")
      list(APPEND sources "${path}")
    endif()
  endforeach()
  set(${result} "${sources}" PARENT_SCOPE)
endfunction()
