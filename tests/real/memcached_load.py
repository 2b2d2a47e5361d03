"""Load for a memcached server, checked: memcached_load.py PORT.

Four threads, each with its own connections and keys, store, append, read and delete values of 1 byte to 900 KB and
compare every answer with a model kept here; all of them add to one shared counter. Prints totals that are the same in
every run; any wrong answer ends the run with status 1.
"""
import hashlib
import random
import socket
import sys
import threading

ROUNDS = 2500
THREADS = 4


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=600)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rwb")

    def ask(self, line, data=None):
        self.stream.write(line.encode() + b"\r\n")
        if data is not None:
            self.stream.write(data + b"\r\n")
        self.stream.flush()
        return self.stream.readline().rstrip().decode()

    def store(self, verb, key, data):
        return self.ask(f"{verb} {key} 0 0 {len(data)}", data)

    def get(self, *keys):
        self.stream.write(b"get " + " ".join(keys).encode() + b"\r\n")
        self.stream.flush()
        found = {}
        while (line := self.stream.readline()) != b"END\r\n":
            _, key, _, length = line.split()
            found[key.decode()] = self.stream.read(int(length) + 2)[:-2]
        return found

    def statistics(self, *what):
        self.stream.write(" ".join(("stats",) + what).encode() + b"\r\n")
        self.stream.flush()
        found = {}
        while (line := self.stream.readline()) != b"END\r\n":
            _, name, value = line.decode().split(None, 2)
            found[name] = value.strip()
        return found

    def close(self):
        self.stream.close()
        self.socket.close()


def expect(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: got {str(got)[:80]!r}, wanted {str(wanted)[:80]!r}")


def make_value(rng):
    length = rng.choice((1, 30, 100, 500, 1000, 5000, 20000)) + rng.randrange(50)
    if rng.randrange(200) == 0:
        length = 900_000
    return hashlib.sha256(str(rng.random()).encode()).digest() * (length // 32) + b"." * (length % 32)


def one_step(client, rng, model, prefix):
    key = f"{prefix}:{rng.randrange(400)}"
    action = rng.randrange(10)
    if action < 4:
        model[key] = make_value(rng)
        expect(client.store("set", key, model[key]), "STORED", f"set {key}")
    elif action < 7:
        keys = [f"{prefix}:{rng.randrange(400)}" for _ in range(rng.randrange(1, 8))]
        expect(client.get(*keys), {k: model[k] for k in keys if k in model}, f"get {keys}")
    elif action == 7:
        wanted = "NOT_FOUND" if model.pop(key, None) is None else "DELETED"
        expect(client.ask(f"delete {key}"), wanted, f"delete {key}")
    elif action == 8 and len(model.get(key, b"")) < 100_000:
        tail = make_value(rng)[:300]
        expect(client.store("append", key, tail), "STORED" if key in model else "NOT_STORED", f"append {key}")
        if key in model:
            model[key] += tail
    else:
        expect(client.store("add", key, b"new"), "NOT_STORED" if key in model else "STORED", f"add {key}")
        model.setdefault(key, b"new")


def work(port, number, totals, errors):
    try:
        rng = random.Random(number)
        client = Client(port)
        model = {}
        for step in range(ROUNDS):
            if step % 100 == 99:
                client.close()
                client = Client(port)
            one_step(client, rng, model, f"t{number}")
            client.ask("incr shared 1")
        kept = client.get(*model) if model else {}
        expect(kept, model, "everything at the end")
        totals[number] = (len(model), sum(map(len, model.values())))
        client.close()
    except Exception as error:  # reported by main: an exception in a thread would not change the exit status
        errors.append(f"thread {number}: {error!r}")


def main():
    port = int(sys.argv[1])
    client = Client(port)
    expect(client.store("set", "shared", b"0"), "STORED", "set shared")
    totals, errors = {}, []
    threads = [threading.Thread(target=work, args=(port, n, totals, errors)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in sorted(totals):
        print(f"thread {number} keeps {totals[number][0]} values, {totals[number][1]} bytes")
    print("shared counter", client.get("shared").get("shared", b"gone").decode())
    seen = client.statistics()
    print("threads", seen["threads"], "items", seen["curr_items"], "evictions", seen["evictions"])
    expect(client.store("set", "too_large", b"x" * 2_000_000), "SERVER_ERROR object too large for cache", "too large")
    print("verbs", client.ask("flush_all"), client.ask("no_such_verb"))
    for error in errors:
        print(error, file=sys.stderr)
    sys.exit(1 if errors else 0)


main()
