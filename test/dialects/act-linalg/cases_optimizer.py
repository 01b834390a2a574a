# SPDX-License-Identifier: Apache-2.0
"""The updates, against PyTorch's formulas in f64."""
import numpy as np

from cases_elementwise import draw
from harness import DTYPES, Case, tensor

wide = lambda x: np.asarray(x).astype(np.float64)
rng = np.random.default_rng(4)


def parameter(name, dtype, shape):
    return f'act.parameter @{name} "{name}" : {tensor(shape, dtype)}\n'


def updates(shape):
    lr, step = np.float32(1e-2), 3
    betas, eps, decay = (0.9, 0.95), 1e-8, 0.1
    factor = np.asarray(0.37, np.float32)
    for p, g, master in (("f32", "f32", 0), ("f64", "f64", 0), ("bf16", "bf16", 0),
                         ("bf16", "bf16", 1), ("bf16", "f32", 1), ("f16", "f16", 1)):
        for clip in (0, 1):
            name = f"{p}_{g}_{master}{clip}"
            w32 = draw(shape, "f32")
            param = w32.astype(DTYPES[p]) if p != "f64" else draw(shape, "f64")
            grad = draw(shape, g)
            m, v = draw(shape, "f32", 0.1), rng.random(shape).astype(np.float32)
            buffers = [param, grad] + [w32] * master
            types = [tensor(shape, p), tensor(shape, g)] + [tensor(shape, "f32")] * master
            f = tensor(shape, "f32")
            G = wide(grad) * (float(factor) if clip else 1)
            W = wide(w32 if master else param)
            k = len(buffers)
            sgd = W - float(lr) * G
            text = f"act.sgd @w_{name} lr(%{k})" + (f" clip(%{k + 1} : tensor<f32>)" if clip else "") + \
                " master" * master
            yield Case(f"sgd_{name}", text, buffers + [lr] + [factor] * clip,
                       types + ["f32"] + ["tensor<f32>"] * clip, [types[0]] + [f] * master,
                       ", ".join(["%0"] + ["%2"] * master), [sgd] * (1 + master),
                       preamble=parameter("w_" + name, p, shape))
            mom, l2 = 0.8, 0.05
            B = mom * wide(m) + G + l2 * W
            text = f"act.sgd @w_{name} lr(%{k + 1})" + \
                (f" clip(%{k + 2} : tensor<f32>)" if clip else "") + \
                f" momentum {mom:e} weight_decay {l2:e}" + " master" * master
            yield Case(f"sgd_momentum_{name}", text, buffers + [m, lr] + [factor] * clip,
                       types + [f, "f32"] + ["tensor<f32>"] * clip, [types[0]] + [f] * master + [f],
                       ", ".join(["%0"] + ["%2"] * master + [f"%{k}"]),
                       [W - float(lr) * B] * (1 + master) + [B], preamble=parameter("w_" + name, p, shape))
            b1, b2 = 0.9, 0.99
            D = W - float(lr) * decay * W - float(lr) * np.sign(b1 * wide(m) + (1 - b1) * G)
            text = f"act.lion @w_{name} lr(%{k + 1})" + \
                (f" clip(%{k + 2} : tensor<f32>)" if clip else "") + \
                f" betas [{b1:e}, {b2:e}] weight_decay {decay:e}" + " master" * master
            yield Case(f"lion_{name}", text, buffers + [m, lr] + [factor] * clip,
                       types + [f, "f32"] + ["tensor<f32>"] * clip, [types[0]] + [f] * master + [f],
                       ", ".join(["%0"] + ["%2"] * master + [f"%{k}"]),
                       [D] * (1 + master) + [b2 * wide(m) + (1 - b2) * G],
                       preamble=parameter("w_" + name, p, shape))
            b1, b2 = betas
            M = b1 * wide(m) + (1 - b1) * G
            V = b2 * wide(v) + (1 - b2) * G * G
            A = W - float(lr) * decay * W
            A = A - float(lr) / (1 - b1**step) * M / (np.sqrt(V / (1 - b2**step)) + eps)
            text = f"act.adamw @w_{name} lr(%{k + 2}) step(%{k + 3})" + \
                (f" clip(%{k + 4} : tensor<f32>)" if clip else "") + \
                f" betas [{b1:e}, {b2:e}] eps {eps:e} weight_decay {decay:e}" + " master" * master
            yield Case(f"adamw_{name}", text, buffers + [m, v, lr, step] + [factor] * clip,
                       types + [f, f, "f32", "i64"] + ["tensor<f32>"] * clip,
                       [types[0]] + [f] * master + [f, f],
                       ", ".join(["%0"] + ["%2"] * master + [f"%{k}", f"%{k + 1}"]),
                       [A] * (1 + master) + [M, V], preamble=parameter("w_" + name, p, shape),
                       tolerance=3e-6 if p == "f64" else 0)
        # Gradients that overflowed: nothing changes, whatever they are.
        name = f"skipped_{p}_{g}_{master}"
        grad = np.full(shape, np.nan).astype(DTYPES[g])
        text = f"act.adamw @w_{name} lr(%{k + 2}) step(%{k + 3}) clip(%{k + 4} : tensor<f32>) " \
            f"betas [0.9, 0.95] eps 1.0e-8 weight_decay 0.1" + " master" * master
        kept = [param] + [w32] * master + [m, v]
        yield Case(f"adamw_{name}", text, [param, grad, *buffers[2:], m, v, lr, step,
                                           np.asarray(0, np.float32)],
                   types + [f, f, "f32", "i64", "tensor<f32>"], [types[0]] + [f] * master + [f, f],
                   ", ".join(["%0"] + ["%2"] * master + [f"%{k}", f"%{k + 1}"]), kept, exact=True,
                   preamble=parameter("w_" + name, p, shape))
        grad, value = draw(shape, g), draw(shape, p)
        T = [tensor(shape, g), tensor(shape, p)]
        if not master or g != p:
            own = parameter(f"w_{p}_{g}", p, shape)
            text = f"act.accumulate @w_{p}_{g}, %1 : {T[1]}"
            yield Case(f"accumulate_{p}_{g}", text, [grad, value], T, [T[0]], "%0",
                       [wide(grad) + wide(value)], preamble=own)
            yield Case(f"zero_grad_{p}_{g}", f"act.zero_grad @w_{p}_{g}", [grad], [T[0]],
                       [T[0]], "%0", [np.zeros(shape)], exact=True, preamble=own)
            total = np.asarray(2.5, np.float32)
            yield Case(f"grad_square_sum_{p}_{g}",
                       f"%r = act.grad_square_sum @w_{p}_{g}, %1 : tensor<f32>",
                       [grad, total], [T[0], "tensor<f32>"], ["tensor<f32>"], "%1",
                       [2.5 + (wide(grad)**2).sum()], preamble=own)


