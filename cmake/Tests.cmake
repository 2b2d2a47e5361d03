# Tests, found by their place:
#   tests/unit/test_*.c   unit_*   CMocka, one per module; linked with pfa_core, or with libprofalloc.so if it includes
#                                  <profalloc.h>. A line "/* sources: a.c b.c */" adds files, from the project root.
#                                  One with records is run again as *_wide, with room for accesses in them.
#                                  Those that include tests/unit/accesses.h are linked as profalloc-cc would link them
#                                  with libprofalloc_access_any.a, and with nothing else of ours.
#   tests/race/race_*.c   race_*   one concurrent structure on its own; with large_traces.py, all there is under ThreadSanitizer
#   tests/prog/prog_*.c   prog_*   trap programs, run by tests/run_progs.py; prog_static_* are linked with
#                                  libprofalloc.a, all others meet the library only through LD_PRELOAD.
#                                  tests/prog/lib_*.c are shared objects for them to dlopen.
#   tests/analyze/*.py    analyze_*  the tool, on traces that tests/analyze/make_trace.c makes; support.py, pictures.py and sarif.py are
#                                  what they share
#   tests/fuzz/run.sh     fuzz_*   libFuzzer, some runs from a fixed seed: fuzz_reader on what reads traces, fuzz_texts on expressions,
#                                  files of queries, baselines and suppressions, fuzz_names on symbols and debug information
#   tests/real/*.sh       real_*   programs of others, label "real": the scripts that source lib.sh
#   tests/ends/*.py       ends_*   how programs end, and what their traces then say; tests/capture.py is what they share with
#   tests/exact/*.py      exact_*  traces against what programs did, in all circumstances; the programs are the *.c beside them
#   tests/cc/*.py         cc_*     profalloc-cc: calls of every kind, and builds of small projects; wrapper.py is what they share
#   tests/access/*.py     access_* what instrumented programs did with their memory, as it was recorded
#   tests/pass/*.c, *.cpp pass_*  programs built with the Clang pass in all its ways, by tests/pass/run.py, once for each LLVM that
#                                  there is a pass for; label "pass"
#   tests/oracle/*.py     oracle_* parts of the runtime against another implementation, label "oracle"
#   tests/checks/*        check_*  static checks of sources and products
#   bench/run --quick     bench_*  smoke runs: that the benches work, not what they measure
# A test whose tool is missing fails and names the package: it is never left out. What the kernel does not allow is told in a line
# "not run: WHAT: REASON", with one of the reasons of tests/not_run.txt.

find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
find_library(UNWIND_LIBRARY unwind)
find_program(PFA_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH) # Debian's, the one its test-suite package belongs to
if(NOT CMOCKA_INCLUDE_DIR OR NOT CMOCKA_LIBRARY OR NOT UNWIND_LIBRARY OR NOT PFA_PYTHON)
    message(FATAL_ERROR "libcmocka-dev, libunwind-dev or python3 is missing. Run scripts/setup.sh test, or configure with -DPROFALLOC_TESTS=OFF.")
endif()

# Tests keep their assertions in every build, and mean every malloc they write down.
set(test_options -UNDEBUG ${PFA_NO_BUILTIN_MALLOC})
# What tests compile themselves. Under a sanitizer that is GCC, whatever compiled the rest: some tests know its options and its code.
set(program_cc ${CMAKE_C_COMPILER})
set(program_cxx ${CMAKE_CXX_COMPILER})
if(PROFALLOC_SANITIZE)
    set(program_cc gcc)
    set(program_cxx g++)
endif()
set(test_environment
    PROFALLOC_LIB=${PROJECT_BINARY_DIR}/libprofalloc.so
    PROFALLOC_TOOL=${PROJECT_BINARY_DIR}/profalloc
    PROFALLOC_BUILD_DIR=${PROJECT_BINARY_DIR}
    PROFALLOC_SOURCE_DIR=${PROJECT_SOURCE_DIR}
    PROFALLOC_MIMALLOC_DIR=${PROFALLOC_MIMALLOC_DIR}
    PYTHONPATH=${PROJECT_SOURCE_DIR}/tests:${PROJECT_SOURCE_DIR}/tests/analyze
    CC=${program_cc} CXX=${program_cxx})

