# Shared by the scripts that run a real program on libprofalloc. Sourced, never run.
#
# A script defines a function that does the work of one run, and gives it to compare_ways. That function runs four
# times, each time in an empty directory of its own: under glibc, which is the reference, then preloaded with profiling off,
# sampled and full. A preloaded run passes when its exit status, standard output, standard error and the files named in
# artefacts[] are those of the reference and the library reported nothing.
#
# Inside the work function:
#   under CMD...           run CMD the way of this run (preloaded or not), bounded in time
#   server_start LOG CMD.. start CMD as a server that is stopped at the end whatever happens; its pid is in $server_pid
#   server_stop [SIGNAL]   stop it and fail unless it ended the way the reference did
# What may differ between two runs of the same program (times, pids, ports, addresses) the work function leaves out, or
# the script defines normalise(), a filter from stdin to stdout.
#
# Settings from the environment:
#   PROFALLOC_LIB    path of libprofalloc.so, required
#   SOURCE_DIR       the project's root, default: found from this file
#   REAL_WAYS        which preloaded ways to run, default "off sampled full": to repeat one failure
#   REAL_KEEP        if set, the scratch directory stays

set -euo pipefail

real_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE_DIR=${SOURCE_DIR:-$(cd "$real_dir/../.." && pwd)}
test_name=$(basename "$0" .sh)

way=none              # reference, off, sampled or full
way_env=()            # the command prefix that makes a program run that way
artefacts=()          # files, relative to the run's directory, to compare byte for byte
time_limit=1500       # seconds for one command of `under` that hangs
failures=0

die() {
    printf '%s: %s\n' "$test_name" "$*" >&2
    exit 1
}

# Counted instead of fatal, so that one call of the script tells which ways fail.
complain() {
    printf '%s: %s: %s\n' "$test_name" "$way" "$*" >&2
    failures=$((failures + 1))
}

# need PROGRAM PACKAGE: a missing program is a failure, not a skipped test.
need() {
    command -v "$1" >/dev/null || die "$1 not found: install the Debian package $2"
}

# --- set-up and clean-up ---

