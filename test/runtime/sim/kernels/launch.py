# SPDX-License-Identifier: Apache-2.0
"""What a case of the corpus is: a kernel of a checked-in PTX file, its launch, its
arguments with random values, and what numpy says the result must be.

    @case("integer", grid=1, block=128)          # integer.sm_80.ptx, integer.sm_90a.ptx …
    def int32(rng):                              # … its entry `int32`
        a = rng.integers(...)
        return [In(a), Out(a + 1), I32(len(a))]

A function may take keyword parameters: `each=[dict(n=1), dict(n=2)]` makes a case of
every dictionary. Out(...) is poisoned by the simulator before the launch, InOut(...)
starts with its first value. Expected values are compared exactly unless a `within`
(Within, Ulps) says why they may differ; a NaN equals any NaN."""
import dataclasses
import fnmatch
import importlib
import pathlib
import subprocess
import sys

import numpy as np

from formats import FORMATS, to_float

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = ["sm_80", "sm_86", "sm_89", "sm_90a"]
CASES = []

DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16,
          "i64": np.int64, "u64": np.uint64, "i32": np.int32, "u32": np.uint32,
          "i16": np.int16, "u16": np.uint16, "i8": np.int8, "u8": np.uint8}
NAMES = {np.dtype(v): k for k, v in reversed(list(DTYPES.items())) if k != "bf16"}


@dataclasses.dataclass
class Within:
    """|got − expected| ≤ absolute + relative·|expected|; `why` is the derivation."""
    why: str
    relative: float = 0.0
    absolute: object = 0.0

    def wrong(self, got, expected):
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.abs(got - expected) <= self.absolute + self.relative * np.abs(expected)
        return ~(close | (got == expected) | (np.isnan(got) & np.isnan(expected)))


@dataclasses.dataclass
class In:
    value: np.ndarray
    name: str = ""  # a Tma argument may share it by this name


@dataclasses.dataclass
class Out:
    """`expected` None: anything goes (the kernel writes it for another case's sake)."""
    expected: object
    within: object = None
    dtype: str = ""  # bf16 and fp8 results: how the bits are read, see formats.py
    shape: tuple = ()
    name: str = ""


@dataclasses.dataclass
class InOut(Out):
    value: np.ndarray = None


@dataclasses.dataclass
class Scalar:
    kind: str
    value: object


def I32(v):
    return Scalar("i32", int(v))


def U32(v):
    return Scalar("u32", int(v))


def I64(v):
    return Scalar("i64", int(v))


def U64(v):
    return Scalar("u64", int(v))


def F32(v):
    return Scalar("f32", float(v))


def F64(v):
    return Scalar("f64", float(v))


NULL = Scalar("ptr", 0)


@dataclasses.dataclass
class Tma:
    """A tensor map over `value`, or over the argument called `over`."""
    value: np.ndarray
    box: tuple
    swizzle: int = 0
    dtype: str = ""
    over: str = ""
    words: str = ""  # more of what actrt-sim takes: step=2x2:fill=nan


@dataclasses.dataclass
class Case:
    name: str
    stem: str
    entry: str
    grid: tuple
    block: tuple
    cluster: tuple
    smem: int
    only: str
    flags: list
    stdout: object
    exit: int
    build: object
    folder: str = "cuda"

    def files(self):
        found = []
        for target in TARGETS:
            path = HERE / self.folder / f"{self.stem}.{target}.ptx"
            if path.exists() and fnmatch.fnmatch(target, self.only):
                found.append((path, target))
        return found

    def runs(self):
        """(PTX file, target) pairs: each file on its own target, and sm_80's on the
        targets it is forward-compatible with that have no file of their own."""
        pairs = self.files()
        have = {target for _, target in pairs}
        if "sm_80" in have:
            path = pairs[0][0]
            pairs += [(path, t) for t in TARGETS[1:]
                      if t not in have and fnmatch.fnmatch(t, self.only)]
        return pairs


def triple(v):
    v = (v,) if isinstance(v, int) else tuple(v)
    return v + (1,) * (3 - len(v))


def case(stem, grid=1, block=32, cluster=None, smem=0, only="*", each=({},), entry=None,
         flags=(), stdout=None, exit=0, folder="cuda"):
    """`grid`, `block`, `smem`, `entry` may be functions of a case's parameters."""
    def add(build):
        for parameters in each:
            def value(v):
                return v(**parameters) if callable(v) else v
            name = f"{folder}/{stem}/{build.__name__}" if folder != "cuda" else f"{stem}/{build.__name__}"
            if parameters:
                name += "/" + ",".join(f"{k}={v}" for k, v in parameters.items())
            CASES.append(Case(
                name, value(stem), value(entry) or build.__name__, triple(value(grid)),
                triple(value(block)), value(cluster) and triple(value(cluster)), value(smem),
                only, list(flags), stdout, exit,
                lambda rng, parameters=parameters: build(rng, **parameters), folder))
        return build
    return add


