#!/bin/bash
# All C and C++ of the project is as clang-format would write it. To repair: clang-format -i FILE...
set -euo pipefail
cd "$(dirname "$0")/../.."
report=$(mktemp)
trap 'rm -f "$report"' EXIT

command -v clang-format >/dev/null || { echo "clang-format is missing: install the package clang-format"; exit 1; }
command -v git >/dev/null || { echo "git is missing: install the package git"; exit 1; }

# In an unpacked archive there is no index to ask; the folders that are not ours are left out by name then.
list_sources() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp'
    else
        find . \( -path './build*' -o -path ./third_party \) -prune -o -name '*.[ch]' -print0 -o -name '*.[ch]pp' -print0
    fi
}

# A file deleted but still in the index is not there to be checked.
mapfile -d '' -t files < <(list_sources | while IFS= read -r -d '' f; do [[ ! -f $f ]] || printf '%s\0' "$f"; done)
[[ ${#files[@]} -gt 0 ]] || { echo "found no source files"; exit 1; }
if ! clang-format --dry-run --Werror "${files[@]}" >/dev/null 2>"$report"; then
    echo "not as clang-format would write them; run: clang-format -i \\"
    sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error:.*/    \1 \\/p' "$report" | sort -u
    exit 1
fi
echo "${#files[@]} files are formatted"
