# See CMakeLists.txt. Any command that fails ends the test with its output.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
# A package that only works where it was installed first would name its prefix.
file(RENAME ${WORK}/first ${WORK}/prefix)

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/consumer -G Ninja
    -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_CXX_COMPILER=${COMPILER})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer ${MODELS}/llama-3.2-3b.json)
run(${WORK}/consumer/parse-act)
run(${WORK}/consumer/compile)
run(${WORK}/consumer/capi)
run(${WORK}/consumer/write-kernel COMMAND ${WORK}/prefix/bin/act-opt
    "--emit-ptx=dir=${WORK}/ptx target=sm_80" -o ${WORK}/kernel.mlir)
file(READ ${WORK}/ptx/twice.ptx ptx)
if(NOT ptx MATCHES "\\.entry twice")
  message(FATAL_ERROR "expected a kernel 'twice', found ${ptx}")
endif()

file(GLOB tools ${WORK}/prefix/bin/act-*)
if(NOT tools)
  message(FATAL_ERROR "expected tools in bin, found none")
endif()
foreach(tool ${tools})
  run(${tool} --help)
endforeach()
