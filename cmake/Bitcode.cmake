# Run with -P: makes C++ of bitcode files, for hooks/pass/bitcode.h.
#   BODIES the files, named *-<machine>.bc; OUT the source
set(text "#include \"hooks/pass/bitcode.h\"\n\n")
set(table "")
foreach(body ${BODIES})
    string(REGEX REPLACE ".*-([a-z0-9_]+)\\.bc$" "\\1" machine ${body})
    file(READ ${body} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
    string(APPEND text "alignas(8) static const unsigned char of_${machine}[] = {\n${bytes}};\n")
    string(APPEND table "    {\"${machine}\", of_${machine}, sizeof of_${machine}},\n")
endforeach()
file(WRITE ${OUT} "${text}\nconst pfa_pass_bitcode pfa_pass_bitcodes[] = {\n${table}    {nullptr, nullptr, 0},\n};\n")
