# SPDX-License-Identifier: Apache-2.0
"""budgets.py BIN WORK: what --remat=budget promises.

For toy models with and without repeated layers, with dropout, and for Llama-3.1-8B:

- the report's peak is at most the budget, and the promise in act.remat_result is the
  report's figure;
- what is recomputed never grows with the budget, and is nothing when there is room;
- at the peak of each fixed policy, no more is recomputed than that policy does (with
  rates that make only flops count, so that the report's count is the cost);
- the lower bound is not above the cost;
- without layers, hardly more is needed than with them;
- the smallest feasible budget that an error names is feasible, and one byte less is
  not;
- budget=fit bounds total_peak_bytes, for the optimizer that the command line names,
  wherever it names it;
- values that may move to the host make no budget infeasible that was not, and no step
  dearer; the smallest feasible budget is at most the one without; the second arena is
  measured as planned;
- with an allocator, what its replay reserves stays under the bound, which it does not
  otherwise;
- a search that is cut short keeps to the budget, and says that it was;
- losses and gradients are those without recomputation, byte by byte.
"""
import json
import pathlib
import re
import subprocess
import sys

TOOLS, WORK = map(pathlib.Path, sys.argv[1:3])
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
TEXT = EXAMPLES / "data/tinyshakespeare.txt"
LLAMA = {"model_type": "llama", "hidden_size": 48, "num_attention_heads": 6, "num_key_value_heads": 3,
         "head_dim": 8, "intermediate_size": 72, "num_hidden_layers": 7, "vocab_size": 65,
         "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "rope_theta": 1e4, "hidden_act": "silu",
         "max_position_embeddings": 64, "torch_dtype": "float32", "attention_dropout": 0.1}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": 32, "n_head": 4,
        "n_layer": 5, "n_positions": 64, "vocab_size": 65, "resid_pdrop": 0.1, "embd_pdrop": 0.2,
        "attn_pdrop": 0.15, "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
POLICIES = ["none", "selective", "attention", "attention-core", "layer", "sqrt", "segments=2"]
FLOPS_ONLY = "rates=1e9:1e30"
errors = []


def check(what, good):
    if not good:
        errors.append(what)


def act_opt(model, *flags, out="/dev/null", good=True):
    done = subprocess.run([TOOLS / "act-opt", model, *flags, "-o", out], capture_output=True, text=True)
    if good and done.returncode:
        raise SystemExit(f"act-opt {model} {' '.join(map(str, flags))}:\n{done.stderr}")
    return done


def report(model, *flags):
    """The report, and the promise (None where there is none)."""
    out = WORK / "report.json"
    act_opt(model, *flags, f"--memory-report=format=json file={out}")
    r = json.loads(out.read_text())
    notes = [n for n in r["notes"] if n.startswith("recomputation: ")]
    return r, notes[0] if notes else None


def promised(note):
    """Percent recomputed, and how far from the least."""
    found = re.search(r"recompute \+([\d.]+) %, (?:copies \+[\d.]+ %, )?optimal within ([\d.]+) %", note)
    return float(found[1]), float(found[2])


def smallest(model, flags, key="budget=", whole=False):
    done = act_opt(model, *flags, f"--remat={key}{'' if whole else 1}", good=False)
    found = re.search(r"the smallest feasible budget known is (?:fit:)?(\d+) \(", done.stderr)
    check(f"{model.name}: no smallest budget in {done.stderr!r}", done.returncode and found)
    return int(found[1]) if found else 0


def check_budgets(model, flags, steps):
    """Budgets from the smallest to one in which everything has room."""
    name = f"{model.name} {' '.join(flags)}"
    plain, _ = report(model, *flags)
    least, most = smallest(model, flags), plain["peak_bytes"]
    check(f"{name}: {least} is no less than without recomputation", least < most)
    below = act_opt(model, *flags, f"--remat=budget={least - 1}", good=False)
    check(f"{name}: a budget below the smallest is accepted", below.returncode)
    before = None
    for i in range(steps + 1):
        budget = least + (most - least) * i // steps
        r, note = report(model, *flags, f"--remat=policy=budget={budget} {FLOPS_ONLY}")
        what = f"{name} budget={budget}"
        check(f"{what}: the peak is {r['peak_bytes']}", r["peak_bytes"] <= budget)
        check(f"{what}: recomputes {r['recomputed_flops']}, more than {before} with less room",
              before is None or r["recomputed_flops"] <= before)
        before = r["recomputed_flops"]
        percent, gap = promised(note)
        own = r["flops"] - r["recomputed_flops"]
        check(f"{what}: {note}", 0 <= gap <= percent + 0.011 and "less than the bound" not in note)
        check(f"{what}: {note}, but {before} of {own}", before == 0 or percent > 0)
    check(f"{name}: recomputes with room for everything", before == 0)
    return least, most


