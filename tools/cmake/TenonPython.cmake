# The Python package: the extension tenon._core, beside the files of frontends/python/tenon in <build>/python. There
# `import tenon` works with PYTHONPATH. nanobind comes from the interpreter Python_EXECUTABLE: tools/python/environment
# makes a virtual environment that has it.

if(TENON_PYTHON)
  if(NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/build-python-venv/bin/python")
    set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/build-python-venv/bin/python" CACHE FILEPATH "Python with nanobind")
  endif()
  set(_components Interpreter Development.Module)
  if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.26)
    set(_optional OPTIONAL_COMPONENTS Development.SABIModule)
  endif()
  find_package(Python 3.11 COMPONENTS ${_components} ${_optional})
  if(NOT Python_FOUND)
    message(FATAL_ERROR "TENON_PYTHON needs CPython 3.11 or later with its headers. tools/setup installs those of the system's "
                        "interpreter; -DPython_EXECUTABLE=/path/to/python names another one.")
  endif()
  # What scikit-build-core calls the wheel must be true of the file in it.
  if(SKBUILD_SABI_VERSION AND NOT TARGET Python::SABIModule)
    message(FATAL_ERROR "A wheel for all versions from ${SKBUILD_SABI_VERSION} on needs CMake 3.26 or later, and the files of "
                        "Python's stable ABI.")
  endif()
  execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir RESULT_VARIABLE _status
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT _status EQUAL 0)
    message(FATAL_ERROR "TENON_PYTHON needs nanobind, and ${Python_EXECUTABLE} cannot import it. Run tools/python/environment, "
                        "or name another interpreter with -DPython_EXECUTABLE=/path/to/python.")
  endif()
  find_package(nanobind CONFIG REQUIRED)

  file(GLOB _sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
       "${PROJECT_SOURCE_DIR}/frontends/python/bindings/*.cc" "${PROJECT_SOURCE_DIR}/frontends/python/bindings/*/*.cc")
  # From CPython 3.12 on one file serves all later versions.
  nanobind_add_module(tenon_python STABLE_ABI NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${_sources})
  tenon_target_options(tenon_python)
  tenon_cold_target(tenon_python)
  target_link_libraries(tenon_python PRIVATE tenon::shared)
  set(_package "${PROJECT_BINARY_DIR}/python/tenon")
  set_target_properties(tenon_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY "${_package}")
  # The same with AddressSanitizer and UBSan, in <build>/python-sanitized; CONTRIBUTING.md says how to use it.
  nanobind_add_module(tenon_python_sanitized STABLE_ABI NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${_sources})
  tenon_target_options(tenon_python_sanitized)
  tenon_cold_target(tenon_python_sanitized)
  target_compile_options(tenon_python_sanitized PRIVATE -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr)
  target_link_options(tenon_python_sanitized PRIVATE -fsanitize=address,undefined)
  target_link_libraries(tenon_python_sanitized PRIVATE tenon::shared)
  set_target_properties(tenon_python_sanitized PROPERTIES OUTPUT_NAME _core EXCLUDE_FROM_ALL TRUE
                        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/python-sanitized/tenon")

  # The package runs from the sources: an edit of a Python file needs no build. Links to its files, and to the modules of tenon.ops that tools/codegen writes.
  file(GLOB_RECURSE _files CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/frontends/python"
       "${PROJECT_SOURCE_DIR}/frontends/python/tenon/*.py" "${PROJECT_SOURCE_DIR}/frontends/python/tenon/*.pyi"
       "${PROJECT_SOURCE_DIR}/frontends/python/tenon/py.typed")
  list(TRANSFORM _files PREPEND "${PROJECT_SOURCE_DIR}/frontends/python/")
  set(_written ${TENON_GENERATED_LIST})
  list(FILTER _written INCLUDE REGEX "^python/")
  list(TRANSFORM _written PREPEND "${TENON_GENERATED_DIR}/")
  # The generator that reads operations in YAML (tenon/declarations.py), with the header in which it looks up traits.
  file(GLOB _generator CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/codegen/*.py")
  set(_traits ir/core/context/op_info.h)
  foreach(_file ${_files} ${_written} ${_generator} "${PROJECT_SOURCE_DIR}/${_traits}")
    if(_file STREQUAL "${PROJECT_SOURCE_DIR}/${_traits}")
      set(_name "codegen/headers/${_traits}")
    else()
      string(REGEX REPLACE "^.*/(python/tenon|tools)/" "" _name "${_file}")
    endif()
    foreach(_folder python python-sanitized)
      get_filename_component(_parent "${PROJECT_BINARY_DIR}/${_folder}/tenon/${_name}" DIRECTORY)
      file(MAKE_DIRECTORY "${_parent}")
      file(CREATE_LINK "${_file}" "${PROJECT_BINARY_DIR}/${_folder}/tenon/${_name}" SYMBOLIC)
    endforeach()
  endforeach()

  # The programs of the package: with archives, five of them would be too large.
  set(_programs "")
  foreach(_name ${TENON_PROGRAMS})
    tenon_shared_program(${_name}_python ${_name} "${_package}/bin")
    list(APPEND _programs ${_name}_python)
  endforeach()
  foreach(_script ${TENON_PROGRAM_SCRIPTS})
    get_filename_component(_file "${_script}" NAME)
    configure_file("${_script}" "${_package}/bin/${_file}" COPYONLY)
  endforeach()
  # All that the component python installs.
  add_custom_target(tenon_python_package ALL DEPENDS tenon_python tenon_shared ${_programs})

  # `cmake --install <build> --component python --prefix DIR` puts the package into DIR; pyproject.toml does the same for a
  # wheel. Everything finds libtenon.so beside the extension.
  set_target_properties(tenon_python tenon_shared PROPERTIES INSTALL_RPATH "$ORIGIN")
  set_target_properties(${_programs} PROPERTIES INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS tenon_python LIBRARY DESTINATION tenon COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS tenon_shared LIBRARY DESTINATION tenon COMPONENT python NAMELINK_SKIP EXCLUDE_FROM_ALL)
  install(TARGETS ${_programs} RUNTIME DESTINATION tenon/bin COMPONENT python EXCLUDE_FROM_ALL)
  install(PROGRAMS ${TENON_PROGRAM_SCRIPTS} DESTINATION tenon/bin COMPONENT python EXCLUDE_FROM_ALL)
  # No file names oneDNN as a library that it needs, so that auditwheel does not find it: it goes along. libtenon.so loads it
  # from its own folder.
  get_target_property(_type DNNL::dnnl TYPE)
  if(_type STREQUAL "SHARED_LIBRARY")
    install(FILES $<TARGET_FILE:DNNL::dnnl> DESTINATION tenon RENAME $<TARGET_SONAME_FILE_NAME:DNNL::dnnl>
            COMPONENT python EXCLUDE_FROM_ALL)
  endif()
  install(DIRECTORY "${TENON_GENERATED_DIR}/python/tenon/" DESTINATION tenon COMPONENT python EXCLUDE_FROM_ALL
          FILES_MATCHING PATTERN "*.py")
  install(FILES ${_generator} DESTINATION tenon/codegen COMPONENT python EXCLUDE_FROM_ALL)
  install(FILES "${PROJECT_SOURCE_DIR}/${_traits}" DESTINATION tenon/codegen/headers/ir/core/context COMPONENT python
          EXCLUDE_FROM_ALL)
  if(NOT SKBUILD)  # which takes them from pyproject.toml
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/frontends/python/tenon/" DESTINATION tenon COMPONENT python EXCLUDE_FROM_ALL
            FILES_MATCHING PATTERN "*.py" PATTERN "*.pyi" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
  endif()
endif()
