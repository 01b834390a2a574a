# SPDX-License-Identifier: Apache-2.0
"""folders_test.py BUILD [PART...]: data, folders and adapters of act.finetune, beside
transformers and peft."""
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys

from checks import (
    CACHE, WORK, act_command, act_logits, build, check, far, logits_of, refuses, run)

import numpy as np
import peft
import pyarrow
import pyarrow.parquet
import torch
import transformers as T

import toys
from act.finetune import checkpoints
from act.finetune.adapters import Lora
from act.finetune.examples import Renderer, records
from act.finetune.fitting import fit
from act.finetune.folder import GrownFolder, ModelFolder, Tensors, written
from act.finetune.generation import Generator, Sampling
from act.finetune.merging import merge
from act.finetune.rows import IGNORED, Batches, Rows
from act.finetune.schedule import Schedule
from act.finetune.tokens import Tokeniser, tokenised
from act.finetune.training import Optimizer, Plan, Shape, Trainer


def schedules():
    optimizer = torch.optim.SGD([torch.zeros(1)], 1.0)
    for kind, warmup, decay, least, theirs in (
            ("cosine", 5, 0, 0, T.get_cosine_schedule_with_warmup(optimizer, 5, 40)),
            ("cosine", 0, 0, 0.1, T.get_cosine_with_min_lr_schedule_with_warmup(
                optimizer, 0, 40, min_lr_rate=0.1)),
            ("linear", 0.1, 0, 0, T.get_linear_schedule_with_warmup(optimizer, 4, 40)),
            ("constant", 3, 0, 0, T.get_constant_schedule_with_warmup(optimizer, 3)),
            ("wsd", 5, 0.25, 0.2, T.get_wsd_schedule(optimizer, 5, 10, 40, min_lr_ratio=0.2))):
        ours = Schedule(kind, 1.0, warmup, decay, least)
        factor = theirs.lr_lambdas[0]
        check(f"schedule {kind} is transformers'", all(
            abs(ours.rate(step, 40) - factor(step - 1)) < 1e-12 for step in range(1, 42)))
    refuses("a schedule", "expected one of", lambda: Schedule("step"))


