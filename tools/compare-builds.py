#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what two builds make of the same inputs, byte by byte.

    tools/compare-builds.py BASE NEW [--full] [--jobs N] [--only REGEX] [--list] [--work FOLDER]

BASE and NEW are build folders with bin/act-import, bin/act-opt and bin/act-run. A change
that is meant to leave the output alone is checked against a build without it. The inputs
are those of this checkout: examples/ and test/. The groups of cases, which are the
first part of a case's name:

  import   modules of all configs
  report   memory reports (text, JSON, formulas, HTML) and plans of released models
  ptx      PTX of released models and toys: targets, policies, LoRA, packed rows,
           micro-batches, optimizers, types; kernels on blocks
  host     artifacts with the host's code, and the kernels as linalg; a short training
  print    IR after --form-kernels; ops of the dialects, parsed and printed
  sim      kernels on blocks, run on the simulator: results and profiles

All commands run without the caches of compiled kernels. Compared are the exit status,
standard output and error, and all files that a command writes. The modules that the other
groups compile are those of BASE's act-import.

The default set takes about 5 minutes on two cores, --full about 40. The exit status is 0
if all is equal, 1 if anything differs, if a command fails in one build, or if it fails in
both: then the list of cases in this script is wrong.
"""
import argparse
import concurrent.futures
import dataclasses
import difflib
import filecmp
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90a")
POLICIES = ("none", "selective", "attention-core", "attention", "layer", "sqrt", "segments=2")
RELEASED = sorted((ROOT / "examples/models").glob("*.json"))
IMPORT_INPUTS, TOOL_INPUTS = ROOT / "test/passes/import/Inputs", ROOT / "test/tools/Inputs"

# Toys: config → batch, length and what the import needs besides.
TOYS = {TOOL_INPUTS / "tiny-llama.json": (2, 16), TOOL_INPUTS / "tiny-gpt2.json": (2, 16),
        TOOL_INPUTS / "tiny-bert.json": (2, 16), TOOL_INPUTS / "few-heads-llama.json": (1, 64),
        TOOL_INPUTS / "wider-llama.json": (2, 40), IMPORT_INPUTS / "llama.json": (2, 24),
        IMPORT_INPUTS / "llama-tied.json": (2, 24), IMPORT_INPUTS / "mistral.json": (2, 48),
        IMPORT_INPUTS / "qwen2.json": (2, 24), IMPORT_INPUTS / "gpt2.json": (2, 24),
        IMPORT_INPUTS / "bert.json": (2, 24), IMPORT_INPUTS / "bitsandbytes.json": (2, 24, "--lora-rank", "4"),
        ROOT / "examples/06-train-shakespeare/config.json": (2, 64)}

# What the import of a llama may have: name → options of act-import.
# 4-bit weights have kernels for GPUs only where rows are whole blocks of 64.
IMPORTS = {"f32": ["--dtype", "f32"], "f16": ["--dtype", "f16"], "lora": ["--lora-rank", "4"],
           "lora-all": ["--lora-rank", "4", "--lora-targets", "q,k,v,o,gate,up,down"],
           "nf4": ["--lora-rank", "4", "--quantize", "nf4"],
           "nf4-nested": ["--lora-rank", "4", "--quantize", "nf4-nested"], "packed": ["--packed=3"],
           "mask": ["--attention-mask"], "infer": ["--mode", "infer"], "kv-cache": ["--mode", "infer", "--kv-cache"]}
WITHOUT_STEP = {"infer", "kv-cache"}

# What a step may have: name → options of act-opt.
STEPS = {"sgd": ["--optimizer=sgd"], "adamw-clip": ["--optimizer=adamw", "--clip=1.0"],
         "grad-f32": ["--optimizer=adamw", "--grad-dtype=f32"],
         "no-master": ["--optimizer=adamw", "--master=none"], "decay": ["--optimizer=adamw", "--weight-decay=0.1"],
         "micro-batches": ["--micro-batches=2"], "micro-means": ["--micro-batches=2", "--loss-average=micro-batches"],
         "prologues": ["--fuse-prologues"], "prologues-selective": ["--remat=selective", "--fuse-prologues"]}

# Modules that are not imported.
MODULES = [ROOT / f"examples/{name}.mlir" for name in ("01-one-op/bigram", "02-mlp/mlp", "03-attention/attention",
                                                       "04-train-step/model")] + [TOOL_INPUTS / "gpu-mlp.mlir"]

# Kernels on blocks that compile as they stand.
KERNELS = (sorted(ROOT.glob("examples/10-tile-kernels/*.mlir"))
           + [p for p in sorted(ROOT.glob("test/dialects/tile/*.mlir")) if "invalid" not in p.name]
           + [ROOT / f"test/passes/tile/{name}.mlir" for name in (
               "Inputs/control", "Inputs/debug", "array-ends", "convert-layouts", "count-block-bytes", "dots",
               "fuse-loops", "fuse-loops-chains", "fuse-loops-independent", "fuse-loops-not", "fuse-loops-ragged",
               "hoist-conversions", "lower-to-threads", "narrow-parts", "negative-size", "raster", "set-block-sizes",
               "share-conversions", "skip-empty-dots", "skip-unit-scaling", "split-masked-loops",
               "split-masked-loops-rows", "stage-loads", "sum-lanes-last", "turns")]
           + [ROOT / f"test/passes/tile-to-host/{name}.mlir" for name in ("Inputs/endless", "Inputs/exact", "clamp")]
           + [TOOL_INPUTS / f"{name}.mlir" for name in ("gpu-alike", "plain-kernels")])


@dataclasses.dataclass
class Case:
    """Commands that run one after the other in an empty folder; each is a tool and its arguments."""
    name: str
    commands: list
    quick: bool = True


class Cases:
    """The list. `imported` adds the import of a model, and names the module that it writes."""

    def __init__(self, modules):
        self.modules, self.imports, self.others = modules, {}, []
        self.configs = {}  # path → text, of what is not in the repository as it is needed

    def released(self):
        """The released models' configs; in place of a bare bert, which has no loss, one with a head."""
        for config in RELEASED:
            fields = json.loads(config.read_text())
            if fields["architectures"] == ["BertModel"]:
                config = self.modules / config.name
                self.configs[config] = json.dumps(fields | {"architectures": ["BertForMaskedLM"]})
            yield config

    def varied(self, options_name):
        """The module of a llama, imported with these options."""
        name = "few-heads-llama" if "nf4" in options_name else "import-llama"
        config = TOOL_INPUTS / f"{name}.json" if "nf4" in options_name else IMPORT_INPUTS / "llama.json"
        batch, seq = TOYS[config]
        return self.imported(config, *IMPORTS[options_name], batch=batch, seq=seq, name=f"{name}-{options_name}")

    def toy(self, config):
        """The module and its name."""
        batch, seq, *options = TOYS[config]
        name = {IMPORT_INPUTS: "import-", TOOL_INPUTS: ""}.get(config.parent, "shakespeare-") + config.stem
        return self.imported(config, *options, batch=batch, seq=seq, name=name), name

    def imported(self, config, *options, batch=None, seq=None, name=None, quick=True):
        name = name or config.stem
        size = (["--batch", str(batch)] if batch else []) + (["--seq", str(seq)] if seq else [])
        path = self.modules / f"{name}.mlir"
        case = Case(f"import/{name}", [["act-import", config, *size, *options, "-o", f"{name}.mlir"]], quick)
        known = self.imports.setdefault(path, case)
        if known.commands != case.commands:
            raise ValueError(f"two imports with the name {name}")
        known.quick |= quick
        return path

    def add(self, name, *commands, quick=True):
        self.others.append(Case(name, [list(c) for c in commands], quick))

    def ptx(self, name, module, options, target, quick, extra=""):
        self.add(f"ptx/{name}/{target}",
                 ["act-opt", module, *options, f"--target={target}", f"--emit-ptx=dir=ptx cache-dir=none {extra}",
                  "-o", "/dev/null"], quick=quick)


