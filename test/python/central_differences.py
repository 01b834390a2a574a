# SPDX-License-Identifier: Apache-2.0
"""Gradients against central differences.

A case is an act module of trained f64 parameters whose @forward returns a scalar.
Its compiled step runs with learning rate 0: the loss and the gradients come from the
same run as in training. The loss is then evaluated at shifted parameters,

    f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12 h + O(h^4),

for single elements (all of them in small tensors) and along random directions of
all parameters at once. At h = 1e-3 rounding and the remainder are both near 1e-12 of
the loss, far below the tolerance of 1e-6 of a tensor's largest gradient.
"""
import hashlib
import pathlib
import subprocess

import numpy as np

TOLERANCE = 1e-6
ELEMENTS = 64  # of a tensor, compared one by one
DIRECTIONS = 4


class Value:
    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype

    @property
    def type(self):
        return f"tensor<{''.join(f'{n}x' for n in self.shape)}{self.dtype}>"

    def __str__(self):
        return self.name


class Program:
    """Writes a module, op by op. Values print as their names."""

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        self.parameters, self.inputs, self.scalars = {}, {}, {}
        self.declarations, self.arguments, self.functions = [], [], []
        self.body, self.terms, self.count = [], [], 0
        self.step_size, self.tolerance = 1e-3, TOLERANCE
        self.elements, self.directions, self.layers = ELEMENTS, DIRECTIONS, 2
        self.zero = set()  # parameters whose gradient is zero

    def random(self, shape, low=-1.0, high=1.0):
        return self.rng.uniform(low, high, shape)

    def declare(self, name, shape, value, dtype="f64", frozen=False, layers=None):
        """A parameter; `value` has a leading dimension when there are layers."""
        type = Value("", shape, dtype).type
        file_name = f"{name}.{{l}}" if layers else name
        self.declarations.append(
            f'act.parameter @{name} "{file_name}" : {type}'
            + (f" layers({layers})" if layers else "") + (" frozen" if frozen else ""))
        tensors = {f"{name}.{l}": v for l, v in enumerate(value)} if layers else {name: value}
        for n, v in tensors.items():
            self.parameters[n] = (np.asarray(v), frozen)
        return name

    def read(self, name, shape, dtype="f64"):
        return self.op(f"act.param @{name}", (shape, dtype), suffix=True)

    def param(self, name, shape, low=-1.0, high=1.0, dtype="f64", frozen=False, value=None):
        value = self.random(shape, low, high) if value is None else value
        self.declare(name, shape, value, dtype, frozen)
        return self.read(name, shape, dtype)

    def constant(self, array):
        """A tensor that is not trained: a frozen parameter."""
        array = np.asarray(array, np.float64)
        self.count += 1
        return self.param(f"c{self.count}", array.shape, value=array, frozen=True)

    def input(self, name, array, dtype=None):
        dtype = dtype or {"int32": "i32", "int64": "i64", "bool": "i1"}[str(array.dtype)]
        value = Value(f"%{name}", array.shape, dtype)
        if name not in self.inputs:
            self.arguments.append(f'%{name}: {value.type} {{act.name = "{name}"}}')
            self.inputs[name] = array
        return value

    def generator(self, site=3):
        """(seed, step, site) of dropout."""
        for name in ("seed", "step"):
            if name not in self.scalars:
                self.arguments.append(f'%{name}: i64 {{act.name = "{name}"}}')
                self.scalars[name] = 7
        self.count += 1
        self.body.append(f"%site{self.count} = act.site {site} : i64")
        return f"%seed, %step, %site{self.count}"

    def op(self, text, *results, suffix=False):
        """Appends an op. A result is a shape, or a shape and an element type."""
        values = []
        for r in results:
            shape, dtype = r if len(r) == 2 and isinstance(r[1], str) else (r, "f64")
            self.count += 1
            values.append(Value(f"%{self.count}", shape, dtype))
        types = ", ".join(v.type for v in values)
        tail = f" : {types}" if suffix else ""
        self.body.append(f"{', '.join(map(str, values))} = {text}{tail}")
        return values[0] if len(values) == 1 else values

    def apply(self, op, operands, *results, options="", extra=()):
        """An op whose types are written as a function's."""
        operands = list(operands)
        values = self.op(f"{op} {', '.join(map(str, operands))} {options} : "
                         f"({', '.join([o.type for o in operands] + list(extra))}) -> RESULTS",
                         *results)
        every = values if isinstance(values, list) else [values]
        self.body[-1] = self.body[-1].replace(
            "RESULTS", "(" + ", ".join(v.type for v in every) + ")")
        return values

    def unary(self, op, x, options=""):
        return self.op(f"{op} {x} {options} : {x.type}", x.shape)

    def add_loss(self, value):
        """Adds sum(value * constant) to the loss."""
        c = self.constant(self.random(value.shape))
        product = self.apply("act.mul", [value, c], value.shape)
        self.add_scalar(self.total(product))

    def total(self, x):
        n = int(np.prod(x.shape))
        if x.shape != (n,):
            x = self.op(f"act.reshape {x} : {x.type} -> {Value('', (n,), 'f64').type}", (n,))
        s = self.op(f"act.sum_to {x} : {x.type} -> tensor<1xf64>", (1,))
        return self.op(f"act.reshape {s} : {s.type} -> tensor<f64>", ())

    def add_scalar(self, value):
        self.terms.append(value)

    def text(self):
        body, terms = list(self.body), list(self.terms)
        loss = terms[0]
        for i, t in enumerate(terms[1:]):
            name = Value(f"%total{i}", (), "f64")
            body.append(f"{name} = act.add {loss}, {t} : (tensor<f64>, tensor<f64>) -> tensor<f64>")
            loss = name
        lines = [*self.declarations, *self.functions,
                 f"func.func @forward({', '.join(self.arguments)}) -> "
                 '(tensor<f64> {act.name = "loss"}) {',
                 *("  " + line for line in body), f"  return {loss} : tensor<f64>", "}"]
        return "module {\n" + "\n".join("  " + line for line in lines) + "\n}\n"


