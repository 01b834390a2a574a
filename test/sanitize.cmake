# cmake -DBUILD=folder -P sanitize.cmake: configure, build and test the preset there.
# Prints what failed: the end of a step's output, where a build names its errors.
foreach(command "${CMAKE_COMMAND};--preset;sanitize;-B;${BUILD}"
                "${CMAKE_COMMAND};--build;${BUILD}"
                "${CMAKE_CTEST_COMMAND};--test-dir;${BUILD};--output-on-failure;--parallel;2")
  execute_process(COMMAND ${command} RESULT_VARIABLE failed
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    # A failed test is in the middle of what ctest prints, so passed ones go first.
    string(REGEX REPLACE "[^\n]*(Passed +[0-9.]+ sec|Start +[0-9]+: [^\n]*)\n" "" output "${output}")
    string(LENGTH "${output}" length)
    if(length GREATER 20000)
      math(EXPR begin "${length} - 20000")
      string(SUBSTRING "${output}" ${begin} -1 output)
    endif()
    message("${output}")
    message(FATAL_ERROR "failed: ${command}")
  endif()
endforeach()
