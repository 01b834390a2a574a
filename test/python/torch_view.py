#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What PyTorch eager keeps and peaks at, found out without memory and without a card.

    build/venv/bin/python test/python/torch_view.py CONFIG.json [--batch N] [--seq N] [--layers N]
        [--attention sdpa|eager|sdpa-math|sdpa-flash|sdpa-efficient] [--segments N]
        [--checkpoint nonreentrant|reentrant] [--dtype bf16|f16|f32] [--saved] [--events FILE]

The model of transformers is built on the meta device, where tensors have shapes
and no memory, and one step of it runs: forward with loss, backward. A dispatch
mode sees every operator and follows every storage from the operator that makes
it to the last reference. Where PyTorch chooses by device, what it chooses on
CUDA is done: the fused dropout, softmax of f16 into f32 in one kernel, the
attention kernels, in-place accumulation of gradients in the engine.

    retained  bytes that live when backward begins
    peak      the most bytes that live at once during forward and backward

Neither counts parameters, buffers, token ids, labels, or what arrives at a parameter
as its gradient; the peak counts the loss and the gradient it begins with. The conditions: training mode, no
cache, no attention mask given, nobody looks for packed sequences, the model's
output is released before backward.

Needs the packages of test/python/requirements.txt.
"""
import argparse
import contextlib
import functools
import json
import math
from unittest import mock

import torch
import torch.nn.functional as F
import transformers
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import checkpoint as torch_checkpoint

aten = torch.ops.aten
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


# --- What CUDA chooses -----------------------------------------------------

def pad_head(tensor, multiple):
    rest = tensor.shape[-1] % multiple
    return F.pad(tensor, (0, multiple - rest)) if rest else tensor


in_primitives = []  # not empty while SDPA in primitives runs


class Refused(Exception):
    """PyTorch has no such kernel for these tensors."""


def chosen_kernel(query, mask):
    """What select_sdp_backend takes on CUDA, cuDNN's kernel aside (sdp_utils.cpp of PyTorch 2.15)."""
    wide, size = query.dtype == torch.float32, query.shape[-1]
    if mask is None and not wide and size <= 256:
        return "sdpa-flash"
    return "sdpa-math" if size % (4 if wide else 8) else "sdpa-efficient"


def attention_kernel(only):
    """scaled_dot_product_attention as it runs on a card when one kind is allowed, or all ("sdpa")."""

    def flash(q, k, v, mask, p, causal, scale):
        if mask is not None:
            raise Refused("flash takes no mask")
        if q.dtype == torch.float32 or q.shape[-1] > 256:
            raise Refused("flash takes 16-bit heads of at most 256")
        size = q.shape[-1]
        out = aten._scaled_dot_product_flash_attention(
            pad_head(q, 8), pad_head(k, 8), pad_head(v, 8), p, causal, False,
            scale=scale if scale is not None else 1 / math.sqrt(size))[0]
        return out[..., :size] if out.shape[-1] != size else out

    def efficient(q, k, v, mask, p, causal, scale):
        if q.shape[-1] % (4 if q.dtype == torch.float32 else 8):
            raise Refused("the memory-efficient kernel takes heads of a multiple of 8 (f32: 4)")
        return aten._scaled_dot_product_efficient_attention(
            q, k, v, mask, True, p, causal, scale=scale)[0]

    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                  enable_gqa=False):
        kind = chosen_kernel(query, attn_mask) if only == "sdpa" else only
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.where(attn_mask, 0.0, torch.scalar_tensor(
                -math.inf, dtype=query.dtype, device=query.device))
        if kind == "sdpa-math":
            in_primitives.append(True)
            try:
                return aten._scaled_dot_product_attention_math(
                    query, key, value, attn_mask, dropout_p, is_causal, scale=scale,
                    enable_gqa=enable_gqa)[0]
            finally:
                in_primitives.pop()
        if kind == "sdpa-efficient":
            if attn_mask is not None:
                # Rows begin at multiples of 8 elements.
                if any(stride % 8 for stride in attn_mask.stride()[:-1]):
                    size = attn_mask.shape[-1]
                    attn_mask = F.pad(attn_mask, (0, 8 - size % 8))[..., :size]
                attn_mask = attn_mask.expand(*query.shape[:-1], key.shape[-2])
            return efficient(query, key, value, attn_mask, dropout_p, is_causal, scale)
        return flash(query, key, value, attn_mask, dropout_p, is_causal, scale)

    return attention