# The time limit is for tests that hang: on a busy machine others take many times as long as they should, and pass.
function(pfa_add_test name label)
    add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 1500 ENVIRONMENT "${test_environment}"
        SKIP_RETURN_CODE 77) # see tests/not_run.txt
    # Long ones first, those that sleep before all others, so that no processor is idle in the end: about their seconds on two
    # processors. ctest knows better once it has run them. The last pattern that fits counts.
    set(cost "")
    foreach(pattern analyze:10 exact:5 access:5 cc_:10 bench:10 real:20 pass_random:25 fuzz:20 oracle:10 check_clang_build:40
            "analyze_(diff|hostile|scale|timeline|totals|excess|damage|leaks)$:30" ends_kills:45 bench_alloc:35 bench_advise:60 bench_excess:60
            "real_(compilers|glibc_malloc|protobuf)$:75" "bench_(leveldb|memcached)$:200" real_suite_leveldb:220 real_python:230
            real_suite_memcached:240)
        string(REGEX MATCH "^(.*):(.*)$" found ${pattern})
        set(prefix ${CMAKE_MATCH_1})
        set(seconds ${CMAKE_MATCH_2})
        if(name MATCHES "^${prefix}")
            set(cost ${seconds})
        endif()
    endforeach()
    if(cost)
        set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
endfunction()

# An executable in build/tests/<folder>, named after its source.
function(pfa_add_test_program source folder)
    cmake_path(GET source STEM name)
    file(STRINGS ${source} extra REGEX "^/\\* sources: ")
    string(REGEX REPLACE "^/\\* sources: *|\\*/" "" extra "${extra}")
    separate_arguments(extra)
    list(TRANSFORM extra PREPEND ${PROJECT_SOURCE_DIR}/)
    add_executable(${name} ${source} ${extra})
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/${folder})
    target_compile_options(${name} PRIVATE ${test_options})
    if(extra MATCHES "/analyze/") # as the tool is compiled
        target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    endif()
endfunction()

