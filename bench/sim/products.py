#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a FLOP of a tensor core costs the simulator, in instructions of this machine.

    build/venv/bin/python bench/sim/products.py [--build FOLDER] [--only PATTERN] [-j N]

Each line is a kind of product: mma.sync and wgmma of each type, A from shared memory and
from registers, both orders, every swizzle; and kernels of the simulator's corpus. valgrind's
callgrind counts the instructions of actrt-sim, which do not depend on what else the machine
does; it knows AVX2 and no AVX-512. All checks are on. A kernel of our own runs some rounds
and twice as many, one of the corpus a loop over K and no round of it, and the difference
counts, so that reading the kernel and its arrays is in none. Numbers are drawn from a normal
distribution. wgmma reads its operands from shared memory, which is judged for races, as
mma.sync's loads are: the lines with ldmatrix multiply what wgmma does.
"""
import argparse
import concurrent.futures
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/runtime/sim/kernels"))
import launch  # noqa: E402
from formats import random_bits  # noqa: E402

TYPES = {"bf16": 16, "f16": 16, "tf32": 32, "e4m3": 8, "s8": 8}
THREADS, COLUMNS, SHARED = 128, 128, 32768
HEAD = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 data, .param .u64 out, .param .u32 rounds) .reqntid 128
{
.shared .align 1024 .b8 s[32768];
.reg .pred %p<4>; .reg .b32 %t<16>; .reg .b64 %u<8>;
.reg .b32 %a<16>; .reg .b32 %b<16>; .reg .b32 %m<64>; .reg .b32 %d<128>;
mov.u32 %t0, %tid.x; shl.b32 %t1, %t0, 4; mov.u32 %t2, s; add.u32 %t2, %t2, %t1;
ld.param.u64 %u0, [data]; cvt.u64.u32 %u1, %t1; add.u64 %u0, %u0, %u1;
mov.u32 %t3, 0;
fill: ld.global.v4.b32 {%t8, %t9, %t10, %t11}, [%u0];
st.shared.v4.b32 [%t2], {%t8, %t9, %t10, %t11};
add.u64 %u0, %u0, 2048; add.u32 %t2, %t2, 2048; add.u32 %t3, %t3, 1;
setp.lt.u32 %p0, %t3, 16; @%p0 bra fill;
fence.proxy.async; bar.sync 0;
ld.param.u32 %t5, [rounds]; mov.u32 %t6, s; mov.u32 %t3, 0;
and.b32 %t7, %t0, 31; shl.b32 %t7, %t7, 2; add.u32 %t7, %t7, %t6;
"""
TAIL = """add.u32 %t3, %t3, 1; setp.lt.u32 %p0, %t3, %t5; @%p0 bra again;
ld.param.u64 %u0, [out]; mul.wide.u32 %u1, %t0, 4; add.u64 %u0, %u0, %u1; st.global.b32 [%u0], %d0; ret;
}
"""


def registers(letter, first, count):
    return "{" + ", ".join(f"%{letter}{i}" for i in range(first, first + count)) + "}"


def zeros(count):
    return "".join(f"mov.b32 %d{i}, 0; " for i in range(count)) + "\n"


def mma(element, out):
    """A warp's 32 x 32: two fragments of A, four of B, of which a register is another for
    every step along K."""
    k = 256 // TYPES[element]
    c = 2 if out == "f16" else 4
    text = HEAD + zeros(8 * c)
    text += "".join(f"ld.shared.b32 %m{i}, [%t7+{128 * i}];\n" for i in range(64))
    text += "".join(f"mov.b32 %a{i}, %m{i}; mov.b32 %b{i}, %m{i + 8}; " for i in range(8)) + "\nagain:\n"
    for step in range(4):
        text += "".join(f"mov.b32 %{r}, %m{16 * step + i}; "
                        for i, r in enumerate(("a0", "a4", "b0", "b2", "b4", "b6"))) + "\n"
        for i in range(2):
            for j in range(4):
                d = registers("d", c * (4 * i + j), c)
                text += (f"mma.sync.aligned.m16n8k{k}.row.col.{out}.{element}.{element}.{out} {d}, "
                         f"{registers('a', 4 * i, 4)}, {registers('b', 2 * j, 2)}, {d};\n")
    return text + TAIL, 2 * 32 * 32 * 4 * k * THREADS // 32