def policies(config):
    """Those that the model has layers enough for."""
    fields = json.loads(config.read_text())
    return [p for p in POLICIES if fields.get("num_hidden_layers", fields.get("n_layer")) > 1 or p != "segments=2"]


def add_reports(cases):
    def report(**options):
        return "--memory-report=" + " ".join(f"{k.replace('_', '-')}={v}" for k, v in options.items())

    for config in cases.released():
        module, name = cases.imported(config), config.stem
        for policy in POLICIES:
            cases.add(f"report/{name}/{policy}",
                      ["act-opt", module, "--fuse-attention", f"--remat={policy}",
                       report(format="text", file="report.txt"), report(format="json", file="report.json"),
                       report(format="formula", file="report.formula"), "-o", "/dev/null"])
        cases.add(f"report/{name}/budget", ["act-opt", module, "--fuse-attention", "--remat=budget={budget}",
                                            report(format="json", file="report.json"), "-o", "step.mlir"])
        cases.add(f"report/{name}/plan", ["act-opt", module, "--fuse-attention", "--remat=selective", "--plan-memory",
                                          "-o", "plan.mlir"])
        cases.add(f"report/{name}/not-fused", ["act-opt", module, report(format="json", file="report.json"),
                                               report(format="html", file="report.html"), "-o", "/dev/null"])
        cases.add(f"report/{name}/torch",
                  ["act-opt", module, report(view="torch", format="text", file="torch.txt"),
                   report(view="torch", format="json", file="torch.json", allocator="cuda-caching"),
                   "-o", "/dev/null"])
        cases.add(f"report/{name}/allocator", ["act-opt", module, "--fuse-attention", report(
            allocator="cuda-caching", format="json", file="report.json"), "-o", "/dev/null"])
        letters = cases.imported(config, "--symbolic", "b,s", name=f"{name}-letters")
        cases.add(f"report/{name}/letters", ["act-opt", letters, "--fuse-attention", "--remat=selective",
                                             report(format="formula", file="report.formula"), "-o", "/dev/null"])
        lora = cases.imported(config, "--lora-rank", "16", "--quantize", "nf4", name=f"{name}-lora")
        cases.add(f"report/{name}/lora", ["act-opt", lora, "--fuse-attention", "--remat=selective", report(
            format="json", file="report.json"), "-o", "/dev/null"])
        infer = cases.imported(config, "--mode", "infer", name=f"{name}-infer")
        cases.add(f"report/{name}/infer", ["act-opt", infer, "--fuse-attention", report(
            format="json", file="report.json"), "-o", "/dev/null"])
        cases.add(f"report/{name}/what-if", ["act-opt", module, "--fuse-attention", report(
            what_if="80GB", format="json", file="report.json"), "-o", "/dev/null"], quick=False)
    for config in TOYS:
        module, name = cases.toy(config)
        cases.add(f"report/{name}/blocks", ["act-opt", module, "--fuse-attention", report(
            target="sm_80", cache_dir="none", format="json", file="report.json"), "-o", "/dev/null"])


