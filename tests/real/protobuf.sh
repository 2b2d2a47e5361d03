#!/bin/bash
# protobuf, the library and a program that parses messages, built with profalloc-c++: what an arena changes, as in Memoro's paper
# (its Table 2): fewer allocations, a higher score of lifetimes, lower ones of usage and of useful lifetimes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin
[ -x "$PROFALLOC_BUILD_DIR/profalloc-c++" ] || die "profalloc-c++ is not in $PROFALLOC_BUILD_DIR: build the project first"
need protoc protobuf-compiler
need g++ g++
"$SOURCE_DIR/scripts/fetch-source.sh" protobuf
library=$SOURCE_DIR/third_party/protobuf
cd "$scratch"
protoc --proto_path="$real_dir/protobuf" --cpp_out=. record.proto
compile() {
    "$PROFALLOC_BUILD_DIR/profalloc-c++" -O1 -g -w -DHAVE_PTHREAD -I. -I"$library/src" -c "$1" -o "$2"
}
export -f compile
export library
# The files of the library for messages without descriptions of themselves, as its own build has them.
sed -n 's#.*{protobuf_SOURCE_DIR}/src/\(.*\.cc\)$#\1#p' "$library/cmake/libprotobuf-lite.cmake" | grep -v win32 >files
[ "$(wc -l <files)" -gt 20 ] || die "the list of protobuf's files is not understood"
mkdir objects
xargs -P2 -I{} bash -c 'compile "$library/src/{}" "objects/$(echo {} | tr / _).o"' <files
compile "$real_dir/protobuf/parse.cpp" objects/parse.o
compile record.pb.cc objects/record.o
"$PROFALLOC_BUILD_DIR/profalloc-c++" objects/*.o -o parse
/usr/bin/python3 "$real_dir/protobuf/compare.py" "$PROFALLOC_BUILD_DIR/profalloc" "$scratch"
