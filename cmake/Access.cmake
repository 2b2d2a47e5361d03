# libprofalloc_access.a, which profalloc-cc links into every program and shared object it makes: the callbacks of
# instrumented code and the wrapped functions of libc. And the two lists that go with it: profalloc-wrap.txt for the linker
# (-Wl,@FILE), profalloc-nobuiltin.txt for GCC (@FILE). All three are installed beside each other.

file(GLOB access_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hooks/access/*.c)

# Twice: for programs that look at the window alone, and for those that look wherever the library says (PROFALLOC_WINDOW=any;
# see hooks/access/view.h).
add_library(profalloc_access STATIC ${access_sources})
add_library(profalloc_access_any STATIC ${access_sources})
target_compile_definitions(profalloc_access_any PRIVATE PFA_ACCESS_ANYWHERE=1)
set(access_archives profalloc_access profalloc_access_any)

# The same code in every build type: it runs in other people's programs, at each access, and from libc's first steps on in
# static ones, before there is a thread pointer to find a stack protector's canary by. It must not be instrumented itself, nor
# may the compiler make calls out of it, of what is wrapped. Its frames are passed by cancelled threads: unwind tables.
foreach(archive ${access_archives})
    target_link_libraries(${archive} PRIVATE $<BUILD_INTERFACE:pfa_plain_flags>)
    target_compile_definitions(${archive} PRIVATE _GNU_SOURCE)
    target_compile_options(${archive} PRIVATE
        -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fomit-frame-pointer -foptimize-sibling-calls
        -ffunction-sections -fno-builtin -fno-stack-protector -fasynchronous-unwind-tables
        -U_FORTIFY_SOURCE $<$<C_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>)
endforeach()

set(PFA_ACCESS_LISTS ${PROJECT_BINARY_DIR}/profalloc-wrap.txt ${PROJECT_BINARY_DIR}/profalloc-nobuiltin.txt)
add_custom_command(OUTPUT ${PFA_ACCESS_LISTS}
    COMMAND ${CMAKE_COMMAND} -DIN=${PROJECT_SOURCE_DIR}/hooks/access/wraps.def -DOUT=${PROJECT_BINARY_DIR}
            -P ${PROJECT_SOURCE_DIR}/cmake/AccessLists.cmake
    DEPENDS hooks/access/wraps.def cmake/AccessLists.cmake VERBATIM COMMENT "Listing the wrapped functions")
add_custom_target(profalloc_access_lists ALL DEPENDS ${PFA_ACCESS_LISTS})
add_dependencies(profalloc_access profalloc_access_lists)