def add_ptx(cases):
    # Three released models, of three families, by policy; the others with their kernels for a longer sequence.
    short = {"llama-3.2-1b": 128, "gpt2": 128, "minilm-l6": 96}
    for config in cases.released():
        name = config.stem
        if name not in short:
            continue
        module = cases.imported(config, "--dtype", "bf16", batch=2, seq=short[name], name=f"{name}-short")
        for n, (policy, options) in enumerate((("none", ["--remat=none"]), ("selective", ["--remat=selective"]),
                                               ("sqrt", ["--remat=sqrt"]), ("prologues", ["--fuse-prologues"]))):
            for t, target in enumerate(TARGETS):
                cases.ptx(f"{name}/{policy}", module, ["--fuse-attention", *options], target,
                          quick=n == 0 or t == n)
    for config in cases.released():
        for dtype in ("bf16", "f32"):
            module = cases.imported(config, "--dtype", dtype, batch=1, seq=512, name=f"{config.stem}-{dtype}-512",
                                    quick=False)
            for target in TARGETS:
                cases.ptx(f"{config.stem}/{dtype}-512", module, ["--fuse-attention", "--remat=selective"], target,
                          quick=False)

    for config in TOYS:
        module, name = cases.toy(config)
        for t, target in enumerate(TARGETS):
            cases.ptx(f"{name}/not-fused", module, [], target, quick=t == 3)
            for policy in policies(config):
                cases.ptx(f"{name}/{policy}", module, ["--fuse-attention", f"--remat={policy}"], target,
                          quick=policy == ("none", "selective", "sqrt", "layer")[t])

    llama = IMPORT_INPUTS / "llama.json"
    for t, target in enumerate(TARGETS):
        for options_name in IMPORTS:
            module = cases.varied(options_name)
            cases.ptx(f"{module.stem}/fused", module, ["--fuse-attention"], target, quick=t in (0, 3))
            if options_name not in WITHOUT_STEP:
                for step_name, step in STEPS.items():
                    cases.ptx(f"{module.stem}/{step_name}", module, ["--fuse-attention", *step], target, quick=False)
        for config in (llama, IMPORT_INPUTS / "gpt2.json", IMPORT_INPUTS / "bert.json"):
            module, name = cases.toy(config)
            for step_name, step in STEPS.items():
                cases.ptx(f"{name}/{step_name}", module, ["--fuse-attention", *step], target,
                          quick=config == llama and t in (0, 3))
        for products in ("ieee", "tf32", "bf16x3"):
            cases.ptx(f"import-llama-f32/{products}", cases.varied("f32"), ["--fuse-attention"], target, t in (0, 3),
                      f"f32-products={products}")
        cases.ptx("import-llama/apart", cases.toy(llama)[0], ["--fuse-attention"], target, t == 1,
                  "join-launches=false")
        for path in MODULES:
            cases.ptx(f"{path.stem}/as-written", path, [], target, quick=t in (0, 3))
        for path in KERNELS:
            cases.ptx(f"{path.parent.name}/{path.stem}", path, [], target,
                      quick=t in (0, 3) or path.parent.name == "10-tile-kernels")