def cuda_dropout(tensor, p, train):
    if p == 0 or not train:
        return tensor
    return torch.native_dropout(tensor, p, train)[0]


def cuda_softmax(tensor, dim, dtype=None):
    if tensor.dtype == torch.float16 and dtype == torch.float32:
        return aten._softmax(tensor, dim, True)
    return aten._softmax(tensor if dtype is None else tensor.to(dtype), dim, False)


@contextlib.contextmanager
def cuda_choices(kind):
    library = torch.library.Library("aten", "IMPL")
    library.impl("dropout", cuda_dropout, "AutogradMeta")
    library.impl("softmax.int", cuda_softmax, "AutogradMeta")
    patches = [mock.patch("transformers.masking_utils.find_packed_sequence_indices",
                          lambda positions: None),
               mock.patch("transformers.modeling_utils.PreTrainedModel."
                          "warn_if_padding_and_no_attention_mask", lambda *a, **k: None)]
    if kind != "eager":
        patches.append(mock.patch("torch.nn.functional.scaled_dot_product_attention",
                                  attention_kernel(kind)))
    if kind == "sdpa-efficient":  # asked for, its keys and values are repeated by the caller
        patches.append(mock.patch("transformers.integrations.sdpa_attention.use_gqa_in_sdpa",
                                  lambda *a: False))
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        try:
            yield
        finally:
            library._destroy()


def dense(tensor):
    """Do its elements fill a stretch of memory, in whatever order?"""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


# --- Who lives when --------------------------------------------------------

class Lives(TorchDispatchMode):
    """Every storage that operators make: bytes, operator, first and last moment."""

    def __init__(self, known):
        super().__init__()
        self.known = {storage._cdata for storage in known}
        self.keep = list(known)
        self.live = {}      # storage -> (weak reference, number)
        self.records = []   # [bytes, operator, born, died, phase]
        self.now = 0
        self.phase = "forward"
        self.apart = set()  # numbers that are not counted
        self.sums = []      # the engine's: numbers of two terms and of the sum

    def poll(self):
        for key in [k for k, (ref, _) in self.live.items() if ref.expired()]:
            self.records[self.live.pop(key)[1]][3] = self.now

    def see(self, tensor, operator):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.known or key in self.live or tensor.device.type != "meta":
            return
        self.live[key] = (StorageWeakRef(storage), len(self.records))
        self.records.append([storage.nbytes(), operator, self.now, None, self.phase])

    def number(self, tensor):
        entry = self.live.get(tensor.untyped_storage()._cdata)
        return entry and entry[1]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.now += 1
        self.poll()
        sums = len(self.sums)
        if func is aten.add.Tensor and self.accumulates(*args):
            # The engine adds to the gradient that is there, if nobody else reads it.
            # It does not under a mode, so here the mode does it.
            self.sums[-1][2] = self.sums[-1][0]
            return args[0]
        if func is aten.add.Tensor and in_primitives:
            # SDPA in primitives adds the mask in place, and no other operator of it adds.
            return args[0]
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1]
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.see(leaf, name)
        if len(self.sums) > sums:
            self.sums[-1][2] = self.number(out)
        return out

    def accumulates(self, old, new):
        """Is this the engine adding up gradients, and may it do so in place? Formulas of
        gradients here multiply and sum, but never add two tensors."""
        if self.phase != "backward" or torch.is_grad_enabled():
            return False
        alone = (torch._C._storage_Use_Count(old.untyped_storage()._cdata) == SOLE_STORAGE and
                 old._use_count() == SOLE_TENSOR and dense(old))
        self.sums.append([self.number(old), self.number(new), None])
        return alone

    def set_apart(self, tensor):
        number = self.number(tensor)
        if number is not None:
            self.apart.add(number)

    def counted(self):
        """The numbers of what lives now and counts."""
        self.now += 1
        self.poll()
        return {number for _, number in self.live.values() if number not in self.apart}

    def finish(self):
        self.now += 1
        self.poll()
        for _, number in self.live.values():
            self.records[number][3] = self.now
        for old, new, total in reversed(self.sums):  # the terms of a parameter's gradient
            if total in self.apart:
                self.apart |= {old, new}

    def timeline(self):
        """(moment, live bytes) where they change."""
        change = {}
        for number, (size, _, born, died, _) in enumerate(self.records):
            if number not in self.apart and born != died:
                change[born] = change.get(born, 0) + size
                change[died] = change.get(died, 0) - size
        total = 0
        for moment in sorted(change):
            total += change[moment]
            yield moment, total


