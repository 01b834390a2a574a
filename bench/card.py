#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""act's kernels on a card, timed with events, beside PyTorch's and Triton's.

    build/venv/bin/python bench/card.py [--build FOLDER] [--device cuda:0] [--target sm_XX]
                                        [--compile-to FOLDER | --compiled FOLDER] [--small]

Attention forward and backward (16,384 tokens in sequences of 4096, bf16, heads of 64 or
128 that are 2048 wide together, full and causal), and the three products of a linear
layer of 4096 x 4096 (forward, to the input, to the weight). act-opt compiles them for
the card's own target, or for --target, which may be an older one; each kernel is timed
by events of the runtime, alone in a stream, and the median of 20 runs counts. Backward
is all its kernels: row sums, zeros, the products, a conversion.

Beside them, in the same process and with the same numbers, where PyTorch sees the card:
its scaled_dot_product_attention by FlashAttention and by cuDNN, its matrix product
(cuBLAS), and the project's own block programs in Triton (bench/triton_programs.py),
compiled for the card, and their sm_80 code, which is what act's kernels can be compared
with. Results are compared with f64's, so that a fast wrong answer does not win.

--compile-to only compiles, on a machine without a card; --compiled takes what that
made, and then needs libact_runtime alone of act. --small is for a simulator's device
(--device sim:sm_80 --small), which shows that all of this works and times nothing that
matters.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/python"))
from actrt import F32, I32, INPUT, OUTPUT, POINTER, TIME, TO_HOST, Runtime  # noqa: E402

RUNS, WARM_UP = 20, 3
ROW = "{:<34}{:<36}{:>10}{:>10}{:>8}"


