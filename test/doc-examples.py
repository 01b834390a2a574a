#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every documented example of an op or a pass is part of its own test.

The Example of an op in dialects/*/*.td must stand, line by line, in
test/dialects/<dialect>/<mnemonic>.mlir: what the manual shows is what the tests
parse and print.

A pass in passes/*/*Passes.td shows what it does:

    Before:
    ```mlir
    ...
    ```
    After `--my-pass=option=1`:
    ```mlir
    ...
    ```

In test/passes/<folder>/my-pass.mlir, Before is part of the input. After is what the
test expects with the prefix AFTER, all of it: `AFTER:` begins an excerpt, and
`AFTER-NEXT:` goes on with the next line. One RUN line has the flags as documented and
`FileCheck %s --check-prefix=AFTER --match-full-lines`. So lit compares After with what
the pass prints, whole lines. A line `...` stands for lines left out, and `...` in a
line of After is `{{.*}}` in the test. Indentation does not count.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OP = re.compile(r"^def (?:Act|Tile)_(\w+)Op\s*:\s*\w+<\s*\"(\w+)\"", re.M)
EXAMPLE = re.compile(r"Example:\s*```mlir\n(.*?)```", re.S)
PASS = re.compile(r"^def \w+\s*:\s*\w*Pass<\s*\"([\w-]+)\"", re.M)
BEFORE_AFTER = re.compile(r"^ *Before:\n *```\w+\n(.*?)^ *```\n"
                          r" *After `([^`]+)`[^\n]*:\n *```\w+\n(.*?)^ *```$", re.M | re.S)
AFTER = re.compile(r"^ *// AFTER([\w-]*)(\{LITERAL\})?:(.*)$", re.M)
FILECHECK = "FileCheck %s --check-prefix=AFTER --match-full-lines"


def definitions(pattern, text):
    """Pairs of a match and the text up to the next one."""
    starts = list(pattern.finditer(text))
    for here, after in zip(starts, starts[1:] + [None]):
        yield here, text[here.start():after.start() if after else len(text)]


def ops(text):
    """Pairs of mnemonic and example (None where there is none)."""
    for here, body in definitions(OP, text):
        example = EXAMPLE.search(body)
        yield here[2], example[1] if example else None


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def shown(example, test):
    """Whether the example's lines stand one after the other in the test."""
    want, have = lines(example), lines(test)
    return any(have[i:i + len(want)] == want for i in range(len(have)))


def passes(text):
    """Pairs of argument and (before, flags, after), None where that is missing."""
    for here, body in definitions(PASS, text):
        example = BEFORE_AFTER.search(body)
        yield here[1], example.groups() if example else None


def excerpts(shown_lines):
    """The lines between those that are `...`."""
    found = [[]]
    for line in shown_lines:
        if line != "...":
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    return [e for e in found if e]


def in_order(wanted, have):
    """Whether each excerpt stands in the lines, one after the other."""
    at = 0
    for excerpt in wanted:
        places = [i for i in range(at, len(have)) if have[i:i + len(excerpt)] == excerpt]
        if not places:
            return False
        at = places[0] + len(excerpt)
    return bool(wanted)


def expected(test):
    """The excerpts that the AFTER lines of a test ask for; None if one is of another kind."""
    found = []
    for suffix, literal, line in AFTER.findall(test):
        line = line.strip() if literal else line.strip().replace("{{.*}}", "...")
        if suffix == "":
            found.append([line])
        elif suffix == "-NEXT" and found:
            found[-1].append(line)
        elif suffix != "-EMPTY" or not found:
            return None
    return found