# Counts that say "nobody else": Python's wrappers and the dispatcher's copies are in them.
SOLE_STORAGE, SOLE_TENSOR = 2, 4


# --- The model -------------------------------------------------------------

class Segment(torch.nn.Module):
    """Some layers as one; transformers checkpoints what looks like a layer."""

    def __init__(self, layers):
        super().__init__()
        self.layers = layers

    def forward(self, hidden, *args, **kwargs):
        for layer in self.layers:
            hidden = layer(hidden, *args, **kwargs)
        return hidden


def layer_list(model):
    for path in ("model.layers", "transformer.h", "bert.encoder.layer"):
        owner = model
        *parents, last = path.split(".")
        try:
            for name in parents:
                owner = getattr(owner, name)
            getattr(owner, last)
            return owner, last
        except AttributeError:
            continue
    raise ValueError("no list of layers in " + type(model).__name__)


class CheckpointedAttention(torch.nn.Module):
    """Of its results the first is all that layers use."""

    def __init__(self, inner, kind):
        super().__init__()
        self.inner, self.kind = inner, kind

    def forward(self, hidden_states, *args, **kwargs):
        def first(x):
            return self.inner(x, *args, **kwargs)[0]
        return torch_checkpoint(first, hidden_states, use_reentrant=self.kind == "reentrant"), None


def place_checkpoints(model, segments, kind, masks):
    """Each of `segments` runs of layers is recomputed in backward: cut at round(i L / n);
    or each layer's "attention"."""
    owner, name = layer_list(model)
    layers = list(getattr(owner, name))
    if segments == "attention":
        for layer in layers:
            module = next(n for n in ("self_attn", "attn", "attention") if hasattr(layer, n))
            setattr(layer, module, CheckpointedAttention(getattr(layer, module), kind))
        return
    count = len(layers)
    cuts = [math.floor(i * count / segments + 0.5) for i in range(segments + 1)]

    class Checkpointed(torch.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, *args, **kwargs):
            # As GradientCheckpointingLayer: named arguments are bound, the rest are
            # arguments of checkpoint().
            return torch_checkpoint(functools.partial(self.inner.forward, **kwargs), *args,
                                    use_reentrant=kind == "reentrant")

    runs = [layers[a:b] for a, b in zip(cuts, cuts[1:])]
    setattr(owner, name, torch.nn.ModuleList(
        Checkpointed(run[0] if len(run) == 1 else Segment(torch.nn.ModuleList(run)))
        for run in runs))
    if hasattr(owner, "config") and hasattr(owner.config, "num_hidden_layers"):
        owner.config.num_hidden_layers = len(runs)
    types = getattr(owner.config if hasattr(owner, "config") else None, "layer_types", None)
    if types:  # by which the model picks a layer's mask
        for a, b in zip(cuts, cuts[1:]):
            if masks and len(set(types[a:b])) > 1:
                raise Refused("a checkpointed run of layers with different masks")
        owner.config.layer_types = [types[a] for a in cuts[:-1]]


def build(config, dtype, batch, seq):
    with torch.device("meta"):
        model = transformers.AutoModelForMaskedLM if config.model_type == "bert" \
            else transformers.AutoModelForCausalLM
        model = model.from_config(config, dtype=dtype)
        tokens = torch.zeros(batch, seq, dtype=torch.int64)
        labels = torch.zeros(batch, seq, dtype=torch.int64)
    return model.train(), tokens, labels


def saved_tensors(root):
    """(node, name, tensor) of everything the graph behind `root` keeps."""
    seen, queue, found = {root}, [root], []
    while queue:
        node = queue.pop()
        for name in dir(node):
            if not name.startswith("_saved_"):
                continue
            value = getattr(node, name)
            for tensor in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(tensor, torch.Tensor):
                    found.append((node.name(), name[len("_saved_"):], tensor))
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                queue.append(following)
    return found


