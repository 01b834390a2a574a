#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""act's kernels on a card, timed with events, beside PyTorch's and Triton's.

    build/venv/bin/python bench/card.py [--build FOLDER] [--device cuda:0] [--target sm_XX]
                                        [--compile-to FOLDER | --compiled FOLDER] [--small]
                                        [--all] [--what right,times] [--log FILE]

Attention forward and backward (16,384 tokens in sequences of 4096, bf16, heads of 64 or
128 that are 2048 wide together, full and causal), and the three products of a linear
layer of 4096 x 4096 (forward, to the input, to the weight). act-opt compiles them for
the card's own target, or for --target, which may be an older one; each kernel is timed
by events of the runtime, alone in a stream, and the median of 20 runs counts. Backward
is all its kernels: row sums, zeros, the products, a conversion. --all adds heads of 256,
one sequence of 16,384 tokens, and the products of Llama-3.2-1B's layers.

Beside them, in the same process and with the same numbers, where PyTorch sees the card:
its scaled_dot_product_attention by FlashAttention and by cuDNN, its matrix product
(cuBLAS), and the project's own block programs in Triton (bench/triton_programs.py),
compiled for the card, and their sm_80 code, which is what act's kernels can be compared
with. Results are compared with f64's, so that a fast wrong answer does not win, and with
those of a second run, bit by bit. --what does one of the two alone.

--log keeps results as it goes, and leaves out what the file has already. --profile runs
everything once, each between cuProfilerStart and cuProfilerStop, for ncu.

--compile-to only compiles, on a machine without a card; --compiled takes what that
made, and then needs libact_runtime alone of act. --small is for a simulator's device
(--device sim:sm_80 --small), which shows that all of this works and times nothing that
matters.
"""
import argparse
import concurrent.futures
import ctypes
import functools
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/python"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from actrt import F32, I32, INPUT, OUTPUT, POINTER, TIME, TO_HOST, Runtime  # noqa: E402
from results import Results  # noqa: E402

RUNS, WARM_UP = 20, 3
LAYERS = (2048, 2048), (512, 2048), (8192, 2048), (2048, 8192)  # the weights of Llama-3.2-1B's layers
ROW = "{:<42}{:<36}{:>10}{:>10}{:>8}"


def bf16(array):
    """Rounded to bf16, as uint16."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def wide(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@functools.lru_cache(8)
def drawn(name, count):
    """An input's numbers; works of one size have the same."""
    return bf16(np.random.default_rng(list(name.encode())).standard_normal(count, np.float32))


def torch_of(bits, *order):
    import torch
    whole = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).cuda()
    return whole.permute(*order).contiguous() if order else whole


