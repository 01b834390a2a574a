#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every op's documented example is part of the op's own test.

The Example of an op in dialects/*/*.td must stand, line by line, in
test/dialects/<dialect>/<mnemonic>.mlir: what the manual shows is what the tests
parse and print.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OP = re.compile(r"^def (?:Act|Tile)_(\w+)Op\s*:\s*\w+<\s*\"(\w+)\"", re.M)
EXAMPLE = re.compile(r"Example:\s*```mlir\n(.*?)```", re.S)


def ops(text):
    """Pairs of mnemonic and example (None where there is none)."""
    starts = list(OP.finditer(text))
    for here, after in zip(starts, starts[1:] + [None]):
        body = text[here.start():after.start() if after else len(text)]
        example = EXAMPLE.search(body)
        yield here[2], example[1] if example else None


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def shown(example, test):
    """Whether the example's lines stand one after the other in the test."""
    want, have = lines(example), lines(test)
    return any(have[i:i + len(want)] == want for i in range(len(have)))


def problems(text, test_of):
    """What is wrong with the ops of one .td; test_of(mnemonic) is a test or None."""
    for mnemonic, example in ops(text):
        test = test_of(mnemonic)
        if example is None:
            yield f"{mnemonic}: its description has no Example"
        elif test is None:
            yield f"{mnemonic}: has no test {mnemonic}.mlir"
        elif not shown(example, test):
            yield f"{mnemonic}: its Example is not in {mnemonic}.mlir:\n{example}"


def self_check():
    """The check bites: on another example, an absent one and an absent test."""
    td = ('def Act_AOp : Act_Op<"a"> {\n  Example:\n  ```mlir\n  act.a {\n'
          '    %0 = act.b\n  }\n  ```\n}\n')
    good = "func.func @f() {\n  act.a {\n    %0 = act.b\n  }\n}\n"
    assert not list(problems(td, {"a": good}.get))
    assert list(problems(td, {"a": good.replace("act.b", "act.c")}.get))
    assert list(problems(td, {"a": good.replace("%0", "// note\n%0")}.get))
    assert list(problems(td.replace("Example", "See"), {"a": good}.get))
    assert list(problems(td, {}.get))


def main():
    self_check()
    count, failed = 0, False
    for td in sorted(ROOT.glob("dialects/*/*.td")):
        text = td.read_text()
        tests = ROOT / "test/dialects" / td.parent.name

        def test_of(mnemonic):
            path = tests / f"{mnemonic}.mlir"
            return path.read_text() if path.exists() else None

        count += len(list(ops(text)))
        for problem in problems(text, test_of):
            failed = True
            print(f"{td.relative_to(ROOT)}: {problem}", file=sys.stderr)
        # A def that the pattern above does not see would go unchecked.
        for name in re.findall(r"^def (\w+Op)\s*:", text, re.M):
            if not re.search(rf"^def {name}\s*:\s*\w+<\s*\"\w+\"", text, re.M):
                failed = True
                print(f"{td.relative_to(ROOT)}: {name} has no mnemonic here",
                      file=sys.stderr)
    print(f"{count} ops")
    return 1 if failed or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