stop_leftover_servers() {
    local file pid i
    for file in "$scratch"/servers/*; do
        [ -e "$file" ] || continue
        pid=$(basename "$file")
        kill -TERM "$pid" 2>/dev/null || continue
        for ((i = 0; i < 50; i++)); do
            server_runs "$pid" || continue 2
            sleep 0.1
        done
        kill -KILL "$pid" 2>/dev/null || true
    done
}

clean_up() {
    stop_leftover_servers
    if [ -n "${REAL_KEEP:-}" ]; then
        printf '%s: kept %s\n' "$test_name" "$scratch"
    else
        remove_traces
        rm -rf "$scratch"
    fi
}

# Whatever the caller's environment says to these programs would make the run differ from machine to machine.
set_environment() {
    local name
    for name in $(compgen -e); do
        case $name in
            LD_PRELOAD | LD_DEBUG* | PROFALLOC_CONF | MALLOC_* | GLIBC_TUNABLES) unset "$name" ;;
            GIT_* | PG* | PYTHON* | PERL* | NODE_* | BASH_ENV | ENV) unset "$name" ;;
        esac
    done
    export LC_ALL=C.UTF-8 TZ=UTC HOME="$scratch/home" TMPDIR="$scratch/tmp"
    mkdir -p "$HOME" "$TMPDIR"
    ulimit -c 0
}

begin() {
    [ -n "${PROFALLOC_LIB:-}" ] || die "PROFALLOC_LIB is not set: give it the path of libprofalloc.so"
    [ -r "$PROFALLOC_LIB" ] || die "cannot read $PROFALLOC_LIB"
    lib=$(realpath "$PROFALLOC_LIB") # as /proc/PID/maps shows it
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/profalloc-$test_name.XXXXXX")
    chmod 755 "$scratch" # programs that become another user write traces, too
    mkdir "$scratch/servers"
    trap clean_up EXIT
    trap 'exit 143' TERM INT HUP
    set_environment
}

# --- is it really loaded? ---

# assert_interposed PROGRAM [ARGS...]: in a short run of PROGRAM, the dynamic linker binds every malloc and free to the
# library. Catches a program that is static, set-uid, has its own malloc or could not load the library at all.
assert_interposed() {
    local trace="$scratch/bindings" wrong symbol
    rm -f "$trace".*
    LD_PRELOAD="$lib" LD_BIND_NOW=1 LD_DEBUG=bindings LD_DEBUG_OUTPUT="$trace" \
        "$@" >"$scratch/interposed.out" 2>"$scratch/interposed.err" </dev/null ||
        die "'$*' fails with $lib preloaded: $(head -c 500 "$scratch/interposed.err")"
    ! grep -F 'ld.so:' "$scratch/interposed.err" || die "the dynamic linker refuses $lib for $1"
    for symbol in malloc free; do
        cat "$trace".* | grep -F "symbol \`$symbol'" | grep -vF "binding file $lib [" >"$scratch/bound" || true
        grep -qF " to $lib [" "$scratch/bound" || die "$symbol of $1 does not bind to $lib"
        wrong=$(grep -vF " to $lib [" "$scratch/bound" || true)
        # A program that is not position-independent and takes malloc's address lends its own PLT entry as that address;
        # the entry leads on to us if the program's own malloc does.
        if grep -qF "binding file $1 [0] to $lib [" "$scratch/bound"; then
            wrong=$(grep -vF " to $1 [0]:" <<<"$wrong" || true)
        fi
        [ -z "$wrong" ] || die "$symbol of $1 binds elsewhere: $(head -n 3 <<<"$wrong")"
    done
    rm -f "$trace".*
}

# For a server, of which no short run exists.
assert_mapped() {
    local pid=$1
    if [ "$way" = reference ]; then
        ! grep -qF libprofalloc "/proc/$pid/maps" || die "reference: the library is loaded in process $pid"
    else
        grep -qF "$lib" "/proc/$pid/maps" || die "$way: the library is not loaded in process $pid"
    fi
}

# --- running ---

# With the live tables that killed programs left in memory.
remove_traces() {
    [ ! -d "$scratch/traces" ] || find "$scratch/traces" -name '*.live' -type l -exec sh -c 'rm -f "$(readlink "$1")"' - {} \;
    rm -rf "$scratch/traces"
}

choose_way() {
    way=$1
    case $way in
        reference) way_env=(env) ;;
        off) way_env=(env LD_PRELOAD="$lib") ;;
        sampled) way_env=(env LD_PRELOAD="$lib" PROFALLOC_CONF="prof:true,sample:512K,out:$scratch/traces/%e.%p.pa") ;;
        full) way_env=(env LD_PRELOAD="$lib" PROFALLOC_CONF="prof:true,sample:1,out:$scratch/traces/%e.%p.pa") ;;
        *) die "no such way: $way" ;;
    esac
    remove_traces
    mkdir -m 1777 "$scratch/traces" # for programs that become another user, too
}

# Is all that a trace misses what its process will do yet? Programs leave processes behind that outlive their tests.
only_goes_on() {
    local missing
    missing=$(grep '^  missing:' <<<"$1")
    [ "$(wc -l <<<"$missing")" -eq 1 ] && [[ $missing == *" goes on: "* ]]
}

# Nothing is missing in the traces that a way has left, and there are some.
check_traces() {
    local file said traces=0
    [ "$way" = sampled ] || [ "$way" = full ] || return 0
    for file in "$scratch"/traces/*.pa; do
        [ -s "$file" ] || continue # or of a process that was killed before the first block was written
        traces=$((traces + 1))
        said=$("$PROFALLOC_TOOL" check "$file" 2>&1) || only_goes_on "$said" ||
            complain "check of ${file##*/}: $(head -n 5 <<<"$said")"
    done
    [ "$traces" -gt 0 ] || complain "no traces were left"
}

# env and timeout themselves stay on glibc: only the program is to be looked at.
under() {
    timeout --kill-after=5 "$time_limit" "${way_env[@]}" "$@"
}

server_start() {
    local log=$1
    shift
    "${way_env[@]}" "$@" >>"$log" 2>&1 </dev/null &
    server_pid=$!
    touch "$scratch/servers/$server_pid"
}

# wait_until SECONDS CMD...: false when CMD does not succeed in time or the server is gone.
wait_until() {
    local tries=$(($1 * 20)) i
    shift
    for ((i = 0; i < tries; i++)); do
        server_runs "$server_pid" || return 1
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.05
    done
    return 1
}

# Prints the exit status, so that it is compared with the reference's.
server_stop() {
    local status=0 i
    kill "-${1:-TERM}" "$server_pid"
    for ((i = 0; i < 6000; i++)); do
        server_runs "$server_pid" || break
        sleep 0.1
    done
    if server_runs "$server_pid"; then
        echo "the server did not stop in 10 minutes: killed"
        kill -KILL "$server_pid"
    fi
    wait "$server_pid" || status=$?
    rm -f "$scratch/servers/$server_pid"
    echo "server ended with status $status"
}

