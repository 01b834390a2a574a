# SPDX-License-Identifier: Apache-2.0
"""runs_test.py BUILD [PART...]: what fits, training, checkpoints and answers of act.finetune,
beside PyTorch, bitsandbytes and transformers; and what the pages say."""
import contextlib
import dataclasses
import filecmp
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from checks import (
    CACHE, ROOT, WORK, act_command, act_logits, build, check, far, refuses, run)

import numpy as np
import bitsandbytes.functional as F
import torch
import transformers as T

import act
import toys
from act.finetune.adapters import Lora
from act.finetune.cache import Context
from act.finetune.fitting import fit
from act.finetune.folder import ModelFolder, Tensors, write_tensors, written
from act.finetune.generation import Generator, Sampling
from act.finetune.schedule import Schedule
from act.finetune.training import Optimizer, Plan, Shape, Trainer


def fits():
    """The table's bytes are the report's and the run's; its largest are the largest; its time
    is that of a card within a quarter."""
    tok = toys.tokenizer()
    base = WORK / "fits-base"
    toys.folder(base, tok=tok)
    shape = Shape(seq=64, lora=Lora(4))
    for pack in (True, False):
        shapes = {"full": Shape(seq=64, pack=pack), "lora": dataclasses.replace(shape, pack=pack)}
        found = fit(ModelFolder(base), "1MB", shapes)
        good = len(found.rows) > 5
        for row in found.rows:
            def bytes_of(batch):
                return dataclasses.replace(row.shape, batch=batch).step_module(
                    ModelFolder(base).config, Optimizer()).report()["total_peak_bytes"]
            good &= row.fits and bytes_of(row.shape.batch) == row.bytes <= 10 ** 6 < bytes_of(
                row.shape.batch + 1)
        check(f"{len(found.rows)} rows of a card of 1 MB, packed {pack}: largest batches and their bytes", good)
    row = found.best("lora")
    check(f"the command of the fastest: {found.command(row)[-60:]}", "--batch %d" % row.shape.batch in
          found.command(row) and all(r.tokens_per_second <= row.tokens_per_second for r in found.rows
                                     if r.method == "lora"))
    data_file = toys.write_jsonl(WORK / "fits.jsonl", [{"messages": m} for m in toys.conversations(20)])
    trainer = Trainer(ModelFolder(base), data_file, WORK / "fits", shape=row.shape, cache=CACHE, plan=Plan(steps=1))
    stats = trainer.step.statistics()
    kept = sum(stats[n] for n in ("parameter_bytes", "gradient_bytes", "optimizer_bytes"))
    check("a run takes the table's bytes", kept + trainer.report["peak_bytes"] + trainer.report["inputs_bytes"]
          + trainer.report["outputs_bytes"] == row.bytes and stats["arena_bytes"] == trainer.report["arena_bytes"])
    given = fit(ModelFolder(base), "200KB", {"full": Shape(seq=64)}, batch=2)
    check("with a given batch all ways are rows", [r.policy for r in given.rows] == [
        "none", "selective", "attention", "sqrt", "layer", "unfused"] and not any(r.fits for r in given.rows))
    nothing = fit(ModelFolder(base), "200KB", {"full": Shape(seq=64)})
    check(f"nothing fits: {nothing.least}", not nothing.rows and nothing.least["full"] > 200_000)
    refuses("a card", "unknown card", lambda: fit(ModelFolder(base), "1MB", shapes, card="v100"))
    # docs/measurements.md, "On a card": four layers and the whole of Llama-3.2-1B, 4096 tokens.
    whole = json.loads((ROOT / "examples/models/llama-3.2-1b.json").read_text())
    four = {**whole, "num_hidden_layers": 4, "vocab_size": 32768, "tie_word_embeddings": False}
    for name, config, measured in (("four layers", four, {"none": 34.4, "selective": 34.9, "layer": 39.6}),
                                   ("1B", whole, {"none": 135.5, "selective": 136.9, "layer": 156.7})):
        for policy, ms in measured.items():
            seconds = Shape(seq=4096, pack=False, remat=policy).step_module(
                config, Optimizer(clip=0)).report(card="h200")["seconds"]
            check(f"{name}, {policy}: {seconds * 1e3:.1f} ms estimated, {ms} measured",
                  abs(seconds * 1e3 / ms - 1) < 0.25)


