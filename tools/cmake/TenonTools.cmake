# Every folder tools/<name> with a main.cc is a program <name> in <build>/bin; the .cc files of other folders are linked
# into all programs. Scripts tools/<name>/<script>.py that a program runs are put beside it as <name>-<script>.py.

file(GLOB _mains CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/*/main.cc")
set(TENON_PROGRAMS "")
foreach(_main ${_mains})
  get_filename_component(_folder "${_main}" DIRECTORY)
  get_filename_component(_name "${_folder}" NAME)
  list(APPEND TENON_PROGRAMS ${_name})
endforeach()

file(GLOB _shared_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/*/*.cc")
foreach(_name ${TENON_PROGRAMS})
  list(FILTER _shared_sources EXCLUDE REGEX "/tools/${_name}/")
endforeach()
add_library(tenon_tools STATIC ${_shared_sources})
tenon_target_options(tenon_tools)
tenon_cold_when_sanitized(tenon_tools)
# In a Python package, programs share libtenon.so with the extension: five of them would be too large.
set(_library tenon::tenon)
if(SKBUILD)
  set(_library tenon::shared)
endif()
target_link_libraries(tenon_tools PUBLIC ${_library} nlohmann_json::nlohmann_json)

foreach(_name ${TENON_PROGRAMS})
  file(GLOB _sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/${_name}/*.cc")
  add_executable(${_name} ${_sources})
  tenon_target_options(${_name})
  tenon_cold_when_sanitized(${_name})
  target_link_libraries(${_name} PRIVATE tenon_tools nlohmann_json::nlohmann_json)
  target_link_options(${_name} PRIVATE -Wl,--as-needed)  # start-up time follows the number of shared libraries
  set_target_properties(${_name} PROPERTIES TENON_PROGRAM ON RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
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
