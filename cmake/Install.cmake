# cmake --install: library, header, tool, manual pages, pkg-config file and CMake package.

if(NOT PFA_REPLACES_MALLOC)
    return()
endif()
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/profalloc)
install(TARGETS profalloc_shared profalloc_static EXPORT profallocTargets)
install(TARGETS profalloc_analyze)
install(TARGETS profalloc_tool profalloc_cc)
install(FILES ${PROJECT_BINARY_DIR}/profalloc-c++ DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${PROJECT_BINARY_DIR}/lib/profalloc/profalloc-gcc.specs
        ${PROJECT_BINARY_DIR}/lib/profalloc/profalloc-builtins.h DESTINATION ${CMAKE_INSTALL_LIBDIR}/profalloc)
# For profalloc-cc; nothing that a program's own build would name.
install(FILES $<TARGET_FILE:profalloc_access> $<TARGET_FILE:profalloc_access_any>
        ${PFA_ACCESS_LISTS} DESTINATION ${CMAKE_INSTALL_LIBDIR}/profalloc)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT profallocTargets NAMESPACE profalloc:: DESTINATION ${config_dir})

configure_package_config_file(cmake/profallocConfig.cmake.in profallocConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(profallocConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/profallocConfig.cmake ${PROJECT_BINARY_DIR}/profallocConfigVersion.cmake
    DESTINATION ${config_dir})

# The pkg-config file finds the prefix from its own place, so that `cmake --install --prefix` and staging work.
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${pc_dir} OUTPUT_VARIABLE PFA_PC_TO_PREFIX)
list(TRANSFORM PFA_LINK_LIBRARIES PREPEND -l OUTPUT_VARIABLE private_libs)
list(JOIN private_libs " " PFA_PRIVATE_LIBS)
configure_file(cmake/profalloc.pc.in profalloc.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/profalloc.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

add_custom_command(OUTPUT profalloc.conf.5
    COMMAND ${CMAKE_COMMAND} -DTOOL=$<TARGET_FILE:profalloc_tool> -DPROJECT_VERSION=${PROJECT_VERSION}
            -DIN=${PROJECT_SOURCE_DIR}/docs/man/profalloc.conf.5.in -DOUT=${PROJECT_BINARY_DIR}/profalloc.conf.5
            -P ${PROJECT_SOURCE_DIR}/cmake/ManPage.cmake
    DEPENDS profalloc_tool docs/man/profalloc.conf.5.in cmake/ManPage.cmake VERBATIM)
add_custom_target(manual ALL DEPENDS profalloc.conf.5)
install(FILES ${PROJECT_BINARY_DIR}/profalloc.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
foreach(section 1 3)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