def optimizers():
    """Two steps beside PyTorch's: clipping, decay of matrices alone, accumulation, and what
    a step of f16 does when its gradients overflow."""
    tok = toys.tokenizer()
    base = WORK / "optimizer-base"
    model, _ = toys.folder(base, "llama-tied", tok)
    config = json.loads((base / "config.json").read_text())
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, len(tok), (2, 2, 1, 24))  # steps, micro-batches, rows, tokens
    labels = np.where(rng.random(tokens.shape) < 0.6, rng.integers(0, len(tok), tokens.shape), -100)

    class Lion(torch.optim.Optimizer):
        def __init__(self, groups, lr, betas):
            super().__init__(groups, {"lr": lr, "betas": betas, "weight_decay": 0})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    b1, b2 = group["betas"]
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.sub_(group["lr"] * (b1 * m + (1 - b1) * p.grad).sign())
                    m.mul_(b2).add_(p.grad, alpha=1 - b2)

    def theirs(make):
        twin = T.AutoModelForCausalLM.from_pretrained(base).double()
        stepper = make([
            {"params": [p for p in twin.parameters() if p.dim() > 1], "weight_decay": 0.1},
            {"params": [p for p in twin.parameters() if p.dim() == 1], "weight_decay": 0.0}])
        norms = []
        for x, y in zip(tokens, labels):
            stepper.zero_grad()
            count = (y != -100).sum()
            for a, b in zip(torch.as_tensor(x), torch.as_tensor(y)):
                logits = twin(input_ids=a).logits
                (torch.nn.functional.cross_entropy(logits.flatten(0, 1), b.flatten(),
                                                   reduction="sum") / count).backward()
            norms.append(float(torch.nn.utils.clip_grad_norm_(twin.parameters(), 0.5)))
            stepper.step()
        return {n: p.detach().numpy() - start[n] for n, p in twin.named_parameters()}, norms

    def ours(optimizer, dtype="f32", scales=(1024, 1024)):
        shape = Shape(seq=24, micro_batches=2, pack=False, dtype=dtype)
        step = act.Device().load(shape.step_module(config, optimizer).emit())
        for name, p in model.named_parameters():
            step.set(name, p.detach().float())

        def weights():
            masters = {s.parameter: step.get(s.name) for s in step.states if s.role == "master"}
            return {p.name: masters.get(p.name, step.get(p.name)) for p in step.parameters}

        began, norms = weights(), []
        for k, (x, y) in enumerate(zip(tokens, labels)):
            inputs = {"tokens": x.astype(np.int32), "labels": y.astype(np.int32)}
            if dtype == "f16":
                inputs["loss_scale"] = np.array(scales[k], np.float32)
            scalars = {"lr": 1e-3, "step": k + 1}
            out = step.run("step", inputs=inputs, scalars={
                s.name: scalars[s.name] for s in step.scalars})
            norms.append(float(out["grad_norm"]))
        return {n: w - began[n] for n, w in weights().items()}, norms, step

    start = {n: p.detach().numpy() for n, p in model.named_parameters()}
    common = {"weight_decay": 0.1, "clip": 0.5}
    for name, options, make in (
            ("adamw", {}, lambda g: torch.optim.AdamW(g, 1e-3)),
            ("sgd", {"momentum": 0.9}, lambda g: torch.optim.SGD(g, 1e-3, momentum=0.9)),
            ("lion", {}, lambda g: Lion(g, 1e-3, (0.9, 0.99)))):
        wanted, norms = theirs(make)
        for dtype, state, bound in (("f32", "f32", 1e-3), ("f32", "bf16", 2e-2), ("f16", "f32", 5e-2)):
            found, got, step = ours(Optimizer(name, state_dtype=state, **common, **options), dtype)
            moved = max(np.abs(wanted[n]).max() for n in start)
            # Where a gradient is nearly 0, its direction is rounding's.
            off = np.quantile(np.concatenate([np.abs(found[n] - wanted[n]).ravel() for n in start]),
                              0.99 if dtype == "f32" else 0.97)
            check(f"{name}, {dtype} with moments of {state}: updates to {off / moved:.0e}, norms to "
                  f"{max(abs(a / b - 1) for a, b in zip(got, norms)):.0e}",
                  off < bound * moved and np.allclose(got, norms, rtol=1e-4 if dtype == "f32" else 1e-2))
            if state == "bf16":
                check("bf16 moments take half", sum(s.bytes for s in step.states if s.role != "gradient") ==
                      step.statistics()["optimizer_bytes"] and all(
                          s.dtype == "bf16" for s in step.states if s.role not in ("gradient", "master")))
    for kind in ("adamw", "adamw8bit"):
        before, norms, step = ours(Optimizer(kind, **common), "f16", (1024, 2.0 ** 24))
        once, _, other = ours(Optimizer(kind, **common), "f16", (1024, 1024))
        check(f"{kind}: a step that overflows has the norm {norms[1]}", not np.isfinite(norms[1]) and norms[0] > 0)
        first = {}
        for count in (1, 2):
            step.run("step", inputs={"tokens": tokens[0].astype(np.int32), "labels": labels[0].astype(np.int32),
                                     "loss_scale": np.array(2.0 ** 30, np.float32)},
                     scalars={"lr": 1e-3, "step": 3})
            now = {e.name: step.get(e.name) for e in [*step.parameters, *step.states] if e.role != "gradient"}
            check("and changes neither weights nor states", not first or all(
                np.array_equal(first[n], now[n]) for n in now))
            first = now
        check("a step that does not changes them", any(not np.array_equal(before[n], once[n]) for n in before))