def mma_loaded(element, out):
    """64 x 128 of four warps, 32 x 64 each, four steps along K: like wgmma below, with
    operands that ldmatrix reads. It moves 16 bytes of a row, whatever they hold."""
    k = 256 // TYPES[element]
    c = 2 if out == "f16" else 4
    text = HEAD + zeros(16 * c)
    text += ("shl.b32 %t7, %t0, 4; and.b32 %t7, %t7, 496; add.u32 %t7, %t7, %t6;\n"
             "and.b32 %t8, %t0, 32; shl.b32 %t8, %t8, 5; add.u32 %t8, %t8, %t7;\n"  # its 32 rows of A
             "and.b32 %t9, %t0, 64; shl.b32 %t9, %t9, 5; add.u32 %t9, %t9, %t7;\n"  # its 64 columns of B
             "again:\n")
    for step in range(4):
        for i in range(2):
            text += (f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {registers('a', 4 * i, 4)}, "
                     f"[%t8+{2048 * step + 512 * i}];\n")
        for j in range(4):
            text += (f"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {registers('b', 4 * j, 4)}, "
                     f"[%t9+{8192 + 4096 * step + 512 * j}];\n")
        for i in range(2):
            for j in range(8):
                d = registers("d", c * (8 * i + j), c)
                text += (f"mma.sync.aligned.m16n8k{k}.row.col.{out}.{element}.{element}.{out} {d}, "
                         f"{registers('a', 4 * i, 4)}, {registers('b', 2 * j, 2)}, {d};\n")
    return text + TAIL, 2 * 64 * COLUMNS * 4 * k


