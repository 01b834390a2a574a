# SPDX-License-Identifier: Apache-2.0
"""Compiles functions of act ops by their linalg forms, with upstream's plainest
lowering (loops, no fusion), as host kernels, or as kernels on blocks for a GPU that
the simulator runs with all its checks; and runs them on numpy arrays.

A Case is one function: MLIR text, inputs, and the values expected, which a
reference computes in f64. `run` makes one shared object of all cases.
"""
import concurrent.futures
import ctypes
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import actrt  # noqa: E402

LLVM = pathlib.Path(os.environ.get("LLVM_BIN", "/usr/lib/llvm-22/bin"))
DTYPES = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16,
    "bf16": ml_dtypes.bfloat16, "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64,
}
# A few units in the last place of a sum of some dozens of terms.
TOLERANCE = {"f64": 1e-12, "f32": 3e-6, "f16": 2e-3, "bf16": 1.6e-2,
             "f8E4M3FN": 0.13, "i1": 0, "i8": 0, "i32": 0, "i64": 0}
PIPELINE = [
    "--one-shot-bufferize=bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map",
    "--buffer-results-to-out-params=modify-public-functions", "--convert-bufferization-to-memref",
    "--convert-linalg-to-loops", "--scf-forall-to-for", "--expand-strided-metadata",
    "--lower-affine", "--arith-expand=include-bf16", "--llvm-request-c-wrappers",
    "--convert-scf-to-cf", "--convert-math-to-llvm", "--convert-math-to-libm",
    "--convert-arith-to-llvm", "--convert-index-to-llvm", "--finalize-memref-to-llvm",
    "--convert-func-to-llvm", "--convert-cf-to-llvm", "--convert-ub-to-llvm",
    "--reconcile-unrealized-casts",
]


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{d}x" for d in shape) + dtype + ">"


@dataclasses.dataclass
class Case:
    name: str
    text: str            # body of the function; %0, %1 ... are the inputs
    inputs: list         # numpy arrays, or (value, "i64") for scalars
    types: list          # MLIR types of the inputs
    results: list        # MLIR types of the results
    returns: str         # "%a, %b"
    expected: list       # arrays
    tolerance: float = 0  # relative to the largest expected value; 0: by type
    preamble: str = ""   # module-level text
    exact: bool = False
    plain_only: bool = False  # not for host kernels
    as_group: bool = False    # on GPUs as the kernels that its group is

    def function(self):
        args = ", ".join(f"%{i}: {t}" for i, t in enumerate(self.types))
        back = f"return {self.returns} : {', '.join(self.results)}"
        if not self.returns:
            back = "return"
        return f"func.func @{self.name}({args}) -> ({', '.join(self.results)}) {{\n{self.text}\n{back}\n}}\n" \
            if self.returns else f"func.func @{self.name}({args}) {{\n{self.text}\n{back}\n}}\n"


def element(type_text):
    return type_text[:-1].split("x")[-1].removeprefix("tensor<") \
        if type_text.startswith("tensor") else type_text


def shape(type_text):
    return [int(d) for d in type_text[len("tensor<"):-1].split("x")[:-1]]


def descriptor(array):
    rank = array.ndim

    class Descriptor(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("data", ctypes.c_void_p),
                    ("offset", ctypes.c_int64)] + (
                        [("sizes", ctypes.c_int64 * rank),
                         ("strides", ctypes.c_int64 * rank)] if rank else [])
    d = Descriptor(array.ctypes.data, array.ctypes.data, 0)
    if rank:
        d.sizes = (ctypes.c_int64 * rank)(*array.shape)
        d.strides = (ctypes.c_int64 * rank)(*[s // array.itemsize for s in array.strides])
    return d


def compile_module(text, lower, folder):
    source = folder / "cases.mlir"
    source.write_text(text)

    def step(command, out):
        with open(folder / out, "w") as f:
            done = subprocess.run(command, stdout=f, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))}\n{done.stderr[:6000]}")
        return folder / out
    linalg = step([lower, source], "linalg.mlir")
    llvm = step([LLVM / "mlir-opt", linalg, *PIPELINE], "llvm.mlir")
    ir = step([LLVM / "mlir-translate", "--mlir-to-llvmir", llvm], "cases.ll")
    library = folder / "cases.so"
    step(["clang-22", "-O1", "-march=native", "-ffp-contract=off", "-w", "-shared", "-fPIC",
          ir, "-lm", LLVM.parent / "lib/libmlir_c_runner_utils.so",
          f"-Wl,-rpath,{LLVM.parent / 'lib'}", "-o", library], "log")
    return ctypes.CDLL(str(library))


