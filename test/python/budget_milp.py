# SPDX-License-Identifier: Apache-2.0
"""budget_milp.py BUILD: --remat=budget against a plain MILP, on a layer of Llama-3.1-8B.

The program is the gradient of a model of one layer (b = 1, s = 4096), written out,
without recomputation, read from the printed IR. The MILP is the formulation of
Checkmate (Jain et al., MLSys 2020) with a stage for each kernel:

  R[t,i]  op i runs again in stage t, before the stage's kernel (ascending in i)
  S[t,v]  value v is in memory when stage t begins
  U       memory while the stage's ops run: what is there and needed later

Space: the kernels run in the given order; any op of the forward pass may run again,
alone, in any later stage. A kernel's inside has no place in memory, neither when the
kernel runs nor when its ops run again together; so a value of a kernel's inside weighs
nothing and cannot be kept.

At each of ten budgets between the smallest that act can keep to and the peak without
recomputation, under act's model of bytes and cost, computed here from the shapes:

- the lower bound that act prints is not above the MILP's optimum;
- act's recomputation is the MILP's optimum, or above it by no more than the distance
  to the optimum that act prints, and never by more than WORST of the step.

act may be below the MILP: its kernels are formed anew around what runs again. A budget
at which the solver does not finish counts by the MILP's own bound.
"""
import json
import math
import pathlib
import re
import subprocess
import sys

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

from kernel_liveness import TENSOR, parse, tensor_bytes

BUILD = pathlib.Path(sys.argv[1])
WORK = BUILD / "test/python/budget-milp"
LAYER = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
         "head_dim": 128, "intermediate_size": 14336, "num_hidden_layers": 1, "vocab_size": 64,
         "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu",
         "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}
SEQ = 4096
FLOPS, BANDWIDTH = 312e12, 2.039e12  # sm_80
SECONDS = 60  # for one MILP
WORST = 0.5   # percent of the step
VIEWS = {"act.reshape", "act.kept", "act.param", "act.split", "act.transpose_view"}


def shapes(text):
    return [[int(d) for d in t.split(",")[0].split("x")[:-1]] for t in TENSOR.findall(text)]


def cost(op):
    """Seconds of one run: the larger of two times (docs/budgets.md)."""
    operands, results = op.rest.rsplit(" : ", 1)[1].rsplit("->", 1)
    moved = sum(tensor_bytes(t) for t in TENSOR.findall(operands + results))
    a, r = shapes(operands), shapes(results)
    flops = 0
    if op.name == "act.linear":
        flops = 2 * math.prod(a[0]) * r[0][-1]
    elif op.name == "act.matmul":
        flops = 2 * a[0][-2 if "transpose_lhs" in op.rest else -1] * math.prod(r[0])
    elif op.name in ("act.attention", "act.attention_grad"):
        q = a[1] if op.name.endswith("grad") else a[0]
        b, s, heads, d = q
        scores = b * heads * s * (s + 1) // 2  # causal
        flops = scores * 2 * d * (5 if op.name.endswith("grad") else 2)
    return max(flops / FLOPS, moved / BANDWIDTH)


class Op:
    def __init__(self, launch, name, seconds):
        self.launch, self.name, self.cost = launch, name, seconds
        self.reads, self.makes, self.again = [], [], True


