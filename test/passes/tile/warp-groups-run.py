#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""warp-groups-run.py FOLDER [SEED ...]: kernels for warp groups on the simulator, sm_90a, with
all checks, in the orders that the seeds draw (default 0).

Products with either order of each operand's dimensions, from views whose ends no block meets;
computed operands; first operands in registers or shared memory; block widths that are no powers of two; with and without a role that
copies, and registers for the roles; persistent ones; clusters that share an operand; another tensor that is added; a chain of two products, as in attention, also rotated and in turns;
three products as in its gradient, also with a storing warp, and with programs that take turns. The same kernels run on the host. Numbers
are small integers, so sums are exact in any order; where programs take turns, they are right in one order alone."""
import dataclasses
import pathlib
import subprocess
import sys

import numpy as np


@dataclasses.dataclass
class Product:
    name: str
    schedule: str
    m: int = 128
    n: int = 128
    k: int = 64  # of a block
    size: tuple = (200, 264, 344)  # rows, columns, depth
    element: str = "bf16"
    a_transposed: bool = False
    b_transposed: bool = False
    computed: str = ""  # operands that are doubled before: "a", "b"
    result: str = ""  # its type where it is not the element
    wgmma: bool = True
    added: bool = False  # another tensor is added to the sum
    multicast: bool = False  # programs of clusters share an operand


ROLES = "groups = 2, stages = 3, roles = {copy = 4 at 40, compute at 232}"
PAIRS = ROLES.replace("roles", "cluster = 2, roles")
PRODUCTS = [
    Product("roles", ROLES),
    Product("one copying warp", "groups = 2, stages = 3, roles = {copy = 1}"),
    Product("no roles", "groups = 2, stages = 3"),
    Product("one stage", "groups = 2, stages = 1, roles = {copy = 1}"),
    Product("one group", "groups = 1, stages = 2, roles = {copy = 1}", m=64),
    Product("two parts of 64 rows", "groups = 1, stages = 2", m=128, n=64),
    Product("three groups", "groups = 3, stages = 2, roles = {copy = 4 at 32, compute at 160}", m=192, n=80, k=32),
    Product("a by k", ROLES, a_transposed=True),
    Product("b by n", ROLES, b_transposed=True, element="f16"),
    Product("both", ROLES, a_transposed=True, b_transposed=True, n=96),
    Product("96 columns", ROLES, n=96),
    Product("80 columns", ROLES, n=80, b_transposed=True),
    Product("176 columns", ROLES, n=176),
    Product("40 columns by n", ROLES, n=40, b_transposed=True, size=(200, 120, 416)),
    Product("320 columns", "groups = 1, stages = 2, roles = {copy = 1}", m=64, n=320, size=(128, 640, 352)),
    Product("40 columns by k", ROLES, n=40, size=(200, 120, 160), wgmma=False),
    Product("48 of k", ROLES, k=48, size=(128, 128, 336)),
    Product("computed a", ROLES, computed="a"),
    Product("computed b", "groups = 2, stages = 2", computed="b"),
    Product("computed a in shared memory", ROLES.replace("roles", "a = shared, roles"), computed="a"),
    Product("a in registers", ROLES.replace("roles", "a = registers, roles")),
    Product("a by k in registers, no roles", "groups = 2, stages = 2, a = registers", a_transposed=True),
    Product("a in registers, persistent", ROLES.replace("roles", "a = registers, persistent, roles"), n=96),
    Product("both computed", "groups = 2, stages = 2", computed="ab", b_transposed=True),
    Product("both computed, a by k", "groups = 2, stages = 2", computed="ab", a_transposed=True),
    Product("f32 result", "groups = 2, stages = 2, roles = {copy = 1}", n=64, result="f32"),
    Product("side by side", ROLES, m=64),
    Product("side by side, by n", ROLES, m=64, n=80, b_transposed=True),
    Product("side by side, 48 columns by k", ROLES, m=64, n=96, wgmma=False),
    Product("rows not of 16 bytes", "groups = 2, stages = 2", size=(200, 131, 75)),
    Product("persistent", ROLES.replace("roles", "persistent, roles")),
    Product("persistent, rows first", ROLES.replace("roles", "persistent, raster = 2x2, roles"), n=96, size=(500, 300, 200)),
    Product("persistent, no roles", "groups = 2, stages = 2, persistent"),
    Product("persistent, f32 result", ROLES.replace("roles", "persistent, roles"), n=64, result="f32"),
    Product("added to", ROLES, added=True),
    Product("persistent, added to", ROLES.replace("roles", "persistent, roles"), added=True, result="f32"),
    Product("added to, rows not of 16 bytes", ROLES, size=(200, 131, 75), added=True),
    Product("cluster", PAIRS, multicast=True),
    Product("cluster, by n", PAIRS, b_transposed=True, element="f16", multicast=True),
    Product("cluster, 96 columns, a by k", PAIRS, n=96, a_transposed=True, multicast=True),
    Product("cluster, one stage", "groups = 2, stages = 1, cluster = 2, roles = {copy = 1}", multicast=True),
    Product("cluster of 4", PAIRS.replace("= 2, roles", "= 4, roles"), size=(500, 264, 344), multicast=True),
    Product("cluster, a in common", PAIRS.replace("cluster", "raster = 2x2, cluster"), size=(200, 500, 344), multicast=True),
    Product("cluster, a by k in common", PAIRS.replace("cluster", "raster = 4x2, cluster"), size=(200, 500, 344),
            a_transposed=True, b_transposed=True, multicast=True),
    Product("cluster, persistent", PAIRS.replace("cluster", "persistent, cluster"), size=(500, 264, 344), multicast=True),
    Product("cluster, persistent, a in common", PAIRS.replace("cluster", "raster = 2x2, persistent, cluster"), n=96,
            size=(200, 568, 200), added=True, multicast=True),
    Product("cluster, nothing in common", PAIRS.replace("cluster", "raster = 2x2, cluster")),
    Product("f32", "groups = 2, stages = 2, roles = {copy = 1}", element="f32", n=64, k=32, wgmma=False),
]


def text(p):
    rows, columns, depth = p.size
    t, out = p.element, p.result or p.element
    shapes = {"a": (depth, rows) if p.a_transposed else (rows, depth),
              "b": (columns, depth) if p.b_transposed else (depth, columns)}
    views = {x: f"!tile.view<{r}x{c}x{t}>" for x, (r, c) in shapes.items()}
    lines = []
    for x, (first, second), (extent, other), transposed in (
            ("a", ("%i", "%l"), (p.m, p.k), p.a_transposed), ("b", ("%l", "%j"), (p.k, p.n), p.b_transposed)):
        value = f"%{x}0"
        if transposed:
            lines.append(f"{value} = tile.load %{x}[{second} : {other}, {first} : {extent}] : {views[x]}")
        else:
            lines.append(f"{value} = tile.load %{x}[{first} : {extent}, {second} : {other}] : {views[x]}")
        block = f"tensor<{other}x{extent}x{t}>" if transposed else f"tensor<{extent}x{other}x{t}>"
        if x in p.computed:
            lines.append(f"%{x}1 = arith.addf {value}, {value} : {block}")
            value = f"%{x}1"
        if transposed:
            lines.append(f"%{x}2 = tile.trans {value} : {block}")
            value = f"%{x}2"
        lines.append(f"// {x} is {value}")
    a, b = (next(line for line in lines if line.startswith(f"// {x} is ")).split()[-1] for x in "ab")
    store, narrowed, argument = "%sum", "", ""
    if p.added:
        shapes["d"] = (rows, columns)
        views["d"] = f"!tile.view<{rows}x{columns}x{t}>"
        argument = f", %d: {views['d']}"
        store = "%with"
    if out != "f32":
        narrowed = f"%r = arith.truncf {store} : tensor<{p.m}x{p.n}xf32> to tensor<{p.m}x{p.n}x{out}>"
        store = "%r"
    if p.added:
        narrowed = (f"%d0 = tile.load %d[%i : {p.m}, %j : {p.n}] : {views['d']}\n"
                    f"    %d1 = arith.extf %d0 : tensor<{p.m}x{p.n}x{t}> to tensor<{p.m}x{p.n}xf32>\n"
                    f"    %with = arith.addf %sum, %d1 : tensor<{p.m}x{p.n}xf32>\n    {narrowed}")
    body = "\n      ".join(lines)
    grid = (-(-rows // p.m), -(-columns // p.n))
    return f"""gpu.module @kernels {{
  gpu.func @product(%a: {views["a"]}, %b: {views["b"]}{argument}, %c: !tile.view<{rows}x{columns}x{out}>)
      kernel attributes {{tile.grid = array<i64: {grid[0]}, {grid[1]}, 1>, tile.schedule = #tile.schedule<{p.schedule}>}} {{
    %c0 = arith.constant 0 : index
    %step = arith.constant {p.k} : index
    %m = arith.constant {p.m} : index
    %n = arith.constant {p.n} : index
    %end = arith.constant {depth} : index
    %x = tile.program_id x
    %y = tile.program_id y
    %i = arith.muli %x, %m : index
    %j = arith.muli %y, %n : index
    %zero = arith.constant dense<0.0> : tensor<{p.m}x{p.n}xf32>
    %sum = scf.for %l = %c0 to %end step %step iter_args(%acc = %zero) -> (tensor<{p.m}x{p.n}xf32>) {{
      {body}
      %dot = tile.dot {a}, {b}, %acc : tensor<{p.m}x{p.k}x{t}>, tensor<{p.k}x{p.n}x{t}> -> tensor<{p.m}x{p.n}xf32>
      scf.yield %dot : tensor<{p.m}x{p.n}xf32>
    }}
    {narrowed}
    tile.store {store}, %c[%i : {p.m}, %j : {p.n}] : !tile.view<{rows}x{columns}x{out}>
    gpu.return
  }}
}}
""", shapes


# out = (q k^T) v, over 448 keys in blocks of 64
CHAIN = """gpu.module @kernels {{
  gpu.func @chain(%q: !tile.view<{rows}x64xbf16>, %k: !tile.view<448x64xbf16>, %v: !tile.view<448x64xbf16>, %o: !tile.view<{rows}x64xbf16>)
      kernel attributes {{tile.grid = array<i64: {programs}, 1, 1>, tile.schedule = #tile.schedule<{schedule}>}} {{
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %end = arith.constant 448 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %c128 = arith.constant 128 : index
    %pid = tile.program_id x
    %i = arith.muli %pid, %c128 : index
    %Q = tile.load %q[%i : 128, %c0 : 64] : !tile.view<{rows}x64xbf16>
    %sum = scf.for %j = %c0 to %end step %c64 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {{
      %K = tile.load %k[%j : 64, %c0 : 64] : !tile.view<448x64xbf16>
      %Kt = tile.trans %K : tensor<64x64xbf16>
      %s = tile.dot %Q, %Kt, %zero : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      %p = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
      %V = tile.load %v[%j : 64, %c0 : 64] : !tile.view<448x64xbf16>
      %d = tile.dot %p, %V, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }}
    %r = arith.truncf %sum : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %r, %o[%i : 128, %c0 : 64] : !tile.view<{rows}x64xbf16>
    gpu.return
  }}
}}
"""
# For each of 2 heads and 4 blocks of queries, as in attention's gradient: s = q k^T + row of the program; out = sum of s^T q, and s k, which is added to
# memory. Loops in loops, a row beside the operands, sums side by side. With turns, programs add in order, and each head has memory of its own.
GRADIENT = """gpu.module @kernels {{
  gpu.func @gradient(%q: !tile.view<2x256x64xbf16>, %k: !tile.view<{keys}x64xbf16>, %r: !tile.view<{programs}x256xf32>, %o: !tile.view<{keys}x64xf32>, %p: !tile.view<{heads}256x64xf32>{counters})
      kernel attributes {{tile.grid = array<i64: {programs}, 1, 1>, tile.schedule = #tile.schedule<{schedule}>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c64 = arith.constant 64 : index
    %end = arith.constant 256 : index
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %none = arith.constant dense<0.0> : tensor<64x128xf32>
    %part = arith.constant dense<0.0> : tensor<64x64xf32>
    %c128 = arith.constant 128 : index
    %x = {number}
    %first = arith.muli %x, %c128 : index
    %K = tile.load %k[%first : 128, %c0 : 64] : !tile.view<{keys}x64xbf16>
    %Kt = tile.trans %K : tensor<128x64xbf16>
    %all = scf.for %h = %c0 to %c2 step %c1 iter_args(%before = %zero) -> (tensor<128x64xf32>) {{
      %sum = scf.for %i = %c0 to %end step %c64 iter_args(%acc = %before) -> (tensor<128x64xf32>) {{
        %Q = tile.load %q[%h, %i : 64, %c0 : 64] : !tile.view<2x256x64xbf16>
        %row = tile.load %r[%x, %i : 64] : !tile.view<{programs}x256xf32>
        %s = tile.dot %Q, %Kt, %none : tensor<64x64xbf16>, tensor<64x128xbf16> -> tensor<64x128xf32>
        %column = tile.expand_dims %row axis 1 : tensor<64xf32>
        %wide = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x128xf32>
        %t = arith.addf %s, %wide : tensor<64x128xf32>
        %n = arith.truncf %t : tensor<64x128xf32> to tensor<64x128xbf16>
        %nt = tile.trans %n : tensor<64x128xbf16>
        %d = tile.dot %nt, %Q, %acc : tensor<128x64xbf16>, tensor<64x64xbf16> -> tensor<128x64xf32>
        %own = tile.dot %n, %K, %part : tensor<64x128xbf16>, tensor<128x64xbf16> -> tensor<64x64xf32>
        {wait}
        tile.atomic_add %own, %p[{head}%i : 64, %c0 : 64] : !tile.view<{heads}256x64xf32>
        {pass_on}
        scf.yield %d : tensor<128x64xf32>
      }}
      scf.yield %sum : tensor<128x64xf32>
    }}
    tile.store %all, %o[%first : 128, %c0 : 64] : !tile.view<{keys}x64xf32>
    gpu.return
  }}
}}
"""

# Two results of different widths, stored one after the other by way of the same memory, by persistent programs.
WIDTHS = """gpu.module @kernels {{
  gpu.func @widths(%a: !tile.view<512x256xbf16>, %b: !tile.view<256x192xbf16>, %o: !tile.view<512x192xbf16>)
      kernel attributes {{tile.grid = array<i64: 4, 1, 1>, tile.schedule = #tile.schedule<{schedule}>}} {{
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c256 = arith.constant 256 : index
    %narrow = arith.constant dense<0.0> : tensor<128x64xf32>
    %wide = arith.constant dense<0.0> : tensor<128x128xf32>
    %p = tile.program_id x
    %i = arith.muli %p, %c128 : index
    %s, %t = scf.for %k = %c0 to %c256 step %c32 iter_args(%x = %narrow, %y = %wide) -> (tensor<128x64xf32>, tensor<128x128xf32>) {{
      %A = tile.load %a[%i : 128, %k : 32] : !tile.view<512x256xbf16>
      %B = tile.load %b[%k : 32, %c0 : 64] : !tile.view<256x192xbf16>
      %C = tile.load %b[%k : 32, %c64 : 128] : !tile.view<256x192xbf16>
      %u = tile.dot %A, %B, %x : tensor<128x32xbf16>, tensor<32x64xbf16> -> tensor<128x64xf32>
      %v = tile.dot %A, %C, %y : tensor<128x32xbf16>, tensor<32x128xbf16> -> tensor<128x128xf32>
      scf.yield %u, %v : tensor<128x64xf32>, tensor<128x128xf32>
    }}
    %m = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xbf16>
    tile.store %m, %o[%i : 128, %c0 : 64] : !tile.view<512x192xbf16>
    %n = arith.truncf %t : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %n, %o[%i : 128, %c64 : 128] : !tile.view<512x192xbf16>
    gpu.return
  }}
}}
"""


def bits(x, element):
    if element == "bf16":
        return (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype({"f16": np.float16, "f32": np.float32}[element])


def numbers(array, element):
    return (array.astype(np.uint32) << 16).view(np.float32) if element == "bf16" else array.astype(np.float32)


@dataclasses.dataclass
class Kernel:
    name: str
    source: str
    arrays: dict  # its inputs' numbers,
    elements: dict  # and types
    want: np.ndarray
    element: str  # of the result
    wgmma: bool = True
    before: np.ndarray = None  # a second result, f32, which the kernel adds to,
    after: np.ndarray = None
    counters: tuple = ()  # shapes of i32, zero before each launch

    @property
    def takes_turns(self):
        return bool(self.counters)
    multicast: bool = False

    def arguments(self, folder):
        """Files of its inputs, for --arg, and where the results will be."""
        args = []
        for x, array in self.arrays.items():
            np.save(folder / f"{x}.npy", bits(array, self.elements[x]))
            args.append(f"in:{folder / x}.npy")
        args.append(f"out:{self.element}[{self.want.shape[0]},{self.want.shape[1]}]:{folder / 'out.npy'}")
        if self.before is not None:
            args.append(f"inout:{folder / 'added.npy'}")
        return args + [f"inout:{folder / f'counter{i}.npy'}" for i in range(len(self.counters))]

    def prepare(self, folder):
        (folder / "out.npy").unlink(missing_ok=True)
        if self.before is not None:
            np.save(folder / "added.npy", self.before.astype(np.float32))
        for i, shape in enumerate(self.counters):
            np.save(folder / f"counter{i}.npy", np.zeros(shape, np.int32))

    def is_right(self, folder):
        out = folder / "out.npy"
        return out.exists() and np.array_equal(numbers(np.load(out), self.element), self.want) and (
            self.before is None or np.array_equal(np.load(folder / "added.npy"), self.after))


def kernels():
    rng = np.random.default_rng(7)
    for p in PRODUCTS:
        source, shapes = text(p)
        arrays = {x: rng.integers(-2, 3, shape).astype(np.float64) for x, shape in shapes.items()}
        a, b = (arrays[x].T if t else arrays[x] for x, t in (("a", p.a_transposed), ("b", p.b_transposed)))
        want = a @ b * 2 ** len(p.computed) + arrays.get("d", 0)
        out = p.result or p.element
        yield Kernel(p.name, source, arrays, dict.fromkeys(shapes, p.element), numbers(bits(want, out), out), out, p.wgmma,
                     multicast=p.multicast)
    for schedule in ("groups = 2, stages = 2", "groups = 2, stages = 2, roles = {copy = 1}",
                     "groups = 1, stages = 3, roles = {copy = 4 at 24, compute at 232}",
                     "groups = 2, stages = 2, rotated, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, rotated, turns, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 1, rotated, turns, roles = {copy = 1}",
                     "groups = 2, stages = 2, rotated, turns, persistent, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 1, stages = 1, rotated, roles = {copy = 1}",
                     "groups = 2, stages = 2, a = registers, rotated, turns, persistent, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, a = shared, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, cluster = 2, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, rotated, turns, cluster = 4, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, rotated, persistent, cluster = 2, roles = {copy = 1}"):
        programs = 4 if "cluster" in schedule else 1
        arrays = {x: rng.integers(-1, 2, shape).astype(np.float64) * (rng.random(shape) < 0.4)
                  for x, shape in (("q", (128 * programs, 64)), ("k", (448, 64)), ("v", (448, 64)))}
        want = arrays["q"] @ arrays["k"].T @ arrays["v"]
        yield Kernel(f"chain, {schedule}", CHAIN.format(schedule=schedule, programs=programs, rows=128 * programs), arrays,
                     dict.fromkeys("qkv", "bf16"), want.astype(np.float32), "bf16", multicast=programs > 1)
    for schedule in (ROLES, ROLES.replace("roles", "persistent, roles")):
        arrays = {"a": rng.integers(-2, 3, (512, 256)).astype(np.float64), "b": rng.integers(-2, 3, (256, 192)).astype(np.float64)}
        want = arrays["a"] @ arrays["b"]
        yield Kernel(f"widths, {schedule}", WIDTHS.format(schedule=schedule), arrays, dict.fromkeys("ab", "bf16"),
                     numbers(bits(want, "bf16"), "bf16"), "bf16")
    for schedule in ("groups = 2, stages = 2, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 1, stages = 3, roles = {copy = 1}", "groups = 2, stages = 2",
                     "groups = 2, stages = 2, roles = {copy = 3 at 24, store = 1, compute at 240}",
                     "groups = 2, stages = 1, persistent, roles = {copy = 3 at 24, store = 1, compute at 240}",
                     "groups = 1, stages = 3, roles = {copy = 1, store = 1}",
                     "groups = 2, stages = 2, a = registers, roles = {copy = 4 at 24, compute at 240}",
                     "groups = 2, stages = 2, a = shared, roles = {copy = 3 at 24, store = 1, compute at 240}"):
        programs = 4 if "persistent" in schedule else 2
        arrays = {x: rng.integers(-1, 2, shape).astype(np.float64)
                  for x, shape in (("q", (2, 256, 64)), ("k", (128 * programs, 64)), ("r", (programs, 256)))}
        scores = arrays["q"] @ arrays["k"].T + np.repeat(arrays["r"], 128, axis=0).T
        yield gradient(f"gradient, {schedule}", schedule, arrays, scores, np.zeros((256, 64)), sum(scores) @ arrays["k"])
    for schedule in ("groups = 2, stages = 2, roles = {copy = 3 at 24, store = 1, compute at 240}",
                     "groups = 1, stages = 3, roles = {copy = 1, store = 1}",
                     "groups = 2, stages = 2, roles = {copy = 4 at 24, compute at 240}"):
        # What other programs add differs so much in size that sums in another order are rounded otherwise.
        sizes = np.repeat([1, 2 ** 10, 1, 2 ** 10], 128)[:, None]
        arrays = {"q": rng.integers(-1, 2, (2, 256, 64)).astype(np.float64), "k": rng.integers(-1, 2, (512, 64)) * sizes,
                  "r": rng.integers(-1, 2, (4, 256)).astype(np.float64)}
        scores = nearest(arrays["q"] @ arrays["k"].T + np.repeat(arrays["r"], 128, axis=0).T)
        before = rng.integers(-50, 51, (2, 256, 64)).astype(np.float32)
        after = before
        for first in range(0, 512, 128):
            after = after + (scores[..., first:first + 128] @ arrays["k"][first:first + 128]).astype(np.float32)
        yield gradient(f"gradient in turns, {schedule}", schedule, arrays, scores, before, after, turns=True)


def nearest(x):
    """Numbers of f32 as bf16 has them."""
    raw = x.astype(np.float32).view(np.uint32)
    return ((raw + 0x7fff + (raw >> 16 & 1)) & 0xffff0000).view(np.float32).astype(np.float64)


def gradient(name, schedule, arrays, scores, before, after, turns=False):
    keys = len(arrays["k"])
    fields = dict.fromkeys(("counters", "heads", "head", "wait", "pass_on"), "")
    number, counters = "tile.program_id x", ()
    if turns:
        fields = {"counters": ", %turns: !tile.view<2x256xi32>, %tickets: !tile.view<1xi32>", "heads": "2x", "head": "%h, ",
                  "wait": "tile.wait_turn %turns[%h, %i], %x : !tile.view<2x256xi32>",
                  "pass_on": "tile.pass_turn %turns[%h, %i] : !tile.view<2x256xi32>"}
        number, counters = "tile.ticket %tickets[%c0] : !tile.view<1xi32>", ((2, 256), (1,))
    source = GRADIENT.format(schedule=schedule, keys=keys, programs=keys // 128, number=number, **fields)
    want = sum(s.T @ q for s, q in zip(scores, arrays["q"]))
    return Kernel(name, source, arrays, {"q": "bf16", "k": "bf16", "r": "f32"}, want.astype(np.float32), "f32", before=before,
                  after=after, counters=counters)


def run(kernel, folder, seeds):
    """The devices on which the kernel gave something else than it should."""
    module = folder / "kernel.mlir"
    module.write_text(kernel.source)
    args = [x for a in kernel.arguments(folder) for x in ("--arg", a)]
    wrong = []
    for device in [("sim", "--seed", str(s)) for s in seeds] + [("host",)]:
        kernel.prepare(folder)
        done = subprocess.run(["act-run", "kernel", module, "--target", "sm_90a", "--cache-dir", "none", "--json", "--device",
                               *device, *args], capture_output=True, text=True)
        if done.returncode or not kernel.is_right(folder):
            wrong.append(f"{kernel.name}, {' '.join(device)}: {done.stderr[:500] or 'wrong'}")
    for old in (folder / "ptx").glob("*.ptx"):
        old.unlink()
    ptx = subprocess.run(["act-opt", module, f"--emit-ptx=dir={folder / 'ptx'} target=sm_90a cache-dir=none", "-o", "/dev/null"],
                         capture_output=True, text=True)
    code = "".join(f.read_text() for f in (folder / "ptx").glob("*.ptx"))
    if ptx.returncode or ("wgmma.mma_async" in code) != kernel.wgmma:
        wrong.append(f"{kernel.name}: {'no' if kernel.wgmma else 'unexpected'} wgmma {ptx.stderr}")
    if ("multicast::cluster" in code) != kernel.multicast or (".reqnctapercluster" in code) != kernel.multicast:
        wrong.append(f"{kernel.name}: {'no' if kernel.multicast else 'unexpected'} multicast")
    return wrong


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    seeds = [int(s) for s in sys.argv[2:]] or [0]
    all_kernels = list(kernels())
    wrong = [line for kernel in all_kernels for line in run(kernel, folder, seeds)]
    print("\n".join(wrong) or f"{len(all_kernels)} kernels: the same numbers on the simulator and on the host")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