def check_effort(model, flags, budget):
    """A search that is cut short finds something that is no better, and says so."""
    long, _ = report(model, *flags, f"--remat=policy=budget={budget} {FLOPS_ONLY}")
    short, note = report(model, *flags, f"--remat=policy=budget={budget} {FLOPS_ONLY} effort=2")
    what = f"{model.name} budget={budget} effort=2"
    check(f"{what}: {note}", "cut short" in note and "optimal within" in note)
    check(f"{what}: the peak is {short['peak_bytes']}", short["peak_bytes"] <= budget)
    check(f"{what}: cheaper than with more effort", short["recomputed_flops"] >= long["recomputed_flops"])


def check_policies(model, flags):
    for policy in POLICIES:
        fixed, _ = report(model, *flags, f"--remat={policy}")
        r, _ = report(model, *flags, f"--remat=policy=budget={fixed['peak_bytes']} {FLOPS_ONLY}")
        check(f"{model.name} {' '.join(flags)}: {policy} recomputes {fixed['recomputed_flops']} with a "
              f"peak of {fixed['peak_bytes']}, the budget {r['recomputed_flops']}",
              r["recomputed_flops"] <= fixed["recomputed_flops"])


def check_fit(model):
    for flags in (["--optimizer=sgd"], ["--optimizer=adamw", "--micro-batches=2", "--clip=1.0"], []):
        plain, _ = report(model, "--fuse-attention", *flags)
        budget = plain["total_peak_bytes"] - plain["peak_bytes"] // 3
        for spelled in ([f"--remat=budget=fit:{budget}"], [f"--device-memory={budget}"],
                        ["--remat=budget=fit", f"--device-memory={budget}"]):
            for order in ([*spelled, *flags], [*flags, *spelled]):
                r, _ = report(model, "--fuse-attention", *order)
                check(f"{model.name} {order}: {r['total_peak_bytes']} of {budget}",
                      r["total_peak_bytes"] <= budget and r["recomputed_flops"] > 0)


def promised_copies(note):
    return float(re.search(r"copies \+([\d.]+) %", note)[1])


