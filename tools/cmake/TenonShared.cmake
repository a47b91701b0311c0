# libtenon.so: one shared library of all layers, target tenon_shared, alias tenon::shared. All public symbols are visible,
# so that hosts, bindings of other languages and plugins may use any part of the C++ API.
#
# Programs of ours do not use it. `ir-opt --version` takes 3.5 ms with the archives and 8.3 ms with the library: an archive
# of Abseil is not compiled for shared libraries, so that the library needs all thirty of Abseil's own, and a program
# resolves the addresses in the library's tables at each start. Programs export their symbols to plugins instead
# (TenonTools.cmake), which takes 0.3 ms.

get_property(_objects GLOBAL PROPERTY TENON_OBJECTS)
get_property(_public GLOBAL PROPERTY TENON_PUBLIC_DEPENDENCIES)
get_property(_private GLOBAL PROPERTY TENON_PRIVATE_DEPENDENCIES)
list(REMOVE_DUPLICATES _public)
list(REMOVE_DUPLICATES _private)

add_library(tenon_shared SHARED ${_objects})
add_library(tenon::shared ALIAS tenon_shared)
tenon_target_options(tenon_shared)
target_link_libraries(tenon_shared PUBLIC ${_public} PRIVATE ${_private})
target_link_options(tenon_shared PRIVATE -Wl,--as-needed,-Bsymbolic-functions)
target_include_directories(tenon_shared PUBLIC ${TENON_LAYER_INCLUDES})
# There is no stable ABI (docs/compatibility.md), so each version has a name of its own.
set_target_properties(tenon_shared PROPERTIES
  OUTPUT_NAME tenon EXPORT_NAME shared VERSION "${PROJECT_VERSION}" SOVERSION "${PROJECT_VERSION}" LINKER_LANGUAGE CXX
  LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
if(TENON_SANITIZE)
  # Tests link the archives. Who needs the library with sanitizers names it.
  set_target_properties(tenon_shared PROPERTIES EXCLUDE_FROM_ALL ON)
else()
  target_link_options(tenon_shared PRIVATE -Wl,-z,defs)  # what is missing shows here, not in a host
  set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES tenon_shared)
endif()
