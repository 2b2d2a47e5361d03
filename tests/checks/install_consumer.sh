#!/bin/bash
# Installs into a temporary prefix, then builds and runs a program against it as a stranger would: with find_package,
# with pkg-config, and statically. In each of them malloc must be ours.
set -euo pipefail

source_dir=${PROFALLOC_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
build_dir=${PROFALLOC_BUILD_DIR:-$source_dir/build}
cc=${CC:-cc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

step() {
    echo "--- $*"
}

fail() {
    echo "FAILED: $*"
    exit 1
}

# The path of an installed file whose folder depends on the machine.
installed() {
    local found
    found=$(cd "$prefix" && find . -path "*$1" -print -quit)
    [[ -n $found ]] || fail "$1 is not installed"
    echo "$prefix/$found"
}

# A static program has glibc's malloc in it if and only if it has this function of glibc's.
has_glibc_malloc() {
    nm "$1" | grep -q ' _int_malloc$'
}

write_consumer() {
    cat >"$work/consumer.c" <<'END'
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <profalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char *volatile text = malloc(100);
    strcpy(text, "hello");
    char *copy = strdup(text);
    free(text);
    if (strcmp(copy, "hello") != 0)
        return 1;
    free(copy);
#ifdef EXPECT_SHARED
    Dl_info info;
    if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) == 0 || strstr(info.dli_fname, "libprofalloc.so") == NULL)
        return 2;
#endif
    profalloc_counters_t before, after;
    if (profalloc_start(1) != 0)
        return 3;
    profalloc_counters(&before);
    text = malloc(100);
    profalloc_counters(&after);
    free(text);
    if (after.allocations == before.allocations)
        return 4;
    pid_t child = fork();
    if (child == 0)
        _exit(malloc(10) == NULL);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        return 5;
    printf("%s %s\n", argc > 1 ? argv[1] : "consumer", profalloc_version());
    return 0;
}
END
    # The headers must stand on their own, in C and in C++.
    local header
    for header in profalloc.h profalloc-analyze.h; do
        echo "#include <$header>" | "$cc" -std=c11 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only -x c -
        echo "#include <$header>" | "$cc" -std=c++17 -pedantic -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only -x c++ -
    done
}

write_cmake_project() {
    mkdir -p "$work/project"
    cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(consumer C)
find_package(profalloc 0.1 REQUIRED)
add_executable(with_shared $work/consumer.c)
target_compile_definitions(with_shared PRIVATE EXPECT_SHARED)
target_link_libraries(with_shared PRIVATE profalloc::profalloc)
add_executable(with_static $work/consumer.c)
target_link_libraries(with_static PRIVATE profalloc::profalloc_static)
END
}

step "install"
cmake --install "$build_dir" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install"; }
libdir=$(dirname "$(installed /libprofalloc.so)")
for file in /libprofalloc.a /libprofalloc-analyze.a /include/profalloc.h /include/profalloc-analyze.h /bin/profalloc /profalloc.pc /profallocConfig.cmake; do
    installed "$file" >/dev/null
done
"$prefix/bin/profalloc" --version

write_consumer
write_cmake_project

step "find_package"
cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >"$work/log" &&
    cmake --build "$work/project/build" >>"$work/log" || { cat "$work/log"; fail "building with find_package"; }
"$work/project/build/with_shared" find_package || fail "with_shared: status $?"
"$work/project/build/with_static" find_package-static || fail "with_static: status $?"

export PKG_CONFIG_PATH=$libdir/pkgconfig
step "pkg-config"
# shellcheck disable=SC2046 # the output is words
"$cc" -DEXPECT_SHARED "$work/consumer.c" -o "$work/shared" $(pkg-config --cflags --libs profalloc)
LD_LIBRARY_PATH=$libdir "$work/shared" pkg-config || fail "shared: status $?"

step "pkg-config --static"
# shellcheck disable=SC2046
"$cc" -static "$work/consumer.c" -o "$work/static" $(pkg-config --static --cflags --libs profalloc)
"$work/static" pkg-config-static || fail "static: status $?"
if has_glibc_malloc "$work/static"; then
    fail "the static program has glibc's malloc in it"
fi

step "the analyses, as the example says"
"$cc" -D_GNU_SOURCE "$source_dir/examples/two_traces.c" -o "$work/two_traces" -I"$prefix/include" -L"$libdir" \
    -lprofalloc-analyze -lzstd -ldw -lelf -lstdc++ -lm -lpthread
fixtures=$source_dir/tests/analyze/fixtures
"$work/two_traces" "$fixtures/told.pa" "$fixtures/plain.pa" >"$work/answers" || fail "two_traces: status $?"
for command in "report --sort peak --top 3 --by function --json" "leaks --json --where size>1K"; do
    # shellcheck disable=SC2086 # it is words
    "$prefix/bin/profalloc" $command "$fixtures/told.pa"
done >"$work/told"
for command in "report --sort peak --top 3 --by function --json" "leaks --json --where size>1K"; do
    # shellcheck disable=SC2086
    "$prefix/bin/profalloc" $command "$fixtures/plain.pa"
done >"$work/plain"
cat "$work/told" "$work/plain" | cmp - "$work/answers" || fail "the example and the commands answer differently"
if "$work/two_traces" "$fixtures/told.pa" "$fixtures/README.md" >/dev/null 2>&1; then
    fail "two_traces: a file that is no trace"
fi
