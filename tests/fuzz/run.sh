#!/bin/bash
# Builds a fuzz target with clang and runs it, beginning with its corpus.
#   run.sh fuzz_reader|fuzz_texts|fuzz_names [RUNS|SECONDSs] [FOLDER]
# A number of runs is always the same ones; with a time, such as 600s, they are others each time. The folder gets the inputs
# that it made up and what they found; without one, findings stay in the build's.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${PROFALLOC_BUILD_DIR:-$root/build}
target=${1:?which target?}
length=${2:-2000}
work=${3:-$(mktemp -d)}
findings=${3:-$build/tests/fuzz}/findings
[[ -n ${3-} ]] || trap 'rm -rf "$work"' EXIT

command -v clang >/dev/null || { echo "clang is missing: install the package clang"; exit 1; }
mkdir -p "$build/tests/fuzz" "$work/corpus" "$findings"
work=$(cd "$work" && pwd)
findings=$(cd "$findings" && pwd)
rm -f "$build/tests/fuzz/$target"
options=(-timeout=60 -rss_limit_mb=3000 -max_len=65536 -print_final_stats=1 -artifact_prefix="$findings/")
if [[ $length == *s ]]; then
    options+=(-max_total_time="${length%s}")
else
    options+=(-runs="$length" -seed=1)
fi

# Small files with debug information, as the compilers here write it, and one as none would.
make_programs() {
    local language compiler flags number=0
    gcc -shared -nostdlib -Wl,-z,max-page-size=4096,-z,noseparate-code,--build-id=none "$root/tests/fuzz/maze.s" -o "$1/maze.so"
    for compiler in gcc clang; do
        for flags in "-O1 -gdwarf-5" "-O2 -gdwarf-4" "-O1 -gdwarf-4 -fdebug-types-section" "-O0 -gdwarf-5 -ffunction-sections"; do
            for language in c++ c; do
                [[ $language == c++ ]] || sed -n '/^typedef struct plain/,/^}/p; /^static .*twice/,/^}/p' \
                    "$root/tests/fuzz/named.cpp" >"$work/named.c"
                [[ $language == c ]] || cp "$root/tests/fuzz/named.cpp" "$work/named.c"
                [[ $language == c++ ]] || echo 'int first(plain_t *p) { return twice(p->bits); }' >>"$work/named.c"
                # shellcheck disable=SC2086 # flags are words
                "$compiler" -x "$language" $flags -fPIC -fno-exceptions -fno-stack-protector -fno-asynchronous-unwind-tables -shared -nostdlib \
                    -Wl,-z,max-page-size=4096,-z,noseparate-code,--build-id=none "$work/named.c" -o "$1/$compiler-$number.so"
                number=$((number + 1))
            done
        done
    done
}

words=()
corpus=$root/tests/fuzz/corpus
case $target in
    fuzz_texts)
        corpus=$root/tests/fuzz/corpus_texts
        words=(-dict="$root/tests/fuzz/texts.dict")
        ;;
    fuzz_names)
        corpus=$work/programs
        mkdir -p "$corpus"
        make_programs "$corpus"
        ;;
esac

# All of the library, compiled once for all targets. For those that read traces debug information has a stand-in.
objects=$build/tests/fuzz/objects
flags=(-g -O1 -std=gnu11 -D_GNU_SOURCE -DPFA_VERSION=\"fuzzed\" -I"$root" -fsanitize=address,undefined -fno-sanitize-recover=undefined)
compile_library() {
    local all key
    mapfile -t all < <(cd "$root" && find analyze export/format base -name '*.[ch]' -o -name '*.def' | sort)
    key=$(cd "$root" && { clang --version && echo "${flags[@]}" && cat "${all[@]}"; } | sha256sum)
    if [[ $(cat "$objects/key" 2>/dev/null) == "$key" ]]; then
        return
    fi
    rm -rf "$objects"
    mkdir -p "$objects"
    (cd "$root" && find analyze export/format -name '*.c') |
        xargs -P "$(nproc)" -I FILE bash -c 'object=${2//\//_} && "${@:3}" -c "$0/$2" -o "$1/${object%.c}.o"' \
            "$root" "$objects" FILE $launcher clang "${flags[@]}" -fsanitize=fuzzer-no-link
    echo "$key" >"$objects/key"
}
launcher=$(command -v ccache || true)
exec {lock}>"$build/tests/fuzz/lock"
flock "$lock"
compile_library
flock -u "$lock"

own=("$root/tests/fuzz/fuzz.c")
if [[ $target == fuzz_names ]]; then
    parts=("$objects"/analyze_{base_,names_dwarf,names_elfsymbols,names_spans,names_debuginfod}*.o)
    libraries=(-ldw -lelf -lstdc++ -ldl -lm)
else
    mapfile -t parts < <(find "$objects" -name '*.o' ! -name '*names_dwarf*' ! -name '*names_elfsymbols*')
    own+=("$root"/tests/fuzz/{no_names,compare}.c)
    libraries=(-lzstd -lm)
    [[ $target == fuzz_texts ]] || own+=("$root"/tests/fuzz/{analyses,forms,forms_excess,walk}.c)
fi
seeds=$root/tests/fuzz/corpus
clang "${flags[@]}" -fsanitize=fuzzer -DPFA_FUZZ_TRACE="\"$seeds/2-ended-200-accesses-shift-plain\"" \
    -DPFA_FUZZ_PLACED="\"$seeds/3-recorded-addresses-types-tags-plain\"" \
    "$root/tests/fuzz/$target.c" "${own[@]}" "${parts[@]}" "${libraries[@]}" -o "$build/tests/fuzz/$target"
cd "$work"
status=0
PFA_FUZZ_CORPUS=$corpus "$root/scripts/unscattered.sh" "$build/tests/fuzz/$target" "${options[@]}" ${words[@]+"${words[@]}"} \
    "$work/corpus" "$corpus" 2>&1 | tail -30 || status=$?
if ((status != 0)); then
    echo "what was found is in $findings:"
    ls -t "$findings"
fi
exit "$status"
