# SPDX-License-Identifier: Apache-2.0
"""gpu_steps.py BIN DIR [MODEL...] [--device sim:sm_80] [--target sm_80] [-j N]
[--compile-only | --compiled]: whole training steps as GPU kernels. Toy models
train on sim:sm_80, with every check of the simulator on, and on the host:

- losses and held-out losses agree within what bf16 rounds;
- every policy gives the same losses and gradients on the simulator, byte by byte;
- an artifact made by act-opt gives the bytes of act-run's own compiling, also where
  buffers are filled with NaN when they die, while memory is measured, and where every
  launch is one kernel;
- dropout drops the same elements (gpt2: without dropout the losses are others).

With --device cuda:0 a card takes the simulator's place. --compile-only leaves in DIR
what a run there needs, the host's losses among it; --compiled takes that, and needs of
act no more than act-run without a compiler.

Needs Python alone."""
import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import time

# Half a step of bf16, relative. A larger learning rate than this one lets AdamW make
# more of a rounding than it is: at 1e-2 the host's own losses, with attention fused
# and not, are 4 % apart after 20 steps.
TOLERANCE, RATE = 2.0**-9, "3e-3"
# The budget is between what "none" and "layer" take; one segment is both layers.
POLICIES = ["none", "layer", "sqrt", "segments=1", "attention", "attention-core", "selective", "budget=60000", "offload"]
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32,
         "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 64,
         "torch_dtype": "bfloat16"}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 32,
        "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "n_inner": 64,
        "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1, "torch_dtype": "bfloat16"}
MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"],
           "sliding_window": 8}
QWEN2 = {**LLAMA, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
LORA = ["--lora-rank=4", "--lora-alpha=8", "--lora-targets=q,v"]
# A row of 4-bit numbers is whole blocks of 64.
QLORA = {**LLAMA, "hidden_size": 64, "intermediate_size": 128}
# Sums of 1024 terms are made in parts.
LONG = {**LLAMA, "hidden_size": 1024, "head_dim": 16, "num_attention_heads": 4}
UPDATE = ["--micro-batches=2", "--clip=1.0", "--grad-dtype=f32", "--master=f32"]


def entry(config, *options, flags=(), steps=20, policies=POLICIES, fuse=True, rate=RATE):
    return dict(config=config, options=options, flags=flags, steps=steps, policies=policies, fuse=fuse, rate=rate)


MODELS = {
    "llama": entry(LLAMA, policies=[*POLICIES, "selective+prologues"]),
    "packed": entry(LLAMA, "--packed=4"),
    "gpt2": entry(GPT2, policies=[*POLICIES, "layer+prologues"]),
    # The rest for a few steps: what else a step can be made of.
    "mistral": entry(MISTRAL, steps=4, policies=["selective"]),
    "qwen2": entry(QWEN2, steps=4, policies=["layer"]),
    "lora": entry(LLAMA, *LORA, steps=4, policies=["none"]),
    "qlora": entry(QLORA, *LORA, "--quantize=nf4-nested", steps=4, policies=["none", "layer"]),
    "long": entry(LONG, steps=4, policies=["none", "layer", "selective", "none+prologues"], rate="3e-4"),
    "update": entry(LLAMA, flags=UPDATE, steps=4, policies=["none", "layer"]),
    "sgd": entry(LLAMA, flags=["--optimizer=sgd"], steps=4, policies=["none"]),
    "f16": entry(LLAMA, "--dtype=f16", steps=4, policies=["none"]),
    "f32": entry(LLAMA, "--dtype=f32", steps=4, policies=["none"]),
    # Products, a softmax and transposes, as the framework has it.
    "unfused": entry(LLAMA, steps=4, policies=["none", "layer"], fuse=False),
    "unfused-gpt2": entry(GPT2, steps=4, policies=["none", "layer", "none+prologues"], fuse=False),
}
TEXT = "the quick brown fox jumps over a lazy dog\n" * 40


class Run:
    def __init__(self, log, gradients):
        self.log, self.gradients = log, gradients
        lines = [json.loads(line) for line in log.splitlines()]
        self.losses = [line["loss"] for line in lines]
        self.held_out = [line["val_loss"] for line in lines
                         if line.get("val_loss") is not None]


class Model:
    def __init__(self, bin, folder, config, options, flags, steps, fuse, batch=2, seq=24, rate=RATE, compiled=False,
                 target="sm_80"):
        self.bin, self.folder, self.flags, self.steps, self.rate = bin, folder, flags, steps, rate
        self.compiled, self.target = compiled, target
        self.fuse = ["--fuse-attention"] if fuse else []
        self.forward = folder / "model.mlir"
        if self.compiled:
            return
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "text").write_text(TEXT)
        self.call("act-import", folder / "config.json", "--batch", batch, "--seq", seq, *options, "-o",
                  self.forward)

    def call(self, tool, *arguments):
        command = [str(self.bin / tool), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder,
                              env={"XDG_CACHE_HOME": str(self.folder / "cache"), "PATH": ""})
        if done.returncode:
            sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}")

    def module(self, policy):
        """Of "selective+prologues" with --fuse-prologues."""
        name, *fused = policy.split("+")
        out = self.folder / f"{policy}.mlir"
        if self.compiled:
            return out
        self.call("act-opt", self.forward, *self.fuse, f"--remat={name}", *(f"--fuse-{f}" for f in fused),
                  *self.flags, "-o", out)
        return out

    def artifact(self, policy, join=""):
        out = self.folder / f"{policy}{join}.act"
        if not self.compiled:
            self.call("act-opt", self.module(policy), f"--target={self.target}", f"--emit=file={out} {join}", "-o",
                      "/dev/null")
        return out

    def on_host(self, policy):
        """The losses there; of an earlier run if that is what was compiled."""
        kept = self.folder / "host.log"
        if not self.compiled:
            kept.write_text(self.train(self.module(policy), "host").log.decode())
        return Run(kept.read_bytes(), b"")

    def train(self, model, device, *options):
        log, gradients = self.folder / "log", self.folder / "gradients"
        log.unlink(missing_ok=True)
        self.call("act-run", "train", model, "--device", device, "--data", "text", "--steps",
                  self.steps, "--lr", self.rate, "--seed", 7, "--eval-every", self.steps // 2,
                  "--log", log, "--dump-gradients", gradients, *options)
        return Run(log.read_bytes(), gradients.read_bytes())