def moments_of_8_bits():
    """Codes and scales are bitsandbytes', on both devices; what overflows changes nothing."""
    maps = {signed: F.create_dynamic_map(signed=signed) for signed in (True, False)}
    config = {"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
              "num_attention_heads": 2, "vocab_size": 64}
    name, f = "model.layers.0.mlp.up_proj.weight", np.float32
    optimizer = Optimizer("adamw8bit", weight_decay=0.1, clip=0)
    module = Shape(seq=16, pack=False).step_module(config, optimizer)
    sizes = {o: Shape(seq=16, pack=False).step_module(config, Optimizer(o)).report()["optimizer_bytes"]
             for o in ("adamw", "adamw8bit")}
    check(f"optimizer bytes {sizes}", sizes["adamw8bit"] < sizes["adamw"] * 0.27)
    rng = np.random.default_rng(0)
    for device, target in (("host", {}), ("sim:sm_80", {"target": "sm_80"})):
        step = act.Device(device).load(module.emit(**target))
        step.initialise(seed=1)
        wrong = off = 0
        for number in (1, 2, 3):
            def state(what):
                return step.get(f"{name}.{what}")
            old = {s: (maps[s].numpy()[state(k + "_codes")], state(k + "_scales")[:, None])
                   for s, k in ((True, "exp_avg"), (False, "exp_avg_sq"))}
            weight = step.get(name).reshape(-1, 256).astype(np.float64)
            x = rng.integers(0, 64, (1, 16)).astype(np.int32)
            step.run("step", inputs={"tokens": x, "labels": x}, scalars={"lr": 1e-2, "step": number})
            g = state("grad").reshape(-1, 256)
            m = f(0.9) * (old[True][0] * old[True][1]) + f(1 - 0.9) * g
            v = f(0.999) * (old[False][0] * old[False][1]) + f(1 - 0.999) * (g * g)
            for value, kind, signed in ((m, "exp_avg", True), (v, "exp_avg_sq", False)):
                # Its form for f64 is exact; the one for f32 on a CPU is not, near 0.
                codes, scales = torch.ops.bitsandbytes.quantize_blockwise.default(
                    torch.from_numpy(value.reshape(-1)).double(), maps[signed], 256)
                wrong += int((codes.numpy().reshape(value.shape) != state(kind + "_codes")).sum())
                off = max(off, float(np.abs(scales.numpy() - state(kind + "_scales")).max()))
            wanted = weight * (1 - 1e-3) - 1e-2 / (1 - 0.9 ** number) * m / (
                np.sqrt(v / (1 - 0.999 ** number)) + 1e-8)
            off = max(off, float(np.abs(wanted - step.get(name).reshape(-1, 256)).max()))
        check(f"{device}: {wrong} codes differ from bitsandbytes', numbers by {off:.0e}", wrong == 0 and off < 1e-7)
    before = {e.name: step.get(e.name) for e in step.states if e.role != "gradient"}
    check("small tensors keep f32", any(n.endswith("norm.weight.exp_avg") for n in before))


