# SPDX-License-Identifier: Apache-2.0
"""Embedding and cross entropy."""
import numpy as np

from cases_elementwise import draw
from harness import DTYPES, Case, tensor

rng = np.random.default_rng(3)
wide = lambda x: np.asarray(x).astype(np.float64)


def embeddings(rows, width, shape, padding):
    for d in ("f32", "f64", "bf16", "f16"):
        for i in ("i32", "i64"):
            table = draw((rows, width), d)
            ids = rng.integers(0, rows, shape).astype(DTYPES[i])
            ends = [rows - 1, 0, padding, rows - 1, padding][:ids.size]
            ids.flat[:len(ends)] = ends
            T = [tensor(table.shape, d), tensor(ids.shape, i)]
            out = tensor((*shape, width), d)
            yield Case(f"embedding_{d}_{i}", f"%r = act.embedding %0, %1 : ({T[0]}, {T[1]}) -> {out}",
                       [table, ids], T, [out], "%r", [table[ids]], exact=True)
            dy = draw((*shape, width), d)
            want = np.zeros((rows, width))
            np.add.at(want, ids, wide(dy))
            yield Case(f"embedding_grad_{d}_{i}",
                       f"%r = act.embedding_grad %0, %1 : ({out}, {T[1]}) -> {T[0]}", [dy, ids],
                       [out, T[1]], [T[0]], "%r", [want])
            padded = want.copy()
            padded[padding] = 0  # the padding's row, which two tokens name
            yield Case(f"embedding_grad_padding_{d}_{i}",
                       f"%r = act.embedding_grad %0, %1 padding_idx {padding} : ({out}, {T[1]}) -> {T[0]}",
                       [dy, ids], [out, T[1]], [T[0]], "%r", [padded])


def cases():
    yield from embeddings(70, 4, (2, 9), 64)
    ids = np.array([-7, 99, 3], np.int32)
    table = draw((5, 2), "f32")
    yield Case("embedding_outside",
               "%r = act.embedding %0, %1 : (tensor<5x2xf32>, tensor<3xi32>) -> tensor<3x2xf32>",
               [table, ids], ["tensor<5x2xf32>", "tensor<3xi32>"], ["tensor<3x2xf32>"], "%r",
               [table[[0, 4, 3]]], exact=True)
    # Many tokens of one row in bf16: the sum is made in f32.
    ones, same = np.ones((600, 2), DTYPES["bf16"]), np.full(600, 3, np.int32)
    want = np.zeros((33, 2))
    want[3] = 600
    yield Case("embedding_grad_many",
               "%r = act.embedding_grad %0, %1 : (tensor<600x2xbf16>, tensor<600xi32>) -> tensor<33x2xbf16>",
               [ones, same], ["tensor<600x2xbf16>", "tensor<600xi32>"], ["tensor<33x2xbf16>"], "%r",
               [want.astype(DTYPES["bf16"])], exact=True)
    # Most blocks of rows are named by few of the tokens, some by none; the second has steps for two words of bits.
    for tokens, rows in ((1024, 700), (8192, 300)):
        ids = (rng.integers(0, 4, tokens)**3 * rows // 27 + rng.integers(-2, 3, tokens)).astype(np.int32)
        dy = rng.integers(-2, 3, (tokens, 8)).astype(DTYPES["f32"])
        want = np.zeros((rows, 8))
        np.add.at(want, np.clip(ids, 0, rows - 1), dy)
        yield Case(f"embedding_grad_steps_{tokens}",
                   f"%r = act.embedding_grad %0, %1 : (tensor<{tokens}x8xf32>, tensor<{tokens}xi32>) -> tensor<{rows}x8xf32>",
                   [dy, ids], [f"tensor<{tokens}x8xf32>", f"tensor<{tokens}xi32>"], [f"tensor<{rows}x8xf32>"], "%r",
                   [want.astype(np.float32)], exact=True)
    # Of all micro-batches of a step: more than one block of a kernel holds.
    labels = np.where(rng.random((5, 3, 1201)) < 0.7, 2, -100).astype(np.int32)
    yield Case("label_count_of_a_step",
               f"%r = act.label_count %0 ignore -100 : {tensor(labels.shape, 'i32')} -> tensor<f32>",
               [labels], [tensor(labels.shape, "i32")], ["tensor<f32>"], "%r",
               [np.asarray(float((labels != -100).sum()))], exact=True)
    yield from losses((2, 3), 9)


def losses(shape, vocabulary):
    tokens = int(np.prod(shape))
    for d, stat in (("f32", "f32"), ("f64", "f64"), ("bf16", "f32")):
        for reduction in ("mean", "sum", "none"):
            for ignore, few in ((-100, 2), (3, 1), (-100, tokens)):
                logits = draw((*shape, vocabulary), d, 4)
                logits[(-1,) * len(shape)][-1] = -np.inf
                labels = rng.integers(0, min(3, vocabulary - 1), shape).astype(np.int32)
                labels.flat[:few] = ignore
                keep = labels != ignore
                X = wide(logits)
                most = X.max(-1)
                lse = np.log(np.exp(X - most[..., None]).sum(-1)) + most
                safe = np.where(keep, labels, 0)
                each = np.where(keep, lse - np.take_along_axis(X, safe[..., None], -1)[..., 0], 0)
                count = max(keep.sum(), 1)
                loss = {"mean": each.sum() / count, "sum": each.sum(), "none": each}[reduction]
                name = f"{reduction}_{few}_{d}"
                T = [tensor(logits.shape, d), tensor(shape, "i32")]
                each_or_one = shape if reduction == "none" else ()
                out, stats = tensor(each_or_one, stat), tensor(shape, stat)
                tail = f"ignore {ignore} reduction {reduction}"
                yield Case(f"cross_entropy_{name}",
                           f"%r = act.cross_entropy %0, %1 {tail} : ({', '.join(T)}) -> {out}",
                           [logits, labels], T, [out], "%r", [loss])
                # For a device, a sum of losses is a kernel of its own before this.
                yield Case(f"cross_entropy_lse_{name}",
                           f"%r:2 = act.cross_entropy %0, %1 {tail} : ({', '.join(T)}) -> ({out}, {stats})",
                           [logits, labels], T, [out, stats], "%r#0, %r#1", [loss, lse],
                           plain_only=reduction != "none")
                dl = np.asarray(draw(each_or_one, stat), dtype=DTYPES[stat])
                weight = np.where(keep, wide(dl) / (count if reduction == "mean" else 1), 0)
                hit = np.arange(vocabulary) == labels[..., None]
                want = weight[..., None] * (np.exp(X - lse[..., None]) - hit)
                types = [out, T[0], T[1], stats]
                yield Case(f"cross_entropy_grad_{name}",
                           f"%r = act.cross_entropy_grad %0, %1, %2, %3 {tail} : ({', '.join(types)}) -> {T[0]}",
                           [dl, logits, labels, lse.astype(DTYPES[stat])], types, [T[0]], "%r",
                           [want])
                yield Case(f"label_count_{name}",
                           f"%r = act.label_count %0 ignore {ignore} : {T[1]} -> tensor<{stat}>",
                           [labels], [T[1]], [f"tensor<{stat}>"], "%r",
                           [np.asarray(float(count))], exact=True)