def check_offload(model, flags, least):
    """Values may move to the host, at several speeds of the link."""
    name = f"{model.name} {' '.join(flags)}"
    plain, _ = report(model, *flags)
    most, step = plain["peak_bytes"], WORK / "step.mlir"
    act_opt(model, *flags, "--remat=none", out=step)
    expected = train(step, "none")
    moved = 0
    for speed in ("100GB/s", "900TB/s"):
        lower = smallest(model, flags, f"budget=1,offload={speed}", whole=True)
        check(f"{name} {speed}: {lower} is the smallest, {least} without copies", lower <= least)
        for budget in (lower, (2 * least + most) // 3):
            what = f"{name} budget={budget},offload={speed}"
            r, note = report(model, *flags, f"--remat=budget={budget},offload={speed}")
            check(f"{what}: the peak is {r['peak_bytes']}", r["peak_bytes"] <= budget)
            again, gap = promised(note)
            copies = promised_copies(note)
            check(f"{what}: {note}", gap <= again + copies + 0.021)
            check(f"{what}: {note}", ("offload" in r) == (copies > 0) or copies == 0)
            if budget >= least:
                other = promised(report(model, *flags, f"--remat=budget={budget}")[1])[0]
                check(f"{what}: {note}, without copies {other} %", again + copies <= other + 0.021)
            if "offload" in r:
                moved += 1
                o = r["offload"]
                check(f"{what}: {o}", o["moved_bytes"] >= 2 * o["host_peak_bytes"] > 0
                      and o["host_arena_bytes"] >= o["host_peak_bytes"])
                act_opt(model, *flags, f"--remat=budget={budget},offload={speed}", out=step)
                check(f"{what}: other bytes than without", train(step, "offload", "--measure") == expected)
    check(f"{name}: nothing was ever moved", moved > 0)
    if "--fuse-attention" in flags:
        act_opt(model, *flags, "--remat=offload", out=step)
        for mode in ("--measure", "--debug"):
            check(f"{name} offload {mode}: other bytes than without", train(step, "offload", mode) == expected)


def train(model, name, *flags):
    log, gradients = WORK / f"{name}.jsonl", WORK / f"{name}.gradients"
    log.unlink(missing_ok=True)
    subprocess.run([TOOLS / "act-run", "train", model, "--data", TEXT, "--steps", "2", "--lr", "1e-3",
                    "--seed", "5", "--log", log, "--dump-gradients", gradients, *flags],
                   check=True, capture_output=True)
    return log.read_bytes(), gradients.read_bytes()


def check_bits(model, flags, least, most):
    step = WORK / "step.mlir"
    act_opt(model, *flags, "--remat=none", out=step)
    expected = train(step, "none")
    for tenths in (0, 2, 5, 8):
        budget = least + (most - least) * tenths // 10
        act_opt(model, *flags, f"--remat=budget={budget}", out=step)
        check(f"{model.name} {' '.join(flags)} budget={budget}: other bytes than without",
              train(step, "budget") == expected)


def imported(name, config, batch, seq):
    path = WORK / f"{name}.json"
    path.write_text(json.dumps(config))
    return import_config(path, name, batch, seq)


def import_config(path, name, batch, seq):
    out = WORK / f"{name}.mlir"
    subprocess.run([TOOLS / "act-import", path, "--batch", str(batch), "--seq", str(seq), "-o", out], check=True)
    return out


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    llama, gpt2 = imported("llama", LLAMA, 3, 16), imported("gpt2", GPT2, 2, 24)
    written_out = WORK / "written-out.mlir"
    act_opt(imported("short", {**LLAMA, "num_hidden_layers": 3}, 2, 16), "--fuse-attention",
            "--autodiff", "--inline-repeats", out=written_out)
    for model, flags, steps in ((llama, ["--fuse-attention"], 6), (llama, [], 3),
                                (gpt2, ["--fuse-attention"], 3), (written_out, [], 3)):
        least, most = check_budgets(model, flags, steps)
        if flags:
            check_policies(model, flags)
        check_bits(model, flags, least, most)
        if model == written_out or (model == llama and flags):
            check_offload(model, flags, least)
    # Many ops and no layers: the smallest budget is near that of the layers.
    flat, flags = WORK / "flat.mlir", ["--fuse-attention"]
    act_opt(llama, "--fuse-attention", "--autodiff", "--inline-repeats", out=flat)
    least, most = check_budgets(flat, [], 8)
    check_bits(flat, [], least, most)
    act_opt(flat, f"--remat=budget={least}", out=WORK / "step.mlir")
    again, _ = report(WORK / "step.mlir", "--cse")
    check(f"without layers: {again['peak_bytes']} after --cse", again["peak_bytes"] <= least)
    layers = smallest(llama, flags)
    check(f"without layers {least} bytes are needed, {layers} with them", least <= 1.1 * layers)
    check_fit(llama)
    least = smallest(llama, ["--fuse-attention"])
    check_effort(llama, ["--fuse-attention"], least + least // 3)

    real = import_config(EXAMPLES / "models/llama-3.1-8b.json", "8b", 1, 4096)
    for budget in (3, 9, 15):
        r, note = report(real, "--fuse-attention", f"--remat=budget={budget}GB")
        check(f"8B, {budget} GB: the peak is {r['peak_bytes']}", r["peak_bytes"] <= budget * 10**9)
        check(f"8B, {budget} GB: {note}", promised(note)[1] < 0.5)
        print(f"Llama-3.1-8B, s = 4096, {budget} GB: {note}")
    budget, replay = 132 * 10**9, "--allocator=cuda-caching"
    r, note = report(real, "--fuse-attention", f"--remat=budget=fit:{budget}", replay)
    check(f"8B: {r['reserved_peak_bytes']} reserved of {budget}", r["reserved_peak_bytes"] <= budget)
    check(f"8B: {note}, reserved are {r['reserved_peak_bytes']}", "reserved 1" in note)
    out = WORK / "report.json"
    act_opt(real, "--fuse-attention", f"--remat=budget=fit:{budget}",
            f"--memory-report=format=json file={out} allocator=cuda-caching")
    check("8B: a bound on bytes in use is one on reserved bytes",
          json.loads(out.read_text())["reserved_peak_bytes"] > budget)
    print("\n".join(errors + [f"{len(errors)} errors"]))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
