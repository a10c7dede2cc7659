"""Fault plans: rules by what they do, a plan of the package by name, or a file."""

import json
import os

from drydock import command


def plan(*rules, mode="strict"):
    """A fault plan of these rules: plan({"fault": "unresponsive", "when": {"nth": 5}}).

    Rules that are not named are called by their number. A rule may fire never, unless it says `expect_fired`."""
    whole = []
    for number, rule in enumerate(rules):
        whole.append({"name": f"rule {number}", "expect_fired": {"min": 0}, **rule})
    return {"mode": mode, "rules": whole}


def file_of(given, folder):
    """The file of a plan: a path as it is, the name of a plan of the package, or a dict, which is written into `folder`."""
    if given is None:
        return None
    if isinstance(given, dict):
        number = sum(name.startswith("plan") for name in os.listdir(folder))
        path = os.path.join(folder, f"plan{number}.json")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(given, out, indent=2)
        return path
    path = os.fspath(given)
    if os.path.exists(path):
        return os.path.abspath(path)
    packaged = os.path.join(os.path.dirname(command.efa_run()), "..", "..", "share", "drydock", "plans", path + ".json")
    if os.sep not in path and os.path.exists(packaged):
        return os.path.realpath(packaged)
    raise FileNotFoundError(f"faults={path}: no such file, and no plan of the package")
