# cpack: one Debian package and one archive of everything that is installed. docs/guide/install.md shows their use.

set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME tenon)
set(CPACK_PACKAGE_VENDOR "The Tenon authors")
set(CPACK_PACKAGE_CONTACT "The Tenon authors <tenon@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)

# The libraries that programs and libtenon.so need are read from these files. What find_package(tenon) asks for is needed
# to build against the package, not to run it.
find_program(TENON_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(TENON_SHLIBDEPS)
if(TENON_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "g++, cmake, libabsl-dev, libfmt-dev, libprotobuf-dev, libdnnl-dev, ocl-icd-opencl-dev, libhwy-dev, python3-yaml")
# A shared oneDNN is loaded when it is first needed, which no tool sees in the files.
get_target_property(_type DNNL::dnnl TYPE)
if(_type STREQUAL "SHARED_LIBRARY")
  get_target_property(_file DNNL::dnnl LOCATION)
  execute_process(COMMAND dpkg-query -S "${_file}" OUTPUT_VARIABLE _owner ERROR_QUIET RESULT_VARIABLE _status)
  if(_status EQUAL 0)
    string(REGEX REPLACE ":.*" "" _owner "${_owner}")
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "${_owner}")
  endif()
endif()
include(CPack)
