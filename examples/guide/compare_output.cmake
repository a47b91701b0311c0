# cmake -DPROGRAM=<program> -DEXPECTED=<file> -P compare_output.cmake: runs the program. Fails unless the program exits
# with 0 and prints exactly the text of the file on standard output, and nothing on standard error.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND "${PROGRAM}" RESULT_VARIABLE status OUTPUT_VARIABLE printed ERROR_VARIABLE complaints)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${status}:\n${printed}${complaints}")
endif()
file(READ "${EXPECTED}" expected)
if(NOT "${printed}${complaints}" STREQUAL "${expected}")
  message(FATAL_ERROR "${PROGRAM} printed\n${printed}${complaints}\ninstead of the text of ${EXPECTED}:\n${expected}")
endif()
