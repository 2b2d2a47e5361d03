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


class Flame:
    """A flame graph: its frames in order, each with name, value, level, x and width."""

    def __init__(self, text):
        self.root = read(text)
        self.script = next(self.root.iter(SVG + "script")).text
        self.texts = json.loads(re.search(r"var texts=(\[.*?\]);\n", self.script, re.S).group(1))
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
