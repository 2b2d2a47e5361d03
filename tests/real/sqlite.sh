#!/bin/bash
# sqlite3 building, querying, changing and vacuuming a database, on libprofalloc; the dumps must be equal too.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

work() {
    under sqlite3 work.db <"$real_dir/sqlite_work.sql"
    under sqlite3 work.db .dump >dump.sql
    under sqlite3 copy.db <dump.sql
    under sqlite3 copy.db 'pragma integrity_check; select count(*) from orders;'
    under sqlite3 work.db '.backup backup.db'
    under sqlite3 -json backup.db 'select * from orders order by remark, id' >orders.json
    under sqlite3 work.db 'select no_such_column from orders;' || echo "exit $?"
}

begin
need sqlite3 sqlite3
assert_interposed sqlite3 :memory: 'select 1;'
artefacts=(work.db dump.sql orders.json)
compare_ways work