def bf16(array):
    """Rounded to bf16, as uint16."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def torch_of(bits, *order):
    import torch
    whole = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).cuda()
    return whole.permute(*order).contiguous() if order else whole


class Attention:
    """One function has both; `parts` says which kernels are of which."""

    def __init__(self, d, causal, small):
        self.d, self.causal = d, causal
        self.batch, self.tokens, self.heads = (1, 128, 2) if small else (4, 4096, 2048 // d)
        self.name = f"attention-{d}-{'causal' if causal else 'full'}"
        self.scale = d**-0.5
        pairs = self.tokens * (self.tokens + 1) // 2 if causal else self.tokens**2
        self.flops = 2 * pairs * d * self.heads * self.batch  # of a product
        what = f"D {d} {'causal' if causal else 'full'}"
        self.parts = {"forward": (f"attention forward {what}", 2 * self.flops),
                      "backward": (f"attention backward {what}", 5 * self.flops)}

    def module(self):
        x = f"tensor<{self.batch}x{self.tokens}x{self.heads}x{self.d}xbf16>"
        lse = f"tensor<{self.batch}x{self.heads}x{self.tokens}xf32>"
        how = f"scale {self.scale:e}" + " causal" * self.causal
        names = lambda *names: [f'{{act.name = "{n}"}}' for n in names]
        q, k, v, g, out, l, dq, dk, dv = names("q", "k", "v", "g", "out", "lse", "dq", "dk", "dv")
        return f"""func.func @forward(%q: {x} {q}, %k: {x} {k}, %v: {x} {v}, %g: {x} {g})
    -> ({x} {out}, {lse} {l}, {x} {dq}, {x} {dk}, {x} {dv}) {{
  %o, %l = act.attention %q, %k, %v {how} : ({x}, {x}, {x}) -> ({x}, {lse})
  %a, %b, %c = act.attention_grad %g, %q, %k, %v, %o, %l {how}
    : ({x}, {x}, {x}, {x}, {x}, {lse}) -> ({x}, {x}, {x})
  return %o, %l, %a, %b, %c : {x}, {lse}, {x}, {x}, {x}
}}
"""

    def part_of(self, kernel):
        return "backward" if "attention_grad" in kernel else "forward"

    def inputs(self, numbers):
        shape = (self.batch, self.tokens, self.heads, self.d)
        return {n: bf16(numbers.standard_normal(shape, np.float32)) for n in ("q", "k", "v", "g")}

    def errors(self, inputs, results):
        """Of one head, relative to f64's values by the dense formula."""
        at = (self.batch - 1, slice(None), self.heads - 1)
        q, k, v, g = (wide(inputs[n][at]) for n in ("q", "k", "v", "g"))
        s = q @ k.T * self.scale
        if self.causal:
            s[np.triu_indices(self.tokens, 1)] = -np.inf
        p = np.exp(s - s.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        out = p @ v
        ds = p * (g @ v.T - (g * out).sum(1, keepdims=True)) * self.scale
        wanted = {"out": out, "dq": ds @ k, "dk": ds.T @ q, "dv": p.T @ g}
        return {n: relative(wide(results[n][at]), w) for n, w in wanted.items()}

    def peers(self, inputs, runtime):
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        from torch.nn.functional import scaled_dot_product_attention as sdpa
        q, k, v, g = (torch_of(inputs[n], 0, 2, 1, 3) for n in ("q", "k", "v", "g"))
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        for name, backend in (("PyTorch, FlashAttention", SDPBackend.FLASH_ATTENTION),
                              ("PyTorch, cuDNN", SDPBackend.CUDNN_ATTENTION)):
            def forward():
                with sdpa_kernel(backend):
                    return sdpa(*leaves, is_causal=self.causal)
            try:
                out = forward()
            except RuntimeError as why:
                print(f"{name} cannot: {str(why).splitlines()[0]}")
                continue
            yield "forward", name, torch_times(forward)
            backward = lambda: torch.autograd.grad(out, leaves, g, retain_graph=True)
            yield "backward", name, torch_times(backward)
            # act's gives the same bits each time.
            torch.use_deterministic_algorithms(True)
            yield "backward", f"{name}, same bits", torch_times(backward)
            torch.use_deterministic_algorithms(False)
        yield from self.triton(q, k, v, g, runtime)

    def triton(self, q, k, v, g, runtime):
        import torch
        heads = self.batch * self.heads
        out = torch.empty(heads, self.tokens, self.d, device="cuda")
        lse = torch.empty(heads, self.tokens, device="cuda")
        scale = self.scale * 1.4426950408889634
        tries = [((self.tokens // rows, heads, 1),
                  dict(D=self.d, BM=rows, BN=columns, CAUSAL=self.causal, APART=self.causal),
                  dict(num_warps=warps, num_stages=stages))
                 for rows, columns, warps, stages in ((128, 64, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2))]
        for name, taken in times_of_triton(runtime, "attention", [q, k, v, out, lse, self.tokens, scale], tries):
            yield "forward", name, taken


class Linear:
    def __init__(self, small):
        self.size, self.name = 128 if small else 4096, "linear"
        flops = 2 * self.size**3
        self.parts = {"forward": ("product x w^T", flops), "input": ("product g w", flops),
                      "weight": ("product g^T x", flops)}

    def module(self):
        t = f"tensor<{self.size}x{self.size}xbf16>"
        names = {n: f'{{act.name = "{n}"}}' for n in ("x", "w", "g", "y", "dx", "dw")}
        return f"""func.func @forward(%x: {t} {names["x"]}, %w: {t} {names["w"]}, %g: {t} {names["g"]})
    -> ({t} {names["y"]}, {t} {names["dx"]}, {t} {names["dw"]}) {{
  %y = act.linear %x, %w : ({t}, {t}) -> {t}
  %dx = act.matmul %g, %w : ({t}, {t}) -> {t}
  %dw = act.matmul %g, %x transpose_lhs : ({t}, {t}) -> {t}
  return %y, %dx, %dw : {t}, {t}, {t}
}}
"""

    def part_of(self, kernel):
        return list(self.parts)[int(kernel[1:].split("_")[0])]

    def inputs(self, numbers):
        return {n: bf16(numbers.standard_normal((self.size, self.size), np.float32)) for n in ("x", "w", "g")}

    def errors(self, inputs, results):
        x, w, g = (wide(inputs[n]) for n in ("x", "w", "g"))
        rows = slice(self.size - 8, None)
        wanted = {"y": x[rows] @ w.T, "dx": g[rows] @ w, "dw": g.T[rows] @ x}
        return {n: relative(wide(results[n][rows]), value) for n, value in wanted.items()}

    def peers(self, inputs, runtime):
        import torch
        x, w, g = (torch_of(inputs[n]) for n in ("x", "w", "g"))
        for part, a, b in (("forward", x, w.T), ("input", g, w), ("weight", g.T, x)):
            yield part, "PyTorch, cuBLAS", torch_times(lambda: a @ b)
        out = torch.empty(self.size, self.size, device="cuda")
        tries = [((self.size // rows, self.size // columns, 1), dict(BM=rows, BN=columns, BK=64),
                  dict(num_warps=warps, num_stages=stages))
                 for rows, columns, warps, stages in ((128, 128, 8, 3), (128, 256, 8, 3), (128, 128, 4, 3))]
        for name, taken in times_of_triton(runtime, "matmul", [g, w, out] + [self.size] * 3, tries):
            yield "input", name, taken


def relative(got, wanted):
    return float(np.sqrt(np.mean((got - wanted)**2) / np.mean(wanted**2)))


def torch_times(work):
    """Median milliseconds, by events."""
    import torch
    taken = []
    for i in range(WARM_UP + RUNS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end))
    return statistics.median(taken[WARM_UP:])


def times_of_triton(runtime, program, values, tries):
    """(who, milliseconds) of a block program, the best of the blocks that have room; `tries`
    are a grid, the program's constants and Triton's options."""
    from triton_programs import PROGRAMS, compile_program
    sys.path.insert(0, str(PROGRAMS))
    import programs
    best = {}
    for grid, constants, options in tries:
        def for_card():
            return torch_times(lambda: getattr(programs, program)[grid](*values, **constants, **options))

        def older():
            made = compile_program(program, constants, "bf16", "sm_80", **options)
            return launched_by_driver(runtime, made, program, grid, options["num_warps"], values)
        for name, run in (("Triton", for_card), ("Triton, sm_80 code", older)):
            try:
                best[name] = min(best.get(name, 1e9), run())
            except Exception as why:
                print(f"{name} {constants}: {str(why).splitlines()[0][:100]}", file=sys.stderr)
    return best.items()


def launched_by_driver(runtime, made, name, grid, warps, values):
    """Triton's PTX, compiled by the driver and launched by act's runtime, on copies of PyTorch's tensors."""
    import torch
    function = runtime.function(made.asm["ptx"].encode(), name)
    copies = [runtime.allocate(v.cpu().view(torch.int16 if v.element_size() == 2 else torch.int32).numpy())
              for v in values if isinstance(v, torch.Tensor)]
    rest = iter(copies)
    given = [(I32, v) if isinstance(v, int) else (F32, v) if isinstance(v, float) else (POINTER, next(rest))
             for v in values]
    # What Triton's own launcher adds: pointers to scratch memory that these have none of.
    given += [(POINTER, None)] * 2
    work = lambda: runtime.launch(function, grid, (32 * warps,), made.metadata.shared, given)
    taken = statistics.median([runtime.milliseconds(work) for _ in range(WARM_UP + RUNS)][WARM_UP:])
    for memory in copies:
        runtime.free(memory)
    return taken


def compile_all(works, build, target, folder):
    for work in works:
        (folder / f"{work.name}.mlir").write_text(work.module())
        done = subprocess.run([build / "bin/act-opt", folder / f"{work.name}.mlir", f"--target={target}",
                               f"--emit=file={folder / work.name}.act join-launches=false", "-o", "/dev/null"],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)


def times_of_act(work, runtime, artifact, inputs):
    """{part: median milliseconds}, {result: its numbers}"""
    step = runtime.load(artifact, TIME)
    memory = {n: runtime.allocate(a) for n, a in inputs.items()}
    for name, address in memory.items():
        step.bind_memory("forward", INPUT, name, address)
    results = {}
    for info in step.describe(OUTPUT, b"forward"):
        name = info.name.decode()
        results[name] = info.type.empty()
        memory[name] = runtime.allocate(results[name], False)
        step.bind_memory("forward", OUTPUT, name, memory[name])
    runs = []
    for _ in range(WARM_UP + RUNS):
        step.run("forward")
        runs.append([ms for _, _, ms in step.launches("forward")])
    parts = dict.fromkeys(work.parts, 0.0)
    for (_, kernel, _), taken in zip(step.launches("forward"), zip(*runs[WARM_UP:])):
        parts[work.part_of(kernel)] += statistics.median(taken)
    for name, array in results.items():
        runtime.copy(memory[name], array, TO_HOST)
    for address in memory.values():
        runtime.free(address)
    step.release()
    return parts, results


def sees_card(device):
    if not device.startswith("cuda"):
        return False
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--target", help="default: the device's own")
    parser.add_argument("--compile-to", type=pathlib.Path)
    parser.add_argument("--compiled", type=pathlib.Path)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="", help="works whose name has this text")
    o = parser.parse_args()
    works = [Attention(d, causal, o.small) for d in (64, 128) for causal in (False, True)] + [Linear(o.small)]
    works = [w for w in works if o.only in w.name]
    if o.compile_to:
        o.compile_to.mkdir(parents=True, exist_ok=True)
        return compile_all(works, o.build, o.target or "sm_80", o.compile_to)
    try:
        runtime = Runtime(o.build / "lib/libact_runtime.so", 0, o.device)
    except RuntimeError as why:
        sys.exit(f"nothing is timed, there is no card: {why}")
    target = o.target or runtime.info().target.decode()
    peers = sees_card(o.device)
    if peers:
        import torch
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
    print(f"{o.device}, act's kernels for {target}, milliseconds by events, median of {RUNS}")
    print(ROW.format("", "", "ms", "TFLOP/s", "act's"))
    numbers, wrong = np.random.default_rng(0), False
    with tempfile.TemporaryDirectory() as name:
        folder = o.compiled or pathlib.Path(name)
        if not o.compiled:
            compile_all(works, o.build, target, folder)
        for work in works:
            inputs = work.inputs(numbers)
            parts, results = times_of_act(work, runtime, folder / f"{work.name}.act", inputs)
            errors = work.errors(inputs, results)
            if not all(e < 0.02 for e in errors.values()):
                print(f"{work.name}: WRONG, relative errors {errors}")
                wrong = True
            rows = [(part, "act", taken) for part, taken in parts.items()]
            rows += work.peers(inputs, runtime) if peers else []
            for part, (label, flops) in work.parts.items():
                for where, who, taken in rows:
                    if where == part:
                        print(ROW.format(label if who == "act" else "", who, f"{taken:.3f}",
                                         f"{flops / taken / 1e9:.0f}", f"{taken / parts[part]:.2f}"), flush=True)
    if not peers:
        print("PyTorch and Triton are not beside them: no card, or PyTorch sees none")
    print(json.dumps({"device": o.device, "target": target, "right": not wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
