#!/usr/bin/env python3
"""Whether each target of this repository depends on the libraries whose headers its sources include.

    bazel/layering.py      a line for each include without a dependency; exit status 1 if there is one

Clang's layering_check asks the same, but not of what a precompiled header holds (docs/decisions/0020-precompiled-headers.md), and
a Clang that precompiles nothing then compiles nothing either. BUILD files are Python, but for what they load: they are run here,
with rules that write down what they are given.
"""

import builtins
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED_TEST = "//testing/harness:seed_test"  # which dd_seed_test (defs.bzl) adds by itself
INCLUDE = re.compile(r'^#include "drydock/([^"]+)"', re.MULTILINE)


class Rule:
    def __init__(self, package, name, srcs, hdrs, deps):
        self.label = label(name, package)
        self.sources = {file_of(source, package) for source in srcs}
        self.headers = {file_of(header, package) for header in hdrs}
        self.deps = {label(dep, package) for dep in deps}


class Package(dict):
    """The names that a BUILD file sees."""

    def __init__(self, name, rules):
        super().__init__(glob=self.glob, select=self.select)
        self.name = name
        self.rules = rules

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        if name.startswith("if_"):
            return lambda yes, no=(): [*yes, *no]
        if name.isupper():
            return []
        if name == "dd_seed_test":
            return self.seed_test
        return self.rule if "cc_" in name else lambda *_, **__: []

    def glob(self, patterns, exclude=(), **_):
        folder = ROOT / self.name
        files = lambda some: {str(path.relative_to(folder)) for pattern in some for path in folder.glob(pattern)}
        return sorted(files(patterns) - files(exclude))

    def select(self, choices):
        return [value for values in choices.values() for value in values or []]

    def seed_test(self, deps=(), **attributes):
        self.rule(deps=[*deps, SEED_TEST], **attributes)

    def rule(self, *_, name=None, srcs=(), hdrs=(), deps=(), **__):
        if name:
            self.rules.append(Rule(self.name, name, srcs, hdrs, deps))


def label(target, package):
    target = target.removeprefix("@drydock")
    if target.startswith(":"):
        return f"//{package}{target}"
    if target.startswith("//") and ":" not in target:
        return f"{target}:{target.rpartition('/')[2]}"
    return target if ":" in target or target.startswith("@") else f"//{package}:{target}"


def file_of(source, package):
    return label(source, package)[2:].replace(":", "/", 1)


def rules_of_all_packages():
    rules = []
    files = subprocess.run(["git", "ls-files", "*BUILD"], cwd=ROOT, capture_output=True, check=True, text=True)
    for build in files.stdout.split():
        package = str(pathlib.PurePath(build).parent)
        exec(compile((ROOT / build).read_text(), build, "exec"), Package("" if package == "." else package, rules))
    return rules


def main():
    rules = rules_of_all_packages()
    owners = {}
    for rule in rules:
        for header in rule.headers:
            owners.setdefault(header, set()).add(rule.label)
    missing = []
    for rule in rules:
        for source in sorted(rule.sources | rule.headers):
            path = ROOT / source
            if not path.is_file():
                continue  # another target makes it
            for header in INCLUDE.findall(path.read_text(errors="replace")):
                of = owners.get(header)
                if header in rule.sources or not of or of & (rule.deps | {rule.label}):
                    continue
                missing.append(f"{source} includes {header}: {rule.label} needs {' or '.join(sorted(of))}")
    print("\n".join(missing) if missing else f"{len(rules)} targets name what they include")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
