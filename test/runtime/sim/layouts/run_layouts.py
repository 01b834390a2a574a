# SPDX-License-Identifier: Apache-2.0
"""run_layouts.py ACTRT_SIM: feeds one instruction at a time with the registers and
shared bytes that tables.py gives for known matrices, and looks at every element of what
comes back. One-hot matrices make each element of A and of B appear alone in a sum, and
C's elements are their own index, so a result names the element that went astray.
--ptx-only FOLDER writes the PTX files (for ptxas to look at) and runs nothing."""
import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "kernels")]
import ptx  # noqa: E402
import tables as T  # noqa: E402
from formats import encode, to_float  # noqa: E402
from launch import Case, In, Out, Prepared  # noqa: E402

TESTS = []  # (name, target, ptx text, grid, block, smem, arguments)

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f64": 64, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8,
        "f32": 32, "s32": 32}


def store(values, kind):
    """float64 → the bits of an element, unsigned of its width."""
    if kind in ("s8", "u8"):
        return values.astype(np.int64).astype(np.uint8)
    if kind == "s32":
        return values.astype(np.int32).view(np.uint32)
    if kind in ("f32", "tf32"):
        return values.astype(np.float32).view(np.uint32)
    if kind == "f64":
        return values.astype(np.float64).view(np.uint64)
    unique, inverse = np.unique(values, return_inverse=True)
    return encode(unique, kind)[inverse].reshape(values.shape)


def exact(kind, index):
    """A value that every format of the test holds, different for neighbours."""
    if kind in ("e4m3", "e5m2"):
        # Sixteenths: tensor cores add fp8 products with 13 bits of mantissa on sm_89.
        codes = np.array([b for b in range(256) if np.isfinite(to_float(np.uint8(b), kind))
                          and abs(to_float(np.uint8(b), kind)) <= 448
                          and to_float(np.uint8(b), kind) * 16 % 1 == 0], np.uint8)
        return to_float(codes[index * 37 % len(codes)], kind)
    if kind == "u8":
        return (index * 37 % 256).astype(float)
    if kind == "s8":
        return (index * 37 % 256 - 128).astype(float)
    return (index * 37 % 251 - 125).astype(float)


def pack(matrix_bits, fragment, threads, kind):
    """Registers of all threads: elements by the table, low bits first."""
    bits = BITS[kind]
    rows = []
    for t in range(threads):
        values = np.array([matrix_bits[r, c] for r, c in fragment(t)])
        rows.append(values)
    flat = np.stack(rows)
    dtype = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[bits]
    flat = np.ascontiguousarray(flat.astype(dtype))
    return flat if bits == 64 else flat.view(np.uint32)


def one_hot_runs(m, n, k, ka, kb, kc):
    """Triples A, B, C: every element of A alone, then every element of B, then both mixed."""
    runs = []
    ia = np.arange(m * k).reshape(m, k)
    ib = np.arange(k * n).reshape(k, n)
    ic = exact("f16", np.arange(m * n).reshape(m, n) * 3)
    for j in range(0, k, min(n, k)):
        b = np.zeros((k, n))
        for i in range(min(n, k - j)):
            b[j + i, i] = 1
        runs.append((exact(ka, ia), b, ic))
    for j in range(0, k, min(m, k)):
        a = np.zeros((m, k))
        for i in range(min(m, k - j)):
            a[i, j + i] = 1
        runs.append((a, exact(kb, ib), ic))
    rng = np.random.default_rng(m * n * k)
    runs.append((rng.integers(0, 4, (m, k)).astype(float), rng.integers(0, 4, (k, n)).astype(float), ic))
    return runs


def result_kind_holds(kind, d):
    return np.abs(d).max() <= {"f16": 2048}.get(kind, 2 ** 24)


