# SPDX-License-Identifier: Apache-2.0
"""The project's own block programs (test/runtime/sim/kernels/triton), compiled by
Triton's wheel for a target, which needs no GPU."""
import sys
from pathlib import Path

PROGRAMS = Path(__file__).resolve().parent.parent / "test" / "runtime" / "sim" / "kernels" / "triton"
SIGNATURES = dict(
    attention=dict(q="*T", k="*T", v="*T", out="*fp32", lse="*fp32", length="i32", scale="fp32"),
    attention_backward=dict(q="*T", k="*T", v="*T", dout="*T", lse="*fp32", delta="*fp32", dq="*fp32",
                            dk="*fp32", dv="*fp32", length="i32", scale="fp32"),
    matmul=dict(a="*T", b="*T", c="*fp32", M="i32", N="i32", K="i32"))


def compile_program(program, constants, element, target, **options):
    """The compiled kernel, with .asm and .metadata. `element` is of the inputs: fp16 or
    bf16; sizes and pointers are multiples of 16. `options` are Triton's: num_warps, ..."""
    sys.path.insert(0, str(PROGRAMS))
    import programs
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    whole = {name: kind.replace("T", element) for name, kind in SIGNATURES[program].items()}
    whole |= {name: "constexpr" for name in constants}
    order = list(whole)
    attrs = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(order)
             if whole[n].startswith("*") or n in ("M", "N", "K", "length")}
    source = ASTSource(getattr(programs, program), whole,
                       {(order.index(k),): v for k, v in constants.items()}, attrs)
    return triton.compile(source, target=GPUTarget("cuda", int(target[3:].rstrip("a")), 32),
                          options=options)
