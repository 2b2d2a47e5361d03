#!/bin/bash
# gcc and clang on libprofalloc, compiling this project's own sources and a C++ program, with debug information and
# link-time optimisation. Objects, archives and programs must be equal byte for byte.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

c_flags=(-std=gnu11 -O2 -g -fPIC -Wall -Wextra -D_GNU_SOURCE '-DPFA_VERSION="test"' -I. -Iinclude)
cxx_flags=(-std=c++17 -fsized-deallocation -pthread)

# A copy at a fixed place: paths are in the debug information, and nobody edits it between two ways.
copy_sources() {
    mkdir "$scratch/source"
    cd "$SOURCE_DIR"
    cp -r --parents base meta alloc hooks export analyze include tests/real/cxx_program.cpp "$scratch/source"
}

# Those that need nothing but the system's headers and ours; the file that compiles mimalloc is not among them.
list_sources() {
    local file
    cd "$scratch/source"
    for file in base/*.c meta/*.c alloc/*.c hooks/*.c export/*.c analyze/*/*.c; do
        [ -e "$file" ] && gcc "${c_flags[@]}" -fsyntax-only "$file" 2>/dev/null && echo "$file"
    done | head -n 5
}

digest_of() {
    sha256sum "$1" | sed 's#  .*/#  #'
}

compile_sources() {
    local compiler=$1 file object
    for file in "${sources[@]}"; do
        object="$out/$compiler-${file//\//_}.o"
        under "$compiler" "${c_flags[@]}" -c "$file" -o "$object"
        digest_of "$object"
    done
    under ar rcsD "$out/$compiler.a" "$out/$compiler"-*.o
    digest_of "$out/$compiler.a"
}

compile_program() {
    local compiler=$1
    shift
    under "$compiler" "${cxx_flags[@]}" "$@" tests/real/cxx_program.cpp -o "$out/$compiler-program"
    digest_of "$out/$compiler-program"
}

# Not hooks/, which redeclares the libc's functions its own way. The seed replaces a random one in the names of local
# symbols. Two partitions are compiled at once.
link_time_optimisation() {
    local file objects=()
    for file in "${sources[@]}"; do
        [[ $file == base/* || $file == meta/* ]] || continue
        objects+=("$out/lto-${file//\//_}.o")
        under gcc "${c_flags[@]}" -flto -frandom-seed="$file" -c "$file" -o "${objects[-1]}"
    done
    under gcc -O2 -g -fPIC -flto=2 -frandom-seed=1 -flinker-output=nolto-rel -r -o "$out/lto.o" "${objects[@]}"
    digest_of "$out/lto.o"
}

wrong_source() {
    local compiler
    for compiler in gcc clang; do
        under "$compiler" -x c -c - -o "$out/wrong.o" <<<'int main(void) { return undeclared + "text" * 2; }' ||
            echo "exit $?"
    done
}

work() {
    out=$PWD
    cd "$scratch/source"
    compile_sources gcc
    compile_sources clang
    link_time_optimisation
    compile_program g++ -O0
    compile_program clang++ -O0 -g
    wrong_source
}

begin
need gcc gcc
need g++ g++
need clang clang
need clang++ clang
need ar binutils
for program in gcc "$(gcc -print-prog-name=cc1)" "$(gcc -print-prog-name=cc1plus)" as ld ar clang; do
    assert_interposed "$program" --version
done
(copy_sources)
mapfile -t sources < <(list_sources)
[ "${#sources[@]}" -ge 5 ] || die "fewer than 5 sources in $SOURCE_DIR compile on their own: nothing to compare"
compare_ways work
