#!/bin/bash
# A C++ program, built by both compilers, on libprofalloc: new and delete, exceptions, streams, containers, threads.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

run_program() {
    echo "== $*"
    under "$@" || echo "exit $?"
}

work() {
    run_program "$scratch/gnu"
    run_program "$scratch/llvm"
    run_program "$scratch/static-libstdc++"
    run_program "$scratch/gnu" terminate
}

build() {
    "$@" -pthread || die "cannot build cxx_program.cpp with $1"
}

begin
need g++ g++
need clang++ clang
flags=(-std=c++17 -fsized-deallocation -O1 -g)
build g++ "${flags[@]}" -c "$real_dir/cxx_program.cpp" -o "$scratch/gnu.o"
build g++ "$scratch/gnu.o" -o "$scratch/gnu"
build g++ "$scratch/gnu.o" -static-libstdc++ -static-libgcc -o "$scratch/static-libstdc++"
build clang++ "${flags[@]}" "$real_dir/cxx_program.cpp" -o "$scratch/llvm"
for program in gnu llvm static-libstdc++; do
    assert_interposed "$scratch/$program" short
done
compare_ways work
