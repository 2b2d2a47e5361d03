# The runtime: libprofalloc.so, libprofalloc.a, and pfa_core, its parts without the malloc entry points, for tests that want
# them without replacing malloc under themselves.

set(core_sources "")
foreach(folder base meta alloc export export/format)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
    list(APPEND core_sources ${sources})
endforeach()
file(GLOB hook_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hooks/*.c ${PROJECT_SOURCE_DIR}/hooks/*.cpp)
set(shared_only ${PROJECT_SOURCE_DIR}/hooks/new_late.c ${PROJECT_SOURCE_DIR}/hooks/unload.c
    ${PROJECT_SOURCE_DIR}/hooks/atfork.c ${PROJECT_SOURCE_DIR}/hooks/exec.c)
list(REMOVE_ITEM hook_sources ${shared_only})

# mimalloc is compiled into the file that owns the backing. Its code is not held to our warnings, nor to the undefined
# behaviour check: it is another project's.
set(backing ${PROJECT_SOURCE_DIR}/alloc/backing.c)
set_source_files_properties(${backing} PROPERTIES
    COMPILE_OPTIONS "-isystem;${PROFALLOC_MIMALLOC_DIR}/include;-isystem;${PROFALLOC_MIMALLOC_DIR}/src;-fno-sanitize=undefined"
    COMPILE_DEFINITIONS "NDEBUG;MI_NO_GETENV=1")

find_path(ZSTD_INCLUDE_DIR zstd.h)
find_library(ZSTD_LIBRARY zstd)
if(NOT ZSTD_INCLUDE_DIR OR NOT ZSTD_LIBRARY)
    message(FATAL_ERROR "zstd is missing. Install libzstd-dev (or run scripts/setup.sh build).")
endif()
set(PFA_LINK_LIBRARIES zstd pthread m)

# With a sanitizer the parts are compiled twice, for the library and for the tests; without one both have the same objects.
add_library(pfa_core_objects OBJECT ${core_sources})
target_link_libraries(pfa_core_objects PRIVATE pfa_parts_flags)
set(library_core pfa_core_objects)
add_library(pfa_core STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pfa_core_objects>)
set_target_properties(pfa_core PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(pfa_core INTERFACE pfa_flags ${PFA_LINK_LIBRARIES})

if(NOT PFA_REPLACES_MALLOC)
    return()
endif()

# The hot paths cross files (an entry point, the chunk's life, mimalloc): link-time optimisation makes one function of
# them. Objects are fat, so that tests link the same ones without it. Clang's needs a linker of its own: it goes without.
set(PFA_LTO_COMPILE "")
set(PFA_LTO_LINK "")
set(PFA_LTO_RELOCATABLE "")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT PROFALLOC_SANITIZE)
    set(PFA_LTO_COMPILE -flto -ffat-lto-objects)
    set(PFA_LTO_LINK -flto=2 -O2 -fexceptions -fno-tree-slp-vectorize)
    set(PFA_LTO_RELOCATABLE -flinker-output=nolto-rel)
    # It declares functions as data, to have their addresses and no more; the optimiser would object.
    # And the weak symbols of C++ are made so by the assembler, behind its back.
    # And one means whatever malloc the program has.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/hooks/entry_points.c ${PROJECT_SOURCE_DIR}/hooks/new_nothrow.cpp
        ${PROJECT_SOURCE_DIR}/hooks/reach.c PROPERTIES COMPILE_OPTIONS -fno-lto)
endif()
if(PROFALLOC_SANITIZE)
    set(library_core pfa_library_core_objects)
    add_library(${library_core} OBJECT ${core_sources})
    target_link_libraries(${library_core} PRIVATE pfa_runtime_flags)
endif()
target_compile_options(${library_core} PRIVATE ${PFA_LTO_COMPILE})

add_library(pfa_hook_objects OBJECT ${hook_sources})
target_link_libraries(pfa_hook_objects PRIVATE pfa_runtime_flags)
target_compile_options(pfa_hook_objects PRIVATE ${PFA_LTO_COMPILE})
set(runtime_objects $<TARGET_OBJECTS:${library_core}> $<TARGET_OBJECTS:pfa_hook_objects>)

add_library(profalloc_shared SHARED ${runtime_objects} ${shared_only})
set_target_properties(profalloc_shared PROPERTIES
    OUTPUT_NAME profalloc EXPORT_NAME profalloc VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINKER_LANGUAGE C) # operator new is C++, but must not bring libstdc++ into C programs
target_link_options(profalloc_shared PRIVATE
    ${PFA_LTO_LINK} -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,nodelete -Wl,--gc-sections -Wl,--as-needed)
target_link_libraries(profalloc_shared PRIVATE $<BUILD_INTERFACE:pfa_runtime_flags> ${PFA_LINK_LIBRARIES})
target_include_directories(profalloc_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# The archive holds one object. A linker takes from an archive only the members it needs, and libc would supply the entry
# points of the members it left out: two mallocs in one program. Internal names are made local, so that a program may
# have its own mimalloc.
set(prelinked ${PROJECT_BINARY_DIR}/profalloc.o)
add_custom_command(OUTPUT ${prelinked}
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib ${PFA_LTO_LINK} ${PFA_LTO_RELOCATABLE}
            -o ${prelinked} ${runtime_objects}
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${prelinked}
    DEPENDS ${runtime_objects} COMMAND_EXPAND_LISTS VERBATIM COMMENT "Joining the runtime into one object")
add_library(profalloc_static STATIC ${prelinked})
set_source_files_properties(${prelinked} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
set_target_properties(profalloc_static PROPERTIES OUTPUT_NAME profalloc LINKER_LANGUAGE C)
target_link_libraries(profalloc_static INTERFACE ${PFA_LINK_LIBRARIES})
# Also for a program in which only libc calls malloc; and the C++ runtime's functions that operator new needs when memory
# runs out, which weak references do not take from an archive.
target_link_options(profalloc_static INTERFACE -Wl,-u,malloc
    $<$<LINK_LANGUAGE:CXX>:-Wl,-u,_ZSt17__throw_bad_allocv,-u,_ZSt15get_new_handlerv>)
# Compilers leave the index of .eh_frame, which the unwinder finds rules by, out of static programs.
target_link_options(profalloc_static INTERFACE -Wl,--eh-frame-hdr)
target_include_directories(profalloc_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
