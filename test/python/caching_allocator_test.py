# SPDX-License-Identifier: Apache-2.0
"""caching_allocator_test.py BUILD [--seed N] [--count N]: the replay is PyTorch's allocator.

PyTorch's own CUDA caching allocator is run on a card that is not there (TorchAllocator.cpp,
compiled here against the torch that is installed).

Requests: it gets the same ones as act's model of it, drawn at random. After each, bytes
allocated, reserved and split off inactive, the number of retries and whether the card is
full have to be the same.

Steps: models drawn at random run in PyTorch on the meta device (torch_view.py); what they
allocate and free there is what it gets. Its peaks have to be those of view torch with
--allocator, and the card has to be full or not as there. Workspaces are left out, for no
product runs.
"""
import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import warnings

import transformers

import torch_view

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20

SETTINGS = [
    "",
    "max_split_size_mb:20",
    "max_split_size_mb:32,max_non_split_rounding_mb:24",
    "max_split_size_mb:64",
    "large_segment_size_mb:24",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:8,16:4,>:2]",
    "roundup_power2_divisions:[2:8,8:2]",
    "expandable_segments:True",
    "expandable_segments:True,roundup_power2_divisions:8",
    "expandable_segments:True,large_segment_size_mb:24",
    "expandable_segments:True,max_split_size_mb:30",
    "max_split_size_mb:20,large_segment_size_mb:12",
    "per_process_memory_fraction:0.7",
    "per_process_memory_fraction:0.8,garbage_collection_threshold:0.5",
    "per_process_memory_fraction:1.0,garbage_collection_threshold:0.3",
]


