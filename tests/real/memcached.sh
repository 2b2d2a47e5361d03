#!/bin/bash
# memcached with four threads on libprofalloc, under a load that checks every value, then under memcaslap.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

answers() {
    : 2>/dev/null <>"/dev/tcp/127.0.0.1/$port"
}

# memcached refuses to run as root unless told which user to become.
start_memcached() {
    local user=()
    [ "$(id -u)" -ne 0 ] || user=(-u nobody)
    server_start memcached.log memcached -l 127.0.0.1 -p "$port" -U 0 -t 4 -m 256 -c 256 -v "${user[@]}"
    wait_until 600 answers
    assert_mapped "$server_pid"
}

work() {
    port=$(free_port)
    start_memcached
    timeout 1500 /usr/bin/python3 "$real_dir/memcached_load.py" "$port"
    under memcaslap -s "127.0.0.1:$port" -T 2 -c 16 -x 30000 -X 2048 -v 0.2 >memcaslap.log 2>&1
    grep -E '^(verify_misses|verify_failed):' memcaslap.log
    server_stop TERM
}

begin
need memcached memcached
need memcaslap libmemcached-tools
need /usr/bin/python3 python3
assert_interposed memcached -V
assert_interposed memcaslap --version
compare_ways work
