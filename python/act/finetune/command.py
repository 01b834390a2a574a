# SPDX-License-Identifier: Apache-2.0
"""The command `act`: from a folder of a model to a fine-tuned one."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Sequence, Union

from ..errors import Error, InputError

_TOP = """\
Fine-tune a language model on one card, and know before what fits.

  act fit BASE --device-memory 24GB          what fits, and the command that runs it
  act train BASE --data chats.jsonl -o RUN   an adapter in RUN/adapter, checkpoints, logs
  act generate RUN/adapter "A question?"     the model's answer
  act merge RUN/adapter -o MERGED            a folder that needs no adapter
  act report BASE                            the memory of a step, to the byte

BASE is a folder from a hub: config.json, safetensors, a tokenizer. Models are read from
disk only. `act COMMAND --help` explains each command."""


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=92)


def _model_options(group: Any) -> None:
    """What decides the model that is compiled, and so its memory."""
    group.add_argument("--method", choices=("lora", "qlora", "full"), default="lora",
                       help="lora: adapters on frozen weights; qlora: on weights of 4 bits "
                       "(nf4); full: all weights (lora)")
    group.add_argument("--rank", type=int, default=16, help="of the adapters (16)")
    group.add_argument("--alpha", type=float, help="adapters are scaled by alpha / rank "
                       "(2 * rank)")
    group.add_argument("--rslora", action="store_true", help="scale by alpha / sqrt(rank)")
    group.add_argument("--targets", default="all-linear", metavar="q,v,..",
                       help="modules that get an adapter, by the end of their name "
                       "(all-linear: all of the layers)")
    group.add_argument("--modules-to-save", default="", metavar="NAME,..",
                       help="modules that train as a whole beside the adapters (lm_head, "
                       "embed_tokens)")
    group.add_argument("--add-tokens", nargs="+", default=[], metavar="TOKEN",
                       help="tokens that the vocabulary gets; with adapters, embedding and head "
                       "train as a whole then")
    group.add_argument("--freeze", default="", metavar="PATTERN,..",
                       help="parameters that do not train, by their names in files (*.bias)")
    group.add_argument("--nested", action="store_true",
                       help="qlora: the scales in 8 bits too (double quantisation)")
    group.add_argument("--dtype", choices=("bf16", "f16", "f32"),
                       help="of weights and activations (the config's)")
    group.add_argument("--batch", type=int, default=1, help="rows that run together (1)")
    group.add_argument("--seq", type=int, help="tokens of a row (the model's positions, at "
                       "most 2048)")
    group.add_argument("--accumulate", type=int, default=1, metavar="N",
                       help="batches whose gradients are added before an update (1)")
    group.add_argument("--no-packing", dest="pack", action="store_false",
                       help="one sample in a row; else several, which do not see each other")
    group.add_argument("--remat", default="selective", metavar="POLICY",
                       help="what backward computes again: none, selective, attention, sqrt, "
                       "layer, or budget=fit:24GB for the least that fits (selective)")
    group.add_argument("--unfused", dest="fuse_attention", action="store_false",
                       help="attention as products and a softmax, with its quadratic memory")


def _optimizer_options(group: Any) -> None:
    group.add_argument("--optimizer", choices=("adamw", "adamw8bit", "lion", "sgd"),
                       default="adamw", help="adamw8bit keeps moments in 8 bits, in blocks of 256 "
                       "with a scale each (adamw)")
    group.add_argument("--beta1", type=float, default=0.9)
    group.add_argument("--beta2", type=float, help="(adamw: 0.999, lion: 0.99)")
    group.add_argument("--eps", type=float, default=1e-8, help="adamw's (1e-8)")
    group.add_argument("--momentum", type=float, default=0.0, help="sgd's (0)")
    group.add_argument("--weight-decay", type=float, default=0.0,
                       help="of matrices; norms and biases do not decay (0)")
    group.add_argument("--decay-all", action="store_true", help="they do")
    group.add_argument("--state-dtype", choices=("f32", "bf16"), default="f32",
                       help="of the optimizer's moments (f32)")
    group.add_argument("--clip", type=float, default=1.0,
                       help="largest norm of the gradient; 0: any (1)")


def _version() -> str:
    try:
        return metadata.version("act")
    except metadata.PackageNotFoundError:  # from its sources
        return "of a checkout"


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("act", description=_TOP, formatter_class=_Help)
    top.add_argument("--version", action="version", version="act " + _version())
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Any, text: str, epilog: str = "") -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".",
                                   epilog=epilog, formatter_class=_Help)
        made.set_defaults(run=run)
        return made

    train = command("train", _train, "fine-tune a folder on a data set", """\
