# profalloc-cc and profalloc-c++, one program under two names, and the files that it reads beside the libraries: in a build
# folder they are in lib/profalloc, installed in the library folder's profalloc/.

file(GLOB cc_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hooks/cc/*.c)
add_executable(profalloc_cc ${cc_sources})
set_target_properties(profalloc_cc PROPERTIES OUTPUT_NAME profalloc-cc)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_FULL_BINDIR} OUTPUT_VARIABLE bin_to_lib)
target_compile_definitions(profalloc_cc PRIVATE _GNU_SOURCE PFA_CC_BIN_TO_LIB="${bin_to_lib}")
target_link_libraries(profalloc_cc PRIVATE pfa_flags)
add_custom_command(TARGET profalloc_cc POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink profalloc-cc ${PROJECT_BINARY_DIR}/profalloc-c++)

configure_file(hooks/cc/gcc.specs lib/profalloc/profalloc-gcc.specs COPYONLY)
configure_file(hooks/cc/gcc_builtins.h lib/profalloc/profalloc-builtins.h COPYONLY)