def call(library, case):
    """By the C interface that upstream's lowering gives a function."""
    keep, args = [], []
    for value, kind in zip(case.inputs, case.types):
        if kind.startswith("tensor"):
            array = np.ascontiguousarray(value)
            keep.append(array)
            d = descriptor(array)
            keep.append(d)
            args.append(ctypes.byref(d))
        else:
            args.append({"i64": ctypes.c_int64, "f32": ctypes.c_float}[kind](value))
    outputs = poisoned(case)
    for array in outputs:
        d = descriptor(array)
        keep.append(d)
        args.append(ctypes.byref(d))
    getattr(library, "_mlir_ciface_" + case.name)(*args)
    return outputs


def poisoned(case):
    return [np.full(shape(kind), 85, dtype=np.uint8).astype(DTYPES[element(kind)])
            for kind in case.results]


class HostKernels:
    """The cases as host kernels: void kernel(void **args, int64_t block)."""

    def __init__(self, text, lower, folder):
        source = folder / "cases.mlir"
        source.write_text(text)
        library = folder / "host.so"
        done = subprocess.run([lower, source, f"--host={library}"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{lower} {source} --host={library}\n{done.stderr[:6000]}")
        self.kernels = {name: (int(grid), int(scratch)) for name, grid, scratch
                        in map(str.split, done.stdout.splitlines())}
        self.library = ctypes.CDLL(str(library))

    def call(self, case):
        grid, scratch = self.kernels[case.name]
        arrays = []
        for value, kind in zip(case.inputs, case.types):
            if kind.startswith("tensor"):
                arrays.append(np.ascontiguousarray(value))
            else:
                slot = np.zeros(8, np.uint8)
                slot[:DTYPES[kind]().itemsize] = np.frombuffer(DTYPES[kind](value).tobytes(), np.uint8)
                arrays.append(slot)
        outputs = poisoned(case)
        arrays += outputs
        # 64-byte aligned, and full of NaNs: its contents must not matter.
        room = np.full(scratch + 64, 0xFF, np.uint8)
        pointers = [a.ctypes.data for a in arrays] + [-(-room.ctypes.data // 64) * 64]
        args = (ctypes.c_void_p * len(pointers))(*pointers)
        function = getattr(self.library, case.name)
        for block in reversed(range(grid)):  # any order must do
            function(args, ctypes.c_int64(block))
        return outputs


def too_much(error):
    """The kernel that takes more shared memory than there is, what it takes, what there is."""
    return re.search(r"the kernel '(\w+)' needs (\d+) bytes of shared memory, but a block has only (\d+)", error)


class BlockKernels:
    """The cases as PTX: --convert-linalg-to-tile, then act-run kernel. One kernel for
    all results of a case, or one for each where their shapes have nothing in common."""
    on_card = False

    def __init__(self, lower, folder, options=("--cache-dir=none",), copy_warps=0, target="sm_80"):
        """`options` are of act-run kernel; `copy_warps` are added to every schedule."""
        self.lower, self.folder, self.options = pathlib.Path(lower), folder, list(options)
        # Of the order in which threads run, and, but for 0, of the kernels' schedules;
        # odd ones draw rounding, too.
        self.seed = 0
        self.copy_warps, self.target = copy_warps, target
        self.opt, self.run = (self.lower.parent / n for n in ("act-opt", "act-run"))
        self.made = {}

    def rounds_plainly(self):
        """Whether results have the bits that they have with seed 0, whatever the order."""
        return self.on_card or self.seed % 2 == 0

    def kernel(self, case, form, room=0):
        """(errors, the kernels as a file, its functions' headers). Made once: of a case
        taken apart, each result has a name of its own. Planned for `room` bytes of shared
        memory, or for what there is; below 0: without copying warps."""
        key = case.name, case.returns, form, self.seed, room
        if key not in self.made:
            self.made[key] = self.make(case, f"{case.name}.{len(self.made)}", form, room)
        return self.made[key]

    def make(self, case, stem, form, room):
        text = self.folder / f"{stem}.mlir"
        text.write_text(case.preamble + "\n" + case.function())
        sums = subprocess.run([self.lower, text, form], capture_output=True, text=True)
        if sums.returncode:
            return sums.stderr, None, []
        linalg, tile = self.folder / f"{stem}.linalg.mlir", self.folder / f"{stem}.tile.mlir"
        linalg.write_text(sums.stdout)
        plan = f"target={self.target} draw-schedules={self.seed} shared-bytes={max(room, 0)}"
        done = subprocess.run([self.opt, linalg, f"--convert-linalg-to-tile={plan}", "-o", tile],
                              capture_output=True, text=True)
        if self.copy_warps and room >= 0 and not done.returncode:
            # Where blocks are copied early, each has one place, and no ring for others to fill. Fragments that
            # wait for other warps are not fetched ahead.
            tile.write_text(re.sub(r"(#tile\.schedule<(?![^>]*early)[^>]*)>",
                                   lambda m: f"{m[1].replace(', ahead', '')}, roles = {{copy = {self.copy_warps}}}>",
                                   tile.read_text()))
        return done.stderr, tile, [line for line in sums.stdout.splitlines() if "func.func" in line]

    def parts(self, case):
        outputs = []
        for i, value in enumerate(case.returns.split(",")):
            one = dataclasses.replace(case, results=[case.results[i]], returns=value.strip())
            outputs += self.call(one)
        return outputs

    @staticmethod
    def less(tile, error):
        """What to plan the kernel of this error for, in this file: less by what is missing."""
        name, took, most = too_much(error).groups()
        planned = re.search(rf"gpu.func @{name}\(.*?tile.planned_bytes = (\d+)", tile.read_text())
        return max(1, int(planned[1]) - (int(took) - int(most)))

    def launch(self, case, form, entry, args):
        order = [f"--seed={self.seed}", f"--draw={'orders' if self.rounds_plainly() else 'all'}"]
        # As compileGpuKernels does: planned once more where the estimate was too low.
        room = 0
        while True:
            tile = self.kernel(case, form, room)[1]
            done = subprocess.run([self.run, "kernel", tile, "--entry", entry, "--threads=1", *order,
                                   *self.options, *args], capture_output=True, text=True)
            if not too_much(done.stderr) or room < 0 or (room and not self.copy_warps):
                break
            # Copying warps are not planned for: where there is no room, there are none.
            room = -1 if room else self.less(tile, done.stderr)
        if done.returncode:
            raise Refused(done.stderr[:600])

    def inputs(self, case):
        for i, (value, kind) in enumerate(zip(case.inputs, case.types)):
            if kind.startswith("tensor"):
                file = self.folder / f"{case.name}.{i}.npy"
                np.save(file, bits(np.ascontiguousarray(value)))
                yield f"in:{file}"
            else:
                yield f"{kind}:{value}"

    def outputs(self, case):
        for i, kind in enumerate(case.results):
            dtype = DTYPES[element(kind)]
            stored = bits(np.zeros(1, dtype)).dtype
            size = ",".join(map(str, shape(kind))) or "1"
            file = self.folder / f"{case.name}.out{i}.npy"
            yield f"out:{stored.kind}{8 * stored.itemsize}[{size}]:{file}", file, dtype, shape(kind)

    def call(self, case):
        # What lowerGroup makes several kernels of is run as these.
        norm = has(case, "rms_norm_grad", "layer_norm_grad") and has(case, "norm_weight_grad")
        if case.as_group or len(case.results) > 1 and (has(case, "attention_grad") or norm):
            return self.group(case)
        error = self.kernel(case, "--sums")[0]
        if "different shapes" in error and len(case.results) > 1:
            return self.parts(case)
        if error:
            raise Refused(error.splitlines()[0])
        outputs = list(self.outputs(case))
        args = [*self.inputs(case), *(o[0] for o in outputs)]
        self.launch(case, "--sums", case.name, [x for a in args for x in ("--arg", a)])
        return [np.load(file).view(dtype).reshape(size) for _, file, dtype, size in outputs]

    def group(self, case):
        error, _, headers = self.kernel(case, "--groups")
        if error:
            raise Refused(error.splitlines()[0])
        inputs, outputs = list(self.inputs(case)), list(self.outputs(case))
        written = set()
        for n, header in enumerate(headers):
            args = []
            for what in re.findall(r'"([^"]*)"', header.split("test.operands")[1]):
                kind, index = what.split()[:2]
                index = int(index.rstrip(","))
                if kind == "input":
                    args.append(inputs[index])
                elif kind == "result":
                    args.append(outputs[index][0])
                else:
                    file = self.folder / f"{case.name}.workspace{index}.npy"
                    fresh, written = file not in written, written | {file}
                    args.append(f"out:{what.split()[3].rstrip(',')}:{file}" if fresh else
                                f"{'inout' if 'written' in what else 'in'}:{file}")
            self.launch(case, "--groups", f"kernel{n}", [x for a in args for x in ("--arg", a)])
        return [np.load(file).view(dtype).reshape(size) for _, file, dtype, size in outputs]


class CompiledKernels(BlockKernels):
    """The same kernels, launched through the runtime's C interface: on a card. What is
    compiled is kept in `store`; all that is there needs no compiler, so that it can be
    made on another machine. Without a runtime nothing runs and results are zeros."""
    on_card = True

    def __init__(self, lower, folder, store, target, runtime=None, copy_warps=0):
        super().__init__(lower, folder, (), copy_warps, target)
        self.store, self.runtime = pathlib.Path(store), runtime

    def make(self, case, stem, form, room):
        """(errors, {entry: its kernel}, headers)"""
        key = "\0".join((case.preamble, case.function(), form, str(self.seed), str(room), str(self.copy_warps), self.target))
        kept = self.store / (hashlib.sha256(key.encode()).hexdigest() + ".json")
        if kept.exists():
            return json.loads(kept.read_text())
        error, tile, headers = super().make(case, stem, form, room)
        kernels = {}
        if not error:
            out = self.folder / f"{stem}.ptx"
            done = subprocess.run([self.opt, tile, f"--emit-ptx=dir={out} target={self.target} cache-dir=none", "-o",
                                   "/dev/null"], capture_output=True, text=True)
            error = done.stderr if done.returncode else ""
            if too_much(error) and (not room or self.copy_warps and room > 0):
                made = self.make(case, stem, form, -1 if room else self.less(tile, error))
                kept.write_text(json.dumps(made))
                return made
            for entry in json.loads((out / "index.json").read_text()) if not error else []:
                kernels[entry["entry"]] = dict(grid=entry["grid"], block=entry["block"], shared=entry["shared_bytes"],
                                               at_once=entry.get("at_once", 0),
                                               ptx=(out / entry["file"]).read_text())
        made = error, kernels, headers
        kept.write_text(json.dumps(made))
        return made

    def launch(self, case, form, entry, args):
        kernel = self.kernel(case, form)[1][entry]
        given, back = [], []
        for argument in args[1::2]:
            kind, value = argument.split(":", 1)
            if kind in ("in", "inout", "out"):
                if kind == "out":  # as in act-run, but not zeros: what is not written shows
                    size, value = value.split(":", 1)
                    dtype, dims = size[:-1].split("[")
                    dtype = np.dtype({"bf16": "u2", "i1": "u1"}.get(dtype) or f"{dtype[0]}{int(dtype[1:]) // 8}")
                    dims = [int(d) for d in dims.split(",")]
                    array = np.full([*dims, dtype.itemsize], 0x7F, np.uint8).view(dtype).reshape(dims)
                else:
                    array = np.load(value)
                if self.runtime:
                    memory = self.runtime.allocate(np.ascontiguousarray(array))
                    given.append((actrt.POINTER, memory))
                    back.append((memory, array, value if kind != "in" else None))
                elif kind != "in":
                    np.save(value, np.zeros_like(array))
            else:
                given.append({"i32": (actrt.I32, int), "i64": (actrt.I64, int), "f32": (actrt.F32, float)}[kind])
                given[-1] = given[-1][0], given[-1][1](value)
        if not self.runtime:
            return
        function = self.runtime.function(kernel["ptx"].encode(), entry)
        self.runtime.launch(function, kernel["grid"], kernel["block"], kernel["shared"], given, kernel["at_once"])
        self.runtime.synchronize()
        for memory, array, file in back:
            if file:
                got = np.empty_like(array)
                self.runtime.copy(memory, got, actrt.TO_HOST)
                np.save(file, got)
            self.runtime.free(memory)


class Refused(Exception):
    """A case that has no kernel, or one with findings."""


def bits(array):
    """NumPy has files for no float of its own invention: integers of that size."""
    plain = array.dtype in (np.float64, np.float32, np.float16)
    return array if plain or array.dtype.kind == "i" else array.view(f"u{array.dtype.itemsize}")


def differences(case, outputs, bound_of=None, smallest=1e-6, times=1):
    for i, (got, want, kind) in enumerate(zip(outputs, case.expected, case.results)):
        want = np.asarray(want)
        if list(want.shape) != list(got.shape):
            yield f"result {i}: shape {got.shape}, expected {want.shape}"
            continue
        a, b = got.astype(np.float64), want.astype(np.float64)
        if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(
                np.where(np.isinf(a), a, 0), np.where(np.isinf(b), b, 0)):
            yield f"result {i}: NaN or infinity where the reference has none, or the reverse\n{got}\n{want}"
            continue
        finite = np.isfinite(b)
        a, b = np.where(finite, a, 0), np.where(finite, b, 0)
        bound = times * max(case.tolerance or TOLERANCE[element(kind)], bound_of or 0)
        if case.exact:
            bound = 0
        worst = np.max(np.abs(a - b), initial=0)
        scale = max(np.max(np.abs(b), initial=0), smallest)
        if worst > bound * scale:
            yield f"result {i}: off by {worst:.3g} of {scale:.3g}, allowed {bound * scale:.3g}"


def has(case, *ops):
    return any(f"act.{op}" in case.text for op in ops)


def multiplies(case):
    """By tensor cores: sums have another order. (An embedding's gradient is a product
    with rows of one 1.)"""
    return has(case, "matmul", "linear", "attention", "embedding_grad")


def under_seeds(case, kernels, seeds):
    """What is wrong with a case in any of the orders that the seeds make. Where a seed
    draws the order and truncation of sums in tensor cores, too, errors are twice as
    large; where it draws orders alone, no bit is another."""
    first = None
    for seed in range(seeds):
        kernels.seed = seed
        outputs = kernels.call(case)
        first = first or outputs
        for message in differences(case, outputs, 1e-5 if has(case, "attention") else 3e-6, smallest=1e-2,
                                   times=1 if kernels.rounds_plainly() or not multiplies(case) else 2):
            yield f"{message}, with seed {seed}"
        for i, (a, b) in enumerate(zip(first, outputs)):
            if kernels.rounds_plainly() and a.tobytes() != b.tobytes():
                yield f"result {i}: seed {seed} has other bits than seed 0"


def run_blocks(cases, make_kernels, seeds, threads):
    wrong = refused = 0

    def check(case):
        started = time.monotonic()
        try:
            messages = list(under_seeds(case, make_kernels(), seeds))
        except Refused as why:
            return str(why), [], 0
        return None, messages, time.monotonic() - started
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for case, (refusal, messages, seconds) in zip(cases, pool.map(check, cases)):
            if refusal:
                refused += 1
                print(f"{case.name}: {refusal}", flush=True)
            else:
                wrong += bool(messages)
                for message in messages or (["ok"] if seeds > 1 else []):
                    print(f"{case.name}: {message} ({seconds:.1f} s)", flush=True)
    print(f"{len(cases)} cases under {seeds} seeds, {wrong} wrong, {refused} without a kernel", flush=True)
    return 1 if wrong or refused or not cases else 0


def run(cases, lower, backend="plain", selected=None, seeds=1, targets=("sm_80",), threads=1):
    if selected:
        cases = [c for c in cases if selected in c.name]
    if backend == "host":
        cases = [c for c in cases if not c.plain_only]
    if backend == "blocks":  # of what models are trained in
        cases = [c for c in cases if not any("f64" in t for t in c.types + c.results)]
    names = [c.name for c in cases]
    assert len(set(names)) == len(names), "two cases have the same name"
    text = "\n".join({c.preamble: 0 for c in cases}) + "\n".join(c.function() for c in cases)
    with tempfile.TemporaryDirectory() as folder:
        keep = os.environ.get("KEEP")
        folder = pathlib.Path(keep or folder)
        folder.mkdir(exist_ok=True)
        if backend == "host":
            execute = HostKernels(text, lower, folder).call
        elif backend == "blocks":
            failed = 0
            for target in targets:
                print(f"on {target}")
                failed |= run_blocks(cases, lambda: BlockKernels(lower, folder, [
                    f"--target={target}", f"--device=sim:{target}", f"--cache-dir={folder / 'cache'}"],
                    target=target), seeds, threads)
            return failed
        else:
            library = compile_module(text, lower, folder)
            execute = lambda case: call(library, case)
        wrong = 0
        for case in cases:
            messages = list(differences(case, execute(case)))
            wrong += bool(messages)
            for message in messages:
                print(f"{case.name}: {message}")
        print(f"{len(cases)} cases, {wrong} wrong")
        return 1 if wrong or not cases else 0
