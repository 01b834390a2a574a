# cmake --install: headers, libraries, tools and the CMake package Act.
#
#   find_package(Act REQUIRED)                        act::Runtime, act::Compiler, act::Plan, ...
#   find_package(Act REQUIRED COMPONENTS Compiler)    and act::Dialect, act::Passes
#                                                     with the MLIR they need, its
#                                                     include folders too
#
# Included last: every library has registered itself by then, every tool exists.
include(CMakePackageConfigHelpers)
set(packageDir ${CMAKE_INSTALL_LIBDIR}/cmake/Act)

# Target ActPlan or Plan is act::Plan to others, and its file is libActPlan.a:
# names like libFile.a would not do in a shared folder.
function(act_export_as_member target)
  string(REGEX REPLACE "^Act" "" member ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${member}
                        OUTPUT_NAME Act${member})
endfunction()

get_property(libraries GLOBAL PROPERTY ACT_LIBRARIES)
foreach(target ${libraries})
  act_export_as_member(${target})
endforeach()
install(TARGETS ${libraries} EXPORT ActTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET act_runtime)
  set_target_properties(act_runtime PROPERTIES EXPORT_NAME Runtime)
  install(TARGETS act_runtime EXPORT ActTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET act_compiler)
  set_target_properties(act_compiler PROPERTIES EXPORT_NAME Compiler)
  install(TARGETS act_compiler EXPORT ActTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT ActTargets NAMESPACE act:: DESTINATION ${packageDir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

if(ACT_COMPILER)
  get_property(libraries GLOBAL PROPERTY ACT_MLIR_LIBRARIES)
  foreach(target ${libraries})
    act_export_as_member(${target})
    target_include_directories(${target} INTERFACE
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    get_target_property(member ${target} EXPORT_NAME)
    list(APPEND ACT_COMPILER_MEMBERS act::${member})
  endforeach()
  install(TARGETS ${libraries} EXPORT ActCompilerTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/objects)
  install(EXPORT ActCompilerTargets NAMESPACE act:: DESTINATION ${packageDir})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/compiler
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
    PATTERN "capi" EXCLUDE)
  foreach(root ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
    install(DIRECTORY ${root}/dialects ${root}/passes
      DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING
      PATTERN "*.h" PATTERN "*.td" PATTERN "*.h.inc"
      PATTERN "CMakeFiles" EXCLUDE)
  endforeach()
endif()

# The tools, and modules such as the plugin, wherever below tools/ they are made.
function(act_install_tools folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE OR type STREQUAL MODULE_LIBRARY)
      set_property(TARGET ${target} APPEND PROPERTY
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
      install(TARGETS ${target}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below ${folders})
    act_install_tools(${below})
  endforeach()
endfunction()
act_install_tools(${PROJECT_SOURCE_DIR}/tools)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ActConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ActConfig.cmake INSTALL_DESTINATION ${packageDir}
  NO_SET_AND_CHECK_MACRO)
# Nothing is promised between 0.x and 0.y.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ActConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ActConfig.cmake
              ${PROJECT_BINARY_DIR}/ActConfigVersion.cmake
  DESTINATION ${packageDir})