def data():
    tok = toys.tokenizer()
    base = WORK / "data-base"
    toys.folder(base, tok=tok)
    chats = toys.conversations(40)
    tokeniser = Tokeniser(tok)
    # The template's tokens, and the answers alone.
    good = True
    for messages in chats:
        ids, mask = tokeniser.sample(Renderer(tok)({"messages": messages}, "here"), "here")
        good &= ids == tok.apply_chat_template(messages, return_dict=False)
        learned = tok.decode([i for i, m in zip(ids, mask) if m])
        answers = [m["content"] for m in messages if m["role"] == "assistant"]
        good &= learned == "".join(a + "<|im_end|>\n" for a in answers)
    check("messages: tokens are transformers', answers are learned", good)
    theirs = [{"from": {"user": "human", "assistant": "gpt"}[m["role"]], "value": m["content"]}
              for m in chats[0]]
    render = Renderer(tok)
    check("conversations are messages", render({"conversations": theirs}, "").text == render(
        {"messages": chats[0]}, "").text)
    ids, mask = tokeniser.sample(render({"prompt": "who runs?", "completion": " the dog"}, ""), "")
    check("a completion is learned, with the end", tok.decode(
        [i for i, m in zip(ids, mask) if m]) == " the dog<|im_end|>" and
        tok.decode(ids) == "who runs? the dog<|im_end|>")
    ids, mask = tokeniser.sample(render({"text": "the red boat"}, ""), "")
    check("a text is learned as a whole", all(mask) and ids[-1] == tok.eos_token_id)
    both = render({"prompt": chats[0][:1], "completion": chats[0][1:2]}, "")
    check("prompt and completion as messages", both.text[both.learned[0][0]:] ==
          chats[0][1]["content"] + "<|im_end|>\n")
    # A template that writes earlier answers otherwise than the last one.
    odd = toys.tokenizer()
    odd.chat_template = ("{% for m in messages %}[{{ m['role'] }}]{% if m['role'] == 'assistant' and "
                         "loop.last %}(hm){% endif %}{{ m['content'] }};{% endfor %}"
                         "{% if add_generation_prompt %}[assistant]{% endif %}")
    turns = [*chats[0][:2], *chats[1][:2]]
    found = Renderer(odd)({"messages": turns}, "")
    check("of a template that rewrites earlier answers, the last is learned", [
        found.text[a:b] for a, b in found.learned] == [f"(hm){turns[3]['content']};"])
    # Files.
    lines = toys.write_jsonl(WORK / "chats.jsonl", [{"messages": m} for m in chats])
    table = pyarrow.table({"messages": chats})
    pyarrow.parquet.write_table(table, WORK / "chats.parquet")
    check("Parquet has the records of JSON lines", [r for _, r in records(
        WORK / "chats.parquet")] == [r for _, r in records(lines)])
    for text, wanted in (("{", "jsonl:1: not JSON"), ("[]", "expected a JSON object"),
                         ('{"a": 1}', "expected one of messages"),
                         ('{"messages": []}', "expected a list of messages"),
                         ('{"messages": [{"role": "u", "content": ""}]}', "the role 'u'"),
                         ('{"messages": [{"role": "user", "content": "a"}]}', "nothing to learn"),
                         ('{"prompt": "a"}', "needs a completion"),
                         ('{"text": 3}', "expected a text")):
        bad = WORK / "bad.jsonl"
        bad.write_text(text)
        refuses(f"{text}", wanted, lambda: tokenised(bad, ModelFolder(base), cache=CACHE))
    # Once made, and made in pieces by processes.
    first = tokenised(lines, ModelFolder(base), cache=CACHE)
    stamp = (first.path / "tokens").stat().st_mtime_ns
    check("tokens are made once", (tokenised(lines, ModelFolder(base), cache=CACHE).path / "tokens"
                                   ).stat().st_mtime_ns == stamp)
    many = toys.write_jsonl(WORK / "many.jsonl", [{"messages": m} for m in toys.conversations(2600)])
    one = tokenised(many, ModelFolder(base), cache=WORK / "one", workers=1)
    killed = subprocess.Popen([sys.executable, "-c", (
        "import sys; sys.path.insert(0, %r)\n"
        "import os, pathlib\n"
        "from act.finetune.folder import ModelFolder\n"
        "from act.finetune.tokens import tokenised\n"
        "tokenised(pathlib.Path(%r), ModelFolder(%r), cache=pathlib.Path(%r), workers=2,\n"
        "          progress=lambda done: os._exit(3) if done > 1000 else None)\n") % (
            str(build / "python" / "site"), str(many), str(base), str(WORK / "two"))])
    check("tokenising was interrupted", killed.wait() == 3)
    part, = (WORK / "two").glob("*.part")
    begun = json.loads((part / "done.json").read_text())["records"]
    two = tokenised(many, ModelFolder(base), cache=WORK / "two", workers=2)
    check(f"and went on after {begun} records, in two processes, to the same bytes", all(
        filecmp.cmp(one.path / f, two.path / f, shallow=False) for f in ("tokens", "learned", "ends")))
    worse = toys.write_jsonl(WORK / "worse.jsonl", [{"messages": m} for m in toys.conversations(2100)] + [
        {"messages": 3}])
    refuses("a record that a process refuses", "expected a list of messages", lambda: tokenised(
        worse, ModelFolder(base), cache=CACHE, workers=2))
    tok.bos_token = "<|endoftext|>"
    tok.save_pretrained(base)
    check("other special tokens are another data set", tokenised(lines, ModelFolder(base), cache=CACHE).key !=
          first.key)
    greeted = Renderer(tok)({"messages": [{"role": "assistant", "content": "hello"}, *chats[0]]}, "")
    check("of an answer that comes first, what the template puts before is not learned", len(
        greeted.learned) >= 1 and not any("<|im_start|>" in greeted.text[a:b] for a, b in greeted.learned))
    for text in ('{"text": "\\ud800"}', '{"messages": [{"role": "user", "content": "\\udfff"}, '
                 '{"role": "assistant", "content": "a"}]}'):
        bad.write_text(text)
        refuses("half a surrogate pair", "not Unicode", lambda: tokenised(bad, ModelFolder(base), cache=CACHE))
    # Rows: every sample once, whole, with labels of its own.
    rows = Rows(first, 96)
    seen = {}
    for k in range(len(rows)):
        batch = rows.batch([k])
        ends = [*batch.starts[0][1:], 96]
        for start, end in zip(batch.starts[0], ends):
            ids, labels = batch.tokens[0, start:end], batch.labels[0, start:end]
            if not ids.any():
                good &= bool((labels == IGNORED).all())
                continue
            at = labels != IGNORED
            good &= bool((labels[:-1][at[:-1]] == ids[1:][at[:-1]]).all()) and labels[-1] == IGNORED
            seen[tuple(ids)] = seen.get(tuple(ids), 0) + 1
    wanted = {}
    for i in range(len(first)):
        key = tuple(first.sample(i)[0][:96])
        wanted[key] = wanted.get(key, 0) + 1
    check(f"{len(first)} samples in {len(rows)} rows, {rows.padding:.0%} padding", good and seen == wanted)
    batches = Batches(rows, 4, seed=3)
    orders = [np.concatenate([batches[s].tokens for s in range(
        e * batches.steps_per_epoch + 1, (e + 1) * batches.steps_per_epoch + 1)]) for e in (0, 1)]
    again = Batches(rows, 4, seed=3)[batches.steps_per_epoch + 2]
    check("epochs differ in order alone, and a step's batch is a function of the seed",
          not np.array_equal(*orders) and np.array_equal(*(np.sort(o.sum(1)) for o in orders))
          and np.array_equal(again.tokens, batches[batches.steps_per_epoch + 2].tokens))
    counted = [int(first.sample(i)[1][1:96].sum()) for i in range(len(first))]
    check("learned tokens of long and short rows", first.learned_in(96).tolist() == counted
          and one.learned_in(50).tolist() == [int(one.sample(i)[1][1:50].sum()) for i in range(len(one))])
    refuses("rows that are too short", "no sample has a token to learn", lambda: Rows(first, 4))


