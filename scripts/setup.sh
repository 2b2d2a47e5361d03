#!/bin/bash
# Installs the Debian packages of the wanted sections of packages.txt, only those that are missing.
#
#   scripts/setup.sh build [test] [bench]
#
# With nothing missing it costs one dpkg-query. Without root it says what to run and exits 2.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
policy=/usr/sbin/policy-rc.d

die() {
    echo "setup: $*" >&2
    exit 2
}

wanted_packages() {
    local section
    for section in "$@"; do
        awk -v s="$section" '$1 == s { print $2; n++ } END { exit !n }' "$root/packages.txt" ||
            die "packages.txt has no section '$section'"
    done | sort -u
}

# Prints the packages that are not installed. The dpkg database knows foreign architectures too, hence sort -u and comm.
missing_packages() {
    comm -23 <(printf '%s\n' "$@") \
        <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort -u)
}

# Packages with a service start it when installed; a test needs only the program. invoke-rc.d and deb-systemd-invoke ask
# this file first, so it denies for the time of the installation. One that is already there is the machine's own: keep it.
forbid_service_starts() {
    [[ -e $policy ]] && return
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM HUP
    printf '#!/bin/sh\n# Temporary: made and removed by the set-up of profalloc.\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

# A service that was installed for the tests must not come up at the next boot either.
disable_services() {
    local package
    command -v systemctl >/dev/null || return 0
    for package in "$@"; do
        case $package in
            redis-server | memcached | postgresql) systemctl disable --quiet "$package" >/dev/null 2>&1 || true ;;
        esac
    done
}

# apt-get whose chatter is shown only by the caller, when it matters.
quiet_apt() {
    DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" >>"$log" 2>&1
}

# Lists may be absent (fresh machine) or older than the archive (long-lived one): only then are new ones fetched.
install_packages() {
    echo "setup: installing $*" >&2
    log=$(mktemp)
    forbid_service_starts
    if ! quiet_apt install -y --no-install-recommends "$@"; then
        quiet_apt update || true
        if ! quiet_apt install -y --no-install-recommends "$@"; then
            tail -n 20 "$log" >&2
            die "installing failed (whole log: $log). Is the network there? Try: apt-get update && apt-get install $*"
        fi
    fi
    rm -f "$log"
    disable_services "$@"
}

main() {
    [[ $# -gt 0 ]] || die "which sections? (build, test, bench)"
    command -v dpkg-query >/dev/null || die "this is not a Debian system; install the packages of packages.txt your way"
    local list
    list=$(wanted_packages "$@") || exit 2
    mapfile -t wanted <<<"$list"
    mapfile -t missing < <(missing_packages "${wanted[@]}")
    [[ ${#missing[@]} -eq 0 ]] && return
    if [[ $EUID -ne 0 ]]; then
        echo "setup: packages are missing. Run this, then try again:" >&2
        echo "    sudo apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 2
    fi
    install_packages "${missing[@]}"
}

main "$@"
