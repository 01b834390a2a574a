#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The prose that users read stays short and plain.

README.md has at most 8 KB. In every page and in the descriptions of ops and passes
(.td) no table cell is longer than 120 characters, and none of some turns of phrase
stands that are a translation's and not a native engineer's. Code is not looked at.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README_BYTES, CELL = 8192, 120
TURNS = {  # turn → what to say
    r"\bfor who\b": "for users who",
    r"[,;] ((each|one|both|some|none|first|second|last) )?of which\b": "a sentence of its own",
    r"\bwhat is more (is|are)\b": "the rest is",
    r"\b[Ww]ho(ever)? (waits|lacks|wants|writes|reads)\b": "a program (thread, user) that",
    r"\bby the clock\b": "wall time",
    r"\bhas of (un)?\w+ bytes\b": "the undefined bytes of",
    r"\bthat is to say\b": "leave it out",
    r"\bthe report's least\b": "the minimum",
    r"\bas good as none\b": "almost none",
    r"\bit is no (file|kernel|regular)\b": "it is not a",
}
FENCE = re.compile(r"^\s*```.*?^\s*```[^\n]*$", re.M | re.S)


def blanked(text, pattern):
    """Without what matches, on the same lines."""
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def prose(name, text):
    """What is not code, line by line as in the file."""
    if name.endswith(".td"):
        kept = [m.span(1) for m in re.finditer(r"(?:let description = \[\{|let summary = \")(.*?)(?:\}\]|\";)", text, re.S)]
        text = "".join(c if c == "\n" or any(a <= i < b for a, b in kept) else " " for i, c in enumerate(text))
    return blanked(blanked(text, FENCE), re.compile(r"`[^`\n]+`"))


def problems(name, text):
    if name == "README.md" and len(text.encode()) > README_BYTES:
        yield f"{name}: {len(text.encode())} bytes, at most {README_BYTES}"
    for number, line in enumerate(prose(name, text).split("\n"), 1):
        for turn, instead in TURNS.items():
            if re.search(turn, line):
                yield f"{name}:{number}: '{re.search(turn, line)[0]}': say '{instead}'"
    if name.endswith(".md"):
        for number, line in enumerate(blanked(text, FENCE).split("\n"), 1):
            if line.startswith("|"):
                for cell in re.split(r"(?<!\\)\|", line)[1:-1]:
                    if len(cell.strip()) > CELL:
                        yield f"{name}:{number}: a cell of {len(cell.strip())} characters, at most {CELL}: {cell.strip()[:40]}..."


def self_check():
    """The check bites, and leaves code alone."""
    assert list(problems("README.md", "x" * 8193))
    assert list(problems("a.md", "It is opt-in for who lacks memory."))
    assert list(problems("a.md", "Threads, each of which stores it."))
    assert not list(problems("a.md", "```\nfor who\n```\n`for who`"))
    assert list(problems("a.md", f"| a | {'b' * 121} |")) and not list(problems("a.md", f"| a | {'b' * 120} |"))
    assert list(problems("a.td", 'let description = [{\n  for who\n}];'))
    assert not list(problems("a.td", "def For : for who;"))


def main():
    self_check()
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "*.td"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split()
    found = [p for name in files for p in problems(name, (ROOT / name).read_text())]
    print("\n".join(found))
    print(f"{len(files)} files, {len(found)} problems")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
