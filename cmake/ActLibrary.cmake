# act_use_std_pch(target): a target that knows no MLIR gets a precompiled header of its
# own. It takes two seconds and saves half of one for each source.
function(act_use_std_pch target)
  if(ACT_PCH)
    target_precompile_headers(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/StdPch.h>)
  endif()
endfunction()

# act_add_library(Name SOURCES... LINK libs...): a static library of plain C++
# (no MLIR) with the project's include roots. Target act::Name.
function(act_add_library name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  add_library(act::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -fPIC
    $<$<BOOL:${ACT_WERROR}>:-Werror>)
  target_link_libraries(${name} PUBLIC ${A_LINK})
  list(LENGTH A_SOURCES sources)
  if(sources GREATER 5)
    act_use_std_pch(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY ACT_LIBRARIES ${name})
endfunction()
