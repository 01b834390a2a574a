#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages a dialect's tests and feeds them to act-opt.

    mlir-text.py ACT_OPT [--dialect act|tile|raise] [--seconds N] [--seed N]
                 [--flags "--canonicalize"] [--bytecode]

Every input ends in exit 0 or 1: a signal, an abort or a hang is a bug, and the
input that shows it is printed. Inputs are the files of test/dialects/act (or
tile), as written and in the generic form, in which attributes can be absent or
wrong. With --dialect raise they are what others' importers write, for --raise-to-act.
With --bytecode their bytecode is damaged instead, byte by byte.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent / "dialects"
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$-]+|->|\n|[^\S\n]+|.')
NUMBERS = ["0", "-1", "1", "2", "3", "7", "65536", "2147483648",
           "9223372036854775807", "9223372036854775808", "-9223372036854775808",
           "0x7FF0000000000000", "1.0e308", "?"]
TYPES = ["f32", "f64", "bf16", "i1", "i64", "index", "none", "tensor<f32>",
         "tensor<0xf32>", "tensor<?xf32>", "tensor<*xf32>", "vector<4xf32>",
         "tensor<9223372036854775807x9223372036854775807xf32>",
         "tensor<4x!act.nf4>", "tensor<4xf32, #act.dims<s>>",
         "tensor<?x?xf32, #act.dims<s, 4*t>>", "tensor<4xcomplex<f32>>",
         "memref<4xf32>", "!act.nf4<block = 16>", "tensor<4xf32, 3 : i64>",
         "tensor<1x8x4x8xf32>", "(f32) -> f32"]
ATTRIBUTES = ["unit", "true", "3 : i32", "-1 : i64", "1.0 : f64", "0xFF : f32",
              '"text"', "[]", "[1, 2]", "array<i64>", "array<i64: 0, 0>",
              "array<f64: 1.0>", "@w", "@w::@v", "f32", "dense<0.0> : tensor<4xf32>",
              "dense<[]> : tensor<0xf32>", "#act.dims<s>", "#act<reduction mean>",
              "array<i32: 1, 1, 1>", "array<i32: -1, 2, 0, 0, 0>",
              "dense_resource<r> : tensor<4xf32>",
              "sparse<0, 1.0> : tensor<4xf32>"]
TILE_TYPES = ["!tile.ptr<f32>", "!tile.view<f32>", "!tile.view<8x4xf32>",
              "!tile.view<?x?xbf16>", "!tile.view<8x4xf32, strides = [1, ?]>",
              "!tile.shared<8xf32>", "!tile.view<0x9223372036854775807xi1>",
              "!tile.shared<2x8x64xbf16, #tile.shared<swizzle = 128>>",
              "tensor<32xf32, #tile.layout<register = [], lane = [32:(1)], warp = []>>",
              "tensor<1xi32>", "tensor<8x2xf8E4M3FN>", "tensor<8xindex>"]
TILE_ATTRIBUTES = ["neg_inf", "nan", "#tile<combine add>", "#tile<axis z>",
                   "#tile.schedule<warps = 4>", "#tile.digit<2:(1)>",
                   "#tile.layout<register = [], lane = [32:(1)], warp = []>",
                   "#tile.shared<swizzle = 64>", "array<i64: 8>", "array<i64: -2>"]


def chunks(act_opt, tests):
    """One program each: a function with the declarations that it stands on."""
    found = []
    if tests.name == "raise":
        models = sorted((tests.parents[1] / "python/raise/models").iterdir())
        written = sorted(p for p in (tests / "Inputs").iterdir() if p.suffix != ".py")
        # Not linalg and tosa: their parsers are upstream's.
        return [p.read_text() for p in written + models
                if p.suffix in (".stablehlo", ".torch") and p.stat().st_size < 12000]
    for path in sorted(tests.glob("*.mlir")):
        text = path.read_text()
        if path.stem.endswith("-invalid"):
            found += text.split("// -----")
            continue
        preamble, *functions = re.split(r"^(?=// CHECK-LABEL)", text, flags=re.M)
        found += [preamble + function for function in functions or [""]]
        generic = subprocess.run([act_opt, "--mlir-print-op-generic", str(path)],
                                 capture_output=True, text=True, timeout=60)
        if generic.returncode:
            sys.exit(f"{path}: {generic.stderr}")
        found.append(generic.stdout)
    comments = re.compile(r"^\s*//.*\n", re.M)
    return [comments.sub("", chunk) for chunk in found]


def resize(token, rng):
    """The token with another number in it."""
    number = rng.choice(list(re.finditer(r"\d+", token)))
    return token[:number.start()] + rng.choice(NUMBERS) + token[number.end():]