def close(name, got, wanted):
    """Prints what differs too much."""
    if len(got) != len(wanted) or not got:
        print(f"{name}: {len(got)} values, expected {len(wanted)}")
        return False
    worst = max(abs(a - b) / abs(b) for a, b in zip(got, wanted))
    print(f"{name}: off by {worst:.2e} at most, {wanted[0]:.4f} to {wanted[-1]:.4f}")
    return worst <= TOLERANCE


def check(o, name, config, options, flags, steps, policies, fuse, rate):
    how = dict(rate=rate, compiled=o.compiled, target=o.target)
    model = Model(o.bin, o.folder / name, config, options, flags, steps, fuse, **how)
    good, first = True, None
    host = model.on_host("none")
    if not host.losses[-1] < host.losses[0] * (0.98 if steps > 10 else 1):
        print(f"{name}: nothing is learnt: {host.losses}")
        good = False
    # A card takes what it runs from an artifact, a simulator from act-run's own compiling.
    made = model.artifact if o.apart else model.module
    for policy in policies:
        start = time.monotonic()
        module = made(policy)
        if o.compile_only:
            continue
        got = model.train(module, o.device)
        seconds = time.monotonic() - start
        if first is None:
            first = got
            good &= close(f"{name}, losses", got.losses, host.losses)
            good &= close(f"{name}, held-out losses", got.held_out, host.held_out)
        same = got.log == first.log and got.gradients == first.gradients
        print(f"{name} --remat={policy}: {'same bytes' if same else 'OTHER BYTES'}, {seconds:.1f} s", flush=True)
        good &= same
    runs = [("", "--debug"), ("", "--measure")] + [("join-launches=false", "--debug")] * (steps > 10)
    for join, mode in runs:
        artifact = model.artifact(policies[0], join)
        if o.compile_only:
            continue
        again = model.train(artifact, o.device, mode)
        if again.log != first.log or again.gradients != first.gradients:
            print(f"{name}: the artifact with {mode} {join} gives other bytes")
            good = False
    if any("drop" in key for key in config):
        other = {key: 0.0 if "drop" in key else value for key, value in config.items()}
        without = Model(o.bin, o.folder / f"{name}-plain", other, options, flags, steps, fuse, **how)
        if without.on_host("none").losses[0] == host.losses[0]:
            print(f"{name}: dropout changes nothing")
            good = False
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("folder", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("models", nargs="*")
    parser.add_argument("--device", default="sim:sm_80")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("-j", type=int, default=1)
    o = parser.parse_args()
    o.apart = o.compile_only or o.compiled or not o.device.startswith("sim")
    with concurrent.futures.ThreadPoolExecutor(o.j) as pool:
        results = list(pool.map(lambda name: check(o, name, **MODELS[name]), o.models or MODELS))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