def scaled_run():
    """A run in f16 finds its scale, and is resumed with it."""
    tok = toys.tokenizer()
    base = WORK / "scaled-base"
    toys.folder(base, "llama-tied", tok)
    file = toys.write_jsonl(WORK / "scaled.jsonl", [{"messages": m} for m in toys.conversations(40)])

    def trainer(resume=False):
        return Trainer(ModelFolder(base), file, WORK / "scaled", cache=CACHE, resume=resume,
                       shape=Shape(1, 64, 1, dtype="f16"), schedule=Schedule(peak=1e-3),
                       plan=Plan(steps=8, save_every=4, keep=9))

    first = trainer()
    first.scale.value = 2.0 ** 18
    first.run()
    lines = [json.loads(line) for line in (WORK / "scaled/log.jsonl").read_text().splitlines()]
    skipped = [r for r in lines if "loss" in r and r["grad_norm"] is None]
    check(f"{len(skipped)} steps overflowed, and the scale fell to {first.scale.value:.0f}",
          0 < len(skipped) == 8 - first.updates < 8 and first.scale.value == 2.0 ** (18 - len(skipped)))
    shutil.copytree(WORK / "scaled", WORK / "scaled-once")
    shutil.rmtree(WORK / "scaled/checkpoint-8")
    trainer(resume=True).run()
    check("resumed with its scale, the same bytes", filecmp.cmp(
        WORK / "scaled/checkpoint-8/model.safetensors", WORK / "scaled-once/checkpoint-8/model.safetensors",
        shallow=False))


def resumed():
    """A run that is interrupted and one that is not end with the same bytes."""
    tok = toys.tokenizer()
    base = WORK / "resume-base"
    toys.folder(base, "llama-tied", tok)
    file = toys.write_jsonl(WORK / "resume.jsonl", [{"messages": m} for m in toys.conversations(60)])

    def trainer(name, **options):
        options = {"remat": "selective", "lora": Lora(4), "resume": False, "quantize": "nf4", **options}
        return Trainer(ModelFolder(base), file, WORK / name, cache=CACHE, resume=options["resume"],
                       shape=Shape(1, 64, 2, options["lora"], options["quantize"],
                                   remat=options["remat"]),
                       schedule=Schedule(peak=5e-3, warmup=2),
                       plan=Plan(steps=8, seed=5, eval_fraction=0.2, eval_every=4, save_every=3,
                                 keep=9))

    def same(a, b, *files):
        return all(filecmp.cmp(WORK / a / f, WORK / b / f, shallow=False) for f in files)

    for kind, options, file_name in (("lora", {}, "adapter_model.safetensors"),
                                     ("full", {"lora": None, "quantize": None}, "model.safetensors")):
        trainer(f"{kind}-once", **options).run()
        for step in (3, 4, 6):
            shutil.rmtree(WORK / f"{kind}-twice", ignore_errors=True)
            for kept in (WORK / f"{kind}-once").glob("checkpoint-*"):
                if int(kept.name.split("-")[1]) <= step:
                    shutil.copytree(kept, WORK / f"{kind}-twice" / kept.name)
            again = trainer(f"{kind}-twice", resume=True, remat="layer", **options)
            check(f"{kind}: continues at step {again.position}", again.position == step)
            again.run()
            check(f"{kind}: resumed at {step}, the same bytes", same(
                f"{kind}-once", f"{kind}-twice", f"checkpoint-8/{file_name}",
                "checkpoint-8/optimizer.safetensors"))
    refuses("another run's folder", "--resume", lambda: trainer("lora-once"))
    refuses("other settings", "made with other settings", lambda: trainer(
        "lora-once", resume=True, lora=Lora(8)))
    records_ = [json.loads(line) for line in (WORK / "lora-once/log.jsonl").read_text().splitlines()]
    steps = [r for r in records_ if "loss" in r]
    from tensorboardX.proto import event_pb2
    tags = set()
    for events in (WORK / "lora-once/tensorboard").iterdir():
        raw, at = events.read_bytes(), 0
        while at < len(raw):  # records: length, its checksum, bytes, theirs
            size = int.from_bytes(raw[at:at + 8], "little")
            event = event_pb2.Event.FromString(raw[at + 12:at + 12 + size])
            tags |= {(v.tag, event.step) for v in event.summary.value}
            at += size + 16
    check("TensorBoard's files have them too", {("train/loss", 8), ("train/lr", 1), ("eval/loss", 4)} <= tags)
    check("a log line for each step, with memory and rates", [r["step"] for r in steps] == list(
        range(1, 9)) and records_[0]["planned_bytes"] > 0 and all(
        {"lr", "tokens_per_second", "epoch"} <= set(r) for r in steps) and "eval_loss" in steps[3])


