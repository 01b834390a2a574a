# cmake -DBUILD=folder -P sanitize.cmake: configure, build and test the preset there.
# Searches held against brute force do the same thing a million times: they are tests of
# the build without sanitizers.
set(searches "OutOfTimeNothingIsProven|FormulasHoldForOtherSizes|PlanSearch.IsExact|EqualsBruteForce")
foreach(command "${CMAKE_COMMAND};--preset;sanitize;-B;${BUILD}"
                "${CMAKE_COMMAND};--build;${BUILD}"
                "${CMAKE_CTEST_COMMAND};--test-dir;${BUILD};--output-on-failure;--parallel;2;-E;${searches}")
  execute_process(COMMAND ${command} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${command}")
  endif()
endforeach()