def pass_problems(text, test_of):
    """What is wrong with the passes of one .td; test_of(argument) is a test or None."""
    for argument, example in passes(text):
        test = test_of(argument)
        if example is None:
            yield f"{argument}: its description has no Before: and After `--{argument}`:"
            continue
        if test is None:
            yield f"{argument}: has no test {argument}.mlir"
            continue
        before, flags, after = example
        runs = [line for line in test.splitlines() if line.startswith("// RUN:")]
        given = [line for line in lines(test) if not line.startswith("//")]
        if not re.search(rf"(^|[\s-]){argument}($|[\s=])", flags):
            yield f"{argument}: `{flags}` does not name it"
        if not any(f" {flags} " in run and FILECHECK in run for run in runs):
            yield f"{argument}: no RUN line of {argument}.mlir has ' {flags} ' and '{FILECHECK}'"
        if not in_order(excerpts(lines(before)), given):
            yield f"{argument}: Before is not in the input of {argument}.mlir:\n{before}"
        asked = expected(test)
        if asked is None:
            yield (f"{argument}: {argument}.mlir may have AFTER:, which comes first, AFTER-NEXT: and AFTER-EMPTY:, "
                   "and nothing else of that prefix")
        elif not asked or excerpts(lines(after)) != asked:
            yield f"{argument}: After is not what the AFTER lines of {argument}.mlir expect:\n{after}"


def unseen(text, kind, pattern):
    """The defs of a kind (Op, Pass) that the pattern above does not see."""
    seen = {m[0].split()[1].rstrip(":") for m in pattern.finditer(text)}
    return [name for name in re.findall(rf"^def (\w+{kind})\b", text, re.M) if name not in seen]


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

    td = ('def APass : Pass<"a", "Op"> {\n    Before:\n    ```mlir\n    %0 = x\n    ...\n    %1 = y\n    ```\n'
          '    After `--a=n=1`:\n    ```mlir\n    f {\n      %0 = z ...\n    ...\n    }\n    ```\n}\n')
    good = (f"// RUN: act-opt %s --a=n=1 | {FILECHECK}\nf {{\n  %0 = x\n  // note\n  %2 = w\n  %1 = y\n}}\n"
            "// AFTER: f {\n// AFTER-NEXT:   %0 = z {{.*}}\n// AFTER: }\n")
    assert not list(pass_problems(td, {"a": good}.get))
    for old, new in [("%0 = x", "%0 = u"), ("  %0 = x", "  // %0 = x"), ("--a=n=1", "--a"), ("--a=n=1", "--a=n=11"),
                     ("--match-full-lines", ""), ("=AFTER", "=OTHER"), ("// AFTER: f {\n", ""),
                     ("%0 = z {{.*}}", "%0 = z"), ("-NEXT", ""), ("// AFTER: }", "// AFTER-NEXT: }"),
                     ("// AFTER: }\n", ""), ("// AFTER: }", "// AFTER: }\n// AFTER: g"), ("-NEXT", "-DAG"),
                     ("-NEXT", "-NOT"), ("-NEXT:", "-NEXT{LITERAL}:")]:
        assert old in good and list(pass_problems(td, {"a": good.replace(old, new)}.get)), (old, new)
    for old, new in [("Before", "Input"), ("After", "Output"), ("--a=n=1", "--ab=n=1"), ("%1 = y", "%0 = x"),
                     ("%0 = x\n    ...\n    %1 = y", "...")]:
        assert old in td and list(pass_problems(td.replace(old, new), {"a": good}.get)), (old, new)
    assert list(pass_problems(td, {}.get))
    assert unseen("def BPass : PassBase<3> {}", "Pass", PASS) and not unseen(td, "Pass", PASS)


def check(pattern, kind, find, judge, tests):
    """Prints what is wrong with the .td files; returns how many defs there are, and whether all are right."""
    count, right = 0, True
    for td in sorted(ROOT.glob(pattern)):
        text = td.read_text()

        def test_of(name):
            path = ROOT / tests / td.parent.name / f"{name}.mlir"
            return path.read_text() if path.exists() else None

        count += len(list(find(text)))
        # A def that the pattern above does not see would go unchecked.
        for problem in [*judge(text, test_of), *(f"{name} has no name here" for name in unseen(text, *kind))]:
            right = False
            print(f"{td.relative_to(ROOT)}: {problem}", file=sys.stderr)
    return count, right


def main():
    self_check()
    op_count, ops_right = check("dialects/*/*.td", ("Op", OP), ops, problems, "test/dialects")
    pass_count, passes_right = check("passes/*/*Passes.td", ("Pass", PASS), passes, pass_problems, "test/passes")
    print(f"{op_count} ops, {pass_count} passes")
    return 0 if ops_right and passes_right and op_count and pass_count else 1


if __name__ == "__main__":
    sys.exit(main())