def add_host(cases):
    text = ROOT / "examples/data/tinyshakespeare.txt"

    def host(name, module, options, quick, train=None):
        commands = [["act-opt", module, *options, "--emit=file=step.act kernels=kernels.mlir cache-dir=none", "-o",
                     "/dev/null"]]
        if train:
            commands.append(["act-run", "train", "step.act", "--allow-native", "--data", text, "--steps", "3", "--lr",
                             "1e-3", "--log", "log.jsonl", "--dump-gradients", "gradients.safetensors", "--threads",
                             "1"])
        cases.add(f"host/{name}", *commands, quick=quick)

    for config in TOYS:
        module, name = cases.toy(config)
        first = name in ("tiny-llama", "tiny-gpt2", "tiny-bert", "import-qwen2")
        for policy in policies(config):
            host(f"{name}/{policy}", module, ["--fuse-attention", f"--remat={policy}"], first and policy == "none",
                 train="shakespeare" in name)
    shakespeare, name = cases.toy(ROOT / "examples/06-train-shakespeare/config.json")
    host(f"{name}/train", shakespeare, ["--fuse-attention", "--remat=selective"], True, train=True)
    for options_name in IMPORTS:
        module = cases.varied(options_name)
        host(f"{module.stem}/fused", module, ["--fuse-attention"],
             options_name in ("nf4-nested", "packed", "kv-cache"))
    llama, _ = cases.toy(IMPORT_INPUTS / "llama.json")
    for step_name, step in STEPS.items():
        host(f"import-llama/{step_name}", llama, ["--fuse-attention", *step], step_name in ("adamw-clip", "prologues"))
    for path in MODULES:
        host(f"{path.stem}/as-written", path, [], True)


def add_prints(cases):
    for config in TOYS:
        module, name = cases.toy(config)
        for policy in policies(config):
            cases.add(f"print/{name}/{policy}", ["act-opt", module, "--fuse-attention", f"--remat={policy}",
                                                 "--optimizer=adamw", "--form-kernels", "-o", "kernels.mlir"])
        for step_name, step in STEPS.items():
            optimizer = [] if any("optimizer" in s for s in step) else ["--optimizer=sgd"]
            cases.add(f"print/{name}/{step_name}", ["act-opt", module, "--fuse-attention", *optimizer, *step,
                                                    "--form-kernels", "-o", "kernels.mlir"])
        cases.add(f"print/{name}/not-fused", ["act-opt", module, "--autodiff", "--optimizer=sgd", "--form-kernels",
                                              "-o", "kernels.mlir"])
    for options_name in IMPORTS:
        module = cases.varied(options_name)
        cases.add(f"print/{module.stem}", ["act-opt", module, "--fuse-attention", "--form-kernels", "-o",
                                                         "kernels.mlir"])
    for path in MODULES:
        cases.add(f"print/{path.stem}", ["act-opt", path, "--form-kernels", "-o", "kernels.mlir"])
    for dialect in ("act", "tile"):
        for path in sorted(ROOT.glob(f"test/dialects/{dialect}/*.mlir")):
            if "invalid" not in path.name:
                cases.add(f"print/{dialect}/{path.stem}",
                          ["act-opt", path, "--split-input-file", "-o", "pretty.mlir"],
                          ["act-opt", path, "--split-input-file", "--mlir-print-op-generic", "-o", "generic.mlir"])


