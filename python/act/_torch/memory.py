# SPDX-License-Identifier: Apache-2.0
"""What a step of PyTorch keeps and peaks at, found out without memory and without a card.

The model is on the meta device, where tensors have shapes and no memory, and a step
of it runs. A dispatch mode sees every operator and follows every storage from the
operator that makes it to the last reference. Where PyTorch chooses by device, what it
chooses on CUDA is done: the fused dropout, softmax of f16 into f32 in one kernel, the
attention kernels, in-place accumulation of gradients in the engine, optimizers over
lists of tensors.

This file stands alone: test/python/torch_view.py runs it without the package.
"""
import contextlib
import copy
import importlib.util
import math
from unittest import mock

import torch
import torch.nn.functional as F
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

aten = torch.ops.aten


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
    patches = []
    if importlib.util.find_spec("transformers"):
        patches += [mock.patch("transformers.masking_utils.find_packed_sequence_indices",
                               lambda positions: None),
                    mock.patch("transformers.modeling_utils.PreTrainedModel."
                               "warn_if_padding_and_no_attention_mask",
                               lambda *a, **k: None)]
    models = bool(patches)
    if kind != "eager":
        patches.append(mock.patch("torch.nn.functional.scaled_dot_product_attention",
                                  attention_kernel(kind)))
    if kind == "sdpa-efficient" and models:  # asked for, its keys and values are repeated by the caller
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
        if self.phase != "backward" or torch.is_grad_enabled() or not all(
                isinstance(t, torch.Tensor) for t in (old, new)):
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

    def timeline(self, before=math.inf, apart=False):
        """(moment, live bytes) where they change, of what is born before a moment.
        With `apart`, gradients of parameters count."""
        change = {}
        for number, (size, _, born, died, _) in enumerate(self.records):
            if (apart or number not in self.apart) and born != died and born <= before:
                change[born] = change.get(born, 0) + size
                change[died] = change.get(died, 0) - size
        total = 0
        for moment in sorted(change):
            total += change[moment]
            yield moment, total


# Counts that say "nobody else": Python's wrappers and the dispatcher's copies are in them.
SOLE_STORAGE, SOLE_TENSOR = 2, 4


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


# --- A step of any module --------------------------------------------------

class _Step(Lives):
    """Of a model on the meta device that is given tensors of the host."""

    def __init__(self, known):
        super().__init__(known)
        self.inputs = {}  # storage of the host -> (tensor of the host, its twin)

    def _twin(self, value):
        if not isinstance(value, torch.Tensor) or value.device.type != "cpu" or not value.dim():
            return value
        key = (value.untyped_storage()._cdata, value.storage_offset(), tuple(value.shape),
               value.stride(), value.dtype)
        if key not in self.inputs:
            twin = value.detach().to("meta")
            self.known.add(twin.untyped_storage()._cdata)
            self.inputs[key] = (value, twin)
        return self.inputs[key][1]

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is aten._local_scalar_dense.default and args[0].device.type == "meta":
            return {torch.bool: True}.get(args[0].dtype,
                                          1.0 if args[0].is_floating_point() else 1)
        leaves = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        for t in leaves:  # what no operator here has made was there before
            key = t.untyped_storage()._cdata
            if t.device.type == "meta" and key not in self.known and key not in self.live:
                self.known.add(key)
                self.inputs[key] = (t, t)
        if any(t.device.type == "meta" for t in leaves):
            args, kwargs = tree_map(self._twin, (args, kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


class TorchMemory:
    """Bytes of a step. ``saved`` is what lives when backward begins: (bytes, operator
    that made it). ``events``: (bytes, operator, born, died, phase, gradient) of every
    storage, in moments of operators."""

    FIELDS = ("parameter_bytes", "buffer_bytes", "input_bytes", "gradient_bytes",
              "optimizer_bytes", "retained_bytes", "peak_bytes", "total_peak_bytes")

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __str__(self):
        rows = ["%-20s %15s" % (f[:-6].replace("_", " "), format(getattr(self, f), ","))
                for f in self.FIELDS]
        return "\n".join(rows + ["the total peak is in %s, at %s" % (self.phase, self.at)])

    def __repr__(self):
        return "<act.TorchMemory: retained %d, peak %d, total peak %d>" % (
            self.retained_bytes, self.peak_bytes, self.total_peak_bytes)


def _bytes(tensors):
    """Of different storages, those of the host aside."""
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors
                if isinstance(t, torch.Tensor) and t.device.type == "meta"}.values())


