# SPDX-License-Identifier: Apache-2.0
"""What the tests against PyTorch share: act as a black box, toy models by
transformers, the reference's training loop, and what "agree" means.

Agreement. An update is a weight after training minus the same weight before. Two
updates of a tensor agree when no element differs by more than 1e-4 of the
reference's largest element. The reference runs in f64.

AdamW divides a gradient by its own running size, so where all of an element's
gradients are nearly zero, their rounding noise decides its update, and no two
implementations agree. Two things follow:
- An element whose gradient is zero by algebra (the bias of a key: softmax does not
  see it) has none but noise. It is found in the f64 gradients and compared only in
  being small.
- The seed of a problem is the first one for which PyTorch in f32 agrees with
  PyTorch in f64 to a third of the tolerance: it is then the problem's condition,
  not luck, that lets us agree.
"""
import copy
import json
import pathlib
import subprocess
import sys

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

torch.set_num_threads(1)
transformers.logging.set_verbosity_error()

TOLERANCE = 1e-4
POLICIES = ["none", "layer", "sqrt", "segments=2", "attention", "attention-core", "selective"]
VOCAB, BATCH, SEQ, STEPS = 61, 3, 19, 5
LEARNING_RATE = {"sgd": 1.0, "adamw": 1e-2}


class Act:
    """The tools of one build, working in a folder of their own."""

    def __init__(self, build, name):
        self.bin = pathlib.Path(build) / "bin"
        self.work = pathlib.Path(build) / "test/python" / name
        self.work.mkdir(parents=True, exist_ok=True)
        for old in self.work.iterdir():
            if old.is_file():
                old.unlink()

    def call(self, tool, *arguments):
        command = [str(self.bin / tool), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.work)
        if done.returncode:
            sys.exit(f"failed ({done.returncode}): {' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def import_model(self, config, *options, batch=BATCH, seq=SEQ, name="model"):
        """A transformers config, or the path of a config.json, to a .mlir file."""
        if not isinstance(config, (str, pathlib.Path)):
            config.save_pretrained(self.work)
            config = self.work / "config.json"
        out = self.work / f"{name}.mlir"
        self.call("act-import", config, "--batch", batch, "--seq", seq, *options, "-o", out)
        return out

    def optimize(self, model, *flags):
        """Through act-opt; the file is named after the flags."""
        tag = "".join(c if c.isalnum() else "-" for c in "".join(flags))
        out = model.with_name(f"{model.stem}{tag}.mlir")
        self.call("act-opt", model, *flags, "-o", out)
        return out

    def emit(self, module):
        """As an artifact, which is compiled once for several runs."""
        out = module.with_suffix(".act")
        self.call("act-opt", module, f"--emit={out}", "-o", "/dev/null")
        return out

    def save(self, name, array):
        path = self.work / f"{name}.npy"
        np.save(path, np.asarray(array, np.int32))
        return path

    def train(self, model, tokens, labels=None, *options, steps=None, optimizer, lr, init=None):
        """Losses, weights, gradients of the last step, the log's bytes, the output."""
        tokens = np.asarray(tokens)
        arguments = ["--tokens", self.save("tokens", tokens)]
        if labels is not None:
            arguments += ["--labels", self.save("labels", labels)]
        if init is not None:
            arguments += ["--init", self.save_weights("init", init)]
        saved, log, gradients = (self.work / n for n in
                                 ("saved.safetensors", "log.jsonl", "gradients.safetensors"))
        for old in (saved, log, gradients):
            old.unlink(missing_ok=True)
        output = self.call("act-run", "train", model, *arguments, "--steps", steps or len(tokens),
                           "--optimizer", optimizer, "--lr", lr, "--save", saved, "--save-whole", "--log", log,
                           "--dump-gradients", gradients, *options)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        assert [l["step"] for l in lines] == list(range(1, 1 + (steps or len(tokens)))), lines
        return Trained([l["loss"] for l in lines], load_file(saved), load_file(gradients),
                       log.read_bytes(), output)

    def infer(self, model, weights, tokens, *options):
        out = self.work / "out.npy"
        out.unlink(missing_ok=True)
        self.call("act-run", "infer", model, "--init", self.save_weights("init", weights),
                  "--tokens", self.save("tokens", tokens), "--out", out, *options)
        return np.load(out)

    def save_weights(self, name, weights):
        path = self.work / f"{name}.safetensors"
        save_file({n: np.ascontiguousarray(w) for n, w in weights.items()}, path)
        return path


class Trained:
    def __init__(self, losses, weights, gradients, log, output):
        self.losses, self.weights, self.gradients = losses, weights, gradients
        self.log, self.output = log, output

    def bits(self):
        """Everything that the numeric contract speaks of."""
        tensors = {("weight", n): w.tobytes() for n, w in self.weights.items()}
        tensors |= {("gradient", n): g.tobytes() for n, g in self.gradients.items()}
        return tensors | {("log", ""): self.log}


# ---- Toy models: all dimensions distinct, no parameter at its default ----------

def config(kind, **changes):
    rope = {"rope_type": "default", "rope_theta": 1234.0}
    llama = dict(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
                 num_key_value_heads=2, intermediate_size=28, max_position_embeddings=40,
                 rms_norm_eps=3e-4, tie_word_embeddings=False, rope_parameters=rope,
                 bos_token_id=1, eos_token_id=2)
    bert = dict(vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, num_attention_heads=4,
                intermediate_size=28, max_position_embeddings=40, type_vocab_size=5,
                hidden_dropout_prob=0, attention_probs_dropout_prob=0, layer_norm_eps=3e-4)
    gpt2 = dict(vocab_size=VOCAB, n_embd=24, n_layer=3, n_head=4, n_inner=28, n_positions=40,
                resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, layer_norm_epsilon=3e-4,
                bos_token_id=1, eos_token_id=2)
    llama3 = {"rope_type": "llama3", "rope_theta": 1234.0, "factor": 8.0, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    linear = {"rope_type": "linear", "rope_theta": 1234.0, "factor": 2.0}
    yarn = {"rope_type": "yarn", "rope_theta": 1234.0, "factor": 4.0, "beta_fast": 2.0, "beta_slow": 0.25,
            "original_max_position_embeddings": 10}
    dynamic = {"rope_type": "dynamic", "rope_theta": 1234.0, "factor": 2.0}
    longrope = {"rope_type": "longrope", "rope_theta": 1234.0, "short_factor": [1.0, 1.5, 2.0],
                "long_factor": [1.25, 2.5, 5.0], "original_max_position_embeddings": 12}
    kinds = {
        "llama": (transformers.LlamaConfig, llama | dict(head_dim=10, rope_parameters=llama3)),
        "llama-tied": (transformers.LlamaConfig, llama | dict(
            tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
            rope_parameters=linear)),
        "mistral": (transformers.MistralConfig, llama | dict(sliding_window=7, head_dim=10)),
        "qwen2": (transformers.Qwen2Config, llama | dict(use_sliding_window=False)),
        "qwen2-window": (transformers.Qwen2Config, llama | dict(
            use_sliding_window=True, sliding_window=5, max_window_layers=1)),
        "qwen3": (transformers.Qwen3Config, llama | dict(head_dim=10, attention_bias=True)),
        "qwen3-window": (transformers.Qwen3Config, llama | dict(
            head_dim=10, use_sliding_window=True, sliding_window=5, max_window_layers=1)),
        # A full layer between two with a window; scores that the caps bend.
        "gemma2": (transformers.Gemma2Config, llama | dict(
            head_dim=10, hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=7,
            sliding_window=5, attn_logit_softcapping=1.5, final_logit_softcapping=2.0,
            tie_word_embeddings=True, pad_token_id=3)),
        "gemma3": (transformers.Gemma3TextConfig, llama | dict(
            head_dim=10, hidden_activation="gelu_pytorch_tanh", query_pre_attn_scalar=7,
            sliding_window=5, tie_word_embeddings=True, pad_token_id=3,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
            rope_parameters={"full_attention": linear, "sliding_attention": rope})),
        "phi3": (transformers.Phi3Config, llama | dict(
            pad_token_id=3, original_max_position_embeddings=12, rope_parameters=longrope)),
        "llama-yarn": (transformers.LlamaConfig, llama | dict(rope_parameters=yarn)),
        # Sequences of 19 are longer than what the model is for.
        "llama-dynamic": (transformers.LlamaConfig, llama | dict(
            max_position_embeddings=16, rope_parameters=dynamic)),
        "phi3-window": (transformers.Phi3Config, llama | dict(
            pad_token_id=3, num_key_value_heads=4, sliding_window=6)),
        "gpt2": (transformers.GPT2Config, gpt2),
        "bert": (transformers.BertConfig, bert),
    }
    make, values = kinds[kind]
    return make(**{**values, **changes}, attn_implementation="eager", dtype="float32")


def build_model(cfg, seed):
    """Random, and away from what initialisation gives: norms are not one, biases
    not zero."""
    torch.manual_seed(seed)
    if cfg.model_type == "bert":
        model = transformers.BertForMaskedLM(cfg)
    else:
        model = transformers.AutoModelForCausalLM.from_config(cfg, attn_implementation="eager")
    with torch.no_grad():
        for name, p in model.named_parameters():
            norm = any(w in name.lower() for w in ("norm", "ln_")) and name.endswith("weight")
            p.normal_(0, 0.3 if p.dim() == 1 else 0.15)
            if norm and not cfg.model_type.startswith("gemma"):  # which adds 1 itself
                p.add_(1)
    cfg.architectures = [type(model).__name__]
    return model.eval()


def weights_of(model):
    return {n: p.detach().float().numpy().copy() for n, p in model.named_parameters()}


def make_batches(cfg, seed, steps=STEPS, batch=BATCH, seq=SEQ):
    """tokens, labels [steps, b, s]; labels stand where the logits do, so those of a
    causal model are the tokens shifted; a few are -100 anywhere."""
    rng = np.random.default_rng(seed)
    tokens = rng.integers(0, VOCAB, (steps, batch, seq))
    labels = np.full_like(tokens, -100)
    if cfg.model_type == "bert":
        labels[:] = rng.integers(0, VOCAB, tokens.shape)
    else:
        labels[..., :-1] = tokens[..., 1:]
    labels[rng.random(tokens.shape) < 0.1] = -100
    return tokens, labels


# ---- The reference ---------------------------------------------------------------

def mean_loss(logits, labels):
    return torch.nn.functional.cross_entropy(
        logits.reshape(-1, logits.shape[-1]), torch.as_tensor(labels).reshape(-1),
        ignore_index=-100)


class Reference:
    """A training run in PyTorch: losses, updates, and which elements' gradients are
    zero by algebra."""

    def __init__(self, model, tokens, labels, optimizer, dtype=torch.float64, mask=None):
        model = copy.deepcopy(model).to(dtype)
        trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        before = {n: p.detach().clone() for n, p in trained.items()}
        make = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}[optimizer]
        stepper = make(trained.values(), lr=LEARNING_RATE[optimizer])
        largest = {n: torch.zeros_like(p) for n, p in trained.items()}
        self.losses = []
        for i, (t, l) in enumerate(zip(tokens, labels)):
            stepper.zero_grad()
            seen = None if mask is None else torch.as_tensor(mask[i])
            loss = mean_loss(model(input_ids=torch.as_tensor(t), attention_mask=seen).logits, l)
            loss.backward()
            for n, p in trained.items():
                largest[n] = torch.maximum(largest[n], p.grad.abs())
            stepper.step()
            self.losses.append(loss.item())
        self.updates = {n: (p.detach() - before[n]).double().numpy() for n, p in trained.items()}
        scale = max(g.max().item() for g in largest.values())
        # Noise of f64 lies about 1e-16 below what is there, that of the parts which
        # transformers runs in f32 (norms, softmax, rope) about 1e-8.
        self.noise = {n: ((g > 0) & (g < 1e-7 * scale)).numpy() for n, g in largest.items()}


def difference(update, reference, noise):
    """Largest difference, relative to the reference's largest element."""
    kept = ~noise
    top = np.abs(reference[kept]).max(initial=0)
    worst = np.abs(update - reference)[kept].max(initial=0)
    return worst / top if top > 0 else (0.0 if worst == 0 else np.inf)


class Problem:
    """A model, its data, and what PyTorch makes of them; see the top for the seed."""

    def __init__(self, cfg, prepare=lambda model: model):
        for seed in range(200):
            self.model = prepare(build_model(cfg, seed))
            self.tokens, self.labels, self.mask = *make_batches(cfg, seed), None
            self.references = {o: self.run(o, torch.float64) for o in LEARNING_RATE}
            if all(self.well_conditioned(o) for o in LEARNING_RATE):
                break
        else:
            sys.exit("no seed below 200 makes a well-conditioned problem")
        self.config, self.seed = cfg, seed
        self.weights = weights_of(self.model)

    def padded(self):
        """The same with padding behind and inside of the rows, which have as many labels
        as they like: most, one, a few. SGD alone. (Where a query sees nothing, as in
        padding that is in front, transformers in f64 makes NaN.)"""
        other = copy.copy(self)
        other.mask = np.ones_like(self.tokens)
        other.mask[:, 0, -4:] = other.mask[:, 1, 3:6] = other.mask[:, 2, 5:9] = 0
        other.labels = np.where(other.mask, self.labels, -100)
        other.labels[:, 1, :-2] = other.labels[:, 2, :12] = -100
        other.labels[:, 1, -2] = 5
        other.references = {"sgd": other.run("sgd", torch.float64)}
        return other

    def steps(self, optimizer):
        return 1 if optimizer == "sgd" else STEPS

    def run(self, optimizer, dtype):
        n = self.steps(optimizer)
        return Reference(self.model, self.tokens[:n], self.labels[:n], optimizer, dtype, self.mask)

    def well_conditioned(self, optimizer):
        exact, rounded = self.references[optimizer], self.run(optimizer, torch.float32)
        return all(difference(rounded.updates[n], u, exact.noise[n]) < TOLERANCE / 3
                   for n, u in exact.updates.items())

    def check(self, act, model, optimizer, title, *options):
        """Trains with act and fails unless losses and all updates agree."""
        n = self.steps(optimizer)
        if self.mask is not None:
            options += ("--attention-mask", act.save("mask", self.mask[:n]))
        got = act.train(model, self.tokens[:n], self.labels[:n], *options, optimizer=optimizer,
                        lr=LEARNING_RATE[optimizer], init=self.weights)
        problems = disagreements(self, optimizer, got)
        worst = max((difference(got.weights[n].astype(np.float64) - self.weights[n], u,
                                self.references[optimizer].noise[n]), n)
                    for n, u in self.references[optimizer].updates.items() if n in got.weights)
        print(f"{title}, {optimizer}: worst {worst[0]:.1e} at {worst[1]}", flush=True)
        for p in problems:
            print("  " + p)
        return not problems


def disagreements(problem, optimizer, got):
    reference = problem.references[optimizer]
    out = []
    for step, (a, b) in enumerate(zip(got.losses, reference.losses), 1):
        if not abs(a - b) <= 1e-5 * abs(b):
            out.append(f"loss of step {step}: expected {b:.9g}, found {a}")
    if got.weights.keys() != problem.weights.keys():
        out.append(f"weights: expected {sorted(problem.weights)}, found {sorted(got.weights)}")
        return out
    top = max(np.abs(u).max() for u in reference.updates.values())
    for name, before in problem.weights.items():
        update = got.weights[name].astype(np.float64) - before
        if name not in reference.updates:
            if update.any():
                out.append(f"{name}: is frozen and changed")
            continue
        noise = reference.noise[name]
        d = difference(update, reference.updates[name], noise)
        if not d <= TOLERANCE:
            out.append(f"{name}: updates differ by {d:.2e} of the largest")
        bound = 1.1 * STEPS * LEARNING_RATE["adamw"] if optimizer == "adamw" else 1e-4 * top
        if not np.all(np.abs(update[noise]) <= bound):
            out.append(f"{name}: expected next to no gradient, found {np.abs(update[noise]).max()}")
    return out


def equal_bits(title, a, b):
    """Compares two Trained; prints what differs."""
    a, b = a.bits(), b.bits()
    assert a, "nothing to compare"
    wrong = [k for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)]
    for kind, name in wrong[:5]:
        print(f"{title}: {kind} {name} differs")
    if not wrong:
        print(f"{title}: equal", flush=True)
    return not wrong
