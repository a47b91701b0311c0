# cmake --install: libraries, public headers under include/tenon, programs, the code generator, and tenonConfig.cmake.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(_libraries GLOBAL PROPERTY TENON_LIBRARIES)
install(TARGETS ${_libraries} tenon_xxhash EXPORT tenonTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TENON_PROGRAMS)
  install(TARGETS ${TENON_PROGRAMS} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(PROGRAMS ${TENON_PROGRAM_SCRIPTS} DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # Manual pages and completions, which the programs print.
  set(_help "${PROJECT_BINARY_DIR}/help")
  foreach(_name ${TENON_PROGRAMS})
    install(CODE "file(MAKE_DIRECTORY \"${_help}\")
      foreach(_form man bash zsh)
        execute_process(COMMAND \"${PROJECT_BINARY_DIR}/bin/${_name}\" --help=\${_form}
                        OUTPUT_FILE \"${_help}/${_name}.\${_form}\" COMMAND_ERROR_IS_FATAL ANY)
      endforeach()")
    install(FILES "${_help}/${_name}.man" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" RENAME "${_name}.1")
    install(FILES "${_help}/${_name}.bash" RENAME "${_name}"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
    install(FILES "${_help}/${_name}.zsh" RENAME "_${_name}"
            DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  endforeach()
endif()
# The public headers, as tenon/<path>.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
install(CODE "execute_process(
  COMMAND \"${Python3_EXECUTABLE}\" -B \"${PROJECT_SOURCE_DIR}/tools/cmake/public_headers.py\"
          --source \"${PROJECT_SOURCE_DIR}\" --generated \"${TENON_GENERATED_DIR}\"
          --out \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\"
  COMMAND_ERROR_IS_FATAL ANY)")

set(_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tenon")
install(EXPORT tenonTargets NAMESPACE tenon:: DESTINATION "${_package_dir}")
# The generator of tenon_add_dialect, and where it and the headers lie.
set(TENON_CODEGEN_DIR "${CMAKE_INSTALL_DATADIR}/tenon/codegen")
set(TENON_HEADERS_DIR "${CMAKE_INSTALL_INCLUDEDIR}/tenon")
file(GLOB _generator CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/codegen/*.py")
install(FILES ${_generator} DESTINATION "${TENON_CODEGEN_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tenonConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/tenonConfig.cmake" INSTALL_DESTINATION "${_package_dir}"
                              PATH_VARS TENON_CODEGEN_DIR TENON_HEADERS_DIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tenonConfig.cmake" "${PROJECT_BINARY_DIR}/tenonConfigVersion.cmake"
              "${CMAKE_CURRENT_LIST_DIR}/TenonDialect.cmake"
        DESTINATION "${_package_dir}")

# For builds without CMake: pkg-config --cflags --libs tenon. The file finds the folders from its own place.
if(TENON_SANITIZE)
  return()  # there is no libtenon.so
endif()
set(TENON_PC_REQUIRES "")
foreach(_library ${TENON_ABSL})
  string(REPLACE "absl::" "absl_" _library "${_library}")
  list(APPEND TENON_PC_REQUIRES "${_library}")
endforeach()
list(APPEND TENON_PC_REQUIRES fmt)
list(JOIN TENON_PC_REQUIRES ", " TENON_PC_REQUIRES)
file(RELATIVE_PATH TENON_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" TENON_PC_PREFIX "${TENON_PC_PREFIX}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/tenon.pc.in" "${PROJECT_BINARY_DIR}/tenon.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tenon.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