def leaves(what, base, file, run, lora, ids, wanted):
    """An adapter that act trains is one for peft, and merged one for transformers."""
    Trainer(ModelFolder(base), file, run, shape=Shape(seq=64, lora=lora), cache=CACHE,
            schedule=Schedule(peak=1e-2), plan=Plan(steps=3)).run()
    ours = act_logits(run / "adapter", ids)
    theirs = logits_of(peft.PeftModel.from_pretrained(
        T.AutoModelForCausalLM.from_pretrained(base), run / "adapter").eval(), ids)
    check(f"{what}: an adapter of act in peft, {far(ours, theirs):.0e}",
          far(ours, theirs) < 1e-5 and far(ours, wanted) > 1e-3)
    merge(ModelFolder(run / "adapter"), run / "merged")
    theirs = logits_of(T.AutoModelForCausalLM.from_pretrained(run / "merged"), ids)
    check(f"{what}: merged in transformers, {far(ours, theirs):.0e}", far(ours, theirs) < 1e-5)


def folders():
    """Each kind in and out; sharded, bare, tied; and adapters both ways."""
    tok = toys.tokenizer()
    ids = np.random.default_rng(0).integers(0, len(tok), (1, 24))
    data_file = toys.write_jsonl(WORK / "few.jsonl", [
        {"messages": m} for m in toys.conversations(12)])
    for kind in toys.KINDS:
        base = WORK / f"in-{kind}"
        model, _ = toys.folder(base, kind, tok, max_shard_size="20KB" if kind == "llama" else "5GB")
        wanted = logits_of(model, ids)
        check(f"{kind}: a folder's logits, {far(act_logits(base, ids), wanted):.0e}",
              far(act_logits(base, ids), wanted) < 1e-5)
        # Training all weights writes a folder.
        shape = Shape(seq=64, micro_batches=2)
        run = WORK / f"full-{kind}"
        trainer = Trainer(ModelFolder(base), data_file, run, shape=shape, cache=CACHE,
                          schedule=Schedule(peak=1e-2), plan=Plan(steps=2))
        trainer.run()
        trained = T.AutoModelForCausalLM.from_pretrained(run / "model").eval()
        T.AutoTokenizer.from_pretrained(run / "model")
        ours, theirs = act_logits(run / "model", ids), logits_of(trained, ids)
        check(f"{kind}: a trained folder loads in transformers, {far(ours, theirs):.0e}",
              far(ours, theirs) < 1e-5 and far(ours, wanted) > 1e-3)
        # An adapter of act in peft, and merged in transformers.
        lora = Lora(4, 8.0, ("all-linear",) if kind != "gpt2" else ("c_attn",), kind == "llama")
        leaves(kind, base, data_file, WORK / f"lora-{kind}", lora, ids, wanted)
        # An adapter of peft in act.
        targets = {"gpt2": ["c_attn", "c_proj"], "phi3": ["qkv_proj", "down_proj"]}.get(
            kind, ["q_proj", "v_proj", "up_proj"])
        made = peft.get_peft_model(T.AutoModelForCausalLM.from_pretrained(base), peft.LoraConfig(
            r=4, lora_alpha=6, target_modules=targets, init_lora_weights=False,
            use_rslora=kind == "phi3")).eval()
        made.save_pretrained(WORK / f"peft-{kind}")
        ours, theirs = act_logits(WORK / f"peft-{kind}", ids), logits_of(made, ids)
        check(f"{kind}: an adapter of peft in act, {far(ours, theirs):.0e}",
              far(ours, theirs) < 1e-5 and far(ours, wanted) > 1e-3)