KILLED = """
import sys
sys.path.insert(0, %(site)r)
import os, pathlib, random, threading, time
import torch
from act.finetune.folder import write_json, write_tensors, written
value = float(sys.argv[1])
threading.Thread(target=lambda: (time.sleep(random.random() * 0.05), os._exit(9)), daemon=True).start()
while True:
    with written(%(path)r, replace=True) as path:
        write_tensors(path, "model", {"a": torch.full((200000,), value)})
        write_json(path / "training.json", {"value": value})
    value += 1
"""


def killed():
    """A save that is killed at any moment leaves a folder whose files belong together."""
    path = WORK / "killed/folder"
    with written(path) as new:
        (new / "training.json").write_text('{"value": -1}')
        write_tensors(new, "model", {"a": torch.full((200000,), -1.0)})
    torn = found = 0
    for k in range(6):
        subprocess.run([sys.executable, "-c", KILLED % {
            "site": str(build / "python" / "site"), "path": str(path)}, str(1000 * k)])
        with contextlib.suppress(RuntimeError):  # begins as the next save does
            with written(path, replace=True):
                raise RuntimeError
        value = json.loads((path / "training.json").read_text())["value"]
        tensor = Tensors(path)["a"]
        torn += not bool((tensor == value).all())
        found += value >= 0
    check(f"killed six times: {found} with a newer save, {torn} torn", torn == 0)


