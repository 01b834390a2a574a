#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What act's kernels are made of, without a card, beside Triton's.

    build/venv/bin/python bench/kernels.py [--build FOLDER] [--target sm_80,sm_86,sm_89,sm_90a]
                                           [--ptxas FILE]

Attention forward and backward (4096 tokens, bf16, heads of 64 or 128 that are 4096 wide
together, full and causal) and a product of 4096x4096 matrices, all made by act-opt from
a model's training step; and Triton's kernels of the block programs in
test/runtime/sim/kernels/triton. Both are assembled by the ptxas of Triton's wheel.
Backward is the kernel that has the five products; what is before and after it, row
sums, zeros and a conversion, has none. Triton's has the same five, and adds to dq by
atomics in whatever order; of blocks of 32, 64 and 128 rows and columns, 4 and 8 warps,
1 and 2 stages it has those that spill nothing on sm_80 and have the fewest instructions
in the loop, times mma/op: in some, warps repeat each other's products. (Those for D 128
take more shared memory than sm_86 and sm_89 have, which get the next.) It is launched
for one head, and counts are for all of them. "product in blocks" is a kernel by hand, with 4
warps, and with one more that copies: what is counted there are the warps that compute.

On sm_90a what products read of shared memory is counted per score (a query and a key),
registers of products in flight are checked (tools/check-wgmma.py), heads of
256 are listed, too, and beside them what the best public kernels
have by the same count (PUBLIC). Triton's PTX for it needs a newer ptxas than it brings
for act's: the wheel's ptxas-blackwell assembles it.

Printed per kernel: threads, registers, bytes spilled, shared bytes, and of the hot
loop the SASS instructions per useful MFLOP (sass_stats.py says how they are counted):
"always" executed in every iteration of the loop without masks, and "total" with
those under a condition, such as a rescaling that is skipped when nothing grew. "issue" is
the share of cycles, in percent, in which a multiprocessor's schedulers would issue one,
as stalls.py predicts it (not of wgmma). What is
always executed follows by class: tensor cores, special functions, floats (conversions
among them), shared memory (ldmatrix among it), asynchronous copies with what waits for
them, integers and moves, and the rest.

The last columns are what the simulator counts, of the same kernels for 1024 tokens that
are 1024 wide and a product of 1024x1024 matrices: operations of tensor cores by those
that are useful (a mask hides parts of some blocks), wavefronts of shared memory that
conflicts add, bytes of global memory by the least for the blocks (each block read once
by each program that needs it, each output written once), and how many of the PTX's
loads, stores and copies of global memory are narrower than 16 bytes: numbers that rows
have one of.

Needs the package triton.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import stalls
from simulate import bytes_moved, counters, tensor_maps, zeros
from triton_programs import compile_program

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = "{:<30}{:>8}{:>5}{:>8}{:>8}{:>7}{:>6}{:>6}" + 7 * "{:>5}" + "{:>7}{:>10}{:>7}{:>8}"
HEADER = ("kernel", "threads", "regs", "spilled", "shared", "always", "total", "issue", "mma", "mufu", "fp", "smem", "copy",
          "int", "rest", "mma/op", "conflicts", "bytes", "narrow")
CLASSES = (("mma", ["mma"]), ("mufu", ["mufu"]), ("fp", ["fma", "fp_cmp", "half", "cvt"]),
           ("smem", ["ldsm", "lds", "sts"]), ("copy", ["cp_async", "cp_async_sync"]), ("int", ["int", "mov", "uniform"]))


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


# FlashAttention-3 and CUTLASS (128x256x64) for sm_90a, counted by sass_stats.py in
# cubins of their releases: always executed, per useful MFLOP.
PUBLIC = {"forward D 64 full": 786, "forward D 64 causal": 795, "forward D 128 full": 402, "forward D 128 causal": 434,
          "backward D 64 full": 538, "backward D 128 full": 309, "backward D 128 causal": 368, "product": 88}


def wheel():
    import triton
    return pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"