def load_cases():
    if not CASES:
        sys.path.insert(0, str(HERE / "cases"))
        for path in sorted((HERE / "cases").glob("*.py")):
            importlib.import_module(path.stem)
    return CASES


class Prepared:
    """A case's arguments written to a folder, and the command line that runs it."""

    def __init__(self, case, folder, seed=0):
        self.case = case
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng([seed, *case.name.encode()])
        self.arguments = case.build(rng)
        self.words, self.results, self.restore = [], [], []
        paths = {a.name: self.folder / f"{i}.npy" for i, a in enumerate(self.arguments)
                 if getattr(a, "name", "")}
        for i, a in enumerate(self.arguments):
            path = self.folder / f"{i}.npy"
            if isinstance(a, Tma):
                if a.over:
                    path = paths[a.over]
                else:
                    np.save(path, np.ascontiguousarray(a.value))
                dtype = a.dtype or NAMES[a.value.dtype]
                box = "x".join(map(str, a.box))
                self.words.append(f"tma:{path}:{dtype}:box={box}:swizzle={a.swizzle}" + (a.words and ":" + a.words))
            elif isinstance(a, Scalar):
                self.words.append(f"{a.kind}:{a.value!r}")
            elif isinstance(a, In):
                np.save(path, np.ascontiguousarray(a.value))
                self.words.append(f"in:{path}")
            elif isinstance(a, InOut):
                self.words.append(f"inout:{path}")
                self.restore.append((path, np.ascontiguousarray(a.value)))
                self.results.append((path, a))
            else:
                expected = None if a.expected is None else np.asarray(a.expected)
                shape = a.shape or expected.shape
                dtype = a.dtype or NAMES[expected.dtype]
                if dtype in ("e4m3", "e5m2"):
                    dtype = "u8"
                self.words.append(f"out:{dtype}[{','.join(map(str, shape))}]:{path}")
                self.results.append((path, a))

    def command(self, sim, ptx, target, seed, extra=()):
        c = self.case
        line = [sim, str(ptx), "--target", target, "--kernel", c.entry,
                "--grid", ",".join(map(str, c.grid)), "--block", ",".join(map(str, c.block)),
                "--smem", str(c.smem), "--seed", str(seed), *c.flags, *extra]
        if c.cluster:
            line += ["--cluster", ",".join(map(str, c.cluster))]
        for word in self.words:
            line += ["--arg", word]
        return line

    def run(self, sim, ptx, target, seed, timeout, extra=()):
        """(exit code, stdout, stderr, list of wrong results)."""
        for path, value in self.restore:
            np.save(path, value)
        for path, a in self.results:
            if not isinstance(a, InOut):
                path.unlink(missing_ok=True)
        try:
            done = subprocess.run(self.command(sim, ptx, target, seed, extra),
                                  capture_output=True, text=True, timeout=timeout,
                                  errors="replace")
        except subprocess.TimeoutExpired:
            return "timeout", "", f"no end within {timeout} s", ["timeout"]
        return done.returncode, done.stdout, done.stderr, self.compare(done.stdout)

    def compare(self, stdout):
        wrong = []
        for path, a in self.results:
            if a.expected is None:
                continue
            if not path.exists():
                wrong.append(f"{path.name}: not written")
                continue
            try:
                got = np.load(path)
            except (ValueError, OSError, EOFError) as error:
                wrong.append(f"{path.name}: {error}")
                continue
            wrong += difference(path.stem, got, a)
        if self.case.stdout is not None:
            wrong += self.case.stdout(stdout)
        return wrong


def difference(name, got, a):
    """At most one line saying where `got` leaves what was expected."""
    expected = np.asarray(a.expected)
    if got.shape != expected.shape:
        return [f"argument {name}: shape {got.shape}, expected {expected.shape}"]
    raw = got
    if a.dtype in FORMATS and expected.dtype.kind == "f":
        got = to_float(got, a.dtype)
    if a.within is not None:
        bad = a.within.wrong(got.astype(np.float64), expected.astype(np.float64))
    else:
        bad = got != expected
        if got.dtype.kind == "f":
            bad &= ~(np.isnan(got) & np.isnan(expected))
            bad |= (got == 0) & (expected == 0) & (np.signbit(got) != np.signbit(expected))
    if not bad.any():
        return []
    at = np.argwhere(bad)
    first = tuple(int(i) for i in at[0])
    bits = f" (bits {raw[first].tobytes()[::-1].hex()})" if raw.size else ""
    return [f"argument {name}: {len(at)} of {bad.size} differ, first at {first}: "
            f"got {got[first]!r}{bits}, expected {expected[first]!r}"]
