"""Drives a redis-server on loopback with redis-benchmark, a bounded number of requests, then shuts it down.

    redis_client.py PORT REQUESTS

Prints when the requests began and ended by the monotonic clock, which bench/run reads too, and how many there were.
"""
import subprocess
import sys
import time

TESTS = "set,get,lpush,lpop,sadd,hset,zadd"
WAIT_SECONDS = 60


def server_answers(port):
    ping = subprocess.run(["redis-cli", "-p", port, "ping"], capture_output=True, text=True)
    return ping.stdout.strip() == "PONG"


def main():
    port, requests = sys.argv[1:]
    until = time.monotonic() + WAIT_SECONDS
    while not server_answers(port):
        if time.monotonic() > until:
            sys.exit("redis_client.py: the server does not answer")
        time.sleep(0.02)
    began = time.monotonic()
    bench = subprocess.run(["redis-benchmark", "-p", port, "-n", requests, "-r", "100000", "-d", "64", "-P", "16",
                            "-c", "20", "-t", TESTS, "--csv"], capture_output=True, text=True)
    ended = time.monotonic()
    done = sum(line.startswith('"') and not line.startswith('"test"') for line in bench.stdout.splitlines())
    subprocess.run(["redis-cli", "-p", port, "shutdown", "nosave"], capture_output=True)
    if bench.returncode != 0 or done != len(TESTS.split(",")):
        sys.exit(f"redis_client.py: redis-benchmark failed: {bench.stdout} {bench.stderr}")
    print(f"began={began:.6f} ended={ended:.6f} requests={done * int(requests)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