def add_mma(name, target, shape, kinds, fragments, instruction):
    """kinds of A, B, C (= D); fragments of A, B, C."""
    m, n, k = shape
    runs = one_hot_runs(m, n, k, kinds[0], kinds[1], kinds[2])
    packed = [[], [], [], []]
    for a, b, c in runs:
        d = a @ b + c
        assert result_kind_holds(kinds[2], d)
        for out, matrix, fragment, kind in zip(packed, (a, b, c, d), (*fragments, fragments[2]),
                                               (*kinds, kinds[2])):
            out.append(pack(store(matrix, kind), fragment, 32, kind))
    arrays = [np.stack(p) for p in packed]
    counts = [x.shape[-1] for x in arrays]
    words = ["f64" if kinds[i] == "f64" else "f32" if kinds[i] == "f32" else "b32" for i in (0, 1, 2, 2)]
    text = ptx.mma(instruction, counts, words, target)
    TESTS.append((f"mma {name}", target, text, len(runs), 32, 0,
                  [In(x) for x in arrays[:3]] + [Out(arrays[3])]))


def all_mma():
    f16 = (T.a_16bit, T.b_16bit)
    for k in (8, 16):
        for kind, result in (("f16", "f16"), ("f16", "f32"), ("bf16", "f32")):
            add_mma(f"m16n8k{k} {result} {kind}", "sm_80", (16, 8, k), (kind, kind, result),
                    (T.a_16bit(k), T.b_16bit(k), T.c_16x8),
                    f"mma.sync.aligned.m16n8k{k}.row.col.{result}.{kind}.{kind}.{result}")
    for k in (4, 8):
        add_mma(f"m16n8k{k} tf32", "sm_80", (16, 8, k), ("tf32", "tf32", "f32"),
                (T.a_32bit(k), T.b_32bit(k), T.c_16x8),
                f"mma.sync.aligned.m16n8k{k}.row.col.f32.tf32.tf32.f32")
    add_mma("m8n8k4 f64", "sm_80", (8, 8, 4), ("f64",) * 3, (T.a_8x8(1), T.b_8x8(1), T.c_8x8),
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64")
    for k in (4, 8, 16):
        add_mma(f"m16n8k{k} f64", "sm_90a", (16, 8, k), ("f64",) * 3,
                (T.a_32bit(k), T.b_32bit(k), T.c_16x8),
                f"mma.sync.aligned.m16n8k{k}.row.col.f64.f64.f64.f64")
    for ka in ("s8", "u8"):
        for kb in ("s8", "u8"):
            for k in (16, 32):
                add_mma(f"m16n8k{k} {ka} {kb}", "sm_80", (16, 8, k), (ka, kb, "s32"),
                        (T.a_8bit(k), T.b_8bit(k), T.c_16x8),
                        f"mma.sync.aligned.m16n8k{k}.row.col.s32.{ka}.{kb}.s32")
            add_mma(f"m8n8k16 {ka} {kb}", "sm_80", (8, 8, 16), (ka, kb, "s32"),
                    (T.a_8x8(4), T.b_8x8(4), T.c_8x8),
                    f"mma.sync.aligned.m8n8k16.row.col.s32.{ka}.{kb}.s32")
    for target in ("sm_89", "sm_90a"):
        for ka in ("e4m3", "e5m2"):
            for kb in ("e4m3", "e5m2"):
                add_mma(f"m16n8k32 {ka} {kb} {target}", target, (16, 8, 32), (ka, kb, "f32"),
                        (T.a_8bit(32), T.b_8bit(32), T.c_16x8),
                        f"mma.sync.aligned.m16n8k32.row.col.f32.{ka}.{kb}.f32")


def all_moves():
    for count in (1, 2, 4):
        for transposed in (False, True):
            size = 8 * count
            matrices = np.arange(64 * count, dtype=np.uint16).reshape(count, 8, 8) * 3 + 1
            # Rows lie 32 bytes apart, permuted; lanes beyond 8·count give any aligned address.
            rng = np.random.default_rng(count)
            order = rng.permutation(size)
            image = np.zeros((size, 16), np.uint16)
            image[order, :8] = matrices.reshape(size, 8)
            offsets = np.zeros(32, np.uint32)
            offsets[:size] = order * 32
            fragment = T.matrix_8x8(transposed)
            registers = np.array([[[m[r, c] for r, c in fragment(t)] for m in matrices]
                                  for t in range(32)], np.uint16)
            tail = ".trans" if transposed else ""
            TESTS.append((f"ldmatrix x{count}{tail}", "sm_80", ptx.ldmatrix(count, transposed), 1, 32,
                          256 * count, [In(image), In(offsets.copy()), Out(registers.view(np.uint32)[..., 0])]))
            offsets[:size] = order * 16
            image = np.zeros((size, 8), np.uint16)
            image[order] = matrices.reshape(size, 8)
            TESTS.append((f"stmatrix x{count}{tail}", "sm_90a", ptx.stmatrix(count, transposed), 1, 32,
                          128 * count, [In(registers.view(np.uint32)[..., 0]), In(offsets), Out(image)]))
    m = np.arange(64, dtype=np.uint16).reshape(8, 8) * 5
    plain, turned = (np.array([[m[r, c] for r, c in T.matrix_8x8(x)(t)] for t in range(32)], np.uint16)
                     .view(np.uint32) for x in (False, True))
    TESTS.append(("movmatrix", "sm_80", ptx.movmatrix(), 1, 32, 0, [In(plain), Out(turned)]))


def image(matrix_bits, layout, bytes_per_element):
    place, size, _, _ = layout
    out = np.zeros(-(-size // 4) * 4, np.uint8)
    rows, columns = matrix_bits.shape
    raw = np.ascontiguousarray(matrix_bits).view(np.uint8).reshape(rows, columns, bytes_per_element)
    for r in range(rows):
        for c in range(columns):
            at = place(r, c)
            out[at:at + bytes_per_element] = raw[r, c]
    return out


WGMMA_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32}


def add_wgmma(ka, kb, result, n, a_at="k", b_at="k", swizzle=(0, 0), scales=(1, 1)):
    """a_at: "k", "m" (major) or "r" (registers); b_at: "k" or "n"."""
    k = WGMMA_K[ka]
    width = {16: 2, 8: 1, 32: 4}[BITS[ka]]
    rng = np.random.default_rng(n + swizzle[0] + swizzle[1])
    low = 0 if ka in ("u8",) else -3
    a = rng.integers(low, 4, (64, k)).astype(float)
    b = rng.integers(0 if kb == "u8" else -3, 4, (k, n)).astype(float)
    a[np.arange(64), np.arange(64) % k] += 5  # no symmetry left
    c = rng.integers(-20, 20, (64, n)).astype(float)
    d = scales[0] * scales[1] * (a @ b) + c
    major = {"k": T.k_major, "m": T.mn_major, "n": T.mn_major}
    b_layout = major[b_at](n, k, width, swizzle[1])
    b_image = image(store(b.T.copy(), kb), b_layout, width)
    fragment = T.wgmma_d(n)
    before, after = (pack(store(x, result), fragment, 128, result) for x in (c, d))
    if a_at == "r":
        a_argument = pack(store(a, ka), T.wgmma_a(BITS[ka]), 128, ka)
        a_descriptor, a_size, a_registers = None, 0, a_argument.shape[1]
    else:
        layout = major[a_at](64, k, width, swizzle[0])
        a_argument, a_registers = image(store(a, ka), layout, width), 0
        a_descriptor, a_size = T.descriptor(layout[2], layout[3], swizzle[0]), len(a_argument)
    b_descriptor = T.descriptor(b_layout[2], b_layout[3], swizzle[1])
    if result == "s32":
        tail = ""
    elif width == 2:
        turn_a = "" if a_at == "r" else f", {int(a_at == 'm')}"
        tail = f", {scales[0]}, {scales[1]}{turn_a}, {int(b_at == 'n')}"
    else:
        tail = f", {scales[0]}, {scales[1]}"
    instruction = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{result}.{ka}.{kb}"
    text = ptx.wgmma(instruction, before.shape[1], "f32" if result == "f32" else "b32", a_registers,
                     (a_size, len(b_image)), (a_descriptor, b_descriptor), tail)
    smem = -(-a_size // 1024) * 1024 + len(b_image)
    name = f"wgmma m64n{n}k{k} {result} {ka} {kb} A:{a_at}{swizzle[0]} B:{b_at}{swizzle[1]} " \
           f"{scales[0]:+d}{scales[1]:+d}"
    TESTS.append((name, "sm_90a", text, 1, 128, smem, [In(a_argument), In(b_image), In(before), Out(after)]))


def all_wgmma():
    for n in range(8, 257, 8):
        add_wgmma("bf16", "bf16", "f32", n, swizzle=(128, 128))
    for swizzle in (0, 32, 64, 128):
        for a_at, b_at in (("k", "k"), ("m", "k"), ("k", "n"), ("m", "n"), ("r", "k"), ("r", "n")):
            for kind in ("f16", "bf16"):
                add_wgmma(kind, kind, "f32", 64, a_at, b_at, (swizzle, swizzle))
        add_wgmma("f16", "f16", "f16", 96, swizzle=(swizzle, 128))
        for a_at in ("k", "r"):
            add_wgmma("tf32", "tf32", "f32", 40, a_at, swizzle=(swizzle, swizzle))
            add_wgmma("e4m3", "e5m2", "f32", 72, a_at, swizzle=(swizzle, swizzle))
            add_wgmma("s8", "s8", "s32", 48, a_at, swizzle=(swizzle, swizzle))
    for ka, kb in (("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e5m2", "e5m2")):
        add_wgmma(ka, kb, "f32", 16)
        add_wgmma(ka, kb, "f16", 16)
    for ka, kb in (("u8", "s8"), ("s8", "u8"), ("u8", "u8")):
        add_wgmma(ka, kb, "s32", 24)
    for n in (8, 104, 176, 192, 256):
        add_wgmma("f16", "f16", "f32", n, "m", "n", (128, 128))
    for scales in ((-1, 1), (1, -1), (-1, -1)):
        add_wgmma("bf16", "bf16", "f32", 32, scales=scales)
        add_wgmma("e4m3", "e4m3", "f32", 32, "r", scales=scales)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sim", nargs="?", default="")
    parser.add_argument("--ptx-only")
    parser.add_argument("--only", default="")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    all_mma()
    all_moves()
    all_wgmma()
    tests = [t for t in TESTS if options.only in t[0]]
    if options.ptx_only:
        for i, (name, target, text, *_) in enumerate(tests):
            (pathlib.Path(options.ptx_only) / f"{i}.{target}.ptx").write_text(f"// {name}\n{text}")
        return 0
    sim = pathlib.Path(options.sim)
    sim = str(sim / "bin/actrt-sim" if sim.is_dir() else sim)
    work = pathlib.Path(tempfile.mkdtemp(prefix="act-layouts-"))

    def one(index):
        name, target, text, grid, block, smem, arguments = tests[index]
        folder = work / str(index)
        case = Case(name, "", "layout", (grid, 1, 1), (block, 1, 1), None, smem, "*", [], None, 0,
                    lambda rng: arguments)
        prepared = Prepared(case, folder)
        path = folder / "layout.ptx"
        path.write_text(text)
        code, _, stderr, wrong = prepared.run(sim, path, target, 0, 120)
        if code == 0 and not wrong:
            return []
        return [f"FAIL {name}: exit {code}"] + ["  " + s for s in stderr.splitlines()[:4] + wrong]

    failed = 0
    try:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            for lines in pool.map(one, range(len(tests))):
                failed += bool(lines)
                for line in lines:
                    print(line, flush=True)
    finally:
        shutil.rmtree(work)
    print(f"{len(tests) - failed} of {len(tests)} layouts agree")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
