# SPDX-License-Identifier: Apache-2.0
"""budget_partitioner.py BUILD [LAYERS...]: --remat=budget beside PyTorch's partitioner.

torch._functorch.partitioners.min_cut_rematerialization_partition splits the joint
graph of a Llama-3.1-8B of one layer, and of eight (b = 1, s = 4096, bf16, flash
attention, a vocabulary of 64), at activation_memory_budget 0 to 1. What it made is
measured here in PyTorch's favour:

- bytes: its forward and backward graphs in their order; only what a product of
  matrices, attention, a gather or the other graph reads or makes is in memory, all
  else is fused into what reads it; copies and keys and values repeated to all heads
  take nothing; gradients of parameters, parameters and inputs are not counted;
- time: products and attention alone, at act's rates (docs/budgets.md); what it runs
  again beside them is free.

act gets the peak as its budget, and must keep to it by its report with no more time of
products and attention run again.
"""
import json
import math
import operator
import pathlib
import subprocess
import sys

import torch
import torch._functorch.config as functorch
import torch.nn.functional as F
from torch._functorch.aot_autograd import aot_function
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode

from kernel_liveness import parse, tensor_bytes

BUILD = pathlib.Path(sys.argv[1])
WORK = BUILD / "test/python/budget-partitioner"
H, HEADS, KV, D, FFN, V, S = 4096, 32, 8, 128, 14336, 64, 4096
CONFIG = {"model_type": "llama", "hidden_size": H, "num_attention_heads": HEADS, "num_key_value_heads": KV,
          "head_dim": D, "intermediate_size": FFN, "vocab_size": V, "tie_word_embeddings": False,
          "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu", "max_position_embeddings": S,
          "torch_dtype": "bfloat16"}