def descriptor(rows, mn_major, swizzle):
    """Of a matrix of `rows` by 128 bytes along K: everything but the address, and the
    offset of each of the four slices of 32 bytes along K."""
    code = {0: 0, 128: 1, 64: 2, 32: 3}[swizzle]
    if mn_major:  # 16-bit elements: 64 along K
        if swizzle:
            leading, stride, slices = 64 * swizzle, 8 * swizzle, 16 * swizzle
        else:
            leading, stride, slices = 128, 256, rows // 8 * 256
        offsets = [slices * i for i in range(4)]
    elif swizzle:
        leading, stride = 16, 8 * swizzle
        offsets = [32 * i // swizzle * rows * swizzle + 32 * i % swizzle for i in range(4)]
    else:
        leading, stride = 128, 256
        offsets = [32 * rows * i for i in range(4)]
    return code << 62 | stride // 16 << 32 | leading // 16 << 16, offsets


def wgmma(element, out, registers_a=False, mn_major=False, swizzle=128):
    """64 x 128 of a warpgroup, four steps along K."""
    k = 256 // TYPES[element]
    count = COLUMNS // 4 if out == "f16" else COLUMNS // 2
    a, of_a = descriptor(64, mn_major, swizzle)
    b, of_b = descriptor(COLUMNS, mn_major, swizzle)
    text = HEAD + zeros(count) + "shr.u32 %t6, %t6, 4; cvt.u64.u32 %u2, %t6;\n"
    if registers_a:
        text += "".join(f"ld.shared.b32 %a{i}, [%t7+{128 * i}];\n" for i in range(16))
    text += "again: wgmma.fence.sync.aligned;\n"
    for step in range(4):
        text += (f"add.u64 %u3, %u2, {a + of_a[step] // 16:#x}; "
                 f"add.u64 %u4, %u2, {b + (8192 + of_b[step]) // 16:#x};\n")
        operand = registers("a", 4 * step, 4) if registers_a else "%u3"
        flags = ""
        if element != "s8":
            flags = ", 1, 1"
            if TYPES[element] == 16:
                flags += ("" if registers_a else f", {int(mn_major)}") + f", {int(mn_major)}"
        text += (f"wgmma.mma_async.sync.aligned.m64n{COLUMNS}k{k}.{out}.{element}.{element} "
                 f"{registers('d', 0, count)}, {operand}, %u4, 1{flags};\n")
    text += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n"
    return text + TAIL, 2 * 64 * COLUMNS * 4 * k


def own():
    """name → (PTX, FLOPs of a round, type of the numbers)."""
    kinds = [("bf16", "f32"), ("f16", "f32"), ("f16", "f16"), ("tf32", "f32"), ("e4m3", "f32"),
             ("e4m3", "f16"), ("s8", "s32")]
    found = {}
    for element, out in kinds:
        found[f"mma {element} {out}"] = (*mma(element, out), element)
        found[f"mma {element} {out}, operands by ldmatrix"] = (*mma_loaded(element, out), element)
        found[f"wgmma {element} {out}"] = (*wgmma(element, out), element)
        found[f"wgmma {element} {out}, A in registers"] = (*wgmma(element, out, registers_a=True), element)
    for swizzle in (128, 64, 32, 0):
        for mn_major in (False, True):
            if swizzle != 128 or mn_major:
                found[f"wgmma bf16 f32, {'MN' if mn_major else 'K'}-major, swizzle {swizzle}"] = (
                    *wgmma("bf16", "f32", mn_major=mn_major, swizzle=swizzle), "bf16")
    return found


CORPUS = {  # name → (case with a loop, case without), PTX
    "gemm_sm80 (mma)": ("gemm_sm80/gemm/m=64,n=64,k=32", "gemm_sm80/gemm/m=64,n=64,k=0", "sm_80"),
    "matmul of Triton (mma)": ("triton/matmul/matmul/target=sm_80,k=240", "triton/matmul/matmul/target=sm_80,k=0",
                               "sm_80"),
    "matmul of Triton (wgmma)": ("triton/matmul_wgmma/matmul_wgmma/target=sm_90a,k=240",
                                 "triton/matmul_wgmma/matmul_wgmma/target=sm_90a,k=0", "sm_90a"),
    "matmul, tensor maps (wgmma)": ("triton/matmul_roles/matmul_roles/target=sm_90a,k=448",
                                    "triton/matmul_roles/matmul_roles/target=sm_90a,k=0", "sm_90a"),
    "attention backward (mma)": (
        "triton/attention_backward/attention_backward/target=sm_80,length=192",
        "triton/attention_backward/attention_backward/target=sm_80,length=0", "sm_80"),
    "attention of Triton (wgmma)": ("triton/attention_wgmma/attention_wgmma/target=sm_90a,length=256",
                                    "triton/attention_wgmma/attention_wgmma/target=sm_90a,length=0", "sm_90a"),
}


def measure(command):
    """Instructions, and FLOPs of tensor cores."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *map(str, command)],
                          capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not counted:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return int(counted.group(1)), sum(json.loads(done.stdout)["counters"]["tensor_flops"].values())


def own_row(sim, folder, kernel, rounds):
    text, flops, element = kernel
    rng = np.random.default_rng(1)
    if element == "s8":
        data = rng.integers(-128, 128, SHARED).astype(np.uint8)
    elif element == "e4m3":  # encode() is slow: few numbers, many times
        data = np.tile(random_bits(rng, 1024, element), SHARED // 1024)
    else:
        data = random_bits(rng, SHARED * 8 // TYPES[element], element)
    np.save(folder / "in.npy", np.frombuffer(data.tobytes(), np.uint32))
    (folder / "k.ptx").write_text(text)
    counted = [measure([sim, folder / "k.ptx", "--block", THREADS, "--threads", 1, "--json", "--arg",
                        f"in:{folder}/in.npy", "--arg", f"out:u32[{THREADS}]:{folder}/out.npy", "--arg",
                        f"i32:{n}"]) for n in (rounds, 2 * rounds)]
    assert counted[1][1] - counted[0][1] == rounds * flops
    return counted[1][0] - counted[0][0], rounds * flops


def corpus_row(sim, folder, names):
    cases = {c.name: c for c in launch.load_cases()}
    counted = []
    for i, name in enumerate(names[:2]):
        prepared = launch.Prepared(cases[name], folder / str(i))
        for path, value in prepared.restore:
            np.save(path, value)
        (ptx, target), = [r for r in cases[name].runs() if r[1] == names[2]]
        counted.append(measure([*prepared.command(sim, ptx, target, 0), "--threads", 1, "--json"]))
    return counted[0][0] - counted[1][0], counted[0][1] - counted[1][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="or actrt-sim itself")
    parser.add_argument("--only", default="*")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    sim = options.build if options.build.is_file() else options.build / "bin/actrt-sim"
    launch.load_cases()  # before threads ask for them
    rows = {name: (own_row, kernel, options.rounds) for name, kernel in own().items()}
    rows |= {name: (corpus_row, names) for name, names in CORPUS.items()}
    rows = {name: row for name, row in rows.items() if fnmatch.fnmatch(name, options.only)}
    print(f"{'product':<44}{'FLOPs':>10}{'instructions/FLOP':>20}", flush=True)
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        def one(item):
            index, (how, *arguments) = item
            folder = pathlib.Path(temporary) / str(index)
            folder.mkdir()
            return how(sim, folder, *arguments)
        for name, (instructions, flops) in zip(rows, pool.map(one, enumerate(rows.values()))):
            print(f"{name:<44}{flops:>10}{instructions / flops:>20.3f}", flush=True)


if __name__ == "__main__":
    main()
