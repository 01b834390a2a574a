# SPDX-License-Identifier: Apache-2.0
"""kernels_test.py BUILD: kernels written in Python give the PTX, byte for byte, that the
examples' .mlir gives, and compute the same; what cannot be written is an error."""
import pathlib
import sys

build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(build / "python" / "site"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

import act  # noqa: E402
from act import tile  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "10-tile-kernels"
failures = 0


def check(what, ok):
    global failures
    failures += not ok
    print(("ok  " if ok else "BAD ") + what)


@tile.kernel(grid=(4,))
def add(x: tile.view("f32", 1000), y: tile.view("f32", 1000), z: tile.view("f32", 1000)):
    i = tile.program_id("x") * 256
    tile.store(tile.load(x, i, 256) + tile.load(y, i, 256), z, i)


@tile.kernel(grid=(10,))
def softmax(x: tile.view("f32", 37, 200), y: tile.view("f32", 37, 200)):
    i = tile.program_id("x") * 4
    a = tile.load(x, (i, 0), (4, 256), pad="neg_inf")
    e = tile.exp(a - a.max(axis=1, keepdims=True))
    tile.store(e / e.sum(axis=1, keepdims=True), y, (i, 0))


def matmul_of(rows, columns, block_sizes, schedule):
    @tile.kernel(grid=(tile.cdiv(rows, "M"), tile.cdiv(columns, "N")),
                 block_sizes=block_sizes, schedule=schedule)
    def matmul(x: tile.view("bf16", rows, 192), w: tile.view("bf16", 192, columns),
               y: tile.view("bf16", rows, columns)):
        M, N, K = (tile.block_size(s) for s in "MNK")
        p, q = tile.program_id("x"), tile.program_id("y")
        i, j = p * M, q * N
        total = tile.loop(0, 192, K, lambda k, acc: tile.dot(
            tile.load(x, (i, k), (M, K)), tile.load(w, (k, j), (K, N)), acc),
            tile.zeros((M, N), "f32"))
        tile.store(total.to("bf16"), y, (i, j), (M, N))
    return matmul


matmul = matmul_of(200, 160, {"M": 128, "N": 80, "K": 64}, {"warps": 4, "stages": 3})
matmul_for_hopper = matmul_of(300, 480, {"M": 128, "N": 256, "K": 64}, {
    "groups": 2, "stages": 4, "raster": "2x3", "persistent": True,
    "roles": "{copy = 4 at 40, compute at 232}"})


@tile.kernel(grid=tile.cdiv(240, "M"), block_sizes={"M": 64, "N": 80},
             schedule={"warps": 4, "stages": 2})
def causal(q: tile.view("bf16", 240, 80), k: tile.view("bf16", 240, 80),
           v: tile.view("bf16", 240, 80), o: tile.view("bf16", 240, 80)):
    M, N = tile.block_size("M"), tile.block_size("N")
    i = tile.program_id("x") * M
    Q = tile.load(q, (i, 0), (M, 80))
    full = (i + 1) // N * N
    end = tile.minimum(i + M, 240)

    def block(j, acc, m, l, hide=None):
        K = tile.load(k, (j, 0), (N, 80))
        s = tile.dot(Q, K.T, tile.zeros((M, N), "f32")) * 0.161298213
        if hide:
            s = hide(j, s)
        m_new = tile.maximum(m, s.max(axis=1))
        powers = tile.exp2(s - m_new[:, None])
        shrink = tile.exp2(m - m_new)
        total = powers.sum(axis=1)
        l_new = l * shrink + total
        less = acc * shrink[:, None]
        P = powers.to("bf16")
        V = tile.load(v, (j, 0), (N, 80))
        return tile.dot(P, V, less), m_new, l_new

    below = tile.loop(0, full, N, block, tile.zeros((M, 80), "f32"),
                      tile.full((M,), float("-inf"), "f32"), tile.zeros((M,), "f32"))
    rows, columns = tile.iota(M), tile.iota(N)
    queries = (i + rows)[:, None].broadcast((M, N))

    def hide(j, s):
        return tile.where((j + columns)[None, :] > queries, float("-inf"), s)

    acc, _, l = tile.loop(full, end, N, lambda *a: block(*a, hide=hide), *below)
    tile.store((acc / l[:, None]).to("bf16"), o, (i, 0), (M, 80))


def same_ptx():
    both = ("sm_80", "sm_90a")
    for kernel, name, targets in (
            (add, "vector-add", both), (softmax, "softmax", both), (matmul, "matmul", both),
            (causal, "causal-attention", both),
            (matmul_for_hopper, "matmul-hopper", ("sm_90a",))):
        for target in targets:
            written = act.Module.load(EXAMPLES / f"{name}.mlir").emit_ptx(target=target)
            traced = kernel.emit_ptx(target)
            check(f"{name} for {target}: the PTX of {name}.mlir", written == traced)
            if written != traced:
                for f, data in written.items():
                    (build / "python" / f"written-{f}").write_bytes(data)
                    (build / "python" / f"traced-{f}").write_bytes(traced[f])


def values():
    sim = act.Device("sim:sm_80")
    torch.manual_seed(0)
    x = torch.randn(37, 200)
    y = sim.array(np.zeros((37, 200), np.float32))
    softmax(sim, sim.array(x), y)
    check("softmax on the simulator", np.allclose(y.numpy(), x.softmax(1), atol=1e-6))
    q, k, v = (torch.randn(240, 80, dtype=torch.bfloat16) for _ in range(3))
    out = sim.array(torch.zeros(240, 80, dtype=torch.bfloat16))
    causal(sim, *(sim.array(t) for t in (q, k, v)), out)
    want = torch.nn.functional.scaled_dot_product_attention(
        *(t[None, None].float() for t in (q, k, v)), is_causal=True)[0, 0]
    got = out.read(torch.empty(240, 80, dtype=torch.bfloat16)).float()
    check("causal attention on the simulator", torch.allclose(got, want, atol=2e-2))


def refuses(what, text, function, **options):
    try:
        tile.kernel(grid=(1,), **options)(function)
    except act.Error as error:
        check(f"{what}: {error}", text in str(error))
    else:
        check(what, False)


def errors():
    f32 = tile.view("f32", 64, 64)

    def branch(x: f32):
        a = tile.load(x, (0, 0), (16, 16))
        if a > 0:
            tile.store(a, x, (0, 0))

    def shapes(x: f32):
        return tile.load(x, (0, 0), (16, 16)) + tile.load(x, (0, 0), (16, 32))

    def untyped(x):
        pass

    def types(x: f32):
        a = tile.load(x, (0, 0), (16, 16))
        tile.loop(0, 4, 1, lambda i, b: b.to("bf16"), a)

    def returns(x: f32):
        return tile.load(x, (0, 0), (16, 16))

    refuses("a branch on a block", "tile.where", branch)
    refuses("blocks that do not broadcast", "do not broadcast", shapes)
    refuses("an argument without a view", "tile.view", untyped)
    refuses("a loop that changes a type", "carries", types)
    refuses("a kernel that returns a block", "stores its results", returns)
    try:
        tile.exp(None)
        check("an operation outside a kernel", False)
    except act.Error as error:
        check(f"an operation outside a kernel: {error}", "inside a kernel" in str(error))


for part in (same_ptx, values, errors):
    part()
print(f"{failures} failures")
sys.exit(failures > 0)
