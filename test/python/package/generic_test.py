# SPDX-License-Identifier: Apache-2.0
"""generic_test.py BUILD [COUNT [SEED]]: programs of linalg and tensor ops, drawn at random,
that no act op computes: windows with strides and holes, reversals, parts, pads, reshapes
that cut rows, concatenations, gathers, sums and maxima. Values are NumPy's on the host and,
as kernels of their own, on simulators with all checks."""
import pathlib
import random
import sys

build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(build / "python" / "site"))

import numpy as np  # noqa: E402

import act  # noqa: E402


def shape_of(dims):
    return "".join(f"{n}x" for n in dims)


class Program:
    """A chain of ops: each takes the last value, and some one of before."""

    def __init__(self, seed):
        self.random, self.lines, self.count = random.Random(seed), [], 0
        self.numbers = np.random.default_rng(seed)
        self.inputs, self.values = [], []
        self.rounding = 0.0  # of sums, beyond that of their results
        # f16 in programs whose values are exact: without sums.
        self.exact = self.random.random() < 0.3
        self.least = "0xFC00" if self.exact else "0xFF800000"
        self.t, self.float = ("f16", np.float16) if self.exact else ("f32", np.float32)
        self.input([self.size() for _ in range(self.random.choice((1, 2, 2, 3)))])
        steps = [self.pool, self.reversed, self.part, self.pad, self.reshaped, self.turned,
                 self.diagonal, self.joined, self.gathered, self.mapped, self.reduced, self.repeated]
        if not self.exact:
            steps += [self.window, self.product]
        self.did = []
        for _ in range(self.random.randint(1, 5)):
            step = self.random.choice(steps)
            if step():
                self.did.append(step.__name__)

    def size(self):
        return self.random.choice((1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 33))

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def input(self, dims, integers=0):
        name = f"%x{len(self.inputs)}"
        array = self.numbers.integers(0, integers, dims).astype(np.int32) if integers else \
            self.numbers.standard_normal(dims, np.float32).astype(self.float)
        self.inputs.append((name, array))
        if not integers:
            self.values.append((name, array))
        return name

    def put(self, text, array):
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        self.values.append((name, np.array(array, self.float, order="C")))
        return True

    last = property(lambda self: self.values[-1])

    def empty(self, dims, value=None):
        name = self.fresh()
        self.lines.append(f"{name} = tensor.empty() : tensor<{shape_of(dims)}{self.t}>")
        if value is None:
            return name
        number, filled = self.fresh(), self.fresh()
        self.lines.append(f"{number} = arith.constant {value} : {self.t}")
        self.lines.append(f"{filled} = linalg.fill ins({number} : {self.t}) outs({name} : "
                          f"tensor<{shape_of(dims)}{self.t}>) -> tensor<{shape_of(dims)}{self.t}>")
        return filled

    def generic(self, ins, out, loops, body, array):
        """ins: (name, array, map); out: (name, dims, map); loops: p and r."""
        dims = ", ".join(f"d{i}" for i in range(len(loops)))
        maps = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in [i[2] for i in ins] + [out[2]])
        kinds = ", ".join('"parallel"' if c == "p" else '"reduction"' for c in loops)
        types = [f"tensor<{shape_of(a.shape)}{'i32' if a.dtype == np.int32 else self.t}>"
                 for _, a, _ in ins]
        arguments = ", ".join(f"%a{i}: {'i32' if a.dtype == np.int32 else self.t}"
                              for i, (_, a, _) in enumerate(ins))
        result = f"tensor<{shape_of(out[1])}{self.t}>"
        operands = f"ins({', '.join(i[0] for i in ins)} : {', '.join(types)}) " if ins else ""
        return self.put(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {operands}"
            f"outs({out[0]} : {result}) {{\n  ^bb0({arguments}{', ' if ins else ''}%o: {self.t}):\n"
            f"  {body}\n  linalg.yield %r : {self.t} }} -> {result}", array)

    def windows(self):
        """A window along the last dimension, as (size, stride, step, length)."""
        name, x = self.last
        if x.ndim == 0:
            return None
        n, window = x.shape[-1], self.random.randint(1, 4)
        step, stride = self.random.choice((1, 1, 2, 3)), self.random.choice((1, 1, 2, 3))
        length = (n - 1 - (window - 1) * step) // stride + 1 if n > (window - 1) * step else 0
        return (window, stride, step, length) if length > 0 else None

    def seen(self, x, window, stride, step, length):
        places = np.arange(length)[:, None] * stride + np.arange(window) * step
        return x[..., places]

    def window(self):
        """A convolution along the last dimension, over the one before it."""
        name, x = self.last
        given = self.windows()
        if not given or x.ndim < 2:
            return False
        window, stride, step, length = given
        channels, made = x.shape[-2], self.random.choice((1, 3, 8, 17))
        w = self.input((made, channels, window))
        self.values.pop()  # a weight
        weight = self.inputs[-1][1]
        lead = x.shape[:-2]
        k = len(lead)
        outer = "".join(f"d{i}, " for i in range(k))
        at = f"d{k + 1} * {stride} + d{k + 3} * {step}"
        dims = (*lead, made, length)
        got = np.einsum("...clw,mcw->...ml", self.seen(x, *given), weight).astype(np.float32)
        return self.generic(
            [(name, x, f"{outer}d{k + 2}, {at}"), (w, weight, f"d{k}, d{k + 2}, d{k + 3}")],
            (self.empty(dims, "0.0"), dims, f"{outer}d{k}, d{k + 1}"), "p" * (k + 2) + "rr",
            f"%m = arith.mulf %a0, %a1 : {self.t}\n  %r = arith.addf %o, %m : {self.t}", got)

    def pool(self):
        name, x = self.last
        given = self.windows()
        if not given:
            return False
        window, stride, step, length = given
        k = x.ndim - 1
        outer = "".join(f"d{i}, " for i in range(k))
        dims = (*x.shape[:-1], length)
        seen = self.seen(x, *given)
        shape = np.zeros(window, self.float)
        number = f"%s{self.fresh()[2:]}"
        self.lines.append(f"{number} = tensor.empty() : tensor<{window}x{self.t}>")
        largest = self.exact or self.random.random() < 0.5
        return self.generic(
            [(name, x, f"{outer}d{k} * {stride} + d{k + 1} * {step}"), (number, shape, f"d{k + 1}")],
            (self.empty(dims, self.least if largest else "0.0"), dims, f"{outer}d{k}"),
            "p" * (k + 1) + "r", f"%r = arith.{'maximumf' if largest else 'addf'} %o, %a0 : {self.t}",
            seen.max(-1) if largest else seen.sum(-1))

    def identity(self, n):
        return ", ".join(f"d{i}" for i in range(n))

    def reversed(self):
        name, x = self.last
        if x.ndim == 0:
            return False
        axis = self.random.randrange(x.ndim)
        terms = [f"d{i}" if i != axis else f"{x.shape[i] - 1} - d{i}" for i in range(x.ndim)]
        return self.generic([(name, x, ", ".join(terms))],
                            (self.empty(x.shape), x.shape, self.identity(x.ndim)), "p" * x.ndim,
                            f"%z = arith.constant 0.0 : {self.t}\n  %r = arith.subf %z, %a0 : {self.t}",
                            -np.flip(x, axis))

    def diagonal(self):
        name, x = self.last
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            return False
        k = x.ndim - 2
        outer = "".join(f"d{i}, " for i in range(k))
        dims = x.shape[:-1]
        return self.generic([(name, x, f"{outer}d{k}, d{k}")],
                            (self.empty(dims), dims, self.identity(k + 1)), "p" * (k + 1),
                            f"%r = arith.addf %a0, %a0 : {self.t}",
                            2 * np.diagonal(x, axis1=-2, axis2=-1))

    def part(self):
        name, x = self.last
        if x.ndim == 0:
            return False
        begin, sizes, steps = [], [], []
        for n in x.shape:
            b, s = self.random.randrange(n), self.random.choice((1, 1, 1, 2, 3))
            begin.append(b)
            steps.append(s)
            sizes.append(self.random.randint(1, (n - b - 1) // s + 1))
        texts = ["[" + ", ".join(map(str, v)) + "]" for v in (begin, sizes, steps)]
        got = x[tuple(slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(begin, sizes, steps))]
        return self.put(f"tensor.extract_slice {name}{texts[0]} {texts[1]} {texts[2]} : "
                        f"tensor<{shape_of(x.shape)}{self.t}> to tensor<{shape_of(sizes)}{self.t}>", got)

    def pad(self):
        name, x = self.last
        if x.ndim == 0:
            return False
        low, high = ([self.random.choice((0, 0, 1, 2, 5)) for _ in x.shape] for _ in range(2))
        dims = [n + a + b for n, a, b in zip(x.shape, low, high)]
        number = self.fresh()
        self.lines.append(f"{number} = arith.constant 0.5 : {self.t}")
        arguments = ", ".join(f"%i{i}: index" for i in range(x.ndim))
        return self.put(
            f"tensor.pad {name} low[{', '.join(map(str, low))}] high[{', '.join(map(str, high))}] {{\n"
            f"  ^bb0({arguments}):\n  tensor.yield {number} : {self.t}\n  }} : "
            f"tensor<{shape_of(x.shape)}{self.t}> to tensor<{shape_of(dims)}{self.t}>",
            np.pad(x, list(zip(low, high)), constant_values=0.5))

    def reshaped(self):
        """All dimensions as one, then as two others."""
        name, x = self.last
        if x.ndim == 0:
            return False
        if x.ndim > 1:
            groups = "[" + ", ".join(str(i) for i in range(x.ndim)) + "]"
            self.put(f"tensor.collapse_shape {name} [{groups}] : tensor<{shape_of(x.shape)}{self.t}> "
                     f"into tensor<{x.size}x{self.t}>", x.reshape(-1))
            name, x = self.last
        rows = self.random.choice([n for n in range(1, x.size + 1) if x.size % n == 0])
        dims = (rows, x.size // rows)
        return self.put(f"tensor.expand_shape {name} [[0, 1]] output_shape [{rows}, {dims[1]}] : "
                        f"tensor<{x.size}x{self.t}> into tensor<{shape_of(dims)}{self.t}>", x.reshape(dims))

    def turned(self):
        name, x = self.last
        if x.ndim < 2:
            return False
        order = list(range(x.ndim))
        self.random.shuffle(order)
        got = x.transpose(order)
        return self.put(f"linalg.transpose ins({name} : tensor<{shape_of(x.shape)}{self.t}>) "
                        f"outs({self.empty(got.shape)} : tensor<{shape_of(got.shape)}{self.t}>) "
                        f"permutation = {order}", got)

    def joined(self):
        name, x = self.last
        if x.ndim == 0:
            return False
        axis = self.random.randrange(x.ndim)
        dims = list(x.shape)
        dims[axis] = self.size()
        other = self.input(dims)
        got = np.concatenate((self.values.pop()[1], x), axis)
        return self.put(
            f"tensor.concat dim({axis}) {other}, {name} : (tensor<{shape_of(dims)}{self.t}>, "
            f"tensor<{shape_of(x.shape)}{self.t}>) -> tensor<{shape_of(got.shape)}{self.t}>", got)

    def gathered(self):
        """Elements of the first dimension by numbers in a tensor."""
        name, x = self.last
        if x.ndim == 0 or x.ndim > 2:
            return False
        count = self.size()
        ids = self.input((count,), integers=x.shape[0])
        places = self.inputs[-1][1]
        dims = (count, *x.shape[1:])
        other = ", %j" if x.ndim == 2 else ""
        index = "%j = linalg.index 1 : index\n  " if x.ndim == 2 else ""
        return self.generic(
            [(ids, places, "d0")], (self.empty(dims), dims, self.identity(x.ndim)), "p" * x.ndim,
            f"%i = arith.index_cast %a0 : i32 to index\n  {index}"
            f"%r = tensor.extract {name}[%i{other}] : tensor<{shape_of(x.shape)}{self.t}>", x[places])

    def mapped(self):
        name, x = self.last
        same = [v for v in self.values if v[1].shape == x.shape]
        other = self.random.choice(same)
        i = self.identity(x.ndim)
        return self.generic([(name, x, i), (*other, i)], (self.empty(x.shape), x.shape, i),
                            "p" * x.ndim,
                            f"%h = arith.constant 0.5 : {self.t}\n  %m = arith.mulf %a1, %h : {self.t}\n"
                            f"  %r = arith.addf %a0, %m : {self.t}", x + other[1] * self.float(0.5))

    def reduced(self):
        name, x = self.last
        if x.ndim == 0:
            return False
        axes = sorted(self.random.sample(range(x.ndim), self.random.randint(1, x.ndim)))
        kept = [i for i in range(x.ndim) if i not in axes]
        dims = tuple(x.shape[i] for i in kept)
        largest = self.exact or self.random.random() < 0.5
        turned = self.random.choice([None, *kept])  # the only operand, from its end on
        places = ", ".join(f"{x.shape[i] - 1} - d{i}" if i == turned else f"d{i}"
                           for i in range(x.ndim))
        if not largest:  # sums in another order differ by their terms' rounding
            self.rounding = max(self.rounding, 1e-7 * float(
                np.abs(x).sum(tuple(axes)).max(initial=0)))
        return self.generic(
            [(name, x, places)],
            (self.empty(dims, self.least if largest else "0.0"), dims,
             ", ".join(f"d{i}" for i in kept)),
            "".join("r" if i in axes else "p" for i in range(x.ndim)),
            f"%r = arith.{'maximumf' if largest else 'addf'} %o, %a0 : {self.t}",
            (lambda y: y.max(tuple(axes)) if largest else y.sum(tuple(axes)))(
                x if turned is None else np.flip(x, turned)))

    def repeated(self):
        """One more dimension, anywhere."""
        name, x = self.last
        if x.ndim > 3:
            return False
        axis, n = self.random.randint(0, x.ndim), self.random.choice((2, 3, 8))
        dims = (*x.shape[:axis], n, *x.shape[axis:])
        places = ", ".join(f"d{i if i < axis else i + 1}" for i in range(x.ndim))
        got = np.broadcast_to(np.expand_dims(x, axis), dims)
        return self.generic([(name, x, places)], (self.empty(dims), dims, self.identity(len(dims))),
                            "p" * len(dims), f"%r = arith.addf %a0, %a0 : {self.t}", got + got)

    def product(self):
        name, x = self.last
        if x.ndim < 2:
            return False
        columns = self.random.choice((1, 5, 8, 16))
        w = self.input((x.shape[-1], columns))
        weight = self.values.pop()[1]
        k = x.ndim - 1
        outer = "".join(f"d{i}, " for i in range(k))
        dims = (*x.shape[:-1], columns)
        return self.generic(
            [(name, x, f"{outer}d{k + 1}"), (w, weight, f"d{k + 1}, d{k}")],
            (self.empty(dims, "0.0"), dims, f"{outer}d{k}"), "p" * (k + 1) + "r",
            f"%m = arith.mulf %a0, %a1 : {self.t}\n  %r = arith.addf %o, %m : {self.t}", x @ weight)

    def text(self):
        arguments = ", ".join(
            f'{n}: tensor<{shape_of(a.shape)}{"i32" if a.dtype == np.int32 else self.t}> '
            f'{{act.name = "{n[1:]}"}}' for n, a in self.inputs)
        name, y = self.last
        body = "\n".join("  " + line for line in self.lines)
        return (f"module {{\nfunc.func @forward({arguments}) -> (tensor<{shape_of(y.shape)}{self.t}> "
                f'{{act.name = "y"}}) {{\n{body}\n  return {name} : tensor<{shape_of(y.shape)}{self.t}>\n}}\n}}\n')


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    devices = [(act.Device("host"), {}), (act.Device("sim:sm_80"), {"target": "sm_80"}),
               (act.Device("sim:sm_90a"), {"target": "sm_90a"})]
    failures = 0
    for number in range(seed, seed + count):
        program = Program(number)
        if not program.did:
            continue
        text, want = program.text(), program.last[1]
        line = f"{number}: {', '.join(program.did)}"
        for device, options in devices:
            try:
                module = act.Module.parse(text).run("--raise-to-act")
                step = device.load(module.emit(mode="infer", **options))
                got = step.run("forward", inputs={n[1:]: a for n, a in program.inputs})["y"]
                scale = max(1.0, float(np.abs(want).max(initial=0)))
                if not np.allclose(got, want, atol=2e-5 * scale + program.rounding, rtol=1e-5):
                    line += f"; {device.name}: off by {np.abs(got - want).max():.1e}"
            except act.Error as error:
                line += f"; {device.name}: " + str(error)[:300]
        bad = ";" in line
        failures += bad
        if bad:
            print("BAD " + line + "\n" + text, flush=True)
    print(f"{count} programs, {failures} failures")
    return failures > 0


sys.exit(main())
