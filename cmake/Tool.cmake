# The command `profalloc`. It shares the trace format and the option table with the runtime, and no code.

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/analyze/*/*.c ${PROJECT_SOURCE_DIR}/cli/*.c ${PROJECT_SOURCE_DIR}/export/format/*.c)
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/cli/main.c)
set(PFA_TOOL_LIBRARIES zstd dw elf stdc++ m)
add_library(pfa_tool_objects OBJECT ${tool_sources})
target_compile_definitions(pfa_tool_objects PRIVATE _GNU_SOURCE)
target_link_libraries(pfa_tool_objects PRIVATE pfa_flags)
add_executable(profalloc_tool ${PROJECT_SOURCE_DIR}/cli/main.c $<TARGET_OBJECTS:pfa_tool_objects>)
set_target_properties(profalloc_tool PROPERTIES OUTPUT_NAME profalloc)
target_compile_definitions(profalloc_tool PRIVATE _GNU_SOURCE)
target_link_libraries(profalloc_tool PRIVATE pfa_flags ${PFA_TOOL_LIBRARIES})