class Graph:
    """@grad of a module in kernel form, op by op."""

    def __init__(self, text):
        self.ops, self.bytes, self.maker, self.launches, self.kept = [], [], [], [], []
        self.boundary = 0
        self.recomputed = 0.0
        self.functions = parse(text)
        f = self.functions["grad"]
        for v in self.run(f, {a: None for a in f.arguments}):
            self.bytes[v] = 0  # leaves through a port

    def value(self, size, maker, inside):
        self.bytes.append(0 if inside else size)
        self.maker.append(maker)
        self.kept.append(not inside)
        return len(self.bytes) - 1

    def run(self, f, env):
        for op in f.ops:
            if op.name == "act.group":
                self.launch(op, env)
            elif op.name == "act.phase":
                self.boundary = len(self.launches)
            elif op.name == "func.return":
                return [env[v] for v in op.operands]
            elif op.name == "act.repeat":  # the loss, in one chunk
                if int(op.attribute(r"count = (\d+)")) != 1:
                    raise ValueError("a repeat of more than one")
                callee = self.functions[op.attribute(r"callee = @([\w.]+)")]
                results = self.run(callee, dict(zip(callee.arguments, (env[v] for v in op.operands))))
                names = [op.result] if len(results) == 1 else [f"{op.result}#{i}" for i in range(len(results))]
                env |= dict(zip(names, results))
            elif op.name in ("act.reshape", "act.kept"):
                env[op.result] = env[op.operands[0]]
            elif op.name in ("act.param", "act.site"):
                env[op.result] = None
            else:
                raise ValueError(f"{op.name} in @grad")

    def launch(self, group, env):
        t = len(self.launches)
        inner = dict(zip(group.arguments, (env[v] for v in group.operands)))
        yielded = next(o for o in group.body if o.name == "act.yield").operands
        sizes = dict(zip(yielded, group.result_bytes()))
        again = "act.recompute" in group.rest
        for op in group.body:
            if op.name == "act.yield":
                continue
            names = [op.result] if op.result else []
            results = TENSOR.findall(op.rest.rsplit("->", 1)[1]) if op.result else []
            if len(results) > 1:
                names = [f"{op.result}#{i}" for i in range(len(results))]
            if op.name in VIEWS and not any(n in sizes for n in names):
                for n in names:
                    inner[n] = inner[op.operands[0]]
                continue
            node = Op(t, op.name, 0 if op.name in VIEWS else cost(op))
            node.again = t < self.boundary or not self.boundary
            node.again &= op.name != "act.accumulate"
            node.reads = sorted({inner[v] for v in op.operands if inner.get(v) is not None})
            if again or "act.recompute" in op.rest:
                self.recomputed += node.cost
            self.ops.append(node)
            for n, size in zip(names, results):
                inner[n] = self.value(sizes.get(n, tensor_bytes(size)), len(self.ops) - 1, n not in sizes)
                node.makes.append(inner[n])
        results = [inner[v] for v in yielded]
        inputs = [env[v] for v in group.operands]
        names = [group.result] if len(results) == 1 else [f"{group.result}#{i}" for i in range(len(results))]
        env |= dict(zip(names, results))
        inplace = group.attribute(r"inplace = array<i64: ([-\d, ]+)>", "")
        taken = [(r, inputs[int(n)]) for r, n in zip(results, inplace.split(",") if inplace else [])
                 if int(n) >= 0 and inputs[int(n)] is not None]
        self.launches.append((sorted({v for v in inputs if v is not None}), results, taken,
                              sum(group.workspace_bytes())))

    def total(self):
        return sum(op.cost for op in self.ops)


class Milp:
    """Rows sum(a x) <= b of 0/1 variables and of variables between 0 and 1."""

    def __init__(self):
        self.cost, self.whole, self.entries, self.right = [], [], [], []

    def variable(self, price=0.0, whole=True):
        self.cost.append(price)
        self.whole.append(whole)
        return len(self.cost) - 1

    def row(self, terms, right):
        for x, a in terms:
            self.entries.append((len(self.right), x, a))
        self.right.append(right)

    def solve(self):
        rows, columns, values = zip(*self.entries)
        matrix = coo_matrix((values, (rows, columns)), (len(self.right), len(self.cost))).tocsr()
        return milp(self.cost, integrality=np.array(self.whole, int), bounds=Bounds(0, 1),
                    constraints=LinearConstraint(matrix, -np.inf, self.right),
                    options={"time_limit": SECONDS, "mip_rel_gap": 1e-6})


def checkmate(g, budget):
    """(least extra seconds found or None, its lower bound or None if impossible)."""
    unit = float(budget)
    scale = 1 / max(op.cost for op in g.ops)
    m = Milp()
    T = len(g.launches)
    first = [g.ops[k].launch for k in g.maker]  # stage in which a value is first made
    users = [[] for _ in g.bytes]
    for i, op in enumerate(g.ops):
        for v in op.reads:
            users[v].append(i)
    # Is v of any use in stage t or later: to a kernel, or to an op that is?
    last = [-1] * len(g.bytes)
    for v in reversed(range(len(g.bytes))):
        for i in users[v]:
            last[v] = max([last[v], g.ops[i].launch] + [last[w] for w in g.ops[i].makes if g.ops[i].again])
    S, R = {}, {}
    for t in range(T + 1):
        for v in range(len(g.bytes)):
            if g.kept[v] and first[v] < t <= last[v]:
                S[t, v] = m.variable()
    for t in range(T):
        for i, op in enumerate(g.ops):
            if op.again and op.launch < t and any(last[v] >= t for v in op.makes):
                R[t, i] = m.variable(op.cost * scale)
    for (t, v), x in S.items():
        if first[v] == t - 1:
            continue
        terms = [(x, 1.0)] + [(y, -1.0) for y in (S.get((t - 1, v)), R.get((t - 1, g.maker[v]))) if y is not None]
        m.row(terms, 0)
    there = lambda t, v: [y for y in (S.get((t, v)), R.get((t, g.maker[v]))) if y is not None]
    for (t, i), x in R.items():
        for v in g.ops[i].reads:
            m.row([(x, 1.0)] + [(y, -1.0) for y in there(t, v)], 0)
    for t, (reads, makes, taken, workspace) in enumerate(g.launches):
        for v in reads:
            m.row([(y, -1.0) for y in there(t, v)], -1)
        # While the kernel runs.
        touched = set(reads) | set(makes)
        here = workspace + sum(g.bytes[v] for v in touched)
        terms = [(x, g.bytes[v] / unit) for v in range(len(g.bytes))
                 if v not in touched and (x := S.get((t + 1, v))) is not None]
        for made, of in taken:
            if (t + 1, of) in S:
                terms.append((S[t + 1, of], g.bytes[of] / unit))
            here -= g.bytes[of]
        m.row(terms, 1 - here / unit)
        # While ops run again before it.
        again = [i for i in range(len(g.ops)) if (t, i) in R]
        for j in again:
            terms = []
            for v in range(len(g.bytes)):
                if not g.bytes[v] or first[v] >= t or last[v] < t:
                    continue
                had, made = S.get((t, v)), R.get((t, g.maker[v]))
                if g.maker[v] > j:
                    made = None
                needs = [R[t, i] for i in users[v] if i >= j and (t, i) in R]
                x = m.variable(whole=False)
                terms.append((x, g.bytes[v] / unit))
                if v in reads and g.maker[v] not in again:
                    m.row([(x, -1.0)], -1)
                    continue
                for y in (had, made):
                    if y is None:
                        continue
                    if v in reads:
                        m.row([(y, 1.0), (x, -1.0)], 0)
                        continue
                    for n in needs + ([S[t + 1, v]] if (t + 1, v) in S else []):
                        m.row([(y, 1.0), (n, 1.0), (x, -1.0)], 1)
            m.row(terms, 1)
    done = m.solve()
    if done.status == 2:
        return None, None
    bound = done.mip_dual_bound / scale if done.mip_dual_bound is not None else 0.0
    return (done.fun / scale if done.x is not None else None), max(0.0, bound)


