# Bench programs, one per bench/*.c, and the allocator that the overhead is told over: the same mimalloc source, compiled
# with the same optimisation, with its own malloc override and nothing of ours.

if(NOT PFA_REPLACES_MALLOC)
    return()
endif()

add_library(mimalloc_bare SHARED ${PROFALLOC_MIMALLOC_DIR}/src/static.c)
set_target_properties(mimalloc_bare PROPERTIES
    OUTPUT_NAME mimalloc-bare LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
target_include_directories(mimalloc_bare SYSTEM PRIVATE ${PROFALLOC_MIMALLOC_DIR}/include ${PROFALLOC_MIMALLOC_DIR}/src)
target_compile_definitions(mimalloc_bare PRIVATE NDEBUG MI_MALLOC_OVERRIDE MI_SHARED_LIB MI_SHARED_LIB_EXPORT)
target_compile_options(mimalloc_bare PRIVATE -w ${PFA_ALLOCATOR_FLAGS})
target_link_libraries(mimalloc_bare PRIVATE pthread)

# A program is bench/NAME.c, or a folder bench/NAME/ with a main.c. One that includes a header of the runtime measures its
# parts and is linked with them, likewise one that includes a header of the analyses; any other meets an allocator only through LD_PRELOAD.
function(pfa_add_bench name)
    add_executable(bench_${name} ${ARGN})
    set_target_properties(bench_${name} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    target_compile_options(bench_${name} PRIVATE ${PFA_NO_BUILTIN_MALLOC})
    target_link_libraries(bench_${name} PRIVATE pfa_flags pthread m)
    foreach(source ${ARGN})
        file(STRINGS ${source} internals REGEX "#include \"(base|meta|alloc|export)/")
        if(internals)
            target_link_libraries(bench_${name} PRIVATE pfa_core)
        endif()
        file(STRINGS ${source} analyses REGEX "#include \"analyze/")
        if(analyses)
            target_link_libraries(bench_${name} PRIVATE profalloc_analyze)
            target_compile_definitions(bench_${name} PRIVATE _GNU_SOURCE)
        endif()
    endforeach()
endfunction()

# What they walk through has no frame pointers, on arm64 either, where they are the default.
set_source_files_properties(
    ${PROJECT_SOURCE_DIR}/bench/unwind.c ${PROJECT_SOURCE_DIR}/bench/workloads/deep.c PROPERTIES COMPILE_OPTIONS -fomit-frame-pointer)

file(GLOB singles CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
foreach(source ${singles})
    cmake_path(GET source STEM name)
    pfa_add_bench(${name} ${source})
endforeach()

file(GLOB mains CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*/main.c)
foreach(main ${mains})
    cmake_path(GET main PARENT_PATH folder)
    cmake_path(GET folder FILENAME name)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
    pfa_add_bench(${name} ${sources})
endforeach()

# The C++ programs that bench/run capture records: ordinary ones, that know nothing of the bench.
file(GLOB reals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/real/*.cpp)
find_library(PFA_LEVELDB leveldb)
foreach(source ${reals})
    cmake_path(GET source STEM name)
    if(name MATCHES "^leveldb" AND NOT PFA_LEVELDB)
        continue() # bench/run capture says which package is missing
    endif()
    add_executable(bench_${name} ${source})
    set_target_properties(bench_${name} PROPERTIES
        OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench CXX_STANDARD 17)
    target_compile_options(bench_${name} PRIVATE -O2 -g -fomit-frame-pointer -Wall -Wextra)
    if(name MATCHES "^leveldb")
        target_link_libraries(bench_${name} PRIVATE ${PFA_LEVELDB})
    endif()
endforeach()