function(pfa_add_unit_tests folder prefix)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/${prefix}_*.c)
    foreach(source ${sources})
        cmake_path(GET source STEM name)
        file(STRINGS ${source} own_malloc REGEX "^/\\* sources: .*hooks/malloc.c")
        if(own_malloc AND PROFALLOC_SANITIZE)
            continue() # sanitizers have a malloc of their own
        endif()
        set(library pfa_core)
        set(flags pfa_flags)
        file(STRINGS ${source} public REGEX "#include [<\"]profalloc.h")
        if(public)
            set(library profalloc_shared)
            set(flags pfa_library_flags)
        endif()
        file(STRINGS ${source} analyses REGEX "#include \"include/profalloc-analyze.h")
        if(analyses)
            set(library profalloc_analyze)
        endif()
        file(STRINGS ${source} instrumented REGEX "#include \"tests/unit/accesses.h")
        if(instrumented)
            # All of it: the runtime of Clang's sanitizers has some of the callbacks, too.
            set(library -Wl,--whole-archive profalloc_access_any -Wl,--no-whole-archive)
        endif()
        pfa_add_test_program(${source} ${folder})
        if(instrumented)
            target_compile_options(${name} PRIVATE -fno-builtin)
            target_link_options(${name} PRIVATE -Wl,@${PROJECT_BINARY_DIR}/profalloc-wrap.txt)
            set_target_properties(${name} PROPERTIES LINK_DEPENDS ${PROJECT_BINARY_DIR}/profalloc-wrap.txt)
        endif()
        if(analyses)
            target_compile_definitions(${name} PRIVATE _GNU_SOURCE PFA_FIXTURES="${PROJECT_SOURCE_DIR}/tests/analyze/fixtures")
        endif()
        target_include_directories(${name} PRIVATE ${CMOCKA_INCLUDE_DIR})
        target_link_libraries(${name} PRIVATE ${flags} ${CMOCKA_LIBRARY} ${library} pthread m)
        string(REGEX REPLACE "^${prefix}" ${folder} test_name ${name})
        pfa_add_test(${test_name} ${folder} ${name})
        # The runtime has no chunks of its own to lose, and some compilers' search for leaks takes 4 s on arm64.
        file(STRINGS ${source} of_tool REGEX "^/\\* sources: .*analyze/")
        if(NOT of_tool)
            set_property(TEST ${test_name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
        endif()
        file(STRINGS ${source} records REGEX "allocator_start\\(|wide_records\\(")
        if(records)
            pfa_add_test(${test_name}_wide ${folder} ${name})
            set_property(TEST ${test_name}_wide APPEND PROPERTY ENVIRONMENT PROFALLOC_TEST_RECORDS=wide ASAN_OPTIONS=detect_leaks=0)
        endif()
    endforeach()
endfunction()

pfa_add_unit_tests(race race)
# The example of the analyses' library, which has nothing but its public header. In all builds: it has two threads.
add_executable(two_traces ${PROJECT_SOURCE_DIR}/examples/two_traces.c)
set_target_properties(two_traces PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/race)
target_compile_definitions(two_traces PRIVATE _GNU_SOURCE)
target_link_libraries(two_traces PRIVATE pfa_flags profalloc_analyze)
pfa_add_test(race_two_traces race two_traces ${PROJECT_SOURCE_DIR}/tests/analyze/fixtures/told.pa
             ${PROJECT_SOURCE_DIR}/tests/analyze/fixtures/plain.pa)
pfa_add_test_program(${PROJECT_SOURCE_DIR}/tests/analyze/make_trace.c analyze)
target_link_libraries(make_trace PRIVATE pfa_library_flags zstd m) # without a search for leaks: it frees nothing
pfa_add_test(race_large_traces race ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/race/large_traces.py)
if(NOT PFA_REPLACES_MALLOC)
    return()
endif()
pfa_add_unit_tests(unit test)

pfa_add_test_program(${PROJECT_SOURCE_DIR}/tests/analyze/make_pictures.c analyze)
target_compile_definitions(make_pictures PRIVATE _GNU_SOURCE)
target_link_libraries(make_pictures PRIVATE pfa_flags m)
pfa_add_test_program(${PROJECT_SOURCE_DIR}/tests/analyze/call_graph.c analyze)
target_compile_definitions(call_graph PRIVATE _GNU_SOURCE)
target_link_libraries(call_graph PRIVATE pfa_flags m)
pfa_add_test_program(${PROJECT_SOURCE_DIR}/tests/analyze/compare_names.c analyze)
target_link_libraries(compare_names PRIVATE pfa_flags dw elf m)
foreach(name make_cut reading_parts)
    pfa_add_test_program(${PROJECT_SOURCE_DIR}/tests/analyze/${name}.c analyze)
    target_link_libraries(${name} PRIVATE profalloc_analyze)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(${name} PRIVATE pfa_flags)
endforeach()
foreach(name asking asking_again)
    add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/analyze/${name}.c)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/analyze)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
    target_link_libraries(${name} PRIVATE pfa_flags profalloc_analyze)
endforeach()
target_sources(asking PRIVATE ${PROJECT_SOURCE_DIR}/tests/analyze/asking_any.c)
foreach(kind own all)
    add_executable(failing_${kind} ${PROJECT_SOURCE_DIR}/tests/analyze/failing.c ${PROJECT_SOURCE_DIR}/tests/analyze/failing_${kind}.c)
    set_target_properties(failing_${kind} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/analyze)
    target_compile_definitions(failing_${kind} PRIVATE _GNU_SOURCE)
    target_link_libraries(failing_${kind} PRIVATE pfa_flags profalloc_analyze)
    if(PROFALLOC_SANITIZE)
        break() # sanitizers have a malloc of their own
    endif()
