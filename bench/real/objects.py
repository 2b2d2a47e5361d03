"""What ordinary Python programs allocate: objects, dictionaries, text through json and re, sorting, closures.

    objects.py [FACTOR]

Run with PYTHONMALLOC=malloc so that every object is a call of malloc. Prints checksums only, the same under any
allocator.
"""
import json
import re
import sys

WORD = re.compile(r"[a-z]+\d*")


class Account:
    def __init__(self, number):
        self.number = number
        self.name = f"holder{number}"
        self.history = [number % 97, number % 89]
        self.tags = {f"k{number % 13}": number, "open": number % 3 == 0}

    def move(self, amount):
        self.history.append(amount)
        if len(self.history) > 12:
            self.history = self.history[6:]


def accounts(count, moves):
    table = {number: Account(number) for number in range(count)}
    state = 12345
    for _ in range(moves):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        number = state % count
        if state & 0x700 == 0:
            table[number] = Account(number)
        table[number].move(state & 0xFF)
    return sum(sum(account.history) for account in table.values()), table


def through_json(table):
    text = json.dumps([{"n": a.number, "name": a.name, "history": a.history, "tags": a.tags} for a in table.values()])
    back = json.loads(text)
    return len(text), sum(len(entry["history"]) for entry in back), text


def through_re(text):
    counts = {}
    for word in WORD.findall(text):
        counts[word] = counts.get(word, 0) + 1
    return len(counts), max(counts.values())


def closures(count):
    steps = [(lambda x, k=k: x + k) for k in range(count)]
    total = 0
    for step in steps:
        total = step(total)
    return total


def main():
    factor = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    total, table = accounts(int(20000 * factor), int(150000 * factor))
    length, entries, text = through_json(table)
    ordered = sorted(table.values(), key=lambda a: (a.history[-1], a.name))
    print(total, length, entries, *through_re(text), closures(int(50000 * factor)), ordered[0].name, ordered[-1].name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
