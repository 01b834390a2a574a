# SPDX-License-Identifier: Apache-2.0
"""Programs as others' importers write them: what --raise-to-act makes of each computes
the same as numpy, and has the act ops that are named here, and no others. So do the
linalg ops as they are.

  raise-to-act-values.py ACT_OPT
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import actrt  # noqa: E402

HEADS, ROWS, WIDTH = 4, 16, 8


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, scale=0.353553385):
    return softmax(q @ k.swapaxes(-1, -2) * scale) @ v


def attention_in(softmax_text, kt="", k_type="4x16x8", k_map="(b, n, d)"):
    """softmax(q k^T scale) v, with a softmax of this text from %t to %p."""
    return f"""
#id = affine_map<(a, b, c) -> (a, b, c)>
#row = affine_map<(a, b, c) -> (a, b, 0)>
#drop = affine_map<(a, b, c) -> (a, b)>
func.func @forward(%q: tensor<4x16x8xf32>, %k: tensor<{k_type}xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %scale = arith.constant 0.353553385 : f32
  %ss = tensor.empty() : tensor<4x16x16xf32>
  %rr = tensor.empty() : tensor<4x16x1xf32>
  %nn = tensor.empty() : tensor<4x16xf32>
  %oo = tensor.empty() : tensor<4x16x8xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%ss : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %s = linalg.generic {{indexing_maps = [affine_map<(b, m, n, d) -> (b, m, d)>, affine_map<(b, m, n, d) -> {k_map}>, affine_map<(b, m, n, d) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}} ins(%q, %k : tensor<4x16x8xf32>, tensor<{k_type}xf32>) outs(%s0 : tensor<4x16x16xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %m = arith.mulf %x, %y : f32
    %a = arith.addf %z, %m : f32
    linalg.yield %a : f32
  }} -> tensor<4x16x16xf32>
  %t = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}} ins(%s : tensor<4x16x16xf32>) outs(%ss : tensor<4x16x16xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %scale : f32
    linalg.yield %m : f32
  }} -> tensor<4x16x16xf32>
{softmax_text}
  %o0 = linalg.fill ins(%zero : f32) outs(%oo : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<4x16x16xf32>, tensor<4x16x8xf32>) outs(%o0 : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
  return %o : tensor<4x16x8xf32>
}}"""


def reduced(name, of, op, start, keeps=True):
    to, row = ("4x16x1", "#row") if keeps else ("4x16", "#drop")
    empty = "%rr" if keeps else "%nn"
    return f"""
  %{name}0 = linalg.fill ins(%{start} : f32) outs({empty} : tensor<{to}xf32>) -> tensor<{to}xf32>
  %{name} = linalg.generic {{indexing_maps = [#id, {row}], iterator_types = ["parallel", "parallel", "reduction"]}} ins(%{of} : tensor<4x16x16xf32>) outs(%{name}0 : tensor<{to}xf32>) {{
  ^bb0(%x: f32, %y: f32):
    %a = arith.{op} %x, %y : f32
    linalg.yield %a : f32
  }} -> tensor<{to}xf32>"""


def mapped(name, operands, body, keeps=True):
    """A generic over scores; operands are names, those in capitals are rows."""
    to, row = ("4x16x1", "#row") if keeps else ("4x16", "#drop")
    maps = ", ".join([row if o.isupper() else "#id" for o in operands] + ["#id"])
    types = ", ".join(f"tensor<{to}xf32>" if o.isupper() else "tensor<4x16x16xf32>" for o in operands)
    names = ", ".join(f"%{o}" for o in operands)
    arguments = ", ".join(f"%a{i}: f32" for i in range(len(operands)))
    return f"""
  %{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "parallel", "parallel"]}} ins({names} : {types}) outs(%ss : tensor<4x16x16xf32>) {{
  ^bb0({arguments}, %out: f32):
    {body}
    linalg.yield %r : f32
  }} -> tensor<4x16x16xf32>"""


def safe(keeps, fused):
    text = reduced("M", "t", "maximumf", "low", keeps)
    if fused:
        text += mapped("e", ["t", "M"], "%d = arith.subf %a0, %a1 : f32\n    %r = math.exp %d : f32", keeps)
    else:
        text += mapped("d", ["t", "M"], "%r = arith.subf %a0, %a1 : f32", keeps)
        text += mapped("e", ["d"], "%r = math.exp %a0 : f32", keeps)
    text += reduced("N", "e", "addf", "zero", keeps)
    return text + mapped("p", ["e", "N"], "%r = arith.divf %a0, %a1 : f32", keeps)


UNSAFE = mapped("e", ["t"], "%r = math.exp %a0 : f32") + reduced("N", "e", "addf", "zero") + \
    mapped("p", ["e", "N"], "%r = arith.divf %a0, %a1 : f32")
# The exponential computed twice, and a product with the reciprocal.
TWICE = reduced("M", "t", "maximumf", "low") + \
    mapped("e", ["t", "M"], "%d = arith.subf %a0, %a1 : f32\n    %r = math.exp %d : f32") + \
    reduced("N", "e", "addf", "zero") + \
    mapped("p", ["t", "M", "N"], """%d = arith.subf %a0, %a1 : f32
    %x = math.exp %d : f32
    %i = arith.divf %one, %a2 : f32
    %r = arith.mulf %x, %i : f32""")
NAMED = "  %p = linalg.softmax dimension(2) ins(%t : tensor<4x16x16xf32>) outs(%ss : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>"

TOSA = """
func.func @forward(%q: tensor<4x16x8xf32>, %k: tensor<4x16x8xf32>, %v: tensor<4x16x8xf32>) -> tensor<4x16x8xf32> {
  %zp = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %scale = "tosa.const"() <{values = dense<0.353553385> : tensor<1x1x1xf32>}> : () -> tensor<1x1x1xf32>
  %kt = tosa.transpose %k {perms = array<i32: 0, 2, 1>} : (tensor<4x16x8xf32>) -> tensor<4x8x16xf32>
  %s = tosa.matmul %q, %kt, %zp, %zp : (tensor<4x16x8xf32>, tensor<4x8x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x16x16xf32>
  %t = tosa.mul %s, %scale, %shift : (tensor<4x16x16xf32>, tensor<1x1x1xf32>, tensor<1xi8>) -> tensor<4x16x16xf32>
  %m = tosa.reduce_max %t {axis = 2 : i32} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %d = tosa.sub %t, %m : (tensor<4x16x16xf32>, tensor<4x16x1xf32>) -> tensor<4x16x16xf32>
  %e = tosa.exp %d : (tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
  %n = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<4x16x16xf32>) -> tensor<4x16x1xf32>
  %r = tosa.reciprocal %n : (tensor<4x16x1xf32>) -> tensor<4x16x1xf32>
  %p = tosa.mul %e, %r, %shift : (tensor<4x16x16xf32>, tensor<4x16x1xf32>, tensor<1xi8>) -> tensor<4x16x16xf32>
  %o = tosa.matmul %p, %v, %zp, %zp : (tensor<4x16x16xf32>, tensor<4x16x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<4x16x8xf32>
  return %o : tensor<4x16x8xf32>
}"""

# A layer of [batch, row, in], whose weight is [out, in], with a bias; tanh; a mean over rows.
LAYER = """
func.func @forward(%x: tensor<2x5x8xf32>, %w: tensor<6x8xf32>, %b: tensor<6xf32>) -> tensor<2x6xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 5.0 : f32
  %e = tensor.empty() : tensor<2x5x6xf32>
  %f = tensor.empty() : tensor<2x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, s, o, i) -> (b, s, i)>, affine_map<(b, s, o, i) -> (o, i)>, affine_map<(b, s, o, i) -> (b, s, o)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %w : tensor<2x5x8xf32>, tensor<6x8xf32>) outs(%z : tensor<2x5x6xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %m = arith.mulf %p, %q : f32
    %a = arith.addf %m, %r : f32
    linalg.yield %a : f32
  } -> tensor<2x5x6xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, s, o) -> (b, s, o)>, affine_map<(b, s, o) -> (o)>, affine_map<(b, s, o) -> (b, s, o)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y, %b : tensor<2x5x6xf32>, tensor<6xf32>) outs(%e : tensor<2x5x6xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32):
    %a = arith.addf %p, %q : f32
    %h = math.tanh %a : f32
    linalg.yield %h : f32
  } -> tensor<2x5x6xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%f : tensor<2x6xf32>) -> tensor<2x6xf32>
  %s = linalg.reduce ins(%t : tensor<2x5x6xf32>) outs(%s0 : tensor<2x6xf32>) dimensions = [1] (%p: f32, %q: f32) {
    %a = arith.addf %p, %q : f32
    linalg.yield %a : f32
  }
  %r = linalg.map ins(%s : tensor<2x6xf32>) outs(%f : tensor<2x6xf32>) (%p: f32, %q: f32) {
    %a = arith.divf %p, %n : f32
    linalg.yield %a : f32
  }
  return %r : tensor<2x6xf32>
}"""

# Two results of one product each: the operands swapped and transposed, the result transposed.
TURNED = """
func.func @forward(%x: tensor<3x4x8xf32>, %y: tensor<6x8x3xf32>) -> tensor<6x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x3x4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x3x4xf32>) -> tensor<6x3x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (n, k, b)>, affine_map<(b, m, n, k) -> (n, b, m)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x, %y : tensor<3x4x8xf32>, tensor<6x8x3xf32>) outs(%z : tensor<6x3x4xf32>) {
  ^bb0(%p: f32, %q: f32, %s: f32):
    %m = arith.mulf %q, %p : f32
    %a = arith.addf %s, %m : f32
    linalg.yield %a : f32
  } -> tensor<6x3x4xf32>
  return %r : tensor<6x3x4xf32>
}"""

# Keys of two heads for four, and a mask that is chosen by.
GROUPED = """
func.func @forward(%x: tensor<2x3x4xf32>, %m: tensor<3x4xi1>) -> tensor<4x3x4xf32> {
  %low = arith.constant -1.0e9 : f32
  %e = tensor.empty() : tensor<2x2x3x4xf32>
  %f = tensor.empty() : tensor<4x3x4xf32>
  %b = linalg.broadcast ins(%x : tensor<2x3x4xf32>) outs(%e : tensor<2x2x3x4xf32>) dimensions = [1]
  %c = tensor.collapse_shape %b [[0, 1], [2], [3]] : tensor<2x2x3x4xf32> into tensor<4x3x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (b, c)>, affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%m, %c : tensor<3x4xi1>, tensor<4x3x4xf32>) outs(%f : tensor<4x3x4xf32>) {
  ^bb0(%p: i1, %q: f32, %s: f32):
    %v = arith.select %p, %q, %low : f32
    linalg.yield %v : f32
  } -> tensor<4x3x4xf32>
  return %r : tensor<4x3x4xf32>
}"""

def silu(x):
    return x / (1 + np.exp(-x))


def rope(x, cos, sin):
    """Of neighbouring elements."""
    a, b = x[..., ::2], x[..., 1::2]
    return np.stack((a * cos - b * sin, b * cos + a * sin), -1).reshape(x.shape)


def layer_norm(x, g, b):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d**2).mean(-1, keepdims=True) + 1e-5) * g + b


def causal(q, k, v):
    s = q @ k.swapaxes(-1, -2) / np.sqrt(8)
    return softmax(np.where(np.tril(np.ones((16, 16), bool)), s, -1e9)) @ v


def written(name):
    return (pathlib.Path(__file__).parent / "Inputs" / name).read_text()


FUSED = {"reshape", "transpose", "attention"}
PROGRAMS = {
    "softmax named": (attention_in(NAMED), attention, FUSED),
    "softmax in four ops": (attention_in(safe(True, False)), attention, FUSED),
    "softmax in three ops": (attention_in(safe(True, True)), attention, FUSED),
    "rows without their dimension": (attention_in(safe(False, True)), attention, FUSED),
    "no maximum": (attention_in(UNSAFE), attention, FUSED),
    "exponential twice, a reciprocal": (attention_in(TWICE), attention, FUSED),
    "keys transposed": (attention_in(NAMED, k_type="4x8x16", k_map="(b, d, n)"),
                        lambda q, k, v: attention(q, k.swapaxes(1, 2), v), FUSED),
    "tosa": (TOSA, attention, FUSED),
    "a layer and a mean": (LAYER, lambda x, w, b: np.tanh(x @ w.T + b).mean(1),
                           {"linear", "reshape", "tanh", "sum_to", "div", "constant"}),
    "a product turned": (TURNED, lambda x, y: np.einsum("bmk,nkb->nbm", x, y), {"transpose", "matmul"}),
    "grouped heads and a mask": (GROUPED, lambda x, m: np.where(m, x.repeat(2, 0), np.float32(-1e9)),
                                 {"expand", "reshape", "select", "constant"}),
}


# Of JAX and torch-mlir: what is left beside act ops is named.
WRITTEN = {
    "sdpa.linalg": (lambda q, k, v: attention(q, k, v, 8**-0.5), [(2, 4, 16, 8)] * 3, FUSED | {"scale"}, []),
    "sdpa.tosa": (lambda q, k, v: attention(q, k, v, 8**-0.5), [(2, 4, 16, 8)] * 3, FUSED | {"scale"}, []),
    "attention.stablehlo": (attention, [(2, 4, 16, 8)] * 3, {"transpose", "attention"}, []),
    "causal.stablehlo": (causal, [(2, 4, 16, 8)] * 3, {"transpose", "attention"}, []),
    "mlp.stablehlo": (lambda x, v, b, w: silu(np.tanh(x @ v + b)) @ w, [(3, 5, 8), (8, 16), (16,), (16, 4)],
            {"linear", "tanh", "silu"}, []),
    "rope_every_two.linalg": (lambda x, c, s: rope(x, np.cos(c)[:, None], np.cos(s)[:, None]),
                              [(2, 6, 3, 8), (6, 4), (6, 4)], {"reshape", "rope"}, ["math.cos"] * 2),
    "rope_pairs.tosa": (lambda x, c, s: rope(x, c[:, None], s[:, None]), [(2, 6, 3, 8), (6, 4), (6, 4)],
                        {"reshape", "rope"}, []),
    "rope_strided.stablehlo": (lambda x, c, s: rope(x, c, s), [(2, 3, 6, 8), (6, 4), (6, 4)],
                               {"reshape", "rope"}, []),
    "layer_norm.stablehlo": (layer_norm, [(4, 8), (8,), (8,)], {"layer_norm"}, []),
}


def main():
    act_opt = shutil.which(sys.argv[1])
    runtime = actrt.Runtime(str(pathlib.Path(act_opt).resolve().parent.parent / "lib/libact_runtime.so"))
    random = np.random.default_rng(0)
    plain = 0
    for name, (text, expected, ops) in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "a.mlir").write_text(text)
            subprocess.run([act_opt, folder / "a.mlir", "--raise-to-act", "--fuse-attention", "-o", folder / "b.mlir",
                            f"--emit=file={folder / 'a.act'} mode=infer"], check=True, capture_output=True)
            raised = (folder / "b.mlir").read_text()
            assert "linalg" not in raised and "tosa" not in raised, f"{name}: {raised}"
            found = set(re.findall(r"\bact\.(\w+) %|\bact\.(constant)", raised))
            found = {a or b for a, b in found}
            assert found <= ops and ("attention" in found) == ("attention" in ops), f"{name}: {found}, expected {ops}"
            step = runtime.load(str(folder / "a.act"))
            inputs = {}
            for argument, shape in re.findall(r"%(\w+): tensor<([\dx]+)x(?:f32|i1)>", text.split("{\n", 1)[0]):
                size = tuple(map(int, shape.split("x")))
                inputs[argument] = random.standard_normal(size).astype(np.float32)
                if argument == "m":
                    inputs[argument] = inputs[argument] > 0
            run(step, inputs, expected, name)
            if any(op in text for op in ("linalg.softmax", "tosa.", "tensor.collapse_shape")):
                continue  # nothing else computes these
            subprocess.run([act_opt, folder / "a.mlir", "-o", "/dev/null",
                            f"--emit=file={folder / 'plain.act'} mode=infer"], check=True, capture_output=True)
            run(runtime.load(str(folder / "plain.act")), inputs, expected, f"{name}, as it is")
            plain += 1
    for name, (expected, shapes, ops, left) in WRITTEN.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "a.mlir").write_text(written(name))
            subprocess.run([act_opt, folder / "a.mlir", "--allow-unregistered-dialect", "--raise-to-act",
                            "--fuse-attention", "-o", folder / "b.mlir",
                            f"--emit=file={folder / 'a.act'} mode=infer"], check=True, capture_output=True)
            raised = (folder / "b.mlir").read_text()
            found = {a or b for a, b in re.findall(r"\bact\.(\w+) %|\bact\.(constant)", raised)}
            assert "stablehlo" not in raised and found <= ops, f"{name}: {found}, expected {ops}"
            assert raised.count("linalg.generic") == len(left) and all(op in raised for op in left), raised
            inputs = {str(i): random.standard_normal(s).astype(np.float32) for i, s in enumerate(shapes)}
            run(runtime.load(str(folder / "a.act")), inputs, expected, name)
    print(f"{len(WRITTEN)} modules of JAX and torch-mlir,")
    print(f"{len(PROGRAMS)} programs raised, {plain} of them computed as they are, too")


def run(step, inputs, expected, name):
    names = [f"arg{i}" for i in range(len(inputs))]
    outputs = step.bind("forward", dict(zip(names, inputs.values())))
    step.run("forward")
    [got] = outputs.values()
    want = expected(*inputs.values())
    error = np.abs(got - want).max() / max(1, np.abs(want).max())
    assert error < 2e-6, f"{name}: {error}"


if __name__ == "__main__":
    main()