def whole_modules():
    """What trains as a whole beside adapters, is frozen, or is new in the vocabulary."""
    tok = toys.tokenizer()
    ids = np.random.default_rng(0).integers(0, len(tok), (1, 24))
    file = toys.write_jsonl(WORK / "whole.jsonl", [{"messages": m} for m in toys.conversations(12)])
    for kind, modules in (("llama", ("lm_head", "embed_tokens")), ("llama", ("norm",)),
                          ("llama-tied", ("embed_tokens",)), ("gpt2", ("wte",))):
        base = WORK / f"whole-{kind}"
        shutil.rmtree(base, ignore_errors=True)
        model, _ = toys.folder(base, kind, tok)
        lora = Lora(4, 8.0, ("c_attn",) if kind == "gpt2" else ("q_proj",), modules_to_save=modules)
        run = WORK / f"whole-{kind}-{modules[0]}"
        leaves(f"{kind}, {modules}", base, file, run, lora, ids, logits_of(model, ids))
    made = peft.get_peft_model(T.AutoModelForCausalLM.from_pretrained(WORK / "whole-llama"), peft.LoraConfig(
        r=4, target_modules=["v_proj"], init_lora_weights=False, modules_to_save=["lm_head"])).eval()
    with torch.no_grad():
        for n, p in made.named_parameters():
            if p.requires_grad:
                p.add_(0.05 * torch.randn_like(p))
    made.save_pretrained(WORK / "whole-peft")
    check("lm_head of peft in act", far(act_logits(WORK / "whole-peft", ids), logits_of(made, ids)) < 1e-5)
    # Frozen parameters keep their bytes, and the others do not.
    base = WORK / "whole-llama"
    Trainer(ModelFolder(base), file, WORK / "frozen", shape=Shape(seq=64, freeze=("*norm*", "*.mlp.*")),
            cache=CACHE, schedule=Schedule(peak=1e-2), plan=Plan(steps=2)).run()
    before, after = Tensors(base), Tensors(WORK / "frozen/model")
    same = {n for n in before if torch.equal(before[n], after[n])}
    check(f"{len(same)} of {len(before)} tensors are frozen", set(before) == set(after) and same == {
        n for n in before if "norm" in n or ".mlp." in n})
    refuses("a pattern of nothing", "no parameter of that name", lambda: Shape(freeze=("x.*",)).import_model(
        ModelFolder(base).config))
    # New tokens.
    words = ["<tool>", "</tool>", "<a>", "<b>", "<c>"]
    calls = toys.write_jsonl(WORK / "calls.jsonl", [{"messages": [
        {"role": "user", "content": "call"}, {"role": "assistant", "content": "<tool><a></tool>"}]}] * 30)
    for kind, method in (("llama", "lora"), ("llama-tied", "lora"), ("llama", "full")):
        base, run = WORK / f"whole-{kind}", WORK / f"grown-{kind}-{method}"
        status, out, err = act_command(
            "train", base, "--data", calls, "-o", run, "--method", method, "--rank", 4, "--seq", 64, "--steps", 40,
            "--lr", 2e-2, "--cache", CACHE, "--add-tokens", *words)
        check(f"{kind}, {method}: trains with new tokens", status == 0 or print(err))
        result = pathlib.Path(out.strip())
        grown = T.AutoTokenizer.from_pretrained(result)
        check("the tokenizer has them", all(len(grown.encode(w, add_special_tokens=False)) == 1 for w in words))
        status, out, _ = act_command("generate", result, "call", "--length", 64)
        maker = Generator(ModelFolder(result), length=64)
        row, = maker.generate([maker.encode(maker.prompt([{"role": "user", "content": "call"}]), special=False)])
        check(f"and the model writes them: {grown.decode(row.tokens)}", grown.decode(row.tokens).startswith(
            "<tool><a></tool>"))
        if method == "lora":
            theirs = T.AutoModelForCausalLM.from_pretrained(base)
            theirs.resize_token_embeddings(maker.folder.config["vocab_size"], mean_resizing=False)
            theirs = peft.PeftModel.from_pretrained(theirs, result).eval()
        else:
            theirs = T.AutoModelForCausalLM.from_pretrained(result)
        ours, theirs = act_logits(result, ids), logits_of(theirs, ids)
        check(f"as in transformers, {far(ours, theirs):.0e}", far(ours, theirs) < 1e-5)
    refuses("a token that is there", "has <|im_end|> already", lambda: GrownFolder(
        ModelFolder(WORK / "whole-llama"), ["<|im_end|>"]))