class Attention:
    """One function has both; `parts` says which kernels are of which."""

    def __init__(self, d, causal, long, small):
        self.d, self.causal = d, causal
        self.heads = 2 if small else 2048 // d
        self.batch, self.tokens = (1, 128) if small else (4, 4096)
        if long:
            self.batch, self.tokens = 1, self.batch * self.tokens * (1 + small)
        self.name = f"attention-{d}-{'causal' if causal else 'full'}" + "-long" * long
        self.scale = d**-0.5
        pairs = self.tokens * (self.tokens + 1) // 2 if causal else self.tokens**2
        self.flops = 2 * pairs * d * self.heads * self.batch  # of a product
        what = f"D {d} {'causal' if causal else 'full'}" + f" {self.batch}x{self.tokens}" * long
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

    def inputs(self):
        shape = (self.batch, self.tokens, self.heads, self.d)
        return {n: drawn(n, np.prod(shape)).reshape(shape) for n in ("q", "k", "v", "g")}

    def errors(self, inputs, results):
        """Of one head, relative to f64's values by the dense formula."""
        at = (self.batch - 1, slice(None), self.heads - 1)
        q, k, v, g = (wide(inputs[n][at]) for n in ("q", "k", "v", "g"))
        rows = min(self.tokens, 1024)

        def of_rows(start):
            own, seen = slice(start, start + rows), start + rows if self.causal else self.tokens
            s = q[own] @ k[:seen].T * self.scale
            if self.causal:
                s[np.triu_indices(rows, start + 1, seen)] = -np.inf
            p = np.exp(s - s.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            out = p @ v[:seen]
            ds = p * (g[own] @ v[:seen].T - (g[own] * out).sum(1, keepdims=True)) * self.scale
            return own, out, ds @ k[:seen], ds.T @ q[own], p.T @ g[own]

        wanted = {n: np.zeros_like(q) for n in ("out", "dq", "dk", "dv")}
        with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count())) as pool:
            for own, out, dq, dk, dv in pool.map(of_rows, range(0, self.tokens, rows)):
                wanted["out"][own], wanted["dq"][own] = out, dq
                wanted["dk"][:len(dk)] += dk
                wanted["dv"][:len(dv)] += dv
        return {n: relative(wide(results[n][at]), w) for n, w in wanted.items()}

    def peers(self, inputs, runtime, o):
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
            backward = lambda: torch.autograd.grad(out, leaves, g, retain_graph=True)
            try:
                out = forward()
                yield "forward", name, torch_times(forward)
                yield "backward", name, torch_times(backward)
                # act's gives the same bits each time.
                torch.use_deterministic_algorithms(True)
                yield "backward", f"{name}, same bits", torch_times(backward)
            except RuntimeError as why:
                print(f"{name}, {self.name}, cannot: {str(why).splitlines()[0]}")
            finally:
                torch.use_deterministic_algorithms(False)
        if not o.profile:
            yield from self.triton(q, k, v, g, runtime, o)

    def triton(self, q, k, v, g, runtime, o):
        import torch
        heads = self.batch * self.heads
        out = torch.empty(heads, self.tokens, self.d, device="cuda")
        lse = torch.empty(heads, self.tokens, device="cuda")
        scale = self.scale * 1.4426950408889634
        tries = [((self.tokens // rows, heads, 1),
                  dict(D=self.d, BM=rows, BN=columns, CAUSAL=self.causal, APART=self.causal),
                  dict(num_warps=warps, num_stages=stages))
                 for rows, columns, warps, stages in ((128, 64, 4, 2), (128, 64, 8, 3), (128, 128, 8, 2))]
        for name, taken in times_of_triton(runtime, "attention", [q, k, v, out, lse, self.tokens, scale], tries,
                                         o.older):
            yield "forward", name, taken


class Linear:
    """One of the three products of `rows` tokens and a weight of `columns` x `depth`."""
    KINDS = {"forward": ("x", "w", "act.linear %a, %b", "x w^T"), "input": ("g", "w", "act.matmul %a, %b", "g w"),
             "weight": ("g", "x", "act.matmul %a, %b transpose_lhs", "g^T x")}

    def __init__(self, kind, columns, depth, rows, layer):
        shapes = {"x": (rows, depth), "w": (columns, depth), "g": (rows, columns)}
        *self.operands, self.op, what = self.KINDS[kind]
        self.kind, self.shapes = kind, [shapes[n] for n in self.operands]
        self.sizes = {"forward": (rows, columns, depth), "input": (rows, depth, columns),
                      "weight": (columns, depth, rows)}[kind]
        self.name = f"linear-{kind}" + f"-{columns}-{depth}" * layer
        whole = "x".join(map(str, self.sizes))
        self.parts = {kind: (f"product {what}" + f" {whole}" * layer, 2 * rows * columns * depth)}

    def module(self):
        a, b, c = (f"tensor<{rows}x{columns}xbf16>" for rows, columns in (*self.shapes, self.sizes[:2]))
        named = [f'{{act.name = "{n}"}}' for n in (*self.operands, "out")]
        return f"""func.func @forward(%a: {a} {named[0]}, %b: {b} {named[1]}) -> ({c} {named[2]}) {{
  %out = {self.op} : ({a}, {b}) -> {c}
  return %out : {c}
}}
"""

    def part_of(self, kernel):
        return self.kind

    def inputs(self):
        return {n: drawn(n, np.prod(s)).reshape(s) for n, s in zip(self.operands, self.shapes)}

    def factors(self, a, b):
        return (a.T if self.kind == "weight" else a), (b.T if self.kind == "forward" else b)

    def errors(self, inputs, results):
        a, b = self.factors(*(wide(inputs[n]) for n in self.operands))
        rows = slice(-8, None)
        return {"out": relative(wide(results["out"][rows]), a[rows] @ b)}

    def peers(self, inputs, runtime, o):
        import torch
        a, b = self.factors(*(torch_of(inputs[n]) for n in self.operands))
        yield self.kind, "PyTorch, cuBLAS", torch_times(lambda: a @ b)
        if o.profile or self.kind != "input":
            return
        out = torch.empty(*self.sizes[:2], device="cuda")
        tries = [((self.sizes[0] // rows, self.sizes[1] // columns, 1), dict(BM=rows, BN=columns, BK=64),
                  dict(num_warps=warps, num_stages=stages))
                 for rows, columns, warps, stages in ((128, 128, 8, 3), (128, 256, 8, 3), (128, 128, 4, 3))]
        for name, taken in times_of_triton(runtime, "matmul", [a, b, out, *self.sizes], tries, o.older):
            yield "input", name, taken


def all_works(o):
    works = [Attention(d, causal, long, o.small) for long in (False, True)[:1 + o.all]
             for d in (64, 128, 256)[:2 + o.all] for causal in (False, True)]
    side = 128 if o.small else 4096
    works += [Linear(kind, side, side, side, False) for kind in Linear.KINDS]
    # The small one is large enough for a kernel whose programs do several's work.
    for columns, depth in (((3072, 64),) if o.small else LAYERS) if o.all else ():
        works += [Linear(kind, columns, depth, 1536 if o.small else 4096, True) for kind in Linear.KINDS]
    return [w for w in works if re.search(o.only, w.name)]


def relative(got, wanted):
    return float(np.sqrt(np.mean((got - wanted)**2) / np.mean(wanted**2)))


def profiled(work):
    """Once, where ncu looks: between two calls in the context that PyTorch and act share."""
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    driver.cuProfilerStart()
    work()
    driver.cuCtxSynchronize()
    driver.cuProfilerStop()
    return 0.0


def torch_times(work):
    """Median milliseconds, by events."""
    import torch
    if torch_times.profiles:
        return profiled(work)
    taken = []
    for i in range(WARM_UP + RUNS):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end))
    return statistics.median(taken[WARM_UP:])


