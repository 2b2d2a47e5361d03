"""What SARIF 2.1.0 (OASIS, sections 3.13 to 3.58) requires of the objects that a gate writes: members that have to be there, those that
may be there, their types and values, and what they refer to. An object has no members but these."""
import re
from urllib.parse import unquote, urlsplit

from support import check


def text(value):
    return isinstance(value, str) and value != ""


def whole(least):
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def one_of(*values):
    return lambda value: value in values


def truth(value):
    return isinstance(value, bool)


def texts(value):
    """An object whose members are all texts."""
    return isinstance(value, dict) and value != {} and all(map(text, value.values()))


URI = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")


def uri(value):
    """A reference by RFC 3986: of no other characters; one without a scheme has no colon in its first part."""
    if not text(value) or not URI.fullmatch(value) or "\\" in value:
        return False
    scheme = urlsplit(value).scheme
    return value.startswith(f"{scheme}:/") if scheme else ":" not in value.split("/")[0]


# {object: {member: what it is}}; "!" behind a name: it has to be there. A text is another object, in a list several of them;
# "unique" before it: no two are the same. {} is an object whose members have any names.
OBJECTS = {
    "log": {"version!": one_of("2.1.0"), "$schema": uri, "runs!": ["run"]},
    "run": {"tool!": "tool", "invocations": ["invocation"], "originalUriBaseIds": {"": "artifactLocation"}, "results": ["result"],
            "columnKind": one_of("utf16CodeUnits", "unicodeCodePoints")},
    "tool": {"driver!": "driver"},
    "driver": {"name!": text, "version": text, "rules": ["unique", "rule"]},
    "rule": {"id!": text, "shortDescription": "words"},
    "words": {"text!": text},
    "invocation": {"executionSuccessful!": truth, "exitCode": whole(-2**31)},
    "artifactLocation": {"uri": uri, "uriBaseId": text, "index": whole(-1), "description": "message"},
    "message": {"text!": text},
    "result": {"ruleId": text, "ruleIndex": whole(-1), "level": one_of("none", "note", "warning", "error"), "message!": "message", "locations": ["location"],
               "relatedLocations": ["unique", "location"], "stacks": ["unique", "stack"], "fingerprints": texts, "partialFingerprints": texts},
    "location": {"id": whole(-1), "physicalLocation": "physicalLocation", "logicalLocations": ["unique", "logicalLocation"], "message": "message"},
    "physicalLocation": {"artifactLocation!": "artifactLocation", "region": "region"},
    "region": {"startLine!": whole(1), "startColumn": whole(1), "endLine": whole(1), "endColumn": whole(1)},
    "logicalLocation": {"fullyQualifiedName!": text, "name": text, "kind": text},
    "stack": {"frames!": ["frame"], "message": "message"},
    "frame": {"location": "location", "module": text, "threadId": whole(-2**63)},
}


def wrong(value, form, path):
    """The first thing that is wrong, as a sentence; None: nothing."""
    if callable(form):
        return None if form(value) else f"{path}: {value!r}"
    if isinstance(form, list):
        if not isinstance(value, list):
            return f"{path} is no array"
        if form[0] == "unique" and any(value[i] in value[:i] for i in range(len(value))):
            return f"{path} has the same twice"
        return next(filter(None, (wrong(v, form[-1], f"{path}[{i}]") for i, v in enumerate(value))), None)
    if not isinstance(value, dict):
        return f"{path} is no object"
    if isinstance(form, dict):
        return next(filter(None, (wrong(v, form[""], f"{path}.{k}") for k, v in value.items())), None)
    members = OBJECTS[form]
    for name in members:
        if name.endswith("!") and name[:-1] not in value:
            return f"{path} has no {name[:-1]}"
    for name, member in value.items():
        known = members.get(name + "!", members.get(name))
        if known is None:
            return f"{path} may have no {name}"
        found = wrong(member, known, f"{path}.{name}")
        if found:
            return found
    return None


def locations_of(result):
    yield from result.get("locations", [])
    yield from result.get("relatedLocations", [])
    for stack in result.get("stacks", []):
        yield from (frame["location"] for frame in stack["frames"] if "location" in frame)


def wrong_artifact(artifact, bases):
    """What is relative has a base that is told of; what is not has none, and is whole."""
    if "uriBaseId" in artifact:
        if artifact["uriBaseId"] not in bases:
            return f"no such base: {artifact}"
        return f"relative to a base, and not: {artifact}" if artifact["uri"].startswith("/") or urlsplit(artifact["uri"]).scheme else None
    parts = urlsplit(artifact["uri"])
    return None if parts.scheme == "file" and parts.path.startswith("/") and unquote(parts.path) else f"no file: {artifact}"


def wrong_result(result, run):
    rules = run["tool"]["driver"].get("rules", [])
    if not 0 <= result.get("ruleIndex", 0) < len(rules) or rules[result["ruleIndex"]]["id"] != result["ruleId"]:
        return f"ruleIndex {result.get('ruleIndex')} is not {result.get('ruleId')}"
    ids = [location["id"] for location in locations_of(result) if location.get("id", -1) >= 0]
    if len(set(ids)) != len(ids):
        return f"ids of locations are there twice: {ids}"
    for location in locations_of(result):
        artifact = location.get("physicalLocation", {}).get("artifactLocation")
        found = wrong_artifact(artifact, run.get("originalUriBaseIds", {})) if artifact else None
        if found:
            return found
    return None


def wrong_log(log):
    found = wrong(log, "log", "log")
    if found:
        return found
    for run in log["runs"]:
        ids = [rule["id"] for rule in run["tool"]["driver"].get("rules", [])]
        if len(set(ids)) != len(ids):
            return f"rules are there twice: {ids}"
        for base in run.get("originalUriBaseIds", {}).values():
            if "uri" in base and not base["uri"].endswith("/"):
                return f"a base does not end with /: {base}"
        for result in run.get("results", []):
            found = wrong_result(result, run)
            if found:
                return found
    return None


def check_log(log):
    found = wrong_log(log)
    check(not found, f"SARIF: {found}")
