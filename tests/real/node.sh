#!/bin/bash
# node on libprofalloc: V8, its worker threads, libuv's thread pool, zlib and OpenSSL in one process.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

work() {
    under node "$real_dir/node_script.js" || echo "exit $?"
    under node -e 'console.log("before"); throw new Error("uncaught")' || echo "exit $?"
    under node --max-old-space-size=64 --expose-gc -e '
        for (let i = 0; i < 200; i++) {
            globalThis.kept = new Array(20000).fill(0).map((_, j) => ({ j }));
            if (i % 20 == 0) gc();
        }
        console.log(kept.length)'
}

begin
need node nodejs
assert_interposed node -e 0
compare_ways work