torch_times.profiles = False


def times_of_triton(runtime, program, values, tries, with_older):
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
        for name, run in (("Triton", for_card), ("Triton, sm_80 code", older))[:1 + with_older]:
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


class Loaded:
    """A work's kernels with memory of the device."""

    def __init__(self, work, runtime, artifact):
        self.work, self.runtime = work, runtime
        self.inputs = work.inputs()
        self.step = runtime.load(artifact, TIME)
        self.memory = {n: runtime.allocate(a) for n, a in self.inputs.items()}
        for name, address in self.memory.items():
            self.step.bind_memory("forward", INPUT, name, address)
        self.outputs = {}
        for info in self.step.describe(OUTPUT, b"forward"):
            name = info.name.decode()
            self.outputs[name] = info.type.empty()
            self.memory[name] = runtime.allocate(self.outputs[name], False)
            self.step.bind_memory("forward", OUTPUT, name, self.memory[name])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for address in self.memory.values():
            self.runtime.free(address)
        self.step.release()

    def run(self):
        self.step.run("forward")

    def results(self):
        """Of a run."""
        self.run()
        for name, array in self.outputs.items():
            self.runtime.copy(self.memory[name], array, TO_HOST)
        return {n: a.copy() for n, a in self.outputs.items()}

    def times(self):
        """{part: median milliseconds}"""
        runs = []
        for _ in range(WARM_UP + RUNS):
            self.run()
            runs.append([ms for _, _, ms in self.step.launches("forward")])
        parts = dict.fromkeys(self.work.parts, 0.0)
        for (_, kernel, _), taken in zip(self.step.launches("forward"), zip(*runs[WARM_UP:])):
            parts[self.work.part_of(kernel)] += statistics.median(taken)
        return parts


