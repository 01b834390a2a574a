#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What act's kernels are made of, without a card, beside Triton's.

    build/venv/bin/python bench/kernels.py [--build FOLDER] [--target sm_80,sm_86,sm_89]

Attention forward and backward (8 times 4096 tokens of one head, bf16, D 64 and 128,
full and causal) and a product of 4096x4096 matrices, all made by act-opt from a model's
training step; and Triton's kernels of the block programs in
test/runtime/sim/kernels/triton. Both are assembled by the ptxas of Triton's wheel.

Printed per kernel: threads, registers, bytes spilled, shared bytes, and of the hot
loop the SASS instructions per useful MFLOP (sass_stats.py says how they are counted):
"always" executed in every iteration of the loop without masks, and "total" with
those under a condition, such as a rescaling that is skipped when nothing grew.
"product in blocks" is a kernel by hand, with 4 warps, and with one more that copies:
what is counted there are the warps that compute. Backward is the kernel that has the five products; what is before and after it, row
sums, zeros and a conversion, has none.

Needs the package triton.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from triton_programs import compile_program

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = "{:<34}{:>8}{:>6}{:>8}{:>8}{:>9}{:>9}"


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def wheel():
    import triton
    return pathlib.Path(triton.__file__).parent / "backends/nvidia/bin"


class Assembled:
    """A kernel's PTX as ptxas makes it: registers, spills, the loop that has products."""

    def __init__(self, ptx, target, folder):
        cubin = folder / f"{ptx.stem}.cubin"
        done = subprocess.run([wheel() / "ptxas", "-v", "-arch", target, ptx, "-o", cubin],
                              check=True, capture_output=True, text=True)
        said = done.stdout + done.stderr
        self.registers = int(re.search(r"Used (\d+) registers", said)[1])
        self.spilled = sum(map(int, re.findall(r"(\d+) bytes spill (?:stores|loads)", said)))
        stats = json.loads(run(sys.executable, ROOT / "bench/sass_stats.py", "--json",
                               "--nvdisasm", wheel() / "nvdisasm", cubin))
        loops = [l for l in stats[0]["loops"] if l["always"]["mma_flop_per_warp"]]
        # The loop without masks is the one with the fewest instructions.
        loop = min(loops, key=lambda l: l["always"]["per_mflop"]["all"])
        self.always = loop["always"]["per_mflop"]["all"]
        self.total = loop["total"]["per_mflop"]["all"]


def model(d, folder):
    config = dict(model_type="llama", hidden_size=4096, head_dim=d, num_hidden_layers=1,
                  num_attention_heads=4096 // d, num_key_value_heads=4096 // d,
                  intermediate_size=4096, vocab_size=256, max_position_embeddings=8192,
                  rms_norm_eps=1e-5, rope_theta=1e4, tie_word_embeddings=False,
                  torch_dtype="bfloat16", hidden_act="silu")
    file = folder / f"d{d}.json"
    file.write_text(json.dumps(config))
    return file


def row(name, threads, kernel, shared):
    print(ROW.format(name, threads, kernel.registers, kernel.spilled, shared,
                     f"{kernel.always:.0f}", f"{kernel.total:.0f}"))


def of_act(build, target, d, causal, folder, *flags):
    """{kind: (index entry, Assembled)} of the kernels of a training step that keeps everything, or with `flags`."""
    config = model(d, folder)
    module, fused, out = (folder / n for n in ("model.mlir", "fused.mlir", f"ptx-{d}-{causal}"))
    run(build / "bin/act-import", config, "--batch", 1, "--seq", 4096, "-o", module)
    run(build / "bin/act-opt", module, "--fuse-attention", "-o", fused)
    if not causal:
        text = fused.read_text()
        assert re.search(r"act\.attention .* causal ", text)
        fused.write_text(re.sub(r"(act\.attention .*?) causal ", r"\1 ", text))
    run(build / "bin/act-opt", fused, *(flags or ["--remat=none"]), f"--target={target}",
        f"--emit-ptx=dir={out} cache-dir=none", "-o", "/dev/null")
    found = {}
    for entry in json.loads((out / "index.json").read_text()):
        name = entry["name"].split("_", 1)[1]
        if name == "attention":
            kind = "forward"
        elif name == "attention_grad" and entry["useful_flops"]:
            kind = "backward"
        elif entry["ops"] in (["linear"], ["normalize", "linear"]) and entry["useful_flops"] >= 2 * 4096**3:
            kind = "product"
        else:
            continue
        if kind not in found:
            found[kind] = entry, Assembled(out / entry["file"], target, folder)
    return found


def of_triton(target, folder):
    """(name, threads, Assembled, shared bytes) of Triton's kernels."""
    work = [(f"forward D {d} {name}", program, dict(D=d, BM=128, BN=64, **more), warps, 2)
            for d, warps in ((64, 4), (128, 8))
            for name, program, more in (("full", "attention", dict(CAUSAL=False)),
                                        ("causal", "causal_attention", {}))]
    work.append(("product", "matmul", dict(BM=128, BN=128, BK=64), 8, 2))
    for name, program, constants, warps, stages in work:
        kernel = compile_program(program, constants, "bf16", target, num_warps=warps,
                                 num_stages=stages)
        ptx = folder / f"triton-{name.replace(' ', '-')}.ptx"
        ptx.write_text(kernel.asm["ptx"])
        yield name, 32 * warps, Assembled(ptx, target, folder), kernel.metadata.shared


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
    module, out = folder / "product.mlir", folder / "product-ptx"
    module.write_text(PRODUCT.replace("SCHEDULE", schedule))
    run(build / "bin/act-opt", module, f"--emit-ptx=dir={out} target={target} cache-dir=none", "-o", "/dev/null")
    [entry] = json.loads((out / "index.json").read_text())
    return entry, Assembled(out / entry["file"], target, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_80,sm_86,sm_89")
    options = parser.parse_args()
    for target in options.target.split(","):
        print(f"{target}: SASS instructions per useful MFLOP in the hot loop")
        print(ROW.format("kernel", "threads", "regs", "spilled", "shared", "always", "total"))
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for d in (64, 128):
                for causal in (False, True):
                    found = of_act(options.build, target, d, causal, folder)
                    label = f"D {d} {'causal' if causal else 'full'}"
                    for kind in ("forward", "backward"):
                        entry, kernel = found[kind]
                        row(f"act {kind} {label}", entry["block"][0], kernel, entry["shared_bytes"])
            entry, kernel = found["product"]
            row("act product", entry["block"][0], kernel, entry["shared_bytes"])
            for label, roles in (("act product in blocks", ""),
                                 ("act the same, one warp copies", ", roles = {copy = 1}")):
                entry, kernel = in_blocks(options.build, target, f"warps = 4, stages = 2{roles}", folder)
                row(label, entry["block"][0], kernel, entry["shared_bytes"])
            found = of_act(options.build, target, d, causal, folder, "--remat=selective", "--fuse-prologues")
            entry, kernel = found["product"]
            assert "normalize" in entry["ops"]
            row("act product of a norm", entry["block"][0], kernel, entry["shared_bytes"])
            for name, threads, kernel, shared in of_triton(target, folder):
                row(f"Triton {name}", threads, kernel, shared)
        print()


if __name__ == "__main__":
    main()
