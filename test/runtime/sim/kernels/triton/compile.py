# SPDX-License-Identifier: Apache-2.0
"""Compiles programs.py to the PTX that is checked in; no card needed. Needs Triton's
wheel (3.6.0 made what is here): python3 compile.py [NAME...]

Line information is left out and file names are cut: the PTX has no path in it."""
import os
import pathlib
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs  # noqa: E402

F32, BF16, F16, INT = "*fp32", "*bf16", "*fp16", "i32"


def attention(dtype, D, BM, BN, causal):
    return "attention", dict(q=dtype, k=dtype, v=dtype, out=F32, lse=F32, length=INT, scale="fp32"), \
        dict(D=D, BM=BM, BN=BN, CAUSAL=causal, APART=False)


def described(dtype, *block):
    return f"tensordesc<{dtype}[{', '.join(map(str, block))}]>"


MATMUL = dict(a=BF16, b=BF16, c=F32, M=INT, N=INT, K=INT)
# name → (function, signature, constants, [(target, warps, stages), …])
BUILDS = {
    "softmax": ("softmax", dict(x=F32, out=F32, columns=INT, stride=INT), dict(BLOCK=128),
                [(80, 4, 1), (90, 2, 1)]),
    "layer_norm": ("layer_norm", dict(x=BF16, weight=F32, bias=F32, out=BF16, mean=F32, rstd=F32,
                                      columns=INT, epsilon="fp32"), dict(BLOCK=128), [(80, 4, 2), (89, 1, 3)]),
    "matmul": ("matmul", MATMUL, dict(BM=32, BN=32, BK=32), [(80, 2, 3), (89, 4, 2)]),
    "matmul_wgmma": ("matmul", MATMUL, dict(BM=64, BN=32, BK=32), [(90, 4, 3)]),
    "matmul_descriptors": ("matmul_descriptors", dict(a=described("bf16", 64, 64), b=described("bf16", 32, 64),
                                                      c=described("fp32", 64, 32), K=INT),
                           dict(BM=64, BN=32, BK=64, ROLES=False), [(90, 4, 3)]),
    "matmul_roles": ("matmul_descriptors", dict(a=described("bf16", 64, 64), b=described("bf16", 32, 64),
                                                c=described("fp32", 64, 32), K=INT),
                     dict(BM=64, BN=32, BK=64, ROLES=True), [(90, 4, 3)]),
    "matmul_device_descriptors": ("matmul_device_descriptors", MATMUL, dict(BM=64, BN=32, BK=32), [(90, 4, 2)]),
    "attention": (*attention(F16, 32, 32, 32, True), [(80, 2, 2), (89, 4, 3)]),
    "attention_wgmma": (*attention(BF16, 32, 64, 32, False), [(90, 4, 2)]),
    "attention_descriptors": ("attention_descriptors", dict(
        q=described("bf16", 64, 32), k=described("bf16", 32, 32), v=described("bf16", 32, 32),
        out=described("fp32", 64, 32), length=INT, scale="fp32"),
        dict(D=32, BM=64, BN=32, ROLES=False), [(90, 4, 2)]),
    "attention_roles": ("attention_descriptors", dict(
        q=described("bf16", 64, 32), k=described("bf16", 32, 32), v=described("bf16", 32, 32),
        out=described("fp32", 64, 32), length=INT, scale="fp32"),
        dict(D=32, BM=64, BN=32, ROLES=True), [(90, 4, 2)]),
    "attention_backward": ("attention_backward", dict(
        q=F16, k=F16, v=F16, dout=F16, lse=F32, delta=F32, dq=F32, dk=F32, dv=F32, length=INT, scale="fp32"),
        dict(D=32, BM=32, BN=32), [(80, 4, 1), (89, 2, 2)]),
    "attention_backward_wgmma": ("attention_backward", dict(
        q=BF16, k=BF16, v=BF16, dout=BF16, lse=F32, delta=F32, dq=F32, dk=F32, dv=F32, length=INT, scale="fp32"),
        dict(D=32, BM=64, BN=64), [(90, 4, 2)]),
    "histogram": ("histogram", dict(x="*i32", bins="*i32", taken="*i32", order="*i32", n=INT), dict(BLOCK=128),
                  [(80, 4, 1), (90, 1, 1)]),
}


def clean(text):
    lines = [line for line in text.splitlines()
             if line.strip() and not line.strip().startswith("//") and ".loc" not in line]
    out = []
    for line in lines:
        if line.strip().startswith(".file"):
            continue
        if line.strip().startswith(".section"):
            break  # debug sections are the last thing in the file
        out.append(line.split("//")[0].rstrip())
    return "\n".join(out) + "\n"


def main():
    names = sys.argv[1:] or list(BUILDS)
    for name in names:
        function, signature, constants, targets = BUILDS[name]
        for capability, warps, stages in targets:
            whole = dict(signature, **{k: "constexpr" for k in constants})
            # Pointers and sizes are multiples of 16, as a launch would find.
            names_of = list(whole)
            attrs = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names_of)
                     if whole[n].startswith("*") or n in ("K", "N", "length", "stride")}
            source = ASTSource(getattr(programs, function), whole, {(names_of.index(k),): v
                                                                    for k, v in constants.items()}, attrs)
            kernel = triton.compile(source, target=GPUTarget("cuda", capability, 32),
                                    options=dict(num_warps=warps, num_stages=stages))
            target = f"sm_{capability}" + ("a" if capability == 90 else "")
            meta = kernel.metadata
            maps = "".join(f", map {'x'.join(map(str, m['block_size']))} swizzle {m['swizzle']}"
                           for m in getattr(meta, "tensordesc_meta", None) or [])
            text = f"// warps {warps}, stages {stages}, shared {meta.shared}, " \
                   f"threads {32 * getattr(meta, 'num_warps', warps)}{maps}\n" + clean(kernel.asm["ptx"])
            (HERE / f"{name}.{target}.ptx").write_text(text)
            print(name, target, meta.shared, meta.num_warps, getattr(meta, "global_scratch_size", None), len(text))


if __name__ == "__main__":
    main()
