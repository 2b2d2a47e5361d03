# The command `profalloc`: cli/ on top of the analyses.

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.c)
add_executable(profalloc_tool ${tool_sources})
set_target_properties(profalloc_tool PROPERTIES OUTPUT_NAME profalloc)
target_compile_definitions(profalloc_tool PRIVATE _GNU_SOURCE)
target_link_libraries(profalloc_tool PRIVATE pfa_flags profalloc_analyze)
