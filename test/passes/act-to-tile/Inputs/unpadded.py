# SPDX-License-Identifier: Apache-2.0
"""unpadded.py FOLDER TARGET D..: tensor operations of attention, forward and backward,
with heads of D, as the simulator counts them, beside those that the products have."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[4] / "bench"))
from simulate import counters, zeros  # noqa: E402

TOKENS, HEADS = 256, 2


def module(d):
    x, lse = f"tensor<1x{TOKENS}x{HEADS}x{d}xbf16>", f"tensor<1x{HEADS}x{TOKENS}xf32>"
    return f"""func.func @forward(%q: {x}, %k: {x}, %v: {x}, %g: {x}, %out: {x}, %lse: {lse}) -> ({x}, {lse}, {x}, {x}, {x}) {{
  %o, %l = act.attention %q, %k, %v scale 0.1 : ({x}, {x}, {x}) -> ({x}, {lse})
  %a, %b, %c = act.attention_grad %g, %q, %k, %v, %out, %lse scale 0.1
    : ({x}, {x}, {x}, {x}, {x}, {lse}) -> ({x}, {x}, {x})
  return %o, %l, %a, %b, %c : {x}, {lse}, {x}, {x}, {x}
}}
"""


def main():
    folder, target, *heads = sys.argv[1:]
    folder = pathlib.Path(folder)
    for d in heads:
        (folder / "m.mlir").write_text(module(d))
        subprocess.run(["act-opt", folder / "m.mlir", f"--target={target}", f"--emit-ptx=dir={folder} cache-dir=none",
                        "-o", "/dev/null"], check=True)
        for k in json.loads((folder / "index.json").read_text()):
            if not k["useful_flops"]:
                continue
            counted = counters("actrt-sim", folder / k["file"], target, k["grid"], k["block"], k["shared_bytes"],
                               zeros(folder, k["shapes"]), k.get("at_once", 0))
            print(f"{k['ops'][-1]} of {d} on {target}: "
                  f"{sum(counted['tensor_flops'].values()) / k['useful_flops']:.4f} of the useful")


main()