def check(work, runtime, artifact, results):
    """Whether results are f64's, and the same bits in two runs."""
    with Loaded(work, runtime, artifact) as loaded:
        found, again = loaded.results(), loaded.results()
        errors = work.errors(loaded.inputs, found)
    differ = [n for n in found if not np.array_equal(found[n].view(np.uint8), again[n].view(np.uint8))]
    right = all(e < 0.02 for e in errors.values()) and not differ
    if not right:
        print(f"{work.name}: WRONG, relative errors {errors}, other bits in a second run: {differ or 'none'}")
    results.add(f"right {work.name}", "done", right=right, errors=errors, differ=differ)


def measure(work, runtime, artifact, results, o, peers):
    """Prints a part's time by act and by its peers."""
    unit = f"times {work.name}"
    with Loaded(work, runtime, artifact) as loaded:
        rows = [(part, "act", taken) for part, taken in loaded.times().items()]
        parts = {part: taken for part, _, taken in rows}

        def keep(part, who, taken):
            results.add(unit, "row", label=work.parts[part][0], who=who, ms=taken)
        for row in rows:
            keep(*row)
        for row in work.peers(loaded.inputs, runtime, o) if peers else ():
            keep(*row)
            rows.append(row)
    for part, (label, flops) in work.parts.items():
        for where, who, taken in rows:
            if where == part:
                print(ROW.format(label if who == "act" else "", who, f"{taken:.3f}", f"{flops / taken / 1e9:.0f}",
                                 f"{taken / parts[part]:.2f}"), flush=True)
    results.add(unit, "done", peers=peers)


def profile(work, runtime, artifact, o, peers):
    with Loaded(work, runtime, artifact) as loaded:
        loaded.run()
        profiled(loaded.run)
        torch_times.profiles = True
        for part, who, _ in work.peers(loaded.inputs, runtime, o) if peers else ():
            print(f"{work.name}, {part}: {who}", flush=True)


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
    parser.add_argument("--only", default="", help="works whose name matches this")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--what", default="right,times")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--no-older", dest="older", action="store_false", help="without Triton's sm_80 code")
    parser.add_argument("--profile", action="store_true")
    o = parser.parse_args()
    works = all_works(o)
    if o.compile_to:
        o.compile_to.mkdir(parents=True, exist_ok=True)
        return compile_all(works, o.build, o.target or "sm_80", o.compile_to)
    try:
        runtime = Runtime(o.build / "lib/libact_runtime.so", 0, o.device)
    except RuntimeError as why:
        sys.exit(f"nothing is timed, there is no card: {why}")
    target = o.target or runtime.info().target.decode()
    peers = ("times" in o.what or o.profile) and sees_card(o.device)
    results = Results(o.log)
    with tempfile.TemporaryDirectory() as name:
        folder = o.compiled or pathlib.Path(name)
        if not o.compiled:
            compile_all(works, o.build, target, folder)
        if o.profile:
            for work in works:
                profile(work, runtime, folder / f"{work.name}.act", o, peers)
            return 0
        if "right" in o.what:
            for work in works:
                if results.take(f"right {work.name}"):
                    check(work, runtime, folder / f"{work.name}.act", results)
        if "times" in o.what:
            if peers:
                import torch
                print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}")
            print(f"{o.device}, act's kernels for {target}, milliseconds by events, median of {RUNS}")
            print(ROW.format("", "", "ms", "TFLOP/s", "act's"))
            for work in works:
                if results.of(f"right {work.name}", "failed"):
                    print(f"{work.name} is not timed, it failed before")
                elif results.take(f"times {work.name}"):
                    measure(work, runtime, folder / f"{work.name}.act", results, o, peers)
            if not peers:
                print("PyTorch and Triton are not beside them: no card, or PyTorch sees none")
    wrong = any(not l["right"] for work in works for l in results.of(f"right {work.name}", "done"))
    print(json.dumps({"device": o.device, "target": target, "right": not wrong}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
