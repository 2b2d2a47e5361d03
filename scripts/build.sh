# shellcheck shell=bash disable=SC2154
# Sourced by ./profile and ./check. Set-up and build steps that say what they do and show their output only if they fail.
# Expects $root, the project's folder, and $name, what to call ourselves.

sanitized=() # what a command begins with that runs programs built with a sanitizer; a build runs the tool, for a manual page

say() {
    echo "$name: $*" >&2
}

# quietly WHAT CMD...: runs CMD; if it fails, shows what it printed and gives up.
quietly() {
    local what=$1 log status=0
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    if [[ $status -ne 0 ]]; then
        cat "$log" >&2
        say "$what failed (status $status). The command was: $*"
    fi
    rm -f "$log"
    [[ $status -eq 0 ]] || exit 1
}

set_up() {
    "$root/scripts/setup.sh" "$@" || exit $?
    "$root/scripts/fetch-mimalloc.sh" || exit $?
}

# configure PRESET [CMAKE-OPTION...]. Compilers may be chosen with CC and CXX, as always with CMake.
configure() {
    (cd "$root" && quietly "configuring ($1)" cmake --preset "$@")
}

# build FOLDER [TARGET...]
build() {
    quietly "building $1" "${sanitized[@]}" cmake --build "$root/$1" --parallel "$(nproc)" ${2:+--target "${@:2}"}
}