FRACTIONS = [0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
FLOPS = 312e12  # sm_80
aten = torch.ops.aten


def norm(x, w):
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
    return w * y.to(x.dtype)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def layer(x, w, cos, sin):
    n = norm(x, w[0])
    heads = lambda y, count: y.view(1, S, count, D).transpose(1, 2)
    q = rotate(heads(F.linear(n, w[1]), HEADS), cos, sin)
    k = rotate(heads(F.linear(n, w[2]), KV), cos, sin)
    v = heads(F.linear(n, w[3]), KV)
    wide = lambda y: y[:, :, None].expand(1, KV, HEADS // KV, S, D).reshape(1, HEADS, S, D)
    o = aten._scaled_dot_product_flash_attention_for_cpu(q, wide(k), wide(v), 0.0, True)[0]
    x = x + F.linear(o.transpose(1, 2).reshape(1, S, H), w[4])
    n = norm(x, w[5])
    return x + F.linear(F.silu(F.linear(n, w[6])) * F.linear(n, w[7]), w[8])


def partitioned(layers, fraction):
    """The forward and the backward graph, and the number of values saved."""
    out = {}

    def loss(tokens, labels, cos, sin, embed, final, head, *weights):
        x = F.embedding(tokens, embed)
        for i in range(layers):
            x = layer(x, weights[9 * i:9 * i + 9], cos, sin)
        return F.cross_entropy(F.linear(norm(x, final), head)[0], labels[0])

    def split(joint, inputs, *, num_fwd_outputs, **others):
        with functorch.patch(activation_memory_budget=fraction):
            out["graphs"] = min_cut_rematerialization_partition(
                joint, inputs, num_fwd_outputs=num_fwd_outputs, **others)
        return out["graphs"]

    mode = FakeTensorMode()
    with mode:
        make = lambda *shape: torch.empty(*shape, dtype=torch.bfloat16, requires_grad=True)
        weights = [t for _ in range(layers) for t in
                   (make(H), make(H, H), make(KV * D, H), make(KV * D, H), make(H, H), make(H), make(FFN, H),
                    make(FFN, H), make(H, FFN))]
        ids = torch.empty(1, S, dtype=torch.int64)
        table = torch.empty(S, D, dtype=torch.bfloat16)
        f = aot_function(loss, fw_compiler=lambda g, _: g, bw_compiler=lambda g, _: g, partition_fn=split)
        f(ids, ids, table, table, make(V, H), make(H), make(V, H), *weights)
    return out["graphs"]


def bytes_of(node):
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return value.numel() * value.element_size()
    return 0


PRODUCTS = {aten.mm.default, aten.addmm.default, aten.bmm.default}
ATTENTION = {aten._scaled_dot_product_flash_attention_for_cpu.default: 2,
             aten._scaled_dot_product_flash_attention_for_cpu_backward.default: 5}
KERNELS = PRODUCTS | set(ATTENTION) | {aten.embedding.default, aten.embedding_dense_backward.default}
VIEWS = {aten.view.default, aten._unsafe_view.default, aten.t.default, aten.transpose.int, aten.permute.default,
         aten.unsqueeze.default, aten.expand.default, aten.clone.default, aten.slice.Tensor, aten.alias.default, aten.detach.default}


def seconds(graph):
    total = 0.0
    for n in graph.graph.nodes:
        if n.target in PRODUCTS:
            a, b = (x.meta["val"].shape for x in n.args[-2:])
            total += 2 * math.prod(a) * b[-1] / FLOPS
        elif n.target in ATTENTION:
            q = n.args[0 if ATTENTION[n.target] == 2 else 1].meta["val"]
            total += ATTENTION[n.target] * 2 * D * q.shape[1] * S * (S + 1) // 2 / FLOPS
    return total


def base(n):
    while n.target in VIEWS and isinstance(n.args[0], torch.fx.Node):
        n = n.args[0]
    return n


def parts(n):
    """Results of a kernel with several."""
    return [u for u in n.users if u.target is operator.getitem]


def peak(forward, backward, held):
    """`held`: names of what is not counted (parameters, inputs, tables)."""
    most = 0
    for graph in (forward, backward):
        nodes = list(graph.graph.nodes)
        order = {n: i for i, n in enumerate(nodes)}
        output = nodes[-1].args[0]
        outputs = [o for o in output if isinstance(o, torch.fx.Node)]

        kernel = lambda n: n.target in KERNELS
        result = lambda n: kernel(n) or (n.target is operator.getitem and kernel(n.args[0]))
        # What is in memory: read by a kernel, made by one, handed on, or an input.
        material = set()
        for n in nodes:
            if n.op == "placeholder" or result(n):
                material.add(n)
            if kernel(n):
                material |= {base(a) for a in n.all_input_nodes}
        crossing = outputs[1:] if graph is forward else []
        material |= {base(o) for o in outputs}
        # The last kernel, or material value, that needs a value through what is fused.
        last = {}
        for n in reversed(nodes):
            if n.op == "output":
                continue
            at = order[n]
            uses = [order[u] if kernel(u) or base(u) in material and base(u) is u else last.get(u, at)
                    for u in n.users if u.op != "output"]
            last[n] = max(uses, default=at)
        ends = {}
        for n in nodes:
            b = base(n)
            ends[b] = max(ends.get(b, 0), last.get(n, order[n]), order[n])
        if graph is forward:
            for o in crossing:
                ends[base(o)] = len(nodes)
        gradients = {base(o) for o in outputs} if graph is backward else {base(outputs[0])}
        sizes, starts = {}, {}
        for n in material:
            if n.op == "placeholder" and (graph is forward or n.name in held or base(n).name in held):
                continue
            if n in gradients or n.name in held:
                continue
            if kernel(n) and parts(n):
                continue
            sizes[n] = bytes_of(n)
            starts[n] = 0 if n.op == "placeholder" else order[n.args[0]] if not kernel(n) and result(n) else order[n]
        change = [0] * (len(nodes) + 2)
        for n, size in sizes.items():
            change[starts[n]] += size
            change[ends[n] + 1] -= size
        now = 0
        for c in change[:-1]:
            now += c
            most = max(most, now)
    return most


def ours(model, budget):
    """(seconds of products and attention run again, peak), or None if it is refused."""
    report = WORK / "report.json"
    flags = ["--fuse-attention=chunk=4096", f"--remat=budget={budget}"]
    done = subprocess.run([BUILD / "bin/act-opt", model, *flags, f"--memory-report=format=json file={report}",
                           "--inline-repeats", "--form-kernels", "--mlir-print-op-generic"],
                          capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr
    from budget_milp import FLOPS as rate, cost
    assert rate == FLOPS
    total = 0.0

    def walk(function):
        nonlocal total
        for op in function.ops:
            if op.name == "act.repeat":
                walk(functions[op.attribute(r"callee = @([\w.]+)")])
            marked = "act.recompute" in op.rest
            for inner in op.body:
                if inner.name in ("act.linear", "act.matmul", "act.attention") and (
                        marked or "act.recompute" in inner.rest):
                    total += cost(inner)
    functions = parse(done.stdout)
    walk(functions["grad"])
    return total, json.loads(report.read_text())["peak_bytes"]


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    errors = []
    for layers in map(int, sys.argv[2:] or (1, 8)):
        config, model = WORK / f"{layers}.json", WORK / f"{layers}.mlir"
        config.write_text(json.dumps(CONFIG | {"num_hidden_layers": layers}))
        subprocess.run([BUILD / "bin/act-import", config, "--batch", "1", "--seq", str(S), "-o", model], check=True)
        graphs = [(f, *partitioned(layers, f)) for f in FRACTIONS]
        work = min(seconds(a) + seconds(b) for _, a, b in graphs)
        print(f"{layers} layers, {1e3 * work:.1f} ms of products and attention")
        print(f"{'budget':>8}{'PyTorch MB':>12}{'again ms':>10}{'act MB':>10}{'again ms':>10}")
        for fraction, forward, backward in graphs:
            # Inputs of the whole are those of the forward graph, and views of them.
            held = {n.name for n in forward.graph.nodes if base(n).op == "placeholder"}
            bytes_, again = peak(forward, backward, held), seconds(forward) + seconds(backward) - work
            mine, own = ours(model, bytes_)
            if mine is None:
                errors.append(f"{layers} layers, {fraction}: {bytes_} bytes: {own.strip().splitlines()[0]}")
                print(f"{fraction:>8}{bytes_ / 1e6:>12.1f}{1e3 * again:>10.3f}{'refused':>10}")
                continue
            print(f"{fraction:>8}{bytes_ / 1e6:>12.1f}{1e3 * again:>10.3f}{own / 1e6:>10.1f}{1e3 * mine:>10.3f}",
                  flush=True)
            if own > bytes_ or mine > again + 1e-9:
                errors.append(f"{layers} layers, {fraction}: {1e3 * mine:.3f} ms run again in {own} bytes, PyTorch "
                              f"{1e3 * again:.3f} ms in {bytes_}")
    print("\n".join(errors + [f"{len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
