# Compiler and linker flags, as interface targets:
#   pfa_plain_flags    warnings and include folders, for everything of ours
#   pfa_flags          these and the sanitizer, if there is one: the tool, the unit tests
#   pfa_library_flags  the plain ones and those checks that can be made inside a malloc
#   pfa_parts_flags, pfa_runtime_flags  what the code of the runtime needs besides, with pfa_flags and pfa_library_flags

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON) # inline assembly and statement attributes in gnu spelling
set(CMAKE_CXX_STANDARD 17) # aligned operator new
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# The whole text of each build type is here, so that the figures of a bench do not depend on CMake's defaults.
foreach(lang C CXX)
    set(CMAKE_${lang}_FLAGS_RELWITHDEBINFO "-O2 -g -DNDEBUG")
    set(CMAKE_${lang}_FLAGS_DEBUG "-O1 -g -fno-omit-frame-pointer")
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang") # with -O1 it makes no tail calls, by which hooks/slow.c tells the program's call from ours
        set(CMAKE_${lang}_FLAGS_DEBUG "-O2 -g -fno-omit-frame-pointer")
    endif()
endforeach()

if(NOT PROFALLOC_SANITIZE MATCHES "^(address|thread|)$")
    message(FATAL_ERROR "PROFALLOC_SANITIZE is '${PROFALLOC_SANITIZE}'; it takes address (with undefined behaviour), thread or nothing.")
endif()

# Only undefined behaviour can be checked inside a malloc, by traps, which need no runtime library. The sanitizers of addresses
# and of threads bring a malloc of their own: the parts of the runtime are compiled once more for them, without its entry
# points. Under ThreadSanitizer there are these parts alone.
set(PFA_REPLACES_MALLOC TRUE)
set(PFA_SANITIZE_FLAGS "")
set(PFA_LIBRARY_SANITIZE_FLAGS "")
if(PROFALLOC_SANITIZE STREQUAL "address")
    set(PFA_SANITIZE_FLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined)
    set(PFA_LIBRARY_SANITIZE_FLAGS -fsanitize=undefined -fsanitize-undefined-trap-on-error)
    if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
        # On x86-64 it would know functions by their C++ types, which need a library that the runtime does without.
        list(APPEND PFA_LIBRARY_SANITIZE_FLAGS -fno-sanitize=function)
    endif()
elseif(PROFALLOC_SANITIZE STREQUAL "thread")
    set(PFA_REPLACES_MALLOC FALSE)
    set(PFA_SANITIZE_FLAGS -fsanitize=thread)
endif()

add_library(pfa_plain_flags INTERFACE)
target_compile_options(pfa_plain_flags INTERFACE
    -Wall -Wextra -Wundef -Wshadow -Wconversion -Wvla -Werror
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>)
target_include_directories(pfa_plain_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(pfa_plain_flags INTERFACE
    PFA_VERSION="${PROJECT_VERSION}" $<$<BOOL:${PROFALLOC_SANITIZE}>:PFA_SANITIZED>)

add_library(pfa_flags INTERFACE)
target_compile_options(pfa_flags INTERFACE ${PFA_SANITIZE_FLAGS})
target_link_options(pfa_flags INTERFACE ${PFA_SANITIZE_FLAGS})
target_link_libraries(pfa_flags INTERFACE pfa_plain_flags)

add_library(pfa_library_flags INTERFACE)
target_compile_options(pfa_library_flags INTERFACE ${PFA_LIBRARY_SANITIZE_FLAGS})
target_link_options(pfa_library_flags INTERFACE ${PFA_LIBRARY_SANITIZE_FLAGS})
target_link_libraries(pfa_library_flags INTERFACE pfa_plain_flags)

# Compilers know malloc: they merge it with memset, drop unused pairs, and would turn our calloc into a call of itself.
set(PFA_NO_BUILTIN_MALLOC "")
foreach(name malloc calloc realloc free aligned_alloc memalign posix_memalign)
    list(APPEND PFA_NO_BUILTIN_MALLOC -fno-builtin-${name})
endforeach()

# Sections of their own let the linker drop what is not used of mimalloc, and with it what that would import. The bare
# mimalloc of the benches is compiled the same way.
# Two counters side by side are added faster one by one than packed into a vector and out again.
# Tail calls from -O1 on: hooks/slow.c tells the program's call from ours by them.
set(PFA_ALLOCATOR_FLAGS -fno-tree-slp-vectorize -foptimize-sibling-calls -fvisibility=hidden -ftls-model=initial-exec
    -fno-semantic-interposition -ffunction-sections -fdata-sections ${PFA_NO_BUILTIN_MALLOC})

# PIC because one compilation serves the shared and the static library; initial-exec because a malloc cannot let the
# dynamic linker allocate its thread-local block.
# An exception thrown by operator new, or by a new-handler, passes through our frames.
foreach(flags parts runtime)
    add_library(pfa_${flags}_flags INTERFACE)
    target_compile_options(pfa_${flags}_flags INTERFACE -fPIC -fexceptions ${PFA_ALLOCATOR_FLAGS})
endforeach()
target_link_libraries(pfa_parts_flags INTERFACE pfa_flags)
target_link_libraries(pfa_runtime_flags INTERFACE pfa_library_flags)