class Assembled:
    """A kernel's PTX as ptxas makes it: registers, spills, the loop that has products."""

    ptxas = None  # the wheel's, unless given

    def __init__(self, ptx, target, folder, ptxas=None):
        self.cubin = cubin = folder / f"{ptx.stem}.cubin"
        done = subprocess.run([ptxas or self.ptxas or wheel() / "ptxas", "-v", "-arch", target, ptx, "-o", cubin],
                              check=True, capture_output=True, text=True)
        if target == "sm_90a" and not ptxas:
            run(sys.executable, ROOT / "tools/check-wgmma.py", "--nvdisasm", wheel() / "nvdisasm", cubin)
        said = done.stdout + done.stderr
        self.registers = int(re.search(r"Used (\d+) registers", said)[1])
        self.spilled = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", said)))
        self.serialised = " ".join(dict.fromkeys(re.findall(r"\bC75\d\d\b", said)))  # products in flight
        stats = json.loads(run(sys.executable, ROOT / "bench/sass_stats.py", "--json",
                               "--nvdisasm", wheel() / "nvdisasm", cubin))
        loops = [l for l in stats[0]["loops"] if l["always"]["mma_flop_per_warp"]]
        self.always = self.total = None
        if not loops:
            return
        # The loop without masks is the one with the fewest instructions.
        loop = min(loops, key=lambda l: l["always"]["per_mflop"]["all"])
        always = loop["always"]["per_mflop"]
        self.always, self.total = always["all"], loop["total"]["per_mflop"]["all"]
        self.classes = [sum(always.get(c, 0) for c in names) for _, names in CLASSES]
        self.classes.append(self.always - sum(self.classes))


class Counted:
    """What the simulator counts of a launch."""

    def __init__(self, build, target, ptx, grid, block, shared, arguments, useful_flops, block_bytes, at_once=0):
        counts = counters(build / "bin/actrt-sim", ptx, target, grid, block, shared, arguments, at_once)
        self.flops = sum(counts["tensor_flops"].values())
        self.tensor = self.flops / useful_flops
        self.operand_bytes = counts["async_shared_bytes"].get("wgmma", 0)
        self.conflicts = counts["shared_conflicts"]
        self.bytes = bytes_moved(counts) / block_bytes
        accesses = re.findall(r"\b(?:(?:ld|st)\.(?:[a-z]+\.)*global|cp\.async\.c[ag])\S* [^;]*;", ptx.read_text())
        self.narrow = sum(not self.is_wide(a) for a in accesses)

    @staticmethod
    def is_wide(access):
        if access.startswith("cp.async"):
            return int(re.search(r"\], *(\w+)", access[access.index("]") + 1:])[1], 0) == 16
        vector = int((re.search(r"\.v(\d)", access) or [0, 1])[1])
        return vector * int(re.search(r"\.[a-z](\d+) ", access)[1]) >= 128


def model(d, width, folder):
    config = dict(model_type="llama", hidden_size=width, head_dim=d, num_hidden_layers=1,
                  num_attention_heads=width // d, num_key_value_heads=width // d,
                  intermediate_size=width, vocab_size=256, max_position_embeddings=8192,
                  rms_norm_eps=1e-5, rope_theta=1e4, tie_word_embeddings=False,
                  torch_dtype="bfloat16", hidden_act="silu")
    file = folder / f"d{d}-{width}.json"
    file.write_text(json.dumps(config))
    return file


def row(name, threads, kernel, shared, counted):
    issue = [p.issue for p in stalls.predict(kernel.cubin, wheel() / "nvdisasm", shared, threads=threads)]
    print(ROW.format(name, threads, kernel.registers, kernel.spilled, shared, f"{kernel.always:.0f}",
                     f"{kernel.total:.0f}", f"{100 * issue[0]:.0f}" if issue else "-", *(f"{c:.0f}" for c in kernel.classes), f"{counted.tensor:.3f}",
                     counted.conflicts, f"{counted.bytes:.3f}", counted.narrow))


def step_kernels(build, target, d, causal, size, folder, flags):
    """{kind: (index entry, its PTX)} of a training step of `size` tokens, as wide as long, that keeps
    everything, or with `flags`."""
    stem = f"{d}-{causal}-{size}"
    module, fused, out = folder / f"model-{stem}.mlir", folder / f"fused-{stem}.mlir", folder / f"ptx-{stem}"
    run(build / "bin/act-import", model(d, size, folder), "--batch", 1, "--seq", size, "-o", module)
    run(build / "bin/act-opt", module, "--fuse-attention", "-o", fused)
    if not causal:
        text = fused.read_text()
        assert re.search(r"act\.attention .* causal ", text)
        fused.write_text(re.sub(r"(act\.attention .*?) causal ", r"\1 ", text))
    run(build / "bin/act-opt", fused, *(flags or ["--remat=none"]), f"--target={target}",
        f"--emit-ptx=dir={out} cache-dir=none join-launches=false", "-o", "/dev/null")
    found = {}
    for entry in json.loads((out / "index.json").read_text()):
        name = entry["name"].split("_", 1)[1]
        if name == "attention":
            kind = "forward"
        elif name == "attention_grad" and entry["useful_flops"]:
            kind = "backward"
        elif entry["ops"] in (["linear"], ["normalize", "linear"]) and entry["useful_flops"] >= 2 * size**3:
            kind = "product"
        else:
            continue
        found.setdefault(kind, (entry, out / entry["file"]))
    return found


