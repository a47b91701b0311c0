# libtenon_cuda.so: device code and what calls the CUDA libraries. The executor opens it when a program is to run on
# a GPU, so nothing else depends on CUDA, and every program also runs where there is no driver.

if(TENON_ENABLE_CUDA)
  file(GLOB _sources CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
       "${PROJECT_SOURCE_DIR}/kernels/gpu/device/*.cu" "${PROJECT_SOURCE_DIR}/kernels/gpu/cuda/*.cc")
  add_library(tenon_cuda MODULE ${_sources})
  tenon_target_options(tenon_cuda)
  # CUDA_RUNTIME_LIBRARY is static: the driver's library is looked for at run time.
  set_target_properties(tenon_cuda PROPERTIES
    CUDA_RUNTIME_LIBRARY Static
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  # CMake 3.25 does not know that nvcc takes C++20.
  target_compile_options(tenon_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20;--expt-relaxed-constexpr>")
  if(TENON_DEVELOPER_MODE)
    # What the assembler says of each kernel ends in build.log, which tools/lint/check_device_code reads.
    target_compile_options(tenon_cuda PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror;-Xptxas=-v>")
  endif()
  target_include_directories(tenon_cuda PRIVATE "${PROJECT_SOURCE_DIR}" "${TENON_GENERATED_DIR}")
  target_link_libraries(tenon_cuda PRIVATE CUDA::cudart_static CUDA::cublasLt)
  target_link_options(tenon_cuda PRIVATE -Wl,-z,defs)  # what is missing shows here, not on the machine with the device
  if(TENON_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS tenon_cuda LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endif()
endif()