endforeach()
target_link_options(failing_own PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=open_memstream,--wrap=fopen,--wrap=ZSTD_createDCtx)
if(TARGET failing_all)
    target_compile_definitions(failing_all PRIVATE FAILING_ALL)
endif()
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/analyze/*.py)
foreach(script ${scripts})
    cmake_path(GET script STEM name)
    # Size and speed are told of what is shipped.
    if(name MATCHES "^(support|pictures|leaks_reference|sarif)$"
       OR (name STREQUAL "scale" AND (PROFALLOC_SANITIZE OR NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")))
        continue()
    endif()
    pfa_add_test(analyze_${name} analyze ${PFA_PYTHON} ${script})
    # tests/analyze/support.py looks for leaks. A tool that is started with something preloaded shall start.
    set_property(TEST analyze_${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0:exitcode=99)
endforeach()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/prog/prog_*.c ${PROJECT_SOURCE_DIR}/tests/prog/prog_*.cpp)
foreach(source ${sources})
    cmake_path(GET source STEM name)
    pfa_add_test_program(${source} prog)
    # Misusing free is what some of them are for.
    target_compile_options(${name} PRIVATE -Wall -Wextra -Werror $<$<C_COMPILER_ID:Clang>:-Wno-unknown-warning-option>
        -Wno-use-after-free -Wno-free-nonheap-object)
    target_compile_definitions(${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:PFA_AS_SHIPPED>) # the library, that is
    target_link_libraries(${name} PRIVATE pthread)
    target_link_options(${name} PRIVATE -rdynamic) # the library reads profalloc_conf of a program that exports it
    if(name MATCHES "^prog_static_")
        target_link_libraries(${name} PRIVATE profalloc_static -static)
    endif()
    pfa_add_test(${name} prog ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/run_progs.py $<TARGET_FILE:${name}>)
    file(STRINGS ${source} machine_wide REGEX "run:.*overcommit=")
    if(machine_wide) # it changes a setting that everything on the machine is under
        set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
endforeach()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/prog/lib_*.c ${PROJECT_SOURCE_DIR}/tests/prog/lib_*.cpp)
foreach(source ${sources})
    cmake_path(GET source STEM name)
    add_library(${name} MODULE ${source})
    set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/prog)
    target_compile_options(${name} PRIVATE ${test_options})
endforeach()

if(PROFALLOC_SANITIZE)
    return()
endif()

file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/real/*.sh)
foreach(script ${scripts})
    cmake_path(GET script STEM name)
    file(STRINGS ${script} is_test REGEX "^source .*lib\\.sh")
    if(NOT is_test)
        continue()
    endif()
    pfa_add_test(real_${name} real bash ${script})
endforeach()

foreach(folder ends exact)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.c)
    foreach(source ${sources})
        cmake_path(GET source STEM name)
        pfa_add_test_program(${source} ${folder})
        target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -g)
        target_link_libraries(${name} PRIVATE pthread)
    endforeach()
    file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.py)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        pfa_add_test(${folder}_${name} ${folder} ${PFA_PYTHON} ${script})
    endforeach()
endforeach()
foreach(folder cc access)
    file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.py)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        if(name MATCHES "^(wrapper|compilers)$")
            continue()
        endif()
        if(folder STREQUAL "cc" AND name MATCHES "^(steps|projects)$") # long ones, in parts
            foreach(under gcc clang-14 clang-14-pass clang-16 clang-16-pass)
                pfa_add_test(${folder}_${name}_${under} ${folder} ${PFA_PYTHON} ${script})
                set_property(TEST ${folder}_${name}_${under} APPEND PROPERTY ENVIRONMENT PROFALLOC_TEST_UNDER=${under})
            endforeach()
        else()
            pfa_add_test(${folder}_${name} ${folder} ${PFA_PYTHON} ${script})
        endif()
    endforeach()
endforeach()

# The sums that the pass yields, against those of one call for each access, for every LLVM that packages.txt names.
file(STRINGS ${PROJECT_SOURCE_DIR}/packages.txt llvms REGEX "^test llvm-[0-9]+-dev")
foreach(package ${llvms})
    string(REGEX MATCH "[0-9]+" version ${package})
    if(NOT version IN_LIST PFA_PASS_VERSIONS)
        message(FATAL_ERROR "The Clang pass is not built for LLVM ${version}: clang-${version} or llvm-${version}-dev is missing. Run scripts/setup.sh test, or configure with -DPROFALLOC_TESTS=OFF.")
    endif()
endforeach()
foreach(version ${PFA_PASS_VERSIONS})
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/pass/*.c ${PROJECT_SOURCE_DIR}/tests/pass/*.cpp)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/tests/pass/fake.c)
    foreach(source ${sources})
        cmake_path(GET source STEM name)
        pfa_add_test(pass_${name}_${version} pass ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/pass/run.py ${version} ${source})
    endforeach()
    # Other programs for each LLVM: the pass is the same source.
    list(FIND PFA_PASS_VERSIONS ${version} number)
    math(EXPR first "10 * ${number}")
    pfa_add_test(pass_random_${version} pass
        ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/pass/run.py ${version} --random ${first} 10)
endforeach()

add_library(unwind_shim MODULE ${PROJECT_SOURCE_DIR}/tests/oracle/unwind_shim.c)
set_target_properties(unwind_shim PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(unwind_shim PRIVATE pfa_runtime_flags pfa_core ${UNWIND_LIBRARY})
pfa_add_test(oracle_unwind oracle
    ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/oracle/unwind.py $<TARGET_FILE:unwind_shim>)
# Without -g: Debian's Valgrind gives up on debug information that some compilers write.
foreach(language c cpp)
    add_executable(chunks_${language} ${PROJECT_SOURCE_DIR}/tests/oracle/chunks.${language})
    set_target_properties(chunks_${language} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/oracle)
    target_compile_options(chunks_${language} PRIVATE ${test_options} -Wall -Wextra -g0)
endforeach()
pfa_add_test(oracle_valgrind oracle ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/oracle/valgrind.py)
foreach(target reader:400 texts:1000 names:2500)
    string(REPLACE ":" ";" target ${target})
    list(POP_BACK target runs)
    pfa_add_test(fuzz_${target} fuzz bash ${PROJECT_SOURCE_DIR}/tests/fuzz/run.sh fuzz_${target} ${runs})
endforeach()

add_library(golden_probe MODULE ${PROJECT_SOURCE_DIR}/tests/checks/golden/probe.c)
set_target_properties(golden_probe PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
target_link_libraries(golden_probe PRIVATE pfa_runtime_flags pfa_core)

file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/checks/*.sh ${PROJECT_SOURCE_DIR}/tests/checks/*.py)
foreach(script ${scripts})
    cmake_path(GET script STEM name)
    cmake_path(GET script EXTENSION extension)
    # The tables are of the code that is shipped, and ./profile has one build folder.
    if((name STREQUAL "golden" AND NOT CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
       OR (name STREQUAL "profile" AND NOT PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build"))
        continue()
    endif()
    pfa_add_test(check_${name} check $<IF:$<STREQUAL:${extension},.py>,${PFA_PYTHON},bash> ${script})
endforeach()

if(PROFALLOC_BENCH)
    foreach(bench access advise alloc analyze capture disk excess largemap leveldb memcached spent unwind)
        pfa_add_test(bench_${bench} bench
            ${PFA_PYTHON} ${PROJECT_SOURCE_DIR}/bench/run ${bench} --quick --build-dir ${PROJECT_BINARY_DIR})
    endforeach()
endif()