# A zombie has ended: kill -0 would still find it.
server_runs() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) && [[ ${stat##*) } != Z* ]]
}

# A port that nobody listens on, outside of the range that the kernel gives to whoever connects, and of suite.py's: tests run
# at the same time.
free_port() {
    /usr/bin/python3 -c '
import random, socket
for port in random.sample(range(30000, 32700), 500):
    with socket.socket() as server:
        try:
            server.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
'
}

# --- comparing ---

normalise() { cat; }

show_difference() {
    complain "$1 differs from the reference (- reference, + $way):"
    diff -u "$2" "$3" | tail -n +3 | cut -c 1-300 | head -n 40 >&2 || true
}

# The shell's own note about a program that died of a signal has a pid in it.
without_pids() {
    sed -E 's/^[^ ]*lib\.sh: line [0-9]+: +[0-9]+ /shell: /'
}

compare_text() {
    local name=$1
    without_pids <"$scratch/reference/$name" | normalise >"$scratch/expected"
    without_pids <"$scratch/$way/$name" | normalise >"$scratch/actual"
    cmp -s "$scratch/expected" "$scratch/actual" || show_difference "$name" "$scratch/expected" "$scratch/actual"
}

check_messages() {
    local said
    said=$(cd "$scratch/$way" && find . -maxdepth 1 -type f \( -name stdout -o -name stderr -o -name '*.log' \) \
        -exec grep -aHn '^profalloc: ' {} + | head -n 20 || true)
    [ -z "$said" ] || complain "the library reported: $said"
}

show_logs() {
    local file
    for file in "$scratch/$way"/stderr "$scratch/$way"/*.log; do
        [ -s "$file" ] || continue
        printf -- '--- last lines of %s\n' "${file#"$scratch"/}" >&2
        tail -n 20 "$file" | cut -c 1-300 >&2
    done
}

check_way() {
    local before=$failures file expected
    expected=$(cat "$scratch/reference/status")
    [ "$1" -eq "$expected" ] || complain "exit status $1, reference $expected ($(describe_status "$1"))"
    compare_text stdout
    compare_text stderr
    for file in "${artefacts[@]}"; do
        cmp -s "$scratch/reference/$file" "$scratch/$way/$file" ||
            complain "$file differs: $(cmp "$scratch/reference/$file" "$scratch/$way/$file" 2>&1 || true)"
    done
    check_messages
    check_traces
    [ "$failures" -eq "$before" ]
}

describe_status() {
    if [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then
        echo "killed after $time_limit s, or out of memory"
    elif [ "$1" -gt 128 ]; then
        echo "signal $(kill -l $(($1 - 128)))"
    else
        echo "no signal"
    fi
}

# The subshell keeps `set -e` alive inside the work function; it would be off in a condition.
run_way() {
    local work=$1 status start stop verdict
    choose_way "$2"
    mkdir -p "$scratch/$way"
    start=${EPOCHREALTIME/./}
    set +e
    (
        set -e
        cd "$scratch/$way"
        "$work"
    ) >"$scratch/$way/stdout" 2>"$scratch/$way/stderr"
    status=$?
    set -e
    stop=${EPOCHREALTIME/./}
    echo "$status" >"$scratch/$way/status"
    verdict=reference
    if [ "$way" != reference ]; then
        if check_way "$status"; then verdict=same; else verdict=FAILED; fi
    fi
    printf '%-10s %-9s %-9s %4d.%02d s\n' "$test_name" "$way" "$verdict" \
        $(((stop - start) / 1000000)) $(((stop - start) / 10000 % 100))
    [ "$verdict" != FAILED ] || show_logs
}

# compare_ways WORK: the whole test. The reference must do its work: two equal failures prove nothing.
compare_ways() {
    local work=$1 each
    run_way "$work" reference
    if [ "$(cat "$scratch/reference/status")" -ne 0 ]; then
        tail -n 20 "$scratch/reference/stdout" >&2
        show_logs
        die "the work fails without the library too, status $(cat "$scratch/reference/status")"
    fi
    for each in ${REAL_WAYS:-off sampled full}; do
        run_way "$work" "$each"
    done
    [ "$failures" -eq 0 ] || die "$failures differences"
}
