# Run with -P: makes the manual page of the options from the template and the tool's own table.
#   TOOL the built tool, IN the template, OUT the page, PROJECT_VERSION
execute_process(COMMAND ${TOOL} options --man OUTPUT_VARIABLE PROFALLOC_OPTIONS OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
configure_file(${IN} ${OUT} @ONLY)
