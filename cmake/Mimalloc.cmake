# Where mimalloc's source is. It is fetched, never committed; one file of ours compiles it in.

set(PROFALLOC_MIMALLOC_DIR "${PROJECT_SOURCE_DIR}/third_party/mimalloc" CACHE PATH "Unpacked source of mimalloc 2.0.9")

if(NOT EXISTS "${PROFALLOC_MIMALLOC_DIR}/src/static.c")
    message(FATAL_ERROR
        "No mimalloc source in ${PROFALLOC_MIMALLOC_DIR}.\n"
        "Run scripts/fetch-mimalloc.sh, or configure with -DPROFALLOC_MIMALLOC_DIR=<unpacked mimalloc 2.0.9>.")
endif()

file(STRINGS "${PROFALLOC_MIMALLOC_DIR}/include/mimalloc.h" version_line REGEX "define MI_MALLOC_VERSION ")
if(NOT version_line MATCHES "MI_MALLOC_VERSION 209 ")
    message(FATAL_ERROR "${PROFALLOC_MIMALLOC_DIR} is not mimalloc 2.0.9: ${version_line}")
endif()