def compile_torch_allocator(folder):
    """The path of the program, or why there is none."""
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    torch, cuda = site / "torch", site / "nvidia" / "cu13"
    compiler = next(filter(None, map(shutil.which, ["clang++-22", "clang++", "g++"])), None)
    if not (torch / "lib/libc10_cuda.so").exists() or not (cuda / "include/cuda.h").exists():
        return None, f"no torch with CUDA 13 in {site}"
    if not compiler:
        return None, "no C++ compiler"
    program = folder / "TorchAllocator"
    done = subprocess.run(
        [compiler, "-std=c++20", "-w", f"-I{torch}/include", f"-I{cuda}/include",
         HERE / "TorchAllocator.cpp", f"-L{torch}/lib", f"-L{cuda}/lib", "-l:libcudart.so.13",
         "-lc10_cuda", "-lc10", f"-Wl,-rpath,{torch}/lib:{cuda}/lib", "-rdynamic", "-o", program],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return program, None


def draw(rng, steps):
    """Requests up to 64 MiB, many at the sizes where a rule begins."""
    lines, live = [], []
    for step in range(steps):
        if rng.random() < 0.01:
            lines.append("e")
        elif live and rng.random() < 0.47:
            lines.append(f"f {live.pop(rng.randrange(len(live)))}")
        else:
            size = rng.randint(1, 1 << rng.randint(8, 26))
            if rng.random() < 0.4:
                size = rng.choice([MIB // 2, MIB, 2 * MIB]) * rng.randint(1, 40) \
                    + rng.choice([-1, 0, 0, 1])
            lines.append(f"a {step} {size}")
            live.append(step)
    return lines


def answers(program, settings, device, trace):
    done = subprocess.run([program, settings, str(device)], input="\n".join(trace),
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} {settings} {device}: {done.stderr}")
    return done.stdout.splitlines()


def draw_model(rng):
    """(fields of a config.json, batch, seq, attention, policy, segments, checkpoint); sizes for
    which tensors lie on both sides of 1 and of 10 MiB."""
    kind, layers = rng.choice(["llama", "mistral", "qwen2", "gpt2", "bert"]), rng.randint(1, 3)
    hidden, heads = rng.choice([256, 384, 768]), rng.choice([4, 8])
    fields = {"model_type": kind, "vocab_size": rng.choice([1000, 5003, 16000]),
              "torch_dtype": rng.choice(["bfloat16", "float16"])}
    if kind == "gpt2":
        fields |= {"n_embd": hidden, "n_layer": layers, "n_head": heads, "n_positions": 512,
                   "bos_token_id": 1, "eos_token_id": 2}
    else:
        fields |= {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads,
                   "intermediate_size": rng.choice([512, 1100, 3072]),
                   "max_position_embeddings": 512, "tie_word_embeddings": rng.random() < 0.4}
    if kind == "bert":
        fields["architectures"] = ["BertForMaskedLM"]
    elif kind != "gpt2":
        fields |= {"num_key_value_heads": rng.choice([2, 4]), "sliding_window": None}
    policy, segments = rng.choice([("", None), ("attention", "attention"), ("layer", layers)])
    return (fields, rng.randint(1, 3), rng.choice([64, 200, 512]),
            rng.choice(["eager", "sdpa-math", "sdpa-flash", "sdpa-efficient"]), policy, segments,
            rng.choice(["nonreentrant", "reentrant"]))


def requests_of(measured):
    """What a step asks for: residents, and by moments what dies and what is born."""
    lines = [f"a {number} {size}" for number, size in enumerate(measured["resident"])]
    first, moments = len(lines), {}
    for number, (size, _, born, died, _, _) in enumerate(measured["events"], first):
        if size:
            moments.setdefault(born, ([], []))[1].append(f"a {number} {size}")
            moments.setdefault(died, ([], []))[0].append(f"f {number}")
    for moment in sorted(moments)[:-1]:  # the last is where all ends
        lines += [*moments[moment][0], *moments[moment][1]]
    return lines


def compare_steps(torch, tools, folder, rng, count):
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    fits = reserved = 0
    for number in range(count):
        fields, batch, seq, attention, policy, segments, checkpoint = drawn = draw_model(rng)
        trace = requests_of(torch_view.measure(fields, batch, seq, attention, None, segments,
                                               checkpoint, events=True))
        config, module = folder / "config.json", folder / "model.mlir"
        config.write_text(json.dumps(fields))
        subprocess.run([tools / "act-import", config, "--batch", str(batch), "--seq", str(seq),
                        "-o", module], check=True)
        settings = rng.choice(SETTINGS[:11])
        for device in (64000 * MIB, rng.choice([100, 150, 200, 300]) * MIB):
            flags = [f"--remat={policy}"] if policy else []
            done = subprocess.run(
                [tools / "act-opt", module, *flags, "-o", "/dev/null",
                 f"--memory-report=view=torch attention={attention} checkpoint={checkpoint} "
                 "format=json", "--allocator=cuda-caching", f"--allocator-conf={settings}",
                 f"--device-memory={device}B", "--cublas-workspace=0", "--cublaslt-workspace=0"],
                capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            report = json.loads(done.stdout)
            want = [line.split() for line in answers(torch, settings, device, trace)]
            full = any(line[0] == "full" for line in want)
            have = not report["allocator"]["fits"]
            wrong = full != have
            if not full and not have:
                peaks = [max(int(line[i]) for line in want) for i in (1, 2)]
                mine = [report["allocated_peak_bytes"], report["reserved_peak_bytes"]]
                wrong = peaks != mine
                fits += 1
                reserved = max(reserved, mine[1])
            if wrong:
                sys.exit(f"{json.dumps(drawn)}, '{settings}', {device} bytes: expected "
                         f"{'a full card' if full else peaks}, found "
                         f"{'a full card' if have else mine}")
    print(f"{fits} steps of models take what PyTorch's allocator takes for what PyTorch asks for, "
          f"up to {reserved / MIB:.0f} MiB; {2 * count - fits} fill the card in both")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6, help="traces for each setting")
    parser.add_argument("--steps", type=int, default=12, help="models")
    arguments = parser.parse_args()
    replay = pathlib.Path(arguments.build) / "test/lib/ReplayTrace"
    rng = random.Random(arguments.seed)
    seen = full = retried = 0
    with tempfile.TemporaryDirectory() as folder:
        torch, why = compile_torch_allocator(pathlib.Path(folder))
        if not torch:
            print(f"skipped: {why}")
            sys.exit(77)
        compare_steps(torch, pathlib.Path(arguments.build) / "bin", pathlib.Path(folder), rng,
                      arguments.steps)
        for settings in SETTINGS:
            for number in range(arguments.count):
                trace = draw(rng, 600)
                device = rng.choice([150, 220, 301, 400, 64000]) * MIB
                want = answers(torch, settings, device, trace)
                have = answers(replay, settings, device, trace)
                for at, line in enumerate(trace):
                    if at >= len(have) or want[at] != have[at]:
                        sys.exit(f"'{settings}', {device} bytes, request {at}, '{line}': expected "
                                 f"{want[at]}, found {have[at:at + 1]} (seed {arguments.seed})")
                seen += len(trace)
                full += sum(line.startswith("full") for line in want)
                retried += int(want[-1].split()[-1])
    print(f"{seen} requests with {len(SETTINGS)} settings as in PyTorch; the card was full {full} "
          f"times, cached segments were given back {retried} times")
    if not full or not retried:
        sys.exit("expected a card that is full now and then")


if __name__ == "__main__":
    main()