def cases():
    yield from updates((5, 7))
    for i, s in enumerate((0.0, 0.25, 9.0, 1e12)):
        want = min(1, 1.5 / (np.sqrt(s) + 1e-6))
        yield Case(f"clip_{i}", "%r = act.clip %0 max_norm 1.5 : tensor<f32>",
                   [np.asarray(s, np.float32)], ["tensor<f32>"], ["tensor<f32>"], "%r",
                   [np.asarray(want)])
    for i, s in enumerate((0.0, 9e6, np.inf, np.nan)):
        both = [np.asarray(s, np.float32), np.asarray(1024, np.float32)]
        types = ["tensor<f32>"] * 2
        norm = np.sqrt(s) / 1024
        for name, most in (("scaled", np.inf), ("both", 1.5)):
            want = min(1, most / (norm + 1e-6)) / 1024 if np.isfinite(s) else 0
            given = f" max_norm {most}" if np.isfinite(most) else ""
            yield Case(f"clip_{name}_{i}", f"%r = act.clip %0 scale(%1 : tensor<f32>){given} : tensor<f32>",
                       both, types, ["tensor<f32>"], "%r", [np.asarray(want)])
        if np.isfinite(s):
            yield Case(f"grad_norm_{i}", "%r = act.grad_norm %0 scale(%1 : tensor<f32>) : tensor<f32>",
                       both, types, ["tensor<f32>"], "%r", [np.asarray(norm)])
            yield Case(f"grad_norm_plain_{i}", "%r = act.grad_norm %0 : tensor<f32>", both[:1], types[:1],
                       ["tensor<f32>"], "%r", [np.asarray(np.sqrt(s))])
