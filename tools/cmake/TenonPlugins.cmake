# What plugins need: a checksum of the public headers, by which a plugin and a program find out whether they fit
# (frontends/cpp/plugin.h), and the target tenon::plugin, which a plugin links.

set(_header "${TENON_GENERATED_DIR}/frontends/cpp/plugin_build.h")
set(_public "${PROJECT_SOURCE_DIR}/tools/cmake/public_headers.py")
set(_headers "")
foreach(_folder ir pass drr patterns transforms kernels executor frontends)
  file(GLOB_RECURSE _found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${_folder}/*.h" "${PROJECT_SOURCE_DIR}/${_folder}/*.def")
  list(APPEND _headers ${_found})
endforeach()
add_custom_command(
  OUTPUT "${_header}"
  COMMAND "${Python3_EXECUTABLE}" -B "${_public}" --source "${PROJECT_SOURCE_DIR}" --generated "${TENON_GENERATED_DIR}"
          --checksum "${_header}"
  DEPENDS "${_public}" "${PROJECT_SOURCE_DIR}/tools/docs/public_headers.txt" ${_headers} ${TENON_GENERATED_FILES}
  COMMENT "Summing up the public headers"
  VERBATIM)
add_custom_target(tenon_plugin_build DEPENDS "${_header}")
add_dependencies(tenon_plugin_build tenon_codegen)
add_dependencies(tenon_tenon tenon_plugin_build)

# A plugin takes Tenon from the program that loads it: a second copy would not know the operations of the first. Its own
# functions come first in it, whatever names those of the program have.
add_library(tenon_plugin INTERFACE)
add_library(tenon::plugin ALIAS tenon_plugin)
target_compile_features(tenon_plugin INTERFACE cxx_std_20)
target_include_directories(tenon_plugin INTERFACE ${TENON_LAYER_INCLUDES})
target_link_libraries(tenon_plugin INTERFACE ${TENON_ABSL} fmt::fmt tenon_xxhash)
target_link_options(tenon_plugin INTERFACE -Wl,--as-needed,-Bsymbolic-functions)
set_target_properties(tenon_plugin PROPERTIES EXPORT_NAME plugin)
set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES tenon_plugin)