def add_simulated(cases):
    shapes = {"vector-add": ("add", "f32", "1000", ["1000", "1000"]),
              "softmax": ("softmax", "f32", "37x200", ["37x200"]),
              "matmul": ("matmul", "bf16", "200x160", ["200x192", "192x160"]),
              "attention": ("attention", "bf16", "240x80", ["240x80"] * 3),
              "causal-attention": ("causal", "bf16", "240x80", ["240x80"] * 3)}
    for name, (kernel, dtype, result, inputs) in shapes.items():
        folder = ROOT / "examples/10-tile-kernels"
        made = [["python", folder / "reference.py", "make", f"in{i}.npy", dtype, shape] for i, shape in
                enumerate(inputs)]
        arguments = [a for i in range(len(inputs)) for a in ("--arg", f"in:in{i}.npy")]
        arguments += ["--arg", f"out:{dtype}[{result.replace('x', ',')}]:out.npy"]
        for t, target in enumerate(TARGETS):
            cases.add(f"sim/{name}/{target}", *made,
                      ["act-run", "kernel", folder / f"{name}.mlir", "--target", target, "--cache-dir", "none",
                       "--threads", "1", "--json", *arguments], quick=t in (0, 3))


class Build:
    def __init__(self, folder):
        self.bin = folder / "bin"
        # What is not in a cache folder is compiled anew, and nothing is written to /dev/null/act.
        self.env = {"PATH": os.environ.get("PATH", ""), "LD_LIBRARY_PATH": str(folder / "lib"),
                    "XDG_CACHE_HOME": "/dev/null"}

    def run(self, command, folder):
        """The exit status and what was printed."""
        tool, *arguments = map(str, command)
        tool = sys.executable if tool == "python" else self.bin / tool
        done = subprocess.run([tool, *arguments], cwd=folder, env=self.env, capture_output=True,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, re.sub(rb"  \S+ tokens/s", b"", done.stderr)

    def make(self, case, folder):
        """Runs the commands up to the first that fails, whose number is the result; None if there is none."""
        folder.mkdir(parents=True)
        for i, command in enumerate(case.commands):
            status, out, error = self.run(command, folder)
            (folder / f"command-{i}.status").write_text(f"{status}\n")
            (folder / f"command-{i}.stdout").write_bytes(out)
            (folder / f"command-{i}.stderr").write_bytes(error)
            if status:
                return i
        return None


def text_of(path):
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text.splitlines()


def excerpt(a, b, most=16):
    """The first lines in which two files differ."""
    lines = text_of(a), text_of(b)
    if None in lines:
        one, other = a.read_bytes(), b.read_bytes()
        at = next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
        return [f"binary: {len(one)} and {len(other)} bytes, the first difference at {at}"]
    first = next((i for i, (x, y) in enumerate(zip(*lines)) if x != y), min(map(len, lines)))
    start = max(0, first - 3)
    # Of long files, only what follows is compared: difflib takes quadratic time.
    found = list(difflib.unified_diff(*(part[start:start + 200] for part in lines), "BASE", "NEW", lineterm=""))
    shown = [f"line {first + 1}:"] + [line[:160] for line in found[3:3 + most]]
    return shown + (["…"] if len(found) > 3 + most else [])


def files(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def shown(command):
    return " ".join(f"'{c}'" if " " in str(c) else str(c) for c in command)


def compare(case, folders, failed):
    """What differs, as lines; the first one is the summary. Empty if nothing does."""
    one, other = map(files, folders)
    alone = sorted(one ^ other)
    differ = sorted(f for f in one & other if not filecmp.cmp(folders[0] / f, folders[1] / f, shallow=False))
    commands = [f"  {shown(c)}" for c in case.commands]
    if not alone and not differ:
        if failed[0] is None:
            return []
        error = (folders[0] / f"command-{failed[0]}.stderr").read_text(errors="replace").splitlines()[:4]
        return [f"{case.name}: fails in both"] + commands + [f"    {line[:300]}" for line in error]
    if (failed[0] is None) != (failed[1] is None):
        which = 0 if failed[0] is not None else 1
        error = (folders[which] / f"command-{failed[which]}.stderr").read_text(errors="replace").splitlines()[:4]
        return [f"{case.name}: fails in {('BASE', 'NEW')[which]} only"] + commands + [f"    {line}" for line in error]
    lines = [f"{case.name}: {len(alone) + len(differ)} of {len(one | other)} files differ"] + commands
    lines += [f"  {name}: only in {'BASE' if name in one else 'NEW'}" for name in alone[:4]]
    for name in differ[:2]:
        lines.append(f"  {name}, " + "\n    ".join(excerpt(folders[0] / name, folders[1] / name)))
    rest = alone[4:] + differ[2:]
    return lines + ([f"  and {', '.join(rest[:8])}{', …' if len(rest) > 8 else ''}"] if rest else [])


def budget(base, module, folder):
    """Bytes between the peaks of the policies none and layer, which some plan keeps to."""
    folder.mkdir(parents=True, exist_ok=True)
    peaks = []
    for policy in ("none", "layer"):
        status, out, error = base.run(["act-opt", module, "--fuse-attention", f"--remat={policy}",
                                       "--memory-report=format=json", "-o", "/dev/null"], folder)
        if status:
            sys.exit(f"BASE reports no peak of {module}:\n{error.decode()}")
        peaks.append(json.loads(out)["peak_bytes"])
    return sum(peaks) // 2


def all_cases(modules):
    cases = Cases(modules)
    for add in (add_reports, add_ptx, add_host, add_prints, add_simulated):
        add(cases)
    return cases


def run_all(selected, builds, work, jobs):
    """Prints each difference when it is found. The names of the cases that have one."""
    found = []

    def one(numbered):
        number, case = numbered
        folders = [work / side / str(number) for side in ("base", "new")]
        failed = [build.make(case, folder) for build, folder in zip(builds, folders)]
        return case, compare(case, folders, failed), folders

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done, (case, lines, folders) in enumerate(pool.map(one, enumerate(selected)), 1):
            if lines:
                found.append(case.name)
                # After ten, the names say enough.
                print("\n".join(lines if len(found) <= 10 else lines[:1]), flush=True)
                if len(found) <= 10:
                    print(f"  kept in {folders[0]} and {folders[1]}", flush=True)
            if not lines or len(found) > 10:
                for folder in folders:
                    shutil.rmtree(folder)
            if sys.stderr.isatty():
                print(f"\r{done} of {len(selected)}", end="", file=sys.stderr)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=pathlib.Path, metavar="BASE", help="build folder without the change")
    parser.add_argument("new", type=pathlib.Path, metavar="NEW", help="build folder with the change")
    parser.add_argument("--full", action="store_true", help="all combinations, about 40 minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time (one per core)")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name has a match: ptx/.*sm_80")
    parser.add_argument("--list", action="store_true", help="print the names of the cases and run none")
    parser.add_argument("--work", type=pathlib.Path,
                        help="a new folder, which stays if anything differs (a temporary one)")
    o = parser.parse_args()

    start = time.monotonic()
    work = (o.work or pathlib.Path(tempfile.gettempdir(), f"compare-builds-{os.getpid()}")).resolve()
    cases = all_cases(work / "modules")
    named = re.compile(o.only)
    others = [c for c in cases.others if (c.quick or o.full) and named.search(c.name)]
    used = {path for c in others for command in c.commands for path in command} & set(cases.imports)
    imports = {p: c for p, c in cases.imports.items() if p in used or ((c.quick or o.full) and named.search(c.name))}
    if o.list:
        print("\n".join(c.name for c in [*imports.values(), *others]))
        return 0
    if work.exists():
        parser.error(f"{work} is already there")
    builds = [Build(folder.resolve()) for folder in (o.base, o.new)]
    for build in builds:
        for tool in ("act-import", "act-opt", "act-run"):
            if not (build.bin / tool).exists():
                parser.error(f"{build.bin / tool} is not there")
    if not imports and not others:
        parser.error(f"no case has a name with {o.only}")

    (work / "modules").mkdir(parents=True)
    for path, text in cases.configs.items():
        path.write_text(text)
    found = run_all(list(imports.values()), builds, work / "imports", o.jobs)
    for path, case in imports.items():
        status, _, error = builds[0].run(case.commands[0], work / "modules")
        if status:
            sys.exit(f"BASE does not import {path.stem}:\n{error.decode()}")
    for case in others:
        for command in case.commands:
            for i, argument in enumerate(command):
                if "{budget}" in str(argument):
                    command[i] = argument.format(budget=budget(builds[0], command[1], work / "budgets"))
    found += run_all(others, builds, work / "cases", o.jobs)
    minutes = (time.monotonic() - start) / 60
    print(f"{len(imports) + len(others)} cases, {len(found)} not equal, {minutes:.1f} minutes")
    if not found:
        shutil.rmtree(work)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