def damage(text, rng, pool, sizes):
    tokens = TOKEN.findall(text)
    solid = [i for i, t in enumerate(tokens) if t.strip()]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not solid:
            break
        i = rng.choice(solid)
        kind = rng.randrange(12)
        sized = [k for k in solid
                 if re.search(r"\d", tokens[k]) and tokens[k][0] != "%"]
        if kind == 0:
            tokens[i] = ""
        elif kind == 1:
            tokens[i] += " " + tokens[i]
        elif kind == 2:
            j = rng.choice(solid)
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif kind == 3:
            tokens = tokens[:i]
            solid = [k for k in solid if k < i]
        elif kind == 4:
            tokens[i] = rng.choice(TYPES)
        elif kind == 5:
            tokens[i] = rng.choice(ATTRIBUTES)
        elif kind == 6:
            tokens[i] = rng.choice(pool)
        elif kind < 9 and sized:
            k = rng.choice(sized)
            tokens[k] = resize(tokens[k], rng)
        elif sized:  # everywhere, so that types still agree
            old = tokens[rng.choice(sized)]
            new = (resize(old, rng) if rng.random() < 0.5 else
                   rng.choice(sizes))
            tokens = [new if t == old else t for t in tokens]
    return "".join(tokens).replace("// -----", "")


def encode(act_opt, programs):
    """The bytecode of those that are valid."""
    found = []
    for program in programs:
        done = subprocess.run([act_opt, "--emit-bytecode", "-"],
                              input=program.encode(), capture_output=True,
                              timeout=60)
        if done.returncode == 0:
            found.append(done.stdout)
    return found


def damage_bytes(data, rng, other):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data))
        kind = rng.randrange(6)
        if kind == 0:
            data[at] = rng.choice([0, 1, 2, 0x7f, 0x80, 0xfe, 0xff])
        elif kind == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at:at + 1] = rng.randbytes(rng.randrange(9))
        elif kind == 3:  # a number of nine bytes
            data[at:at + 1] = b"\0" + rng.randbytes(8)
        elif kind == 4:
            start = rng.randrange(len(other))
            part = other[start:start + rng.randrange(1, 32)]
            data[at:at + len(part)] = part
        else:
            del data[max(at, 4):]
    data[:4] = b"ML\xefR"  # or it would be text
    return bytes(data)


def run(act_opt, flags, programs):
    """Nothing, or what went wrong."""
    text = isinstance(programs[0], str)
    source = ("\n// -----\n".join(programs).encode() if text else programs[0])
    split = ["--split-input-file"] if text else []
    try:
        done = subprocess.run(
            [act_opt, *split, *flags, "-o", "/dev/null", "-"],
            input=source, capture_output=True, timeout=40 + len(programs))
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode in (0, 1):
        return None
    return f"exit {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}"


def culprit(act_opt, flags, programs):
    """The first program that fails on its own (or all, if none does)."""
    for program in programs:
        if run(act_opt, flags, [program]):
            return program
    return "\n// -----\n".join(programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("act_opt")
    parser.add_argument("--dialect", choices=["act", "tile", "raise"], default="act")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--flags")
    parser.add_argument("--bytecode", action="store_true")
    arguments = parser.parse_args()
    raises = arguments.dialect == "raise"
    flags = (arguments.flags or ("--allow-unregistered-dialect --raise-to-act" if raises else "--canonicalize")).split()
    rng = random.Random(arguments.seed)
    tests = TESTS.parent / "passes/raise" if raises else TESTS / arguments.dialect
    if arguments.dialect == "tile":
        TYPES.extend(TILE_TYPES)
        ATTRIBUTES.extend(TILE_ATTRIBUTES)
    programs = chunks(arguments.act_opt, tests)
    if not programs:
        sys.exit(f"no programs under {tests}")
    pool = sorted({t for p in programs for t in TOKEN.findall(p) if t.strip()})
    sizes = [t for t in pool if t[0].isdigit()]
    encoded = encode(arguments.act_opt, programs) if arguments.bytecode else []
    if arguments.bytecode and not encoded:
        sys.exit("no program has bytecode")
    count, end = 0, time.monotonic() + arguments.seconds
    while arguments.bytecode and time.monotonic() < end:
        data = damage_bytes(rng.choice(encoded), rng, rng.choice(encoded))
        wrong = run(arguments.act_opt, flags, [data])
        count += 1
        if wrong:
            path = f"damaged-{count}.mlirbc"
            pathlib.Path(path).write_bytes(data)
            sys.exit(f"act-opt {wrong}\nthe input is in {path}")
    while time.monotonic() < end:
        batch = [damage(rng.choice(programs), rng, pool, sizes)
                 for _ in range(100)]
        wrong = run(arguments.act_opt, flags, batch)
        count += len(batch)
        if wrong:
            print(culprit(arguments.act_opt, flags, batch))
            sys.exit(f"act-opt {wrong}")
    print(f"{count} damaged programs, no crash")


if __name__ == "__main__":
    main()