The data are JSON lines or Parquet, with one of these columns:
  messages             [{"role": "user", "content": ".."}, ..], rendered by the chat template
  conversations        the same as {"from": "human", "value": ".."}
  prompt, completion   texts, or lists of messages
  text                 learned as a whole
What the model answers is learned, the rest is context (--learn all learns everything).

  act train Llama-3.1-8B --data chats.jsonl -o run --method qlora --seq 4096 --device cuda:0

A run that was interrupted (once: it ends its step and saves) goes on with --resume.""")
    train.add_argument("folder", metavar="FOLDER", help="a model, or an adapter to go on with")
    train.add_argument("--base", help="the base of an adapter, if it is not where it says")
    train.add_argument("--data", required=True, help="a .jsonl or .parquet file")
    train.add_argument("-o", "--output", required=True, help="a folder for the run")
    train.add_argument("--eval-data", help="held-out data of its own")
    train.add_argument("--eval-fraction", type=float, default=0.0, metavar="F",
                       help="hold out this part of the data (0)")
    train.add_argument("--learn", choices=("responses", "all"), default="responses")
    _model_options(train.add_argument_group("model"))
    _optimizer_options(train.add_argument_group("optimizer"))
    run = train.add_argument_group("run")
    run.add_argument("--epochs", type=float, default=1.0, help="times through the data (1)")
    run.add_argument("--steps", type=int, default=0, help="in place of epochs")
    run.add_argument("--lr", type=float, default=2e-4, help="the highest learning rate (2e-4)")
    run.add_argument("--schedule", choices=("cosine", "linear", "constant", "wsd"),
                     default="cosine", help="of the learning rate, after a warm-up (cosine)")
    run.add_argument("--warmup", type=float, default=0.03,
                     help="steps, or below 1 a fraction of all (0.03)")
    run.add_argument("--decay", type=float, default=0.1, help="wsd: steps at the end, or a "
                     "fraction (0.1)")
    run.add_argument("--min-lr", type=float, default=0.0, metavar="F",
                     help="cosine, wsd: end at this fraction of --lr (0)")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--eval-every", type=int, default=0, metavar="N",
                     help="steps between held-out losses; always after the last")
    run.add_argument("--save-every", type=int, default=0, metavar="N",
                     help="steps between checkpoints; also at every best held-out loss")
    run.add_argument("--keep", type=int, default=2, metavar="K",
                     help="checkpoints: the newest, and the best of the others (2)")
    run.add_argument("--resume", action="store_true", help="go on from the newest checkpoint")
    _device_options(run)
    run.add_argument("--cache", help="a folder for tokenised data (~/.cache/act)")

    fit = command("fit", _fit, "what fits on a card: method, batch, memory and time", """\
A row is a way to train: what backward computes again decides the memory, to the byte, and
costs time. Times are estimates from kernels that were measured. 24GB are 24e9 bytes, 24GiB
24 * 2^30; leave some hundred MB for CUDA.

  act fit Llama-3.1-8B --device-memory 24GB --method qlora --seq 4096
  act fit Llama-3.1-8B --device-memory 24GB --batch 2    all ways with this batch""")
    fit.add_argument("folder", metavar="FOLDER")
    fit.add_argument("--base", help="the base of an adapter, if it is not where it says")
    fit.add_argument("--device-memory", required=True, metavar="24GB")
    fit.add_argument("--card", help="for times: a100, rtx3090, rtx4090, h100 or h200 (by the "
                     "memory)")
    fit.add_argument("--budgets", action="store_true",
                     help="also the least recomputation that fits, which takes longer to find")
    _model_options(fit.add_argument_group("model"))
    fit.set_defaults(method=None, batch=None)
    _optimizer_options(fit.add_argument_group("optimizer"))

    generate = command("generate", _generate, "let a model answer", """\
