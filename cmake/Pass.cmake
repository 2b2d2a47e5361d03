# The Clang pass (hooks/pass), one plugin for each LLVM that is installed with its headers and its clang:
# lib/profalloc/profalloc-pass-N.so. Nothing of it is needed to build or use the rest.
# PFA_PASS_VERSIONS becomes the list of N.

set(PFA_PASS_VERSIONS "")
file(GLOB pass_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hooks/pass/*.cpp)

# The callback as bitcode, of both architectures: it includes no header of the system.
function(pfa_pass_bitcode version clang out)
    set(bodies "")
    foreach(machine x86_64 aarch64)
        set(body ${PROJECT_BINARY_DIR}/pass/inline-${version}-${machine}.bc)
        add_custom_command(OUTPUT ${body}
            COMMAND ${clang} --target=${machine}-linux-gnu -std=gnu11 -O2 -fPIC -ffreestanding -fno-stack-protector
                    -fasynchronous-unwind-tables -fvisibility=hidden -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}
                    -MD -MF ${body}.d -MT ${body} -emit-llvm -c ${PROJECT_SOURCE_DIR}/hooks/pass/inline.c -o ${body}
            DEPENDS ${PROJECT_SOURCE_DIR}/hooks/pass/inline.c DEPFILE ${body}.d VERBATIM)
        list(APPEND bodies ${body})
    endforeach()
    set(source ${PROJECT_BINARY_DIR}/pass/bitcode-${version}.cpp)
    add_custom_command(OUTPUT ${source}
        COMMAND ${CMAKE_COMMAND} "-DBODIES=${bodies}" -DOUT=${source} -P ${PROJECT_SOURCE_DIR}/cmake/Bitcode.cmake
        DEPENDS ${bodies} ${PROJECT_SOURCE_DIR}/cmake/Bitcode.cmake VERBATIM)
    set(${out} ${source} PARENT_SCOPE)
endfunction()

foreach(version RANGE 14 19)
    find_program(PFA_LLVM_CONFIG_${version} llvm-config-${version})
    find_program(PFA_CLANG_${version} clang-${version})
    mark_as_advanced(PFA_LLVM_CONFIG_${version} PFA_CLANG_${version})
    if(NOT PFA_LLVM_CONFIG_${version} OR NOT PFA_CLANG_${version})
        continue()
    endif()
    execute_process(COMMAND ${PFA_LLVM_CONFIG_${version}} --includedir OUTPUT_VARIABLE include_dir
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${PFA_LLVM_CONFIG_${version}} --has-rtti OUTPUT_VARIABLE rtti OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS ${include_dir}/llvm/Passes/PassPlugin.h)
        continue()
    endif()
    pfa_pass_bitcode(${version} ${PFA_CLANG_${version}} bitcode_source)
    set(pass profalloc_pass_${version})
    add_library(${pass} MODULE ${pass_sources} ${bitcode_source})
    set_target_properties(${pass} PROPERTIES PREFIX "" OUTPUT_NAME profalloc-pass-${version}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/profalloc CXX_STANDARD 17 CXX_VISIBILITY_PRESET hidden)
    target_include_directories(${pass} SYSTEM PRIVATE ${include_dir})
    target_include_directories(${pass} PRIVATE ${PROJECT_SOURCE_DIR})
    target_compile_definitions(${pass} PRIVATE PFA_VERSION="${PROJECT_VERSION}" _GNU_SOURCE __STDC_CONSTANT_MACROS
        __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
    # clang has the rest of it: nothing of LLVM is linked, and its assertions and ours must agree, so there are none.
    target_compile_options(${pass} PRIVATE -Wall -Wextra -Wundef -Wshadow -Werror -fno-exceptions -g0
        $<$<STREQUAL:${rtti},NO>:-fno-rtti>)
    install(TARGETS ${pass} DESTINATION ${CMAKE_INSTALL_LIBDIR}/profalloc)
    list(APPEND PFA_PASS_VERSIONS ${version})
endforeach()

if(PFA_PASS_VERSIONS)
    list(JOIN PFA_PASS_VERSIONS ", " text)
    message(STATUS "Clang pass: for LLVM ${text}")
else()
    message(STATUS "Clang pass: not built, no LLVM 14 to 19 with clang-N and llvm-N-dev")
endif()
