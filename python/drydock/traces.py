"""What the traces of a run say (docs/trace-format.md): counts, rules that fired, checks that spoke."""

import collections
import json


def events(path):
    """The events of a trace file; of one that is not whole, those that are."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            line = line.strip().rstrip(",")
            if line.startswith('{"name"'):
                try:
                    yield json.loads(line)
                except ValueError:
                    return


def metrics(paths):
    """How many of each: posts, completions, errors, packets, bytes_placed, faults."""
    counts = collections.Counter(posts=0, completions=0, errors=0, packets=0, bytes_placed=0, faults=0)
    for path in paths:
        for event in events(path):
            category, details = event.get("cat"), event.get("args", {})
            if event["ph"] != "X":
                continue
            if category == "post":
                counts["posts"] += 1
            elif category == "packet":
                counts["packets"] += 1
            elif category == "place":
                counts["bytes_placed"] += details.get("bytes", 0)
            elif category == "fault":
                counts["faults"] += 1
            elif category == "completion":
                counts["completions"] += 1
                counts["errors"] += details.get("status", "ok") != "ok"
    return dict(counts)


def fired(paths):
    """How often each rule of the fault plan fired, by its name."""
    rules = collections.Counter()
    for path in paths:
        for event in events(path):
            if event.get("cat") == "fault" and event["ph"] == "X":
                rules[event.get("args", {}).get("rule", event["name"])] += 1
    return dict(rules)


def findings(paths):
    """What the checks said, one line each."""
    lines = []
    for path in paths:
        for event in events(path):
            if event.get("cat") == "check" and event["ph"] == "X":
                lines.append(event.get("args", {}).get("text", ""))  # it begins with the check's name
    return lines