def act_opt(model, *flags, good=True):
    done = subprocess.run([BUILD / "bin/act-opt", model, "--fuse-attention=chunk=4096", "--autodiff",
                           "--inline-repeats", *flags],
                          capture_output=True, text=True)
    if good and done.returncode:
        raise SystemExit(done.stderr)
    return done


def graph(model, *flags):
    return Graph(act_opt(model, *flags, "--form-kernels", "--mlir-print-op-generic").stdout)


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    config, model, report = WORK / "layer.json", WORK / "layer.mlir", WORK / "report.json"
    config.write_text(json.dumps(LAYER))
    subprocess.run([BUILD / "bin/act-import", config, "--batch", "1", "--seq", str(SEQ), "-o", model], check=True)
    plain = graph(model, "--remat=none")
    step = plain.total()
    refused = act_opt(model, "--remat=budget=1", "-o", "/dev/null", good=False).stderr
    least = int(re.search(r"smallest feasible budget known is (\d+)", refused)[1])
    act_opt(model, f"--memory-report=format=json file={report}", "-o", "/dev/null")
    most = json.loads(report.read_text())["peak_bytes"]
    print(f"{len(plain.launches)} kernels, {len(plain.ops)} ops, {1e3 * step:.3f} ms, "
          f"peak {most / 1e6:.1f} MB, smallest feasible {least / 1e6:.1f} MB")
    errors = []
    budgets = sys.argv[2:] or [least + (most - least) * i // 9 for i in range(10)]
    print(f"{'budget MB':>10}{'act %':>9}{'MILP %':>9}{'MILP bound %':>14}{'act bound %':>13}")
    for budget in map(int, budgets):
        ours = graph(model, f"--remat=budget={budget}").recomputed
        act_opt(model, f"--remat=budget={budget}", f"--memory-report=format=json file={report}", "-o", "/dev/null")
        r = json.loads(report.read_text())
        note = re.search(r"recompute \+([\d.]+) %, optimal within ([\d.]+) %", " ".join(r["notes"]))
        printed, gap = float(note[1]), float(note[2])
        found, bound = checkmate(plain, budget)
        percent = lambda x: 100 * x / step
        show = lambda x: "-" if x is None else f"{percent(x):.3f}"
        print(f"{budget / 1e6:>10.1f}{percent(ours):>9.3f}{show(found):>9}{show(bound):>14}{printed - gap:>13.3f}",
              flush=True)
        what = f"budget {budget}"
        if r["peak_bytes"] > budget:
            errors.append(f"{what}: the peak is {r['peak_bytes']}")
        if abs(percent(ours) - printed) > 0.011:
            errors.append(f"{what}: {percent(ours):.3f} % recomputed, act says {printed} %")
        if found is not None and percent(found) < printed - gap - 0.011:
            errors.append(f"{what}: the MILP's optimum is below act's bound")
        if bound is None:
            continue  # act is below the least that the MILP's space allows
        if percent(ours) > percent(found if found is not None else bound) + min(gap, WORST) + 0.011:
            errors.append(f"{what}: {percent(ours):.3f} % recomputed, the MILP {show(found)} %")
    print("\n".join(errors + [f"{len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