def meta_twin(model):
    """The model with its parameters and buffers on the meta device."""
    memo = {}
    for p in model.parameters():
        memo[id(p)] = torch.nn.Parameter(p.detach().to("meta"), requires_grad=p.requires_grad)
    for b in model.buffers():
        memo[id(b)] = b.detach().to("meta")
    return copy.deepcopy(model, memo)


def torch_memory(loss, model, *, optimizer=None, attention="sdpa"):
    """What PyTorch on a card takes for a training step of a module.

    ``loss(model)`` runs forward and returns the scalar to differentiate; it is called
    with a twin of the model on the meta device, and may hand it tensors of the host.
    ``optimizer`` makes an optimizer of parameters (``torch.optim.AdamW``); without one
    the step ends with backward. ``attention`` says which kernel SDPA takes: sdpa (as
    PyTorch chooses on CUDA, cuDNN's aside), sdpa-flash, sdpa-efficient, sdpa-math, or
    eager for models that compute it themselves.

    Checkpointing, hooks and frozen parameters are as they are in the model. The second
    step is measured, when the optimizer has its states and gradients are freed
    (``zero_grad``). A number that the step reads from a tensor (``.item()``) is 1.
    Sizes must not depend on data: an operator whose result does is an error of
    PyTorch's.

    The bytes: retained and peak are those of view torch in act's report, activations
    during forward and backward. total_peak is all memory at once, from the first
    operator to the end of the optimizer. The allocator's rounding is not in them.
    """
    twin = meta_twin(model)
    parameters = [p for p in twin.parameters() if p.requires_grad]
    made = None
    if optimizer is not None:
        made = optimizer(parameters)
        for group in made.param_groups:  # the choice on CUDA
            if group.get("foreach", False) is None and not group.get("fused"):
                group["foreach"] = True
    handles, current = [], {}
    for p in parameters:
        handles.append(p.register_hook(lambda g: current["lives"].set_apart(g)))
        handles.append(p.register_post_accumulate_grad_hook(
            lambda p: current["lives"].set_apart(p.grad)))
    for measured in ([True] if made is None else [False, True]):
        states = [] if made is None else [
            t for state in made.state.values() for t in state.values()
            if isinstance(t, torch.Tensor)]
        own = [*twin.parameters(), *twin.buffers(), *states]
        lives = current["lives"] = _Step([
            t.untyped_storage() for t in own if t.device.type == "meta"])
        with cuda_choices(attention), lives:
            value = loss(twin)
            kept = lives.counted() - {lives.number(value)}
            lives.phase = "backward"
            value.backward()
            gradients = _bytes([p.grad for p in parameters])
            lives.counted()
            end = lives.now
            del value
            if made is not None:
                lives.phase = "optimizer"
                made.step()
                made.zero_grad()
        lives.finish()
    for handle in handles:
        handle.remove()
    activations = list(lives.timeline(before=end))
    everything = list(lives.timeline(apart=True))
    static = _bytes(own) + sum(t.nbytes for _, t in lives.inputs.values())
    top = max((total for _, total in everything), default=0)
    moment = next((m for m, total in everything if total == top), 0)
    at = next((r for r in lives.records if r[2] == moment), None)
    retained = sum(lives.records[n][0] for n in kept)
    return TorchMemory(
        parameter_bytes=_bytes(twin.parameters()), buffer_bytes=_bytes(twin.buffers()),
        input_bytes=sum(t.nbytes for _, t in lives.inputs.values()),
        gradient_bytes=gradients, optimizer_bytes=_bytes(states),
        retained_bytes=retained,
        peak_bytes=max((total for _, total in activations), default=0),
        total_peak_bytes=static + top, phase=at[4] if at else "forward",
        at=at[1] if at else "?",
        saved=sorted(((lives.records[n][0], lives.records[n][1]) for n in kept), reverse=True),
        events=[(*r, n in lives.apart) for n, r in enumerate(lives.records)])
