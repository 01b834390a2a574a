# Finds the distribution's MLIR and defines act_add_mlir_library.
find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
set(MLIR_LINK_MLIR_DYLIB ON)   # MLIRConfig does not export it
set(LLVM_LINK_LLVM_DYLIB ON)
set(LLVM_RUNTIME_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/bin)
set(LLVM_LIBRARY_OUTPUT_INTDIR ${CMAKE_BINARY_DIR}/lib)
set(MLIR_BINARY_DIR ${CMAKE_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
include(HandleLLVMOptions)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}
                    ${PROJECT_BINARY_DIR}/include ${PROJECT_BINARY_DIR})
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS}) # one string
add_definitions(${LLVM_DEFINITIONS_LIST})

# act_use_pch(target): an MLIR target shares the one precompiled header.
if(ACT_PCH)
  add_library(act_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/Empty.cpp)
  llvm_update_compile_flags(act_pch)
  target_precompile_headers(act_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/MlirPch.h)
  add_dependencies(act_pch ActDialectIncGen ActTileIncGen)
endif()
function(act_use_pch target)
  if(ACT_PCH)
    if(TARGET obj.${target})
      set(target obj.${target})
    endif()
    target_precompile_headers(${target} REUSE_FROM act_pch)
  endif()
endfunction()

# MLIR and LLVM as archives, for programs that start often: of 35 ms that act-opt takes
# to start with the two shared libraries, the loader needs 20 to relocate them. A target
# with the property ACT_ARCHIVES has these, any other the shared libraries. They are
# named by their files: the targets of MLIR's archives ask for the shared LLVM, those of
# LLVM's for packages that nothing here needs.
file(GLOB mlirArchives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
foreach(archive libMLIRIR.a libLLVMSupport.a)
  if(NOT EXISTS ${LLVM_LIBRARY_DIR}/${archive})
    message(FATAL_ERROR "expected MLIR's and LLVM's archives in ${LLVM_LIBRARY_DIR}, found "
      "no ${archive}; Debian has them in libmlir-22-dev and llvm-22-dev")
  endif()
endforeach()
get_target_property(llvmNeeds LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER llvmNeeds EXCLUDE REGEX "^LLVM")
add_library(act_mlir_archives INTERFACE)
target_link_libraries(act_mlir_archives INTERFACE
  "$<LINK_GROUP:RESCAN,${mlirArchives}>" ${llvmNeeds})
target_link_options(act_mlir_archives INTERFACE
  -Wl,--as-needed -Wl,--gc-sections $<$<CONFIG:Release,MinSizeRel>:-Wl,--strip-all>)

# One of upstream's passes initialises every target that LLVM was built for, and so links
# twenty code generators: with them and with symbols act-opt is 240 MB, without 112. These
# empty functions stand for the targets that act makes no code for, so the linker leaves
# their archives out; whoever asks for one is told that no such target is registered.
set(unusedTargets ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM unusedTargets NVPTX ${LLVM_NATIVE_ARCH})
set(unused "// Made by cmake/Mlir.cmake.\n")
foreach(target ${unusedTargets})
  foreach(part Target TargetInfo TargetMC AsmPrinter AsmParser Disassembler)
    string(APPEND unused "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/cmake/UnusedTargets.cpp CONTENT "${unused}")
target_sources(act_mlir_archives INTERFACE ${PROJECT_BINARY_DIR}/cmake/UnusedTargets.cpp)
set(actArchives $<BOOL:$<TARGET_PROPERTY:ACT_ARCHIVES>>)

# act_add_mlir_library(Name SOURCES... DEPENDS tblgen... LINK ours... MLIR upstream...)
function(act_add_mlir_library name)
  cmake_parse_arguments(A "" "" "SOURCES;DEPENDS;LINK;MLIR" ${ARGN})
  add_mlir_library(${name} ${A_SOURCES} DEPENDS ${A_DEPENDS} DISABLE_INSTALL
                   DISABLE_LLVM_LINK_LLVM_DYLIB PARTIAL_SOURCES_INTENDED)
  # Which LLVM it has is said below.
  foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
    get_target_property(libraries ${name} ${property})
    list(FILTER libraries EXCLUDE REGEX "^LLVM")
    set_target_properties(${name} PROPERTIES ${property} "${libraries}")
  endforeach()
  target_link_libraries(obj.${name} ${A_MLIR})
  target_link_libraries(${name} PUBLIC ${A_LINK}
    $<BUILD_INTERFACE:$<${actArchives}:act_mlir_archives>>
    $<$<NOT:${actArchives}>:MLIR> $<$<NOT:${actArchives}>:LLVM>)
  act_use_pch(${name})
  set_property(GLOBAL APPEND PROPERTY ACT_MLIR_LIBRARIES ${name})
endfunction()

# A folder of passes over act: its Passes.td with its page of the manual, and the
# library Act${name}Passes of all its sources.
function(act_add_passes name)
  cmake_parse_arguments(A "" "" "DEPENDS;LINK;MLIR" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name Act${name})
  add_public_tablegen_target(Act${name}PassIncGen)
  add_mlir_doc(Passes Act${name}Passes "" -gen-pass-doc)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  act_add_mlir_library(Act${name}Passes SOURCES ${sources}
    DEPENDS Act${name}PassIncGen ActDialectIncGen ${A_DEPENDS}
    LINK ${A_LINK} ActDialect MLIR MLIRPass MLIRFuncDialect MLIRIR ${A_MLIR})
endfunction()