Without a prompt, lines of standard input are prompts. With a chat template, a prompt is a
user's message; --raw takes it as the beginning of a text.""")
    generate.add_argument("folder", metavar="FOLDER", help="a model or an adapter")
    generate.add_argument("prompt", nargs="*", metavar="PROMPT")
    generate.add_argument("--base", help="the base of an adapter, if it is not where it says")
    generate.add_argument("--system", help="a system message in front")
    generate.add_argument("--raw", action="store_true", help="no chat template")
    generate.add_argument("--tokens", type=int, default=128, help="at most so many (128)")
    generate.add_argument("--length", type=int, default=512,
                          help="prompt and answer have at most so many tokens (512)")
    generate.add_argument("--quantize", choices=("nf4", "nf4-nested"),
                          help="weights of 4 bits, as qlora has them")
    generate.add_argument("--dtype", choices=("bf16", "f16", "f32"))
    choice = generate.add_argument_group(
        "sampling", "generation_config.json has the defaults; without do_sample, the most "
        "likely token")
    choice.add_argument("--temperature", type=float, help="0: always the most likely token")
    choice.add_argument("--top-k", type=int)
    choice.add_argument("--top-p", type=float)
    choice.add_argument("--min-p", type=float)
    choice.add_argument("--repetition-penalty", type=float)
    choice.add_argument("--seed", type=int)
    choice.add_argument("--stop", action="append", default=[], metavar="TEXT",
                        help="ends the answer; may be repeated")
    _device_options(generate)

    merge = command("merge", _merge, "write a base with its adapter in its weights")
    merge.add_argument("folder", metavar="ADAPTER")
    merge.add_argument("--base", help="the base, if it is not where the adapter says")
    merge.add_argument("-o", "--output", required=True)

    report = command("report", _report, "the memory of a training step, to the byte")
    report.add_argument("folder", metavar="FOLDER")
    report.add_argument("--base", help="the base of an adapter, if it is not where it says")
    _model_options(report.add_argument_group("model"))
    _optimizer_options(report.add_argument_group("optimizer"))
    report.add_argument("--format", choices=("text", "json", "html", "formula"), default="text")
    report.add_argument("--device-memory", metavar="24GB", help="also: what fits on this card")
    report.add_argument("-o", "--output", help="a file (standard output)")
    return top


def _device_options(group: Any) -> None:
    group.add_argument("--device", default="host", help="host, cuda:0 or sim:sm_80 (host)")
    group.add_argument("--threads", type=int, default=0, help="of the host (0: all)")


def _shape(given: argparse.Namespace, folder: Any) -> Any:
    from .adapters import Lora
    from .training import Shape
    lora: Union[Lora, None] = None
    if folder.adapter:
        if given.method == "full":
            raise InputError("%s is an adapter; merge it to train all weights" % folder.path)
        lora = folder.adapter
    elif given.method != "full":
        lora = Lora(given.rank, 2.0 * given.rank if given.alpha is None else given.alpha,
                    _words(given.targets), given.rslora, _words(given.modules_to_save))
    quantize = None
    if given.method == "qlora":
        quantize = "nf4-nested" if given.nested else "nf4"
    most = folder.config.get("max_position_embeddings", folder.config.get("n_positions", 2048))
    seq = given.seq or (min(2048, most) if isinstance(most, int) else 2048)
    return Shape(given.batch, seq, given.accumulate, lora, quantize, given.dtype, given.pack,
                 given.remat, given.fuse_attention, _words(given.freeze))


def _words(text: str) -> tuple[str, ...]:
    return tuple(w for w in text.split(",") if w)


def _optimizer(given: argparse.Namespace) -> Any:
    from .training import Optimizer
    return Optimizer(given.optimizer, given.beta1, given.beta2, given.eps, given.momentum,
                     given.weight_decay, given.decay_all, given.state_dtype, given.clip)


