# SPDX-License-Identifier: Apache-2.0
"""liveness.py BIN WORK [MODEL...]: memory of a repeated layer is that of the layers
written out, and both are what an independent reader of the IR finds.

For toy models of 1 to 4 layers, every policy, attention fused or not, dropout or
not, and for a number of tokens that the loss cannot cut into equal chunks:
  - totals and timeline of the module equal those of --inline-repeats, written out
    before and after kernels are formed;
  - kernel_liveness.py finds the same live bytes at every launch, the same peak,
    the same retained bytes, the same lower bound and the same lifetimes;
  - the plan is aligned, without overlaps, inside the arena, and at most 1 % above
    the lower bound.
At the end plans are damaged, and the checks have to see it.
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from kernel_liveness import Liveness, plan_errors, read_plan

LLAMA = {"model_type": "llama", "hidden_size": 24, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 40, "vocab_size": 65,
         "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
         "max_position_embeddings": 64, "hidden_act": "silu", "torch_dtype": "bfloat16"}
GPT2 = {"model_type": "gpt2", "n_embd": 24, "n_head": 4, "vocab_size": 65, "n_positions": 16,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}
TOTALS = ("retained_bytes", "peak_bytes", "total_peak_bytes", "arena_bytes", "lower_bound_bytes",
          "parameters_bytes", "gradients_bytes", "optimizer_bytes", "recomputed_flops", "flops")


def config(model, layers, dropout):
    if model == "llama":
        return LLAMA | {"num_hidden_layers": layers, "attention_dropout": dropout}
    return GPT2 | {"n_layer": layers, "attn_pdrop": dropout, "embd_pdrop": dropout,
                   "resid_pdrop": dropout}


def policies(layers):
    return ["none", "selective", "attention", "attention-core", "layer", "sqrt", "offload",
            *(f"segments={n}" for n in range(1, layers + 1))]


class Case:
    def __init__(self, tools, model, fused, policy):
        self.tools, self.model, self.folder = tools, model, model.parent
        self.name = f"{model.stem}{'-fused' if fused else ''}-{policy}"
        # Chunks of the loss are a repeat of their own.
        self.flags = (["--fuse-attention=chunk=8"] if fused else []) + [f"--remat={policy}", "--write-step"]

    def optimize(self, *flags, out="/dev/null"):
        command = [self.tools / "act-opt", self.model, *self.flags, *flags, "-o", out]
        # Freed memory is overwritten, so that reading it shows.
        done = subprocess.run(command, capture_output=True, text=True,
                              env=os.environ | {"MALLOC_PERTURB_": "85"})
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr}")

    def report(self, *flags):
        out = self.folder / f"{self.name}.json"
        self.optimize(*flags, f"--memory-report=format=json file={out}")
        return json.loads(out.read_text())

    def errors(self):
        out = []
        kernels = self.folder / f"{self.name}.mlir"
        json_file = self.folder / f"{self.name}.plain.json"
        self.optimize(f"--memory-report=format=json file={json_file}", "--plan-memory",
                      "--mlir-print-op-generic", out=kernels)
        report = json.loads(json_file.read_text())
        live = [p["live_bytes"] for p in report["timeline"]]

        for flags in (["--inline-repeats"], ["--form-kernels", "--inline-repeats"]):
            inlined = self.report(*flags)
            out += [f"{key} {report[key]}, {' '.join(flags)}: {inlined[key]}"
                    for key in TOTALS if report[key] != inlined[key]]
            if live != [p["live_bytes"] for p in inlined["timeline"]]:
                out.append(f"the timeline differs from that of {' '.join(flags)}")

        text = kernels.read_text()
        own = Liveness(text, "step")
        timeline = own.timeline()
        if timeline != live:
            at = next((i for i, (a, b) in enumerate(zip(timeline, live)) if a != b), len(live))
            out.append(f"live bytes differ, first at launch {at} of {len(live)} and {len(timeline)}")
        for key, value in (("peak_bytes", max(timeline)), ("retained_bytes", own.retained())):
            if report[key] != value:
                out.append(f"{key} {report[key]}, recomputed {value}")
        totals, buffers = read_plan(text)
        out += plan_errors(totals, buffers) + lifetime_errors(own, buffers)
        if "offload" in report:
            _, away = read_plan(text, on_host=True)
            arena = report["offload"]["host_arena_bytes"]
            out += [f"on the host: {e}" for e in plan_errors(
                {"arena_bytes": arena, "lower_bound_bytes": max(own.timeline(64, True))}, away)
                + lifetime_errors(own, away, True)]
            if report["offload"]["host_peak_bytes"] != max(own.timeline(1, True)):
                out.append(f"the host's peak is {max(own.timeline(1, True))}")
        elif any(b.on_host for b in own.buffers):
            out.append("the report says nothing of the values on the host")
        if max(own.timeline(64)) != report["lower_bound_bytes"]:
            out.append(f"lower bound {report['lower_bound_bytes']}, recomputed {max(own.timeline(64))}")
        if any(totals[k] != report[k] for k in totals):
            out.append(f"the plan's {totals} are not the report's")
        return [f"{self.name}: {e}" for e in out]

    def safe_errors(self):
        try:
            return self.errors()
        except (RuntimeError, ValueError) as error:
            return [f"{self.name}: {error}"]


def lifetime_errors(own, buffers, on_host=False):
    """The plan's lifetimes against the recomputed ones."""
    planned = sorted((first, last, size) for _, _, size, first, last in buffers)
    found = sorted((b.first, b.last, b.bytes) for b in own.buffers if b.on_host == on_host)
    return [] if planned == found else [
        f"lifetimes differ: planned only {sorted(set(planned) - set(found))[:3]}, "
        f"found only {sorted(set(found) - set(planned))[:3]}"]


