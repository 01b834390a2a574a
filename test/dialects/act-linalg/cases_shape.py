# SPDX-License-Identifier: Apache-2.0
"""Views, sums, matrix products, nf4."""
import numpy as np

from cases_elementwise import case, draw
from harness import DTYPES, Case, tensor

rng = np.random.default_rng(2)
wide = lambda x: np.asarray(x).astype(np.float64)


def view(name, op, x, dtype, want, **options):
    t = tensor(x.shape, dtype)
    return Case(name, f"%r = {op.replace('$', '%0')} : {t} -> {tensor(want.shape, dtype)}", [x],
                [t], [tensor(want.shape, dtype)], "%r", [want], **options)


def sums(name, a, b):
    """Tensors of b summed to a, each of whose dimensions divides b's."""
    for d in ("f32", "f64", "bf16", "f16"):
        x = draw(b, d)
        want = wide(x)
        for axis in range(len(a)):
            s = want.shape
            want = want.reshape(s[:axis] + (a[axis], s[axis] // a[axis]) + s[axis + 1:])
            want = want.sum(axis + 1)
        yield view(f"sum_to_{name}_{d}", "act.sum_to $", x, d, want)


def cases():
    for d in ("f32", "f64", "bf16", "i32"):
        x = (rng.standard_normal((2, 3, 4)) * 9).astype(DTYPES[d])
        yield view(f"transpose_{d}", "act.transpose $ [1, 2, 0]", x, d, x.transpose(1, 2, 0),
                   exact=True)
        yield view(f"reshape_{d}", "act.reshape $", x, d, x.reshape(6, 4), exact=True)
    x = draw((2, 3, 4), "f32")
    for i, s in enumerate([(4, 6), (24,), (2, 1, 12), (1, 2, 3, 1, 4, 1), (3, 2, 4), (8, 3)]):
        yield view(f"reshape_{i}", "act.reshape $", x, "f32", x.reshape(s), exact=True)
    one = draw((1, 1), "f32")
    yield view("reshape_to_scalar", "act.reshape $", one, "f32", one.reshape(()), exact=True)
    yield view("reshape_from_scalar", "act.reshape $", np.asarray(one[0, 0]), "f32", one,
               exact=True)
    for i, (a, b) in enumerate([((2, 2, 3, 4), (2, 6, 3, 4)), ((1, 4), (5, 4)), ((3, 1), (3, 4)),
                                ((1, 1), (2, 2)), ((2, 3), (4, 6)), ((2, 3), (2, 3))]):
        for d in ("f32", "bf16", "i1"):
            x = (rng.random(a) * 4 - 1.5).astype(DTYPES[d])
            want = x
            for axis in range(len(a)):
                want = np.repeat(want, b[axis] // a[axis], axis)
            yield view(f"expand_{i}_{d}", "act.expand $", x, d, want, exact=True)
        yield from sums(i, a, b)
    # 16-bit sums are accumulated in f32: 4096 ones in bf16 would stop at 256.
    ones = np.ones((4096, 2), DTYPES["bf16"])
    yield view("sum_to_f32_accumulator", "act.sum_to $", ones, "bf16",
               np.full((1, 2), 4096.0), exact=True)
    for d in ("f32", "bf16"):
        x = draw((2, 3, 12), d)
        sizes = (4, 6, 2)
        t = tensor(x.shape, d)
        parts = np.split(x, [4, 10], -1)
        names = [tensor((2, 3, n), d) for n in sizes]
        yield Case(f"split_{d}", f"%r:3 = act.split %0 : {t} -> {', '.join(names)}", [x], [t], names,
                   "%r#0, %r#1, %r#2", parts, exact=True)
        yield Case(f"concat_{d}", f"%r = act.concat %0, %1, %2 : ({', '.join(names)}) -> {t}",
                   parts, names, [t], "%r", [x], exact=True)
    inf = np.asarray(-np.inf, np.float32)
    yield Case("constant_splat", "%r = act.constant dense<0xFF800000> : tensor<f32>", [], [],
               ["tensor<f32>"], "%r", [inf], exact=True)
    yield Case("constant", "%r = act.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xbf16>",
               [], [], ["tensor<2x2xbf16>"], "%r", [np.array([[1.0, 2], [3, 4]])], exact=True)
    yield Case("constant_i1", "%r = act.constant dense<[true, false, true]> : tensor<3xi1>",
               [], [], ["tensor<3xi1>"], "%r", [np.array([True, False, True])], exact=True)
    yield from products()
    yield from nf4()


def products():
    for d in ("f32", "f64", "bf16", "f16"):
        for name, a, b, tl, tr in [
                ("plain", (4, 8), (8, 6), 0, 0), ("batch", (2, 4, 8), (2, 8, 6), 0, 0),
                ("nt", (2, 3, 4, 8), (2, 3, 6, 8), 0, 1), ("tn", (2, 8, 4), (2, 8, 6), 1, 0),
                ("tt", (8, 4), (6, 8), 1, 1), ("shared", (2, 3, 4, 8), (8, 6), 0, 0),
                ("shared_nt", (2, 4, 8), (6, 8), 0, 1), ("shared_tn", (2, 8, 4), (8, 6), 1, 0)]:
            x, y = draw(a, d), draw(b, d)
            u, v = wide(x), wide(y)
            want = (u.swapaxes(-1, -2) if tl else u) @ (v.swapaxes(-1, -2) if tr else v)
            flags = " transpose_lhs" * tl + " transpose_rhs" * tr
            yield case(f"matmul_{name}_{d}", f"act.matmul ${flags}", [x, y], [d, d],
                       tensor(want.shape, d), [want], "({0}, {1}) -> {r}")
        x, w, b = draw((2, 4, 8), d), draw((6, 8), d), draw((6,), d)
        t = tensor((2, 4, 6), d)
        yield case(f"linear_{d}", "act.linear $", [x, w], [d, d], t, [wide(x) @ wide(w).T],
                   "({0}, {1}) -> {r}")
        T = [tensor(a.shape, d) for a in (x, w, b)]
        yield Case(f"linear_bias_{d}", f"%r = act.linear %0, %1 bias(%2) : ({', '.join(T)}) -> {t}",
                   [x, w, b], T, [t], "%r", [wide(x) @ wide(w).T + wide(b)])
        w2 = np.ascontiguousarray(w.T)
        T2 = [T[0], tensor(w2.shape, d), T[2]]
        yield Case(f"linear_in_out_{d}",
                   f"%r = act.linear %0, %1 bias(%2) in_out : ({', '.join(T2)}) -> {t}",
                   [x, w2, b], T2, [t], "%r", [wide(x) @ wide(w2) + wide(b)])
        la, lb = draw((3, 8), d), draw((6, 3), d)
        T3 = T + [tensor(la.shape, d), tensor(lb.shape, d)]
        rd = lambda y: wide(y.astype(DTYPES[d]))
        want = rd(rd(wide(x) @ wide(w).T + wide(b)) +
                  rd(0.5 * rd(rd(wide(x) @ wide(la).T) @ wide(lb).T)))
        yield Case(f"linear_lora_{d}",
                   f"%r = act.linear %0, %1 bias(%2) lora(%3, %4, 5.0e-01) : ({', '.join(T3)}) -> {t}",
                   [x, w, b, la, lb], T3, [t], "%r", [want])
    # The accumulator is f32: bf16 sums of many ones stay exact.
    x = np.ones((2, 512), DTYPES["bf16"])
    yield case("linear_f32_accumulator", "act.linear $", [x, x], ["bf16"] * 2, "tensor<2x2xbf16>",
               [np.full((2, 2), 512.0)], "({0}, {1}) -> {r}", exact=True)


CODES = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453,
                  -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
                  0.07958029955625534, 0.16093020141124725, 0.24611230194568634,
                  0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                  0.7229568362236023, 1.0], np.float32)


# Of scales that have 8 bits: the middles of 2^e equal parts of 0.1 to 1, in decades.
LEVELS = [10.0 ** (e - 6) * (0.1 + 0.9 * (i + 0.5) / 2 ** e) for e in range(7) for i in range(2 ** e)]
LEVELS = np.array(sorted([-x for x in LEVELS] + LEVELS + [0, 1]), np.float32)


def padded(data):
    return np.concatenate([data, np.zeros(-len(data) % 64, np.uint8)])


def nested_scales(n):
    """Bytes of n scales in 8 bits, groups of 256 and a mean, and the scales."""
    codes = rng.integers(0, 256, n).astype(np.uint8)
    groups, mean = (rng.random(-(-n // 256)) + 0.1).astype(np.float32), np.float32(1.7)
    data = np.concatenate([padded(codes), groups.view(np.uint8), np.array([mean]).view(np.uint8)])
    return LEVELS[codes] * np.repeat(groups, 256)[:n] + mean, data


def nf4_bytes(shape, block, nested=False):
    """Random codes and scales, and what they stand for."""
    n = int(np.prod(shape))
    codes = rng.integers(0, 16, n + n % 2)
    scales = (rng.random(-(-n // block)) * 3 + 0.1).astype(np.float32)
    tail = scales.view(np.uint8)
    if nested:
        scales, tail = nested_scales(-(-n // block))
    values = CODES[codes[:n]] * np.repeat(scales, block)[:n]
    packed = (codes[0::2] << 4 | codes[1::2]).astype(np.uint8)
    data = np.concatenate([padded(packed), tail]).view(np.int8)
    return data, values.reshape(shape)


def nf4():
    for shape, block in [((8, 16), 64), ((4, 64), 64), ((3, 5), 64), ((6, 48), 64), ((7, 9), 16),
                         ((16, 4), 8)]:
        for d in ("f32", "bf16", "f64"):
            data, want = nf4_bytes(shape, block)
            yield Case(f"dequantize_{shape[0]}x{shape[1]}_{block}_{d}",
                       f"%r = act.dequantize %0 : {tensor(shape, f'!act.nf4<block = {block}>')} -> {tensor(shape, d)}",
                       [data], [tensor(shape, f"!act.nf4<block = {block}>")], [tensor(shape, d)],
                       "%r", [want.astype(DTYPES[d])], exact=True)
    # 520 blocks are three groups, of which the last is not full.
    for shape, block in [((260, 16), 8), ((4, 64), 64), ((7, 9), 16)]:
        data, want = nf4_bytes(shape, block, nested=True)
        t, d = tensor(shape, f"!act.nf4<block = {block}, nested = true>"), "f32"
        yield Case(f"dequantize_nested_{shape[0]}x{shape[1]}_{block}",
                   f"%r = act.dequantize %0 : {t} -> {tensor(shape, d)}", [data], [t], [tensor(shape, d)],
                   "%r", [want], exact=True)
    for nested in (False, True):
        data, w = nf4_bytes((6, 64), 64, nested)
        for d in ("f32", "bf16"):
            x = draw((2, 4, 64), d)
            T = [tensor(x.shape, d), f"tensor<6x64x!act.nf4<nested = {str(nested).lower()}>>"]
            t = tensor((2, 4, 6), d)
            want = wide(x) @ wide(w.astype(DTYPES[d])).T
            yield Case(f"linear_nf4{'_nested' * nested}_{d}", f"%r = act.linear %0, %1 : ({', '.join(T)}) -> {t}",
                       [x, data], T, [t], "%r", [want])
    # The other way round, as the gradient of an input has it; more than one block of each.
    for rows, shape, nested in [((2, 4), (6, 64), False), ((150,), (192, 640), False), ((70,), (96, 64), True)]:
        data, w = nf4_bytes(shape, 64, nested)
        for d in ("f32", "bf16"):
            x = draw((*rows, shape[0]), d)
            T = [tensor(x.shape, d), f"tensor<{shape[0]}x{shape[1]}x!act.nf4<nested = {str(nested).lower()}>>"]
            t = tensor((*rows, shape[1]), d)
            want = wide(x) @ wide(w.astype(DTYPES[d]))
            yield Case(f"linear_nf4_in_out_{'x'.join(map(str, rows))}_{d}",
                       f"%r = act.linear %0, %1 in_out : ({', '.join(T)}) -> {t}", [x, data], T, [t], "%r", [want])
    # Of heads beside each other, as unfused attention has them; blocks of 64 begin in the middle of some.
    for heads, width, rows in [(4, 16, 1), (2, 32, 70), (2, 128, 40), (4, 80, 33), (2, 96, 5), (4, 112, 20)]:
        data, w = nf4_bytes((72, heads * width), 64)
        x = draw((1, heads, rows, width), "bf16")
        T = [tensor(x.shape, "bf16"), f"tensor<72x{heads * width}x!act.nf4>"]
        beside, t = tensor((1, rows, heads, width), "bf16"), tensor((1, rows, 72), "bf16")
        row = tensor((1, rows, heads * width), "bf16")
        want = wide(x.swapaxes(1, 2).reshape(1, rows, -1)) @ wide(w.astype(DTYPES["bf16"])).T
        yield Case(f"linear_nf4_heads_{heads}x{width}", f"%h = act.transpose %0 [0, 2, 1, 3] : {T[0]} -> {beside}\n"
                   f"%x = act.reshape %h : {beside} -> {row}\n%r = act.linear %x, %1 : ({row}, {T[1]}) -> {t}",
                   [x, data], T, [t], "%r", [want])