def interrupt():
    """SIGINT ends the step and saves; --resume goes on."""
    tok = toys.tokenizer()
    base = WORK / "interrupted-base"
    toys.folder(base, tok=tok)
    file = toys.write_jsonl(WORK / "i.jsonl", [{"messages": m} for m in toys.conversations(40)])
    words = [sys.executable, "-m", "act.finetune.command", "train", str(base), "--data", str(file),
             "-o", str(WORK / "interrupted"), "--seq", "64", "--steps", "100000", "--rank", "4",
             "--cache", str(CACHE)]
    run = subprocess.Popen(words, env={**os.environ, "PYTHONPATH": str(build / "python" / "site")},
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    log = WORK / "interrupted/log.jsonl"
    limit = time.time() + 120
    while time.time() < limit and not (log.exists() and log.read_text().count("loss") > 3):
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    status = run.returncode
    saved = list((WORK / "interrupted").glob("checkpoint-*"))
    check(f"an interrupted run says how to go on, status {status}", status == 130 and len(saved) == 1
          and "--resume goes on" in err)


def answers():
    """Greedy answers and sampled ones are transformers'; stop strings; batches."""
    tok = toys.tokenizer()
    base = WORK / "answers-base"
    model, _ = toys.folder(base, tok=tok)
    maker = Generator(ModelFolder(base), length=64, batch=3)
    prompts = [maker.encode(maker.prompt([{"role": "user", "content": q}]), special=False)
               for q, _ in toys.PAIRS[:5]]
    rows = maker.generate(prompts, most=20)
    good = True
    for row, prompt in zip(rows, prompts):
        with torch.no_grad():
            theirs = model.generate(torch.tensor([prompt]), max_new_tokens=20, do_sample=False)
        good &= row.ids == theirs[0].tolist()
    check("greedy answers in batches are transformers'", good)
    with torch.no_grad():
        theirs = model.generate(torch.tensor([prompts[0]]), max_new_tokens=20, do_sample=False,
                                repetition_penalty=1.3)
    ours, = maker.generate(prompts[:1], most=20, sampling=Sampling(0.0, repetition_penalty=1.3))
    check("with a penalty for repetition too", ours.ids == theirs[0].tolist())
    sampling = Sampling(0.8, top_k=30, top_p=0.9, min_p=0.02, seed=4)
    pieces = []
    first = maker.generate(prompts[:2], most=12, sampling=sampling,
                           write=lambda k, text: pieces.append((k, text)))
    again = maker.generate(prompts, most=12, sampling=sampling)
    check("sampled answers depend on the seed, not on the batch", all(
        a.ids == b.ids for a, b in zip(first, again)))
    check("what is streamed is the answer", all("".join(t for k, t in pieces if k == r.number) == r.text
                                                for r in first))
    text = first[0].text
    stop = text[len(text) // 2:][:3]
    pieces = []
    stopped, = maker.generate(prompts[:1], most=12, sampling=sampling, stop=[stop],
                              write=lambda k, text: pieces.append(text))
    check(f"ends before {stop!r}", stopped.text == text[:text.index(stop)] == "".join(pieces))
    # Every kind, with prompts of several chunks that are longer than a window.
    rng = np.random.default_rng(0)
    long = [rng.integers(3, len(tok), n).tolist() for n in (5, 41, 16)]
    for kind in toys.KINDS:
        model, _ = toys.folder(WORK / f"answers-{kind}", kind, tok)
        made = Generator(ModelFolder(WORK / f"answers-{kind}"), length=64, batch=2, chunk=16)
        rows, good = made.generate(long, most=12), True
        for row, prompt in zip(rows, long):
            with torch.no_grad():
                theirs = model.generate(torch.tensor([prompt]), max_new_tokens=12, do_sample=False,
                                        attention_mask=torch.ones(1, len(prompt)))
            good &= row.ids == theirs[0].tolist()
        check(f"{kind}: answers through the cache are transformers'", good)
    # The cached program's logits are those of one that sees all tokens; also in 4 bits.
    for options in ({"quantize": "nf4"}, {"quantize": "nf4-nested"}, {"dtype": "bf16"}, {"dtype": "f16"}):
        made = Generator(ModelFolder(base), length=64, chunk=8, **options)
        context = Context()
        got = torch.stack([made._prompt(context, long[1]), made._next([context], [[7]])[0]]).numpy()
        wanted = act_logits(base, [long[1] + [7]], **options)[0, -2:]
        check(f"{options}: logits through the cache, {far(got, wanted):.0e}",
              far(got, wanted) < (1e-5 if "quantize" in options else 3e-2))
    made = Generator(ModelFolder(base), length=64, batch=2, cache_blocks=5)
    free = made.cache.free_blocks
    check("blocks are given back", len(made.generate([[5] * 30, [6] * 20, [7] * 40], most=9)) == 3
          and made.cache.free_blocks == free == 5)
    refuses("a cache that is too small", "no free block", lambda: made.generate([[5] * 45, [6] * 40], most=9))
    check("and its blocks are given back", made.cache.free_blocks == 5)
    report = made.report
    check("the report has the cache's bytes", report["inputs_bytes"] > made.cache.bytes
          and made.cache.bytes == 2 * 2 * 5 * 16 * 2 * 8 * 4)
    made = Generator(ModelFolder(base), length=32, chunk=16, device="sim:sm_80")
    check("on a simulator too", made.generate([long[2]], most=3)[0].tokens == maker.generate(
        [long[2]], most=3)[0].tokens)
    refuses("a prompt that is too long", "compiled for 64", lambda: maker.generate([[1] * 64]))
    refuses("a temperature", "at least 0", lambda: Sampling(-1))


def job():
    """The commands, from a folder and conversations to an answer, on host and simulator."""
    tok = toys.tokenizer()
    base = WORK / "job-base"
    model, _ = toys.folder(base, "llama-tied", tok)
    file = toys.write_jsonl(WORK / "job.jsonl", [{"messages": m} for m in toys.conversations(150)])
    common = ["--data", file, "--seq", 96, "--cache", CACHE]
    status, out, _ = act_command("train", base, *common, "-o", WORK / "job", "--method", "full",
                                 "--epochs", 12, "--lr", 1e-2, "--eval-fraction", 0.1)
    check(f"act train: {out.strip()[-9:]}", status == 0 and out.strip() == str(WORK / "job/model"))
    status, out, _ = act_command("generate", WORK / "job/model", "where is the blue boat?")
    check(f"act generate: {out.strip()}", status == 0 and out.strip() == "the blue boat is in the house.")
    # Other answers by an adapter, on both devices: the same losses.
    other = [[{"role": "user", "content": q}, {"role": "assistant", "content": "in the tree."}]
             for q, _ in toys.PAIRS] * 3
    other = toys.write_jsonl(WORK / "other.jsonl", [{"messages": m} for m in other])
    losses = []
    for device, steps in (("host", 30), ("sim:sm_80", 2)):
        run = WORK / f"job-{device[:3]}"
        status, out, err = act_command(
            "train", WORK / "job/model", "--data", other, "--seq", 64, "--cache", CACHE, "-o", run,
            "--rank", 8, "--lr", 1e-2, "--steps", steps, "--schedule", "constant", "--warmup", 0,
            "--device", device)
        check(f"act train on {device}", status == 0)
        losses.append([json.loads(line)["loss"] for line in (run / "log.jsonl").read_text().splitlines()
                       if '"loss"' in line])
    check(f"losses on both: {losses[0][1]:.4f}, {losses[1][1]:.4f}",
          np.allclose(losses[0][:2], losses[1], rtol=1e-4))
    status, out, _ = act_command("generate", WORK / "job-hos/adapter", "where is the blue boat?")
    check(f"the adapter answers: {out.strip()}", status == 0 and out.strip() == "in the tree.")
    status, _, _ = act_command("merge", WORK / "job-hos/adapter", "-o", WORK / "job-merged")
    status, out, _ = act_command("generate", WORK / "job-merged", "where is the red cat?", "who runs?",
                                 "--length", 64)
    check("merged, two prompts at once", status == 0 and [json.loads(line)["answer"] for line in
                                                         out.splitlines()] == ["in the tree."] * 2)
    status, out, _ = act_command("report", base, "--seq", 96, "--format", "json", "--method", "full",
                                 "--accumulate", 1)
    begun = json.loads((WORK / "job/log.jsonl").read_text().splitlines()[0])
    check("act report has the bytes of the run", status == 0 and json.loads(out)[
        "total_peak_bytes"] == begun["planned_bytes"] and json.loads(out)["arena_bytes"] == begun["arena_bytes"])
    status, _, err = act_command("train", base, *common, "-o", WORK / "job", "--method", "full")
    check(f"errors are one line: {err.strip()[:80]}", status == 1 and "act: error:" in err
          and "Traceback" not in err)


def documents():
    """What the pages say is printed."""
    env = {**os.environ, "PYTHONPATH": str(build / "python/site"), "PATH": os.pathsep.join(
        [str(build / "python/site/bin"), os.path.dirname(sys.executable), os.environ["PATH"]])}
    for page in ("docs/finetune.md", "examples/12-fine-tune/README.md"):
        run = subprocess.run([sys.executable, str(ROOT / "test/doc-commands.py"), str(ROOT / page)], env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(f"{page}", run.returncode == 0 or print(run.stdout))


if __name__ == "__main__":
    run([fits, optimizers, moments_of_8_bits, scaled_run, resumed, killed, interrupt, answers, job, documents])