def damages(totals, buffers):
    """(what, totals, buffers): plans that are wrong in one thing each."""
    def change(i, **fields):
        row = dict(zip(("name", "offset", "size", "first", "last"), buffers[i])) | fields
        return buffers[:i] + [tuple(row.values())] + buffers[i + 1:]

    pairs = itertools.combinations(range(len(buffers)), 2)
    i, j = next((i, j) for i, j in pairs
                if buffers[i][3] <= buffers[j][4] and buffers[j][3] <= buffers[i][4])
    longest = max(range(len(buffers)), key=lambda k: buffers[k][4] - buffers[k][3])
    yield "an offset changed", totals, change(i, offset=buffers[j][1])
    yield "an offset unaligned", totals, change(i, offset=buffers[i][1] + 1)
    yield "a lifetime shortened", totals, change(longest, last=buffers[longest][4] - 1)
    yield "a lifetime begun late", totals, change(longest, first=buffers[longest][3] + 1)
    yield "a buffer left out", totals, buffers[1:]
    yield "the arena cut", totals | {"arena_bytes": totals["arena_bytes"] - 64}, buffers
    yield "the bound raised", totals | {"lower_bound_bytes": totals["lower_bound_bytes"] + 64}, buffers


def bite(case):
    text = (case.folder / f"{case.name}.mlir").read_text()
    own, (totals, buffers) = Liveness(text, "step"), read_plan(text)
    assert not plan_errors(totals, buffers) + lifetime_errors(own, buffers)
    return [f"{what} is not noticed" for what, t, b in damages(totals, buffers)
            if not plan_errors(t, b) + lifetime_errors(own, b)]


def main():
    tools, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    models = sys.argv[3:] or ["llama", "gpt2"]
    work.mkdir(parents=True, exist_ok=True)
    cases = []
    shapes = itertools.product(models, (1, 2, 3, 4), (0.0, 0.25), ((2, 16),))
    for model, layers, dropout, (batch, seq) in [*shapes, (models[0], 2, 0.0, (3, 13))]:
        name = f"{model}-{layers}-{dropout}-{batch * seq}"
        (work / f"{name}.json").write_text(json.dumps(config(model, layers, dropout)))
        subprocess.run([tools / "act-import", work / f"{name}.json", "--batch", str(batch),
                        "--seq", str(seq), "-o", work / f"{name}.mlir"], check=True)
        cases += [Case(tools, work / f"{name}.mlir", fused, policy)
                  for fused in (False, True) for policy in policies(layers)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(Case.safe_errors, cases))
    errors = sum(found, [])
    sound = [c for c, e in zip(cases, found) if not e]
    errors += bite(sound[-1]) if sound else []
    print("\n".join(errors + [f"{len(cases)} modules, {len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
