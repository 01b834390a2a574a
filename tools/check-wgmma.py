#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-wgmma.py [--nvdisasm FILE] FILE.cubin ...: whether registers of wgmma in flight are left alone.

A product of a warp group reads its first operand from registers, and adds to its sum,
until a wait says that it is complete. ptxas before 13.3 may give registers of the operand
to other values meanwhile. This reads what ptxas made: on all ways through a kernel, no
instruction writes a register of an operand or a sum in flight, and none but a further
product reads a sum. It prints each that does, and per kernel the products it looked at;
the exit status is 1 if there is any.

nvdisasm is found in PATH, or in Triton's wheel beside this Python.
"""
import argparse
import collections
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

LINE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P[T\d]+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
LABEL = re.compile(r"^\s*(\.L_\w+):")
SECTION = re.compile(r"^\.text\.(\S+):")
REGISTER = re.compile(r"\bR(\d+)\b")
# Registers that an instruction writes from its first one on, by the name's ending.
WIDTHS = {"64": 2, "128": 4, "WIDE": 2}
Instruction = collections.namedtuple("Instruction", "at predicate name operands")


def kernels(text):
    """(name, blocks) of each kernel; blocks are lists of instructions, by number, and successors."""
    name, items = None, []
    for line in text.splitlines():
        if section := SECTION.match(line):
            if name:
                yield name, graph(items)
            name, items = section[1], []
        elif label := LABEL.match(line):
            items.append(label[1])
        elif found := LINE.match(line):
            items.append(Instruction(int(found[1], 16), found[2], found[3], found[4]))
    if name:
        yield name, graph(items)


def graph(items):
    blocks, labels, current = [], {}, []

    def finish():
        nonlocal current
        blocks.append(current)
        current = []
    for item in items:
        if isinstance(item, str):
            if current:
                finish()
            labels[item] = len(blocks)
            continue
        current.append(item)
        if item.name.split(".")[0] in ("BRA", "EXIT", "RET", "BRX"):
            finish()
    finish()
    after = []
    for i, block in enumerate(blocks):
        last = block[-1] if block else None
        kind = last.name.split(".")[0] if last else ""
        to = [labels[t] for t in re.findall(r"\.L_\w+", last.operands) if t in labels] if kind in ("BRA", "BRX") else []
        goes_on = kind not in ("BRA", "EXIT", "RET", "BRX") or last.predicate or re.match(r"!?U?P\d", last.operands)
        if goes_on and i + 1 < len(blocks):
            to.append(i + 1)
        after.append(to)
    return blocks, after


def written(i):
    """Registers that the instruction writes."""
    operands = [o.strip() for o in i.operands.split(",")]
    first = 1 if operands and re.fullmatch(r"!?U?PT|U?P\d", operands[0]) and i.name.startswith(("SHFL", "ATOM", "LD")) else 0
    if len(operands) <= first or not (found := re.match(r"R(\d+)(\.\w+)?$", operands[first])):
        return set()
    parts = i.name.split(".")
    width = max([WIDTHS.get(p, 1) for p in parts] + [int(parts[-1]) if parts[0] == "LDSM" and parts[-1].isdigit() else 1])
    return set(range(int(found[1]), int(found[1]) + width))


def read(i):
    """Registers that the instruction reads, each as one."""
    operands = i.operands.split(",")
    return {int(n) for o in operands[1 if written(i) else 0:] for n in REGISTER.findall(o)}


def product(i):
    """The registers of a product's sum, and those of its operand in registers."""
    n, kind = re.match(r"HGMMA\.64x(\d+)x\d+(?:\.\w+)?\.?(F32|F16)?", i.name).groups()
    operands = [o.strip() for o in i.operands.split(",")]
    first = int(REGISTER.match(operands[0])[1])
    sums = set(range(first, first + int(n) // (4 if kind == "F16" else 2)))
    a = REGISTER.match(operands[1])
    return sums, set(range(int(a[1]), int(a[1]) + 4)) if a else set()


NOTHING = (frozenset(), frozenset())  # of a group: registers of sums and of operands


def walk(block, state, report):
    """The state after a block. A state is the groups in flight, oldest first, then the open one."""
    groups = list(state)
    for i in block:
        if i.name.startswith("HGMMA"):
            sums, a = product(i)
            others = set().union(*(g[1] for g in groups))
            if clash := sums & others:
                report(i, "adds to", clash)
            groups[-1] = groups[-1][0] | sums, groups[-1][1] | a
            if "gsb0" in i.operands:
                groups.append(NOTHING)
        elif i.name.startswith("WARPGROUP.DEPBAR"):
            running = int(i.operands.split(",")[-1].strip(), 0)
            groups = groups[-1 - running:] if running + 1 < len(groups) else groups
        else:
            sums = frozenset().union(*(g[0] for g in groups))
            a = frozenset().union(*(g[1] for g in groups))
            if clash := written(i) & (sums | a):
                report(i, "writes", clash)
            elif clash := read(i) & sums:
                report(i, "reads", clash)
    return tuple((frozenset(s), frozenset(a)) for s, a in groups[-9:])


def joined(x, y):
    """What may be in flight on either way, youngest groups beside each other."""
    n = max(len(x), len(y))
    x, y = ((NOTHING,) * (n - len(s)) + tuple(s) for s in (x, y))
    return tuple((p[0] | q[0], p[1] | q[1]) for p, q in zip(x, y))


def check(name, blocks, after):
    before = {0: (NOTHING,)}
    work = [0]
    while work:
        b = work.pop()
        end = walk(blocks[b], before[b], lambda *_: None)
        for to in after[b]:
            both = joined(before[to], end) if to in before else end
            if before.get(to) != both:
                before[to] = both
                work.append(to)
    faults = []
    for b, state in before.items():
        walk(blocks[b], state, lambda i, does, registers: faults.append(
            f"{name} +0x{i.at:x}: {i.name} {does} {', '.join(f'R{r}' for r in sorted(registers))}, in flight"))
    return sorted(set(faults))


def nvdisasm():
    if found := shutil.which("nvdisasm"):
        return found
    wheel = importlib.util.find_spec("triton")
    return pathlib.Path(wheel.origin).parent / "backends/nvidia/bin/nvdisasm" if wheel else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvdisasm", default=nvdisasm())
    parser.add_argument("files", nargs="+")
    o = parser.parse_args()
    if not o.nvdisasm:
        sys.exit("no nvdisasm in PATH, and no package triton, which has one")
    bad = 0
    for file in o.files:
        done = subprocess.run([o.nvdisasm, "-c", file], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{file}: {done.stderr.strip()}")
        for name, (blocks, after) in kernels(done.stdout):
            products = sum(i.name.startswith("HGMMA") for block in blocks for i in block)
            faults = check(name, blocks, after)
            print("\n".join(faults) if faults else f"{name}: {products} products, registers in flight are left alone")
            bad += len(faults)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
