#!/bin/bash
# PostgreSQL on libprofalloc: initdb, a server with its many processes, pgbench, then queries that sort, spill, run in
# parallel and are compiled by LLVM. Over a Unix socket in the scratch directory only.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

transactions_each=250
clients=4

find_programs() {
    local found
    found=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
    [ -n "$found" ] || die "no PostgreSQL server found: install the Debian package postgresql"
    PATH="$found:$PATH"
    need initdb postgresql
    need pgbench postgresql-contrib
    need psql postgresql-client
}

# The server refuses to be root. The user it becomes must reach the scratch directory and read the library.
prepare_user() {
    as_user=()
    [ "$(id -u)" -eq 0 ] || return 0
    need setpriv util-linux
    id postgres >/dev/null 2>&1 || die "no user postgres: install the Debian package postgresql-common"
    as_user=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    cp "$lib" "$scratch/libprofalloc.so"
    lib="$scratch/libprofalloc.so"
    chmod 755 "$lib"
    chmod 711 "$scratch"
    chown postgres "$HOME" "$TMPDIR"
}

query() {
    under psql -X -q -A -t -h "$PWD/socket" -U owner -d postgres "$@"
}

# Prints its process id; false while there is none.
checkpointer() {
    query -c "select pid from pg_stat_activity where backend_type = 'checkpointer'" | grep .
}

start_server() {
    server_start server.log "${as_user[@]}" postgres -D "$PWD/data" -k "$PWD/socket" -c listen_addresses= -c fsync=off \
        -c shared_buffers=16MB -c max_parallel_workers=2 -c autovacuum_naptime=1 -c log_min_messages=warning
    wait_until 600 query -c 'select 1'
    assert_mapped "$server_pid"
    wait_until 600 checkpointer
    assert_mapped "$(checkpointer)"
}

make_cluster() {
    mkdir data socket
    [ ${#as_user[@]} -eq 0 ] || chown postgres data socket
    under "${as_user[@]}" initdb --no-sync -A trust -U owner -E UTF8 --locale=C -D "$PWD/data" >initdb.log 2>&1
    ls data
}

# The figures differ; the number of transactions and the balances must not. Only the first run may clean up (no -n):
# that empties the history.
run_pgbench() {
    local connection=(-h "$PWD/socket" -U owner postgres)
    under pgbench -i -s 1 "${connection[@]}" >pgbench.log 2>&1
    under pgbench -c "$clients" -j 2 -t "$transactions_each" "${connection[@]}" >>pgbench.log 2>&1
    under pgbench -c "$clients" -j 2 -t 50 -n -M prepared -S "${connection[@]}" >>pgbench.log 2>&1
    under pgbench -c 2 -j 2 -t 20 -C -n -S "${connection[@]}" >>pgbench.log 2>&1
    grep -E '^number of (transactions actually|failed)' pgbench.log
}

work() {
    make_cluster
    start_server
    run_pgbench
    query -f "$real_dir/postgres_work.sql"
    under pg_dump -h "$PWD/socket" -U owner -t item postgres >dump.txt
    grep -vE '^\\(un)?restrict ' dump.txt >dump.sql # a random key guards newer dumps
    server_stop INT
    ! grep -E 'PANIC|terminated by signal|server process .* exited with' server.log
}

begin
find_programs
prepare_user
for program in postgres initdb psql pgbench pg_dump; do
    assert_interposed "$program" --version
done
artefacts=(dump.sql)
compare_ways work