def counted(build, target, entry, ptx, folder):
    return Counted(build, target, ptx, entry["grid"], entry["block"], entry["shared_bytes"],
                   [*zeros(folder, entry["shapes"]), *tensor_maps(folder, entry.get("tensor_maps", []))],
                   entry["useful_flops"], entry["block_bytes"], entry.get("at_once", 0))


def of_act(build, target, d, causal, folder, *flags):
    """{kind: (index entry, Assembled, Counted)} of the kernels of a training step of 4096 tokens."""
    small = step_kernels(build, target, d, causal, 1024, folder, flags)
    return {kind: (entry, Assembled(ptx, target, folder), counted(build, target, *small[kind], folder))
            for kind, (entry, ptx) in step_kernels(build, target, d, causal, 4096, folder, flags).items()}


def of_triton(build, target, folder):
    """(name, threads, Assembled, shared bytes, Counted) of Triton's kernels, for the same work."""
    rows, BM, BN, BK = 1024, 128, 64, 64
    work = []
    # 147,456 bytes of shared memory, and 69,632.
    best = (64, 128, 8, 1) if target == "sm_80" else (32, 64, 4, 1)
    for d, warps, stages, backward in ((64, 4, 2, (32, 128, 4, 1)), (128, 8, 2, best)):
        heads, blocks = 1024 // d, rows // BM
        for causal in (False, True):
            along = sum(BM * (i + 1) if causal else rows for i in range(blocks))
            least = heads * (rows * d * (2 + 4) + rows * 4 + 2 * along * d * 2)
            flops = 4 * heads * d * (rows * (rows + 1) // 2 if causal else rows**2)
            arrays = [f"{heads}x{rows}x{d}xbf16"] * 3 + [f"{heads}x{rows}x{d}xf32", f"{heads}x{rows}xf32"]
            work.append((f"forward D {d} {'causal' if causal else 'full'}", "attention",
                         dict(D=d, BM=BM, BN=BN, CAUSAL=causal, APART=causal), warps, stages,
                         (blocks, heads, 1), arrays, [f"i32:{rows}", "f32:0.1"], flops, least, 1))
        rows_at_once, keys, warps, stages = backward
        programs = rows // keys
        # Each program reads all rows of q and dout and two numbers of each, and adds to dq.
        least = programs * rows * (2 * d * 2 + 2 * 4 + d * 4) + rows * d * (2 * 2 + 2 * 4)
        work.append((f"backward D {d} full", "attention_backward", dict(D=d, BM=rows_at_once, BN=keys), warps, stages,
                     (programs, 1, 1), [f"{rows}x{d}xbf16"] * 4 + [f"{rows}xf32"] * 2 + [f"{rows}x{d}xf32"] * 3,
                     [f"i32:{rows}", "f32:0.1"], 10 * d * rows**2, least, heads))
    programs, square = rows // 128, f"{rows}x{rows}x"
    work.append(("product", "matmul", dict(BM=128, BN=128, BK=BK), 8, 2, (programs, programs, 1),
                 [square + "bf16", square + "bf16", square + "f32"], [f"i32:{rows}"] * 3, 2 * rows**3,
                 programs**2 * 2 * 128 * rows * 2 + rows * rows * 4, 1))
    for name, program, constants, warps, stages, grid, arrays, numbers, flops, least, launches in work:
        kernel = compile_program(program, constants, "bf16", target, num_warps=warps, num_stages=stages)
        ptx = folder / f"triton-{name.replace(' ', '-')}.ptx"
        ptx.write_text(kernel.asm["ptx"])
        given = [*zeros(folder, arrays), *numbers]
        # What Triton's own launcher adds: pointers to scratch memory that these have none of.
        given += ["ptr:0"] * (len(set(re.findall(r"_param_(\d+)", ptx.read_text()))) - len(given))
        counts = Counted(build, target, ptx, grid, (32 * warps, 1, 1), kernel.metadata.shared, given, flops, least)
        counts.conflicts *= launches
        newer = wheel() / "ptxas-blackwell" if target == "sm_90a" else None
        yield name, 32 * warps, Assembled(ptx, target, folder, newer), kernel.metadata.shared, counts


# A product in blocks, by hand: what warps with roles change.
PRODUCT = """gpu.module @kernels {
  gpu.func @product(%x: !tile.view<4096x4096xbf16>, %w: !tile.view<4096x4096xbf16>, %y: !tile.view<4096x4096xbf16>)
      kernel attributes {tile.grid = array<i64: 32, 32, 1>, tile.schedule = #tile.schedule<SCHEDULE>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %c64 = arith.constant 64 : index
    %c4096 = arith.constant 4096 : index
    %p = tile.program_id x
    %q = tile.program_id y
    %i = arith.muli %p, %c128 : index
    %j = arith.muli %q, %c128 : index
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %sum = scf.for %k = %c0 to %c4096 step %c64 iter_args(%acc = %zero) -> tensor<128x128xf32> {
      %a = tile.load %x[%i : 128, %k : 64] : !tile.view<4096x4096xbf16>
      %b = tile.load %w[%k : 64, %j : 128] : !tile.view<4096x4096xbf16>
      %next = tile.dot %a, %b, %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
      scf.yield %next : tensor<128x128xf32>
    }
    %r = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
    tile.store %r, %y[%i : 128, %j : 128] : !tile.view<4096x4096xbf16>
    gpu.return
  }
}
"""


def in_blocks(build, target, schedule, folder):
    """(index entry, Assembled, Counted) of the product by hand."""
    made = {}
    for size in (4096, 1024):
        module, out = folder / f"product-{size}.mlir", folder / f"product-{size}"
        text = PRODUCT.replace("SCHEDULE", schedule).replace("4096", str(size))
        module.write_text(text.replace("array<i64: 32, 32, 1>", f"array<i64: {size // 128}, {size // 128}, 1>"))
        run(build / "bin/act-opt", module, f"--emit-ptx=dir={out} target={target} cache-dir=none", "-o", "/dev/null")
        [entry] = json.loads((out / "index.json").read_text())
        made[size] = entry, out / entry["file"]
    (entry, ptx), (small, small_ptx) = made[4096], made[1024]
    small.update(shapes=["1024x1024xbf16"] * 3, useful_flops=2 * 1024**3,
                 block_bytes=small["block_bytes"] or 8 * 8 * 2 * 128 * 1024 * 2 + 1024 * 1024 * 2)
    return entry, Assembled(ptx, target, folder), counted(build, target, small, small_ptx, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_80,sm_86,sm_89")
    parser.add_argument("--ptxas", type=pathlib.Path, help="another than the one of Triton's wheel")
    options = parser.parse_args()
    Assembled.ptxas = options.ptxas
    for target in options.target.split(","):
        print(f"{target}: SASS instructions per useful MFLOP in the hot loop, and counts of the simulator")
        print(ROW.format(*HEADER))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)

            def show(label, entry, kernel, counts):
                row(f"act {label}", entry["block"][0], kernel, entry["shared_bytes"], counts)
                if target == "sm_90a" and label in PUBLIC:
                    print(f"{'  the best public':<59}{PUBLIC[label]:>7}")
                if products := {"forward": 2, "backward": 5}.get(label.split()[0]):
                    scores = counts.flops / (2 * products * int(label.split()[2]))
                    if counts.operand_bytes:
                        print(f"  bytes of shared memory that wgmma reads per score: {counts.operand_bytes / scores:.1f}")

            for d in (64, 128, 256) if target == "sm_90a" else (64, 128):
                for causal in (False, True):
                    found = of_act(options.build, target, d, causal, folder)
                    for kind in ("forward", "backward"):
                        show(f"{kind} D {d} {'causal' if causal else 'full'}", *found[kind])
            show("product", *found["product"])
            for label, roles in (("product in blocks", ""), ("the same, one warp copies", ", roles = {copy = 1}")):
                show(label, *in_blocks(options.build, target, f"warps = 4, stages = 2{roles}", folder))
            found = of_act(options.build, target, d, causal, folder, "--remat=selective", "--fuse-prologues")
            assert "normalize" in found["product"][0]["ops"]
            show("product of a norm", *found["product"])
            for name, threads, kernel, shared, counts in of_triton(options.build, target, folder):
                row(f"Triton {name}", threads, kernel, shared, counts)
        print()


if __name__ == "__main__":
    main()