def _folder(given: argparse.Namespace) -> Any:
    from .folder import GrownFolder, ModelFolder
    folder = ModelFolder(given.folder, given.base)
    if not given.add_tokens:
        return folder
    whole = [m for m in ("embed_tokens", "lm_head") if m not in _words(given.modules_to_save)]
    if folder.config.get("model_type") == "gpt2":
        whole[:1] = ["wte"]
    if folder.tied:
        whole = whole[:1]
    if given.method != "full":
        given.modules_to_save = ",".join([*_words(given.modules_to_save), *whole])
    return GrownFolder(folder, given.add_tokens)


def _train(given: argparse.Namespace) -> int:
    from .logs import Log
    from .schedule import Schedule
    from .training import Plan, Trainer
    folder = _folder(given)
    trainer = Trainer(
        folder, given.data, given.output, shape=_shape(given, folder),
        optimizer=_optimizer(given),
        schedule=Schedule(given.schedule, given.lr, given.warmup, given.decay, given.min_lr),
        plan=Plan(given.epochs, given.steps, given.seed, given.eval_every, given.eval_fraction,
                  given.save_every, given.keep, given.learn),
        eval_data=given.eval_data, device=given.device, threads=given.threads,
        resume=given.resume, cache=given.cache, log=Log(Path(given.output), sys.stderr))
    if not trainer.run():
        return 130
    print(trainer.result)
    return 0


def _generate(given: argparse.Namespace) -> int:
    from .folder import ModelFolder
    from .generation import Generator, Sampling
    folder = ModelFolder(given.folder, given.base)
    sampling = Sampling.of(folder.generation, **{k: getattr(given, k) for k in (
        "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed")})
    texts = given.prompt or [line.rstrip("\n") for line in sys.stdin if line.strip()]
    if not texts:
        raise InputError("there is no prompt")
    generator = Generator(folder, length=given.length, batch=len(texts) if given.prompt else 1,
                          device=given.device, threads=given.threads, quantize=given.quantize,
                          dtype=given.dtype)
    chat = bool(generator.tokenizer.chat_template) and not given.raw
    if given.system and not chat:
        raise InputError("--system needs a chat template")
    system = [{"role": "system", "content": given.system}] if given.system else []
    prompts = [generator.encode(generator.prompt(
        [*system, {"role": "user", "content": text}]), special=False) if chat
        else generator.encode(text) for text in texts]

    def stream(number: int, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    alone = len(prompts) == 1
    rows = generator.generate(prompts, most=given.tokens, sampling=sampling, stop=given.stop,
                              write=stream if alone else lambda number, text: None)
    for row in rows:
        if alone:
            sys.stdout.write("\n")
        else:
            print(json.dumps({"prompt": texts[row.number], "answer": row.text}))
    return 0


def _fit(given: argparse.Namespace) -> int:
    from .fitting import fit, text
    folder = _folder(given)
    methods = [given.method] if given.method else ["full", "lora", "qlora"]
    batch, given.batch = given.batch, 1
    shapes = {}
    for given.method in ([given.method or "lora"] if folder.adapter else methods):
        shapes[given.method] = _shape(given, folder)
    sys.stdout.write(text(fit(folder, given.device_memory, shapes, optimizer=_optimizer(given),
                              card=given.card, batch=batch, budgets=given.budgets)))
    return 0


def _merge(given: argparse.Namespace) -> int:
    from .folder import ModelFolder
    from .merging import merge
    merge(ModelFolder(given.folder, given.base), given.output)
    print(given.output)
    return 0


def _report(given: argparse.Namespace) -> int:
    folder = _folder(given)
    shape = _shape(given, folder)
    options = {"what_if": given.device_memory} if given.device_memory else {}
    text = shape.step_module(folder.config, _optimizer(given)).report(
        format=given.format, **options)
    if given.format == "json":
        text = json.dumps(dict(text)) + "\n"
    if given.output:
        Path(given.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def main(words: Union[Sequence[str], None] = None) -> int:
    given = _parser().parse_args(words)
    try:
        return int(given.run(given))
    except (Error, MemoryError) as error:
        print("act: error: %s" % error, file=sys.stderr)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return 1
        print("act: error: %s" % error, file=sys.stderr)
    except ImportError as error:
        print("act: error: %s; pip install 'act[finetune]' has what this needs" % error,
              file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
