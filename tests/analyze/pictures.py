"""Pictures for the tests that look at them: SVG read as XML, and flame graphs as what their frames say."""
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as xml
from pathlib import Path

from support import check

SVG = "{http://www.w3.org/2000/svg}"


def read(text):
    """An SVG, which must be XML that loads nothing and runs nothing from elsewhere."""
    root = xml.fromstring(text)
    check(root.tag == SVG + "svg" and "viewBox" in root.attrib, f"root {root.tag} {root.attrib}")
    for element in root.iter():
        for key, value in element.attrib.items():
            check("href" not in key and not key.startswith("on") and "url(" not in value, f"{element.tag}: {key}={value}")
    check("@import" not in text and "prefers-color-scheme:dark" in text, "style")
    return root


def titles(root):
    return [e.text or "" for e in root.iter(SVG + "title")]


def fold(path):
    """The rule of analyze/base/repeats.h: [(names, repeats)]."""
    folded, at = [], 0
    while at < len(path):
        best, reach = (1, 1), 1
        for period in range(1, 25):
            times = 1
            while path[at + times * period:at + (times + 1) * period] == path[at:at + period] and len(path) >= at + (times + 1) * period:
                times += 1
            if times >= 4 and times * period > reach:
                best, reach = (period, times), times * period
        folded += [(name, best[1]) for name in path[at:at + best[0]]]
        at += best[0] * best[1]
    return folded


def tree_of(paths):
    """By path of (name, whether it repeats): value with all below, least and most repeats."""
    nodes = {}
    for value, path in paths:
        at = ()
        for name, times in fold(path):
            at += ((name, times > 1),)
            node = nodes.setdefault(at, [0, times, times])
            node[0] += value
            node[1], node[2] = min(node[1], times), max(node[2], times)
    return nodes


def folded(paths):
    """The amounts of [(amount, path)] by path, as folded stacks tell it."""
    nodes, result = tree_of(paths), {}
    for value, path in paths:
        at, text = (), []
        for name, times in fold(path):
            at += ((name, times > 1),)
            _, least, most = nodes[at]
            text.append(name if times == 1 else f"{name}_(x{most})" if least == most else f"{name}_(x{least}-{most})")
        result[";".join(text)] = result.get(";".join(text), 0) + value
    return result


class Flame:
    """A flame graph: its frames in order, each with name, value, level, x and width."""

    def __init__(self, text):
        self.root = read(text)
        self.script = next(self.root.iter(SVG + "script")).text
        self.texts = json.loads(re.search(r"var texts=(\[.*?\]);\n", self.script, re.S).group(1))
        check(not re.search("[<>&]", self.script.split("];\n")[0]), "names could end the script where the picture is part of a page")
        groups = {g.get("id"): g for g in self.root.iter(SVG + "g")}
        self.frames = [self.frame(e) for e in groups["frames"]]
        self.labels = [e.text for e in groups["labels"]]

    def frame(self, element):
        data = element.get("data-f").split()
        repeats = tuple(map(int, data[4:]))
        return {"name": self.texts[int(data[0])], "extra": self.texts[int(data[1])], "value": float(data[2]),
                "level": int(data[3]), "repeats": repeats, "x": float(element.get("x")), "y": float(element.get("y")),
                "width": float(element.get("width"))}

    def left_out(self):
        texts = " ".join(e.text or "" for e in self.root.iter(SVG + "text"))
        return sum(int(n) for n in re.findall(r"(\d+) frames (?:are|lie) too", texts))

    def page(self, *steps, fragment=""):
        """What the script shows at first and after each step."""
        check(shutil.which("node"), "node is missing: install the package nodejs")

        def tree(element):
            return {"name": element.tag.split("}")[-1], "attributes": dict(element.attrib), "text": element.text or "",
                    "children": [tree(child) for child in element if child.tag != SVG + "script"]}

        told = json.dumps({"elements": tree(self.root), "script": self.script, "hash": fragment, "steps": steps})
        done = subprocess.run(["node", str(Path(__file__).with_name("flame_page.js"))], input=told, capture_output=True, text=True)
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)
