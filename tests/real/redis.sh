#!/bin/bash
# redis-server on libprofalloc under redis-benchmark: once without persistence, once with snapshots and an append-only
# file, which fork while the data changes, then again from what was saved.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

client() {
    under redis-cli -h 127.0.0.1 -p "$port" "$@"
}

# While it still loads its data it answers too, with an error.
answers() {
    [ "$(client ping)" = PONG ]
}

start_redis() {
    server_start redis.log redis-server --bind 127.0.0.1 --port "$port" --dir "$PWD" --daemonize no "$@"
    wait_until 600 answers || { tail -n 5 redis.log >&2; return 1; }
    assert_mapped "$server_pid"
}

stop_redis() {
    server_stop TERM
}

# Its figures differ from run to run; only that it ended well counts.
benchmark() {
    under redis-benchmark -h 127.0.0.1 -p "$port" -q -n "$1" -c 20 -P 8 -r 5000 -d 200 --threads 2 \
        -t set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset >benchmark.log 2>&1
    client flushall
}

# One connection, a fixed order: the answers must be those of the reference.
fill() {
    /usr/bin/python3 - <<'PYTHON' | client --no-raw >fill.txt
for i in range(3000):
    print(f"set string:{i} {'v' * (i % 700)}{i}")
    print(f"append string:{i % 50} {'a' * (i % 90)}")
    print(f"rpush list:{i % 20} item{i}")
    print(f"hset hash:{i % 20} field{i} value{i * 3}")
    print(f"zadd sorted:{i % 10} {(i * 7919) % 1009} member{i}")
    print(f"sadd set:{i % 10} {(i * 31) % 997}")
    if i % 7 == 0:
        print(f"del string:{i // 2}")
        print(f"lpop list:{i % 20}")
    if i % 100 == 0:
        print(f"setrange big:{i} 400000 end")
        print(f"unlink big:{i - 300}")
print("eval \"local t = {} for i = 1, 5000 do t[i] = tostring(i) end return #table.concat(t)\" 0")
print("xadd stream 1-1 name value")
print("pfadd visitors a b c d e")
print("no-such-command")
PYTHON
}

check_data() {
    client dbsize
    client get string:2999
    client strlen big:2900
    client lrange list:7 0 5
    client hlen hash:3
    client zrange sorted:4 0 8 withscores
    client sort set:5 limit 0 8
    client pfcount visitors
    client --no-raw object encoding hash:3
}

without_persistence() {
    port=$(free_port)
    start_redis --save '' --appendonly no
    benchmark 20000
    fill
    check_data
    stop_redis
}

background_jobs_done() {
    local info
    info=$(client info persistence)
    [[ $info == *rdb_bgsave_in_progress:0* && $info == *aof_rewrite_in_progress:0* &&
        $info == *aof_rewrite_scheduled:0* ]]
}

with_persistence() {
    port=$(free_port)
    start_redis --save '3600 1' --appendonly yes --appendfsync no --rdb-save-incremental-fsync no
    fill
    client bgsave
    under redis-benchmark -h 127.0.0.1 -p "$port" -q -n 10000 -c 10 -r 1000 -t set,lpush,hset >benchmark.log 2>&1
    wait_until 600 background_jobs_done
    client bgrewriteaof
    client unlink mylist key:__rand_int__
    under redis-benchmark -h 127.0.0.1 -p "$port" -q -n 10000 -c 10 -r 1000 -t set >benchmark.log 2>&1
    wait_until 600 background_jobs_done
    client info persistence | tr -d '\r' | grep -E '^(rdb_last_bgsave_status|aof_last_bgrewrite_status|rdb_saves):'
    client eval "for _, k in ipairs(redis.call('keys', 'key:*')) do redis.call('del', k) end
                 return redis.call('dbsize')" 0
    stop_redis
    under redis-check-rdb dump.rdb >check.log 2>&1
    start_redis --save '' --appendonly yes
    check_data
    stop_redis
}

work() {
    without_persistence
    with_persistence
}

begin
need redis-server redis-server
need redis-cli redis-tools
need redis-benchmark redis-tools
need redis-check-rdb redis-tools
need /usr/bin/python3 python3
for program in redis-server redis-cli redis-benchmark; do
    assert_interposed "$program" --version
done
artefacts=(fill.txt)
compare_ways work