class Compiler:
    """act-opt, in a folder of its own."""

    def __init__(self, build, work):
        self.tool = pathlib.Path(build) / "bin/act-opt"
        self.work = pathlib.Path(work)
        self.work.mkdir(parents=True, exist_ok=True)

    def compile(self, name, text, *flags):
        """The path of the artifact. Fails with act-opt's message."""
        source = self.work / f"{name}.mlir"
        source.write_text(text)
        out = self.work / f"{name}.act"
        out.unlink(missing_ok=True)
        command = [self.tool, source, *flags, "--optimizer=sgd", f"--emit={out}", "-o", "/dev/null"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        if done.returncode or not out.exists():
            lines = done.stderr.splitlines()
            errors = [l[:300] for l in lines if "error:" in l] or lines[-5:]
            raise RuntimeError(f"{' '.join(map(str, command))}: exit {done.returncode}\n"
                               + "\n".join(errors[:4]))
        return out


class Evaluation:
    """A compiled program: loss and gradients at given parameters."""

    def __init__(self, runtime, artifact, program, flags=1):
        self.step = runtime.load(artifact, flags)
        self.trained = {n: np.array(v, np.float64) for n, (v, frozen) in program.parameters.items()
                        if not frozen}
        missing = self.trained.keys() ^ self.step.gradients.keys()
        assert not missing, f"gradients are missing or too many: {sorted(missing)}"
        self.loss_of = self.step.bind("step", program.inputs)
        for name, value in {"lr": 0.0, "step": 7, "seed": 7, **program.scalars}.items():
            if name in self.step.scalars:
                self.step.set_scalar(name, value)
        for name, (value, _) in program.parameters.items():
            self.step.set_parameter(name, value)

    def loss(self, values={}):
        """The loss with these parameters instead of the program's."""
        for name, value in values.items():
            self.step.set_parameter(name, value)
        self.step.run("step")
        for name in values:
            self.step.set_parameter(name, self.trained[name])
        (loss,) = self.loss_of.values()
        return float(loss)

    def gradients(self):
        self.loss()
        return {n: self.step.gradient(n) for n in self.trained}

    def slope(self, direction, h):
        """d loss(x + t direction) / dt at 0, by central differences."""
        at = lambda t: self.loss({n: self.trained[n] + t * d for n, d in direction.items()})
        return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


class Differences:
    """Slopes of a program's loss, measured once; gradients are judged by them."""

    def __init__(self, evaluation, program):
        rng = np.random.default_rng(1)
        h, self.tolerance = program.step_size, program.tolerance
        trained = evaluation.trained
        # Rounding of the loss bounds what differences can see.
        self.floor = 1e-14 * (1 + abs(evaluation.loss())) / h
        self.elements = {}  # name -> places, slopes
        for name, value in trained.items():
            places = rng.permutation(value.size)[:program.elements]
            slopes = []
            for i in places:
                direction = np.zeros(value.size)
                direction[i] = 1
                slopes.append(evaluation.slope({name: direction.reshape(value.shape)}, h))
            self.elements[name] = places, np.array(slopes)
        self.directions = []
        for _ in range(program.directions):
            length = np.sqrt(sum(v.size for v in trained.values()))
            direction = {n: rng.choice([-1, 1], v.shape) / length for n, v in trained.items()}
            self.directions.append((direction, evaluation.slope(direction, h)))

    def judge(self, gradients):
        """Problems, and the largest difference relative to the largest gradient."""
        problems, worst = [], 0.0
        for name, g in gradients.items():
            if not np.isfinite(g).all():
                problems.append(f"{name}: the gradient is not finite")
                continue
            places, slopes = self.elements[name]
            difference = np.abs(slopes - g.ravel()[places])
            top = max(np.abs(slopes).max(), np.abs(g).max())
            k = int(difference.argmax())
            worst = max(worst, difference[k] / max(top, self.floor))
            if not difference[k] <= max(self.tolerance * top, self.floor):
                place = [int(p) for p in np.unravel_index(places[k], g.shape)]
                problems.append(f"{name}{place}: gradient {g.flat[places[k]]:.12g}, "
                                f"by differences {slopes[k]:.12g}")
        for direction, slope in self.directions:
            parts = [direction[n] * g for n, g in gradients.items()]
            expected = sum(float(p.sum()) for p in parts)
            size = np.sqrt(sum(float((p ** 2).sum()) for p in parts))
            if not abs(slope - expected) <= max(self.tolerance * size, self.floor):
                problems.append(f"along a direction: gradient {expected:.12g}, "
                                f"by differences {slope:.12g}")
        return problems, worst


def seed_of(name):
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little")
