"""Makes a C program from a number: loops, branches, jumps, calls and copies over a few chunks, always within them."""
import random

CHUNKS = 4
ELEMENTS = 256  # of each chunk, whatever their type
TYPES = {"a": ("int32_t", 4), "b": ("int64_t", 8), "c": ("uint8_t", 1), "d": ("double", 8)}

HEAD = """#include "fake.h"
#include <string.h>
typedef struct { int32_t *a; int64_t *b; uint8_t *c; double *d; int n, m; } env_t;
"""


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = 0
        self.loops = []  # variables of the loops around, with their greatest value
        self.depth = 0
        self.names = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def below(self, n):
        return self.random.randrange(n)

    def index(self):
        """An index that stays within a chunk, by its form."""
        kind = self.below(6)
        if self.loops and kind < 4:
            variable, most = self.pick(*self.loops)
            step = 1 + self.below(max(1, 200 // most))
            step = step if self.below(3) else 1
            offset = self.below(ELEMENTS - step * most)
            if self.below(4) == 0:
                return f"{step * most + offset} - {variable} * {step}"
            return f"{variable} * {step} + {offset}"
        if kind == 4:
            return f"(uint8_t)({self.value(1)})"
        return str(self.below(ELEMENTS) if self.below(2) else self.below(8))

    def place(self):
        name = self.pick("a", "a", "b", "b", "c", "d")
        return f"{name}[{self.index()}]"

    def value(self, depth=0):
        kind = self.below(7)
        if kind < 3 and depth < 2:
            return f"({self.value(depth + 1)} {self.pick('+', '-', '^')} {self.value(depth + 1)})"
        if kind < 5 and depth < 3:
            name = self.pick("a", "b", "c")
            return f"{name}[{self.index() if depth < 2 else self.below(8)}]"
        if self.loops and kind == 5:
            return self.pick(*self.loops)[0]
        return self.pick("s", "n", "m", str(self.below(100)))

    def assignment(self):
        place = self.place()
        if place.startswith("d"):
            return [f"{place} {self.pick('=', '+=')} (double)({self.value()} & 1023);"]
        return [f"{place} {self.pick('=', '+=', '^=')} {self.value()};"]

    def copy(self):
        name, other = self.pick("a", "b", "c"), self.pick("a", "b", "c")
        size = self.pick(*map(str, (1, 3, 8, 12, 24, 40, 100, 128, 200)), "(size_t)(n * 8)", "(size_t)m")
        kind = self.pick("memcpy", "memmove", "memset")
        if kind == "memcpy" and name == other:
            kind = "memmove"
        if kind == "memset":
            return [f"memset({name} + {self.below(20)}, (int)s, {size});"]
        return [f"{kind}({name} + {self.below(20)}, {other} + {self.below(20)}, {size});"]

    def loop(self):
        self.names += 1
        variable = f"i{self.names}"
        most, limit = self.pick((16, "n"), (12, "m"), (7, "7"), (20, "20"), (16, "(n & ~1)"))
        kind = self.below(5)
        self.loops.append((variable, most))
        body = self.block()
        if self.below(5) == 0:
            body.append(f"if ({self.value()} == {self.below(4)}) {self.pick('break', 'continue', 'break')};")
            if "continue" in body[-1] and kind >= 3:
                body.pop()
        self.loops.pop()
        body = ["    " + line for line in body]
        if kind == 0:
            return [f"for (int {variable} = {limit}; {variable} >= 0; {variable}--) {{", *body, "}"]
        if kind < 3:
            step = self.pick("++", "++", " += 2", " += 3")
            return [f"for ({self.pick('int', 'long', 'unsigned')} {variable} = 0; {variable} < {limit}; {variable}{step}) {{",
                    *body, "}"]
        if kind == 3:
            return [f"long {variable} = 0;", f"while ({variable} < {limit}) {{", *body, f"    {variable}++;", "}"]
        return [f"int {variable} = 0;", "do {", *body, f"}} while (++{variable} < {limit});"]

    def branch(self):
        lines = [f"if ({self.value()} {self.pick('<', '>', '==', '&')} {self.value()}) {{"]
        lines += ["    " + line for line in self.block()]
        if self.below(2):
            lines += ["} else {"] + ["    " + line for line in self.block()]
        return lines + ["}"]

    def choice(self):
        lines = [f"switch ({self.value()} & 3) {{"]
        for case in range(3):
            lines += [f"case {case}: {{", *("    " + line for line in self.block()), "}"]
            lines += ["    break;"] if self.below(3) else []
        return lines + ["}"]

    def call(self):
        kind = self.below(4)
        if kind == 0 and self.functions:
            return [f"s += f{self.below(self.functions)}(e, {self.pick('n', 'm', '0', '5')}, {self.pick('n', 'm')});"]
        if kind == 1:
            return ["s += number((int)s & 15);"]
        if kind == 2:
            return ["{ int32_t *t = same(a); release(t); e->a = a = chunk(1024); }"]
        return ["nothing();"]

    def walk(self):
        name = self.pick("a", "b", "c")
        kind = TYPES[name][0]
        self.names += 1
        p = f"p{self.names}"
        return [f"for ({kind} *{p} = {name} + {self.below(20)}, *end = {name} + {self.below(40)} + n; {p} < end; {p}++) {{",
                f"    {self.pick(f's += (long)*{p}', f'*{p} += 3', f'*{p} = ({kind})s')};", "}"]

    def statement(self):
        self.depth += 1
        kind = self.below(22)
        if self.depth > 3 or kind < 9:
            lines = self.assignment()
        elif kind < 13:
            lines = self.loop()
        elif kind < 16:
            lines = self.branch()
        elif kind == 16:
            lines = self.choice()
        elif kind == 17:
            lines = self.copy()
        elif kind == 18:
            lines = self.walk()
        elif kind == 19:
            lines = self.call()
        elif kind == 20:
            lines = [f"((volatile int32_t *)a)[{self.index()}] += 1;"]
        else:
            lines = [f"s = s * 3 + (long){self.value()};"]
        self.depth -= 1
        return lines

    def block(self):
        lines = []
        for _ in range(1 + self.below(4)):
            lines += self.statement()
        return lines

    def function(self):
        body = []
        for _ in range(4 + self.below(5)):
            body += self.statement()
        head = [f"static {self.pick('', '__attribute__((noinline)) ')}long f{self.functions}(env_t *e, int n, int m)", "{",
                "    int32_t *a = e->a; int64_t *b = e->b; uint8_t *c = e->c; double *d = e->d;", "    long s = n + m;"]
        self.functions += 1
        return head + ["    " + line for line in body] + ["    e->a = a;", "    return s & 0xffff;", "}", ""]


def make(seed):
    maker = Maker(seed)
    lines = []
    for _ in range(3):
        lines += maker.function()
    main = ["int main(void)", "{",
            "    env_t *e = chunk(sizeof *e);",
            "    for (int i = 0; i < 3; i++) {",
            "        e->a = chunk(1024), e->b = chunk(2048), e->c = chunk(256), e->d = chunk(2048);"]
    main += [f"        result((uint64_t)f{i}(e, number(i * 5), number(12 - i * 4)));" for i in range(maker.functions)]
    main += ["        for (int j = 0; j < 256; j++) {",
             "            result((uint64_t)e->a[j]), result((uint64_t)e->b[j]), result(e->c[j]);", "        }",
             "        release(e->b), release(e->c), release(e->d);", "    }", "    return 0;", "}"]
    return HEAD + "\n".join(lines + main) + "\n"
