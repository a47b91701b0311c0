# Every folder tools/<name> with .cc files is a program <name> in <build>/bin. Scripts tools/<name>/<script>.py that it
# runs are put beside it as <name>-<script>.py.

file(GLOB _sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/tools" "${PROJECT_SOURCE_DIR}/tools/*/*.cc")
set(TENON_PROGRAMS "")
foreach(_source ${_sources})
  get_filename_component(_name "${_source}" DIRECTORY)
  list(APPEND TENON_PROGRAMS ${_name})
  list(APPEND _sources_of_${_name} "${PROJECT_SOURCE_DIR}/tools/${_source}")
endforeach()
list(REMOVE_DUPLICATES TENON_PROGRAMS)

foreach(_name ${TENON_PROGRAMS})
  add_executable(${_name} ${_sources_of_${_name}})
  tenon_target_options(${_name})
  target_link_libraries(${_name} PRIVATE tenon::tenon nlohmann_json::nlohmann_json)
  target_compile_definitions(${_name} PRIVATE TENON_VERSION="${PROJECT_VERSION}")
  target_link_options(${_name} PRIVATE -Wl,--as-needed)  # start-up time follows the number of shared libraries
  set_target_properties(${_name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endforeach()

set(TENON_PROGRAM_SCRIPTS "")
foreach(_name ${TENON_PROGRAMS})
  file(GLOB _scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/${_name}/*.py")
  foreach(_script ${_scripts})
    get_filename_component(_file "${_script}" NAME)
    configure_file("${_script}" "${PROJECT_BINARY_DIR}/bin/${_name}-${_file}" COPYONLY)
    list(APPEND TENON_PROGRAM_SCRIPTS "${PROJECT_BINARY_DIR}/bin/${_name}-${_file}")
  endforeach()
endforeach()