def residents(model):
    """Bytes of parameters and buffers in the order in which model.to(device) moves them."""
    order, seen = [], set()

    def move(tensor):
        if id(tensor) not in seen:  # a tied one is there already
            seen.add(id(tensor))
            order.append(tensor.nbytes)
        return tensor

    model._apply(move)
    return order


def measure(fields, batch, seq, attention="sdpa-flash", dtype=None, segments=None,
            checkpoint="nonreentrant", events=False):
    """`fields` of a config.json -> dict with retained, peak and what is saved."""
    config = transformers.AutoConfig.for_model(**fields)
    config._attn_implementation = "eager" if attention == "eager" else "sdpa"
    dtype = DTYPES[dtype] if isinstance(dtype, str) else dtype
    dtype = dtype or getattr(torch, str(fields.get("dtype", fields.get("torch_dtype", "float32"))))
    model, tokens, labels = build(config, dtype, batch, seq)
    moved = residents(model)  # there are no gradients yet
    if segments:
        place_checkpoints(model, segments, checkpoint, attention == "eager" or
                          seq >= (getattr(config, "sliding_window", None) or math.inf))
    known = [t.untyped_storage() for t in
             [*model.parameters(), *model.buffers(), tokens, labels]]
    lives = Lives(known)
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: lives.set_apart(gradient))
        parameter.register_post_accumulate_grad_hook(lambda p: lives.set_apart(p.grad))
    with cuda_choices(attention), lives:
        loss = model(input_ids=tokens, labels=labels, **NO_CACHE.get(config.model_type, {})).loss
        kept = lives.counted() - {lives.number(loss)}
        retained = sum(lives.records[n][0] for n in kept)
        saved = []
        if not segments:
            seen = set()
            for node, name, tensor in saved_tensors(loss.grad_fn):
                number = lives.number(tensor)
                if number is not None and number not in lives.apart and number not in seen:
                    seen.add(number)
                    saved.append((node, name, tuple(tensor.shape),
                                  str(tensor.dtype).split(".")[1], lives.records[number][0]))
                del tensor
            assert seen == kept, "what lives is not what is saved"
        lives.phase = "backward"
        loss.backward()
    lives.finish()
    line = list(lives.timeline())
    peak = max((total for _, total in line), default=0)
    at = next(moment for moment, total in line if total == peak)
    result = {"retained": retained, "peak": peak, "saved": saved,
              "at": next((r[1] for r in lives.records if r[2] == at), "?")}
    if events:
        result["resident"] = moved + [8 * batch * seq] * 2
        result["events"] = [(*r, n in lives.apart) for n, r in enumerate(lives.records)]
    return result


NO_CACHE = {t: {"use_cache": False} for t in ("llama", "mistral", "qwen2", "gpt2")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("config")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--layers", type=int, help="default: the model's")
    parser.add_argument("--attention", default="sdpa-flash",
                        choices=["sdpa", "eager", "sdpa-math", "sdpa-flash", "sdpa-efficient"])
    parser.add_argument("--dtype", choices=list(DTYPES))
    parser.add_argument("--segments", type=lambda s: s if s == "attention" else int(s))
    parser.add_argument("--checkpoint", choices=["nonreentrant", "reentrant"],
                        default="nonreentrant")
    parser.add_argument("--saved", action="store_true")
    parser.add_argument("--events")
    arguments = parser.parse_args()
    with open(arguments.config) as file:
        fields = json.load(file)
    if arguments.layers:
        fields["n_layer" if fields["model_type"] == "gpt2" else "num_hidden_layers"] = \
            arguments.layers
    r = measure(fields, arguments.batch, arguments.seq, arguments.attention, arguments.dtype,
                arguments.segments, arguments.checkpoint, bool(arguments.events))
    print(f"retained {r['retained']:,}, peak {r['peak']:,} at {r['at']}")
    if arguments.saved:
        for node, name, shape, dtype, size in r["saved"]:
            print(f"{size:>14,}  {node:<40} {name:<16} {dtype} {list(shape)}")
    if arguments.events:
        with open(arguments.events, "w") as file:
            for n, (size, op, born, died, phase, apart) in enumerate(r["events"]):
                file.write(f"{n} {born} {died} {size} {op} {phase}{' apart' if apart else ''}\n")


if __name__ == "__main__":
    main()