def broken():
    """What is missing or does not fit is named."""
    tok = toys.tokenizer()
    base = WORK / "whole"
    toys.folder(base, tok=tok)
    refuses("no folder", "is not a folder", lambda: ModelFolder(WORK / "nowhere"))

    def damaged(name, change):
        copy = WORK / "damaged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        change(copy)
        return copy

    refuses("no config", "has no config.json", lambda: ModelFolder(damaged(
        "", lambda c: (c / "config.json").unlink())))
    refuses("a config of no JSON", "not JSON", lambda: ModelFolder(damaged(
        "", lambda c: (c / "config.json").write_text("{"))))
    refuses("no weights", "has no model.safetensors", lambda: Generator(ModelFolder(damaged(
        "", lambda c: (c / "model.safetensors").unlink())), length=8))

    def pickled(copy):
        (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    refuses("pickled weights", "save it again", lambda: Generator(ModelFolder(damaged(
        "", pickled)), length=8))
    refuses("half a file", "model.safetensors", lambda: Generator(ModelFolder(damaged(
        "", lambda c: os.truncate(c / "model.safetensors", 5000))), length=8))
    refuses("no tokenizer", "has no tokenizer.json", lambda: ModelFolder(damaged(
        "", lambda c: [p.unlink() for p in c.glob("*token*")])).tokenizer())

    def renamed(copy):
        from safetensors.torch import load_file, save_file
        tensors = load_file(copy / "model.safetensors")
        tensors["model.layers.0.extra"] = tensors.pop("model.layers.0.mlp.up_proj.weight")
        tensors["model.norm.weight"] = tensors["model.norm.weight"][:8].clone()
        save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    refuses("three wrong tensors", "of another shape", lambda: Generator(ModelFolder(damaged(
        "", renamed)), length=8))
    made = peft.get_peft_model(T.AutoModelForCausalLM.from_pretrained(base), peft.LoraConfig(
        r=4, target_modules=["q_proj"], use_dora=True))
    made.save_pretrained(WORK / "dora")
    refuses("what act does not compute", "use_dora", lambda: ModelFolder(WORK / "dora"))
    made = peft.get_peft_model(T.AutoModelForCausalLM.from_pretrained(base), peft.LoraConfig(
        r=4, target_modules=["q_proj"]))
    made.save_pretrained(WORK / "moved")
    settings = json.loads((WORK / "moved/adapter_config.json").read_text())
    (WORK / "moved/adapter_config.json").write_text(json.dumps(
        {**settings, "base_model_name_or_path": "somewhere/else"}))
    refuses("a base that is elsewhere", "give it with --base", lambda: ModelFolder(WORK / "moved"))
    check("a base that is given", ModelFolder(WORK / "moved", base).base.path == base)


def careful():
    """What is the user's stays, and what would be wrong is said."""
    tok = toys.tokenizer()
    base, file = WORK / "careful/base", toys.write_jsonl(WORK / "careful.jsonl", [
        {"messages": m} for m in toys.conversations(30)])
    toys.folder(base, "llama-tied", tok)
    for name in ("out.old-backup", "out.new-idea", "out.old-12345678"):
        (WORK / "careful" / name).mkdir()
        (WORK / "careful" / name / "precious").write_text("")
    with written(WORK / "careful/out") as path:
        (path / "a").write_text("")
    check("folders with such names stay", len(list((WORK / "careful").glob("*/precious"))) == 3)
    refuses("a folder that is there", "already and not empty", lambda: written(WORK / "careful/out").__enter__())
    (WORK / "careful/link").symlink_to(WORK / "careful/out")
    with written(WORK / "careful/link", replace=True) as path:
        (path / "b").write_text("")
    check("a link leads to the new folder", (WORK / "careful/link/b").exists() and (WORK / "careful/link").is_symlink())

    def trainer(run, **options):
        options = {"plan": Plan(steps=6, eval_fraction=0.3, eval_every=2, keep=1), "folder": base, **options}
        return Trainer(ModelFolder(options["folder"]), file, WORK / run, cache=CACHE, plan=options["plan"],
                       shape=options.get("shape", Shape(seq=64, lora=Lora(4))), resume=options.get("resume", False),
                       schedule=Schedule(peak=1e-2))

    full = Shape(seq=64)
    shutil.copytree(base, WORK / "careful/run/model")
    refuses("a run onto its own base", "which it begins with", lambda: trainer(
        "careful/run", folder=WORK / "careful/run/model", shape=full))
    refuses("a model that no run made", "no run's", lambda: trainer("careful/run", shape=full))
    stopped = trainer("careful/stopped")
    stopped.log.begin(0, 6, stopped.report, stopped.step.statistics())
    for number in (1, 2):
        stopped._one(number)
    stopped._stop()
    two = json.loads((WORK / "careful/stopped/checkpoint-2/training.json").read_text())
    check("an interrupt after an evaluation keeps its loss", two["eval_loss"] == stopped.best < 100)
    for name, changed in (("another part of the data", {"plan": Plan(steps=6, eval_fraction=0.1, eval_every=2, keep=1)}),
                          ("another base", {"folder": WORK / "careful/other"})):
        toys.folder(WORK / "careful/other", "llama-tied", tok) if name == "another base" else None
        if name == "another base":
            from safetensors.torch import load_file, save_file
            tensors = load_file(WORK / "careful/other/model.safetensors")
            save_file({n: t + 0.5 for n, t in tensors.items()}, WORK / "careful/other/model.safetensors")
        refuses(name, "made with other settings", lambda: trainer("careful/stopped", resume=True, **changed))
    again = trainer("careful/stopped", resume=True)
    again.run()
    best = min(c.eval_loss for c in checkpoints.all_of(WORK / "careful/stopped") if c.eval_loss is not None)
    check("the best is kept beside the newest", best == again.best and len(checkpoints.all_of(
        WORK / "careful/stopped")) <= 2)
    refuses("merging into a folder with files", "not empty", lambda: merge(
        ModelFolder(WORK / "careful/stopped/adapter"), WORK / "careful/stopped"))
    # What act does not compute.
    for name, options in (("lm_head apart from its embedding", {"modules_to_save": ["lm_head"]}),
                          ("pissa", {"init_lora_weights": "pissa"})):
        made = peft.get_peft_model(T.AutoModelForCausalLM.from_pretrained(base), peft.LoraConfig(
            r=4, target_modules=["q_proj"], **options))
        made.save_pretrained(WORK / "careful" / name)
        refuses(name, "lm_head is not the embedding" if "lm_head" in name else "init_lora_weights",
                lambda: merge(ModelFolder(WORK / "careful" / name), WORK / "careful/never"))
    # A module with a bias, in act and in peft.
    gpt2 = WORK / "careful/gpt2"
    toys.folder(gpt2, "gpt2", tok)
    trainer("careful/ln", folder=gpt2, shape=Shape(seq=64, lora=Lora(4, targets=("c_attn",), modules_to_save=("ln_f",)))).run()
    merge(ModelFolder(WORK / "careful/ln/adapter"), WORK / "careful/ln-merged")
    ids = [[5, 9, 14, 3]]
    theirs = logits_of(T.AutoModelForCausalLM.from_pretrained(WORK / "careful/ln-merged"), ids)
    check("a whole module with a bias is merged", far(act_logits(WORK / "careful/ln/adapter", ids), theirs) < 1e-5)
    # Numbers that are none, or too large.
    for name, make in (("batch", lambda: Shape(batch=0)), ("epochs", lambda: Plan(epochs=float("nan"))),
                       ("seed", lambda: Plan(seed=-1)), ("steps", lambda: Plan(steps=-3)),
                       ("temperature", lambda: Sampling(temperature="hot")), ("top_k", lambda: Sampling(top_k=1.5)),
                       ("seed", lambda: Sampling(seed=1 << 60))):
        refuses(f"{name}", name, make)
    check("whole numbers of a generation config", Sampling.of(
        {"do_sample": True, "temperature": 2, "top_k": 50.0}).processors() != [])
    maker = Generator(ModelFolder(base), length=32)
    refuses("a token outside", "outside the model's vocabulary", lambda: maker.generate([[5, 10 ** 6]]))
    refuses("an empty stop string", "is empty", lambda: maker.generate([[5]], stop=[""]))
    found = fit(ModelFolder(base), "3MB", {"lora": Shape(seq=64, lora=Lora(4))}, optimizer=Optimizer("lion", clip=0.5))
    check("the command of a fit has the optimizer", "--optimizer lion --clip 0.5" in found.command(found.rows[0]))
    for words in (["train", base, "--data", WORK / "nowhere.jsonl", "-o", WORK / "x"], ["report", base, "-o", "/nowhere/x"],
                  ["merge", base, "-o", WORK / "x"], ["fit", base, "--device-memory", "24XB"]):
        status, _, err = act_command(*words)
        check(f"act {words[0]}: {err.strip().splitlines()[-1][:90]}", status == 1 and "act: error" in err)


if __name__ == "__main__":
    run([schedules, data, broken, careful, folders, whole_modules])
