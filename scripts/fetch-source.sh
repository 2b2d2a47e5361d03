#!/bin/bash
# Fetches the upstream source of a program from Debian's source package into third_party/NAME and verifies it.
#
#   scripts/fetch-source.sh mimalloc|glibc|leveldb|memcached|protobuf|sqlite3
#
# It uses a private apt directory: the machine's own sources, read as source repositories, with lists and cache of their
# own. The machine's apt configuration is neither changed nor needed to have deb-src lines. Root is not needed.
# Does nothing when the verified source is already there. Several at once, as tests that run in parallel begin them, fetch it
# once: the others wait for a lock.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() {
    echo "fetch-source: $*" >&2
    [[ -z ${otherwise-} ]] || echo "    $otherwise" >&2
    exit 1
}

# Which version, which tarball, and a file by which an unpacked tree is known.
choose() {
    name=$1
    parts=() # of the tarball; all of it if none is named
    case $name in
        mimalloc)
            version=2.0.9
            tarball=mimalloc_2.0.9+ds.orig.tar.xz
            sha256=cbc9d207ff105ad1f0cb739c378076143a6452b8d0624309cea0abfb040e972b
            witness=src/static.c
            otherwise="Or point the build at an unpacked mimalloc $version: cmake -DPROFALLOC_MIMALLOC_DIR=/path/to/it"
            ;;
        glibc) # its tests of malloc, and what they are built with
            version=2.36
            tarball=glibc_2.36.orig.tar.xz
            sha256=a543c02070d46ccaf866957efd13f10c924daa74c86a90a0254db09a92a708ee
            witness=malloc/tst-malloc.c
            parts=(LICENSES COPYING.LIB malloc support include test-skeleton.c sysdeps/generic/malloc-size.h
                sysdeps/generic/malloc-alignment.h)
            ;;
        leveldb)
            version=1.23
            tarball=leveldb_1.23.orig.tar.gz
            sha256=9a37f8a6174f09bd622bc723b55881dc541cd50747cbd08831c2a82d620f6d76
            witness=benchmarks/db_bench.cc
            ;;
        memcached)
            version=1.6.18
            tarball=memcached_1.6.18.orig.tar.xz
            sha256=35872bd25f8d29d7cc2072d23e74344530891bfd0aa4f4f64184a8ae7291164b
            witness=memcached.c
            ;;
        sqlite3)
            version=3.40.1
            tarball=sqlite3_3.40.1.orig.tar.xz
            sha256=aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655
            witness=src/malloc.c
            ;;
        protobuf)
            version=3.21.12
            tarball=protobuf_3.21.12.orig.tar.gz
            sha256=930c2c3b5ecc6c9c12615cf5ad93f1cd6e12d0aba862b572e076259970ac3a53
            witness=src/google/protobuf/arena.cc
            ;;
        *) die "no source '$name' is known; there are mimalloc, glibc, leveldb, memcached, protobuf, sqlite3" ;;
    esac
    target=$root/third_party/$name
    stamp=$target/.verified-sha256
}

already_there() {
    [[ -f $stamp && -f $target/$witness && $(<"$stamp") == "$sha256" ]]
}

# Both formats of apt sources, each entry turned into its deb-src twin.
copy_sources() {
    local parts=$work/sources.list.d file
    mkdir -p "$parts" "$work/lists/partial" "$work/cache/archives/partial"
    for file in /etc/apt/sources.list.d/*.sources; do
        [[ -f $file ]] || continue
        sed 's/^Types:.*/Types: deb-src/I' "$file" >"$parts/${file##*/}"
    done
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [[ -f $file ]] || continue
        sed -n 's/^[[:space:]]*deb\(-src\)\{0,1\}[[:space:]]/deb-src /p' "$file"
    done | sort -u >"$parts/one-line.list"
}

private_apt() {
    "$1" -qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources.list.d" \
        -o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none "${@:2}"
}

# A repository without sources makes `update` fail; all that counts is whether the package is found afterwards.
find_versions() {
    private_apt apt-get update >"$work/update.log" 2>&1 || true
    private_apt apt-cache showsrc --only-source "$name" 2>/dev/null |
        sed -n "s/^Version: \(${version}[+-].*\)/\1/p" | sort -u
}

# Several Debian revisions may carry the same upstream tarball; the checksum decides.
download() {
    local candidate
    for candidate in "$@"; do
        (cd "$work" && private_apt apt-get source --download-only "$name=$candidate") >>"$work/source.log" 2>&1 || continue
        if echo "$sha256  $work/$tarball" | sha256sum --check --status 2>/dev/null; then
            return 0
        fi
    done
    return 1
}

# Unpacked beside its place and renamed into it, so that an interrupted run leaves nothing half done.
unpack() {
    mkdir "$work/new"
    tar -xf "$work/$tarball" -C "$work/new" --strip-components=1 "${parts[@]/#/$name-$version/}"
    echo "$sha256" >"$work/new/${stamp##*/}"
    rm -rf "$target"
    mv -T "$work/new" "$target"
}

main() {
    [[ $# -eq 1 ]] || die "which source? (mimalloc, glibc, leveldb, memcached, protobuf, sqlite3)"
    choose "$1"
    already_there && return
    command -v apt-get >/dev/null || die "no apt-get here."
    mkdir -p "$root/third_party"
    exec {lock}>"$root/third_party/.lock-$name"
    flock "$lock"
    already_there && return # another one fetched it meanwhile
    echo "fetch-source: fetching the source of $name $version" >&2
    work=$(mktemp -d "$root/third_party/.fetch.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    copy_sources
    mapfile -t versions < <(find_versions)
    if [[ ${#versions[@]} -eq 0 ]]; then
        sed 's/^/    /' "$work/update.log" >&2
        die "no $name $version in this machine's apt sources: offline, or not Debian 12?"
    fi
    if ! download "${versions[@]}"; then
        sed 's/^/    /' "$work/source.log" >&2
        die "could not download $tarball with the expected SHA-256 $sha256."
    fi
    unpack
}

main "$@"
