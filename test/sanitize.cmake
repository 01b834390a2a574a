# cmake -DBUILD=folder -P sanitize.cmake: configure, build and test the preset there.
foreach(command "${CMAKE_COMMAND};--preset;sanitize;-B;${BUILD}"
                "${CMAKE_COMMAND};--build;${BUILD}"
                "${CMAKE_CTEST_COMMAND};--test-dir;${BUILD};--output-on-failure;--parallel;2")
  execute_process(COMMAND ${command} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${command}")
  endif()
endforeach()
