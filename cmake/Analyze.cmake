# The analyses: libprofalloc-analyze.a, for the tool and for others (include/profalloc-analyze.h). They share the trace format and the option
# table with the runtime, and no code.

file(GLOB analyze_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/analyze/*/*.c ${PROJECT_SOURCE_DIR}/export/format/*.c)
set(PFA_ANALYZE_LIBRARIES zstd dw elf stdc++ m pthread)
add_library(profalloc_analyze STATIC ${analyze_sources})
set_target_properties(profalloc_analyze PROPERTIES OUTPUT_NAME profalloc-analyze EXPORT_NAME analyze)
target_compile_definitions(profalloc_analyze PRIVATE _GNU_SOURCE)
target_include_directories(profalloc_analyze PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(profalloc_analyze PRIVATE $<BUILD_INTERFACE:pfa_flags> PUBLIC ${PFA_ANALYZE_LIBRARIES})
if(PROFALLOC_SANITIZE STREQUAL thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    # GCC's ThreadSanitizer does not know fences. The one there is orders what another process wrote, which is not looked at.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/analyze/trace/livetable_ring.c PROPERTIES COMPILE_OPTIONS -Wno-tsan)
endif()
