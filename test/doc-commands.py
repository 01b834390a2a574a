#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""doc-commands.py [--write] FILE.md...: what the documents say is printed, is printed.

In every block of the kind ```console, a line that begins with "$ " is a command and
the lines below it are what it prints (a command goes on in the next line after a
backslash). Each command is run by bash in a folder that looks like the repository but
has an empty build/, so what it writes there is left behind nowhere. With --write the
documents are brought up to date instead. The tools are those in PATH.
"""
import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.M)


def output(command, folder):
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"'{command}' failed with {result.returncode}:\n{result.stdout}")
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    return "".join(line + "\n" for line in lines)


def refreshed(block, folder):
    text = ""
    for command in COMMAND.findall(block):
        text += f"$ {command}\n{output(command, folder)}"
    return f"```console\n{text}```"


def main(arguments):
    write = "--write" in arguments
    good = True
    for name in arguments:
        if name == "--write":
            continue
        path = pathlib.Path(name)
        old = path.read_text()
        with tempfile.TemporaryDirectory() as folder:
            for entry in ROOT.iterdir():
                if entry.name not in ("build", ".git"):
                    (pathlib.Path(folder) / entry.name).symlink_to(entry)
            (pathlib.Path(folder) / "build").mkdir()
            new = BLOCK.sub(lambda match: refreshed(match[1], folder), old)
        if new == old:
            continue
        if write:
            path.write_text(new)
            continue
        good = False
        sys.stdout.writelines(difflib.unified_diff(
            old.splitlines(True), new.splitlines(True), name, "what is printed now"))
    if not good:
        sys.exit("bring the documents up to date with: "
                 f"python3 test/doc-commands.py --write {' '.join(arguments)}")


if __name__ == "__main__":
    main(sys.argv[1:])
