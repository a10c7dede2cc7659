"""Writes the wheel of the package drydock. The same sources give the same bytes.

    wheel.py VERSION SECONDS FOLDER      FOLDER/drydock-VERSION-py3-none-any.whl; SECONDS since 1970: the date of its files
"""

import base64
import hashlib
import os
import re
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def text(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as source:
        return source.read()


def python_version(version):
    """0+git20261231.235959.abc1234: what Python takes as a version, too."""
    return re.sub(r"[^0-9A-Za-z.+]", ".", version)


def files(version):
    """Names and contents, RECORD last."""
    info = f"drydock-{version}.dist-info"
    found = {}
    for name in sorted(os.listdir(os.path.join(HERE, "drydock"))):
        if name.endswith(".py"):
            found[f"drydock/{name}"] = text(os.path.join("drydock", name)).encode()
    found[f"{info}/METADATA"] = text("metadata.txt").replace("@VERSION@", version).encode()
    found[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: drydock\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    found[f"{info}/entry_points.txt"] = text("entry_points.txt").encode()
    record = f"{info}/RECORD"
    lines = []
    for name, content in found.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    found[record] = "".join([*lines, f"{record},,\n"]).encode()
    return found


def main(version, seconds, folder):
    version = python_version(version)
    path = os.path.join(folder, f"drydock-{version}-py3-none-any.whl")
    earliest = 315532800  # 1980, with which the dates of a zip file begin
    when = time.gmtime(max(int(seconds), earliest))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files(version).items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
