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
from __future__ import annotations

import contextlib
import copy
import importlib.util
import json
import math
import os
import tempfile
from typing import Any, Callable, Iterable, Optional, Sequence, Union
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


def flash_function(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                   alibi_slopes=None, deterministic=False):
    """flash-attn's flash_attn_func, for [batch, rows, heads, size]: it keeps its operands, the
    result and the logarithms of sums (flash_attn_interface.py of flash-attn 2.8)."""
    return _flash(q, k, v, None, None, q.shape[1], k.shape[1], dropout_p, softmax_scale, causal)


def flash_varlen_function(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p=0.0,
                          softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                          alibi_slopes=None, deterministic=False, block_table=None):
    """flash-attn's flash_attn_varlen_func, for packed sequences: [rows, heads, size]."""
    return _flash(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale, causal)


def _flash(q, k, v, starts_q, starts_k, longest_q, longest_k, dropout, scale, causal):
    if q.dtype == torch.float32 or q.shape[-1] > 256:
        raise Refused("flash takes 16-bit heads of at most 256")
    size = q.shape[-1]
    out = aten._flash_attention_forward(
        pad_head(q, 8), pad_head(k, 8), pad_head(v, 8), starts_q, starts_k, longest_q, longest_k, dropout, causal,
        False, scale=scale if scale is not None else 1 / math.sqrt(size))[0]
    return out[..., :size] if out.shape[-1] != size else out


def flash_patches(packed):
    """transformers' flash_attention_2 without the package. Which sequences are packed in a row it reads from
    positions; here their number is given."""
    module = "transformers.modeling_flash_attention_utils."
    utilities = importlib.import_module(module[:-1])
    functions = (flash_function, flash_varlen_function, None, utilities._pad_input, utilities._unpad_input)
    process = utilities._lazy_define_process_function(flash_varlen_function)

    def starts(query, key, value, position_ids):
        rows = query.shape[0] * query.shape[1]
        ends = torch.empty(packed + 1, dtype=torch.int32, device=query.device)
        flat = [t.reshape(-1, t.shape[-2], t.shape[-1]) for t in (query, key, value)]
        longest = -(-rows // packed)
        return (*flat, (ends, ends), (longest, longest))

    enabled = torch.is_autocast_enabled

    def autocast(*device):  # which knows no meta device
        return enabled(*(d if d != "meta" else "cpu" for d in device))

    return [mock.patch("torch.is_autocast_enabled", autocast),
            mock.patch(module + "lazy_import_flash_attention", lambda *a, **k: (functions, (process, dict))),
            mock.patch(module + "_is_packed_sequence", lambda *a, **k: packed > 1),
            mock.patch(module + "_prepare_from_posids", starts)]


@contextlib.contextmanager
def cuda_choices(kind, packed=1):
    library = torch.library.Library("aten", "IMPL")
    library.impl("dropout", cuda_dropout, "AutogradMeta")
    library.impl("softmax.int", cuda_softmax, "AutogradMeta")
    patches = []
    models = importlib.util.find_spec("transformers") is not None
    if models:
        patches += [mock.patch("transformers.masking_utils.find_packed_sequence_indices",
                               lambda positions: None),
                    mock.patch("transformers.modeling_utils.PreTrainedModel."
                               "warn_if_padding_and_no_attention_mask",
                               lambda *a, **k: None)]
    if kind == "flash_attention_2":
        patches += flash_patches(packed) if models else []
    elif kind != "eager":
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
        self.products = []  # [moment, phase, whether with a bias]
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
        if name in PRODUCTS:
            self.products.append([self.now, self.phase, name == "addmm"])
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


# Operators that borrow cuBLAS's workspace.
PRODUCTS = {"mm", "bmm", "addmm", "baddbmm"}
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

    def __init__(self, known, sizes=None):
        super().__init__(known)
        self.inputs = {}  # storage of the host -> (tensor of the host, its twin)
        self.sizes = sizes  # of results whose size depends on data
        self.notes = set()

    def count(self, most, name):
        """How many elements an operator finds: as given, or all."""
        if self.sizes is None:
            self.notes.add("worst case: %s finds all elements" % name)
            return most
        given = self.sizes if isinstance(self.sizes, int) else next(self.sizes, None)
        if given is None or not 0 <= given <= most:
            raise Refused("%s finds up to %d elements; the size that was given for it is %s" % (name, most, given))
        return given

    def found(self, func, args):
        """The result of an operator whose size depends on data; None of another."""
        if func is aten.nonzero.default:
            return torch.empty(self.count(args[0].numel(), "nonzero"), args[0].dim(), dtype=torch.int64, device="meta")
        if func is aten.masked_select.default:
            return torch.empty(self.count(args[0].numel(), "masked_select"), dtype=args[0].dtype, device="meta")
        return None

    def product_of_4_bits(self, a, b, shape, absmax, blocksize, kind, bias=None, absmax_8bit=None, absmax_code=None,
                          absmax_offset=None):
        """bitsandbytes' gemm_4bit as it is for many rows: scales and weights in full, then a linear layer
        (_gemm_4bit_default_impl in backends/default/ops.py of 0.50; the kernel for few rows has no weights in
        full, and which rows are few depends on the card)."""
        ops = torch.ops.bitsandbytes
        if absmax_8bit is not None:
            absmax = ops.dequantize_blockwise.default(absmax_8bit, absmax, absmax_code, 256, torch.float32) \
                + absmax_offset
        return F.linear(a, ops.dequantize_4bit.default(b, absmax, blocksize, kind, shape, a.dtype), bias)

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
            if func._schema.name == "bitsandbytes::gemm_4bit":
                with self:
                    return self.product_of_4_bits(*args, **kwargs)
            found = self.found(func, args)
            if found is not None:
                self.now += 1
                self.poll()
                self.see(found, func._schema.name.split("::")[1])
                return found
        return super().__torch_dispatch__(func, types, args, kwargs)


class TorchMemory:
    """Bytes of a step. ``saved`` is what lives when backward begins: (bytes, operator
    that made it). ``events``: (bytes, operator, born, died, phase, gradient) of every
    storage, in moments of operators."""

    parameter_bytes: int
    buffer_bytes: int
    input_bytes: int
    gradient_bytes: int
    optimizer_bytes: int
    retained_bytes: int
    peak_bytes: int
    total_peak_bytes: int
    notes: list[str]
    saved: list[tuple[int, str]]
    events: list[tuple[Any, ...]]

    FIELDS = ("parameter_bytes", "buffer_bytes", "input_bytes", "gradient_bytes",
              "optimizer_bytes", "retained_bytes", "peak_bytes", "total_peak_bytes")

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def log(self) -> str:
        """The step's log as JSON (include/act/Eager/StepLog.h), which ``act-opt
        --memory-report="view=torch log=FILE"`` reads, and report()."""
        numbers = {f: getattr(self, f) for f in self.FIELDS}
        return json.dumps({
            "format": "act-torch-log", "version": 1, "model": self.model, "attention": self.attention, **numbers,
            "moments": self.moments, "backward": self.backward, "residents": self.residents,
            "storages": [list(event) for event in self.events], "saved": self.kept, "products": self.products,
            "notes": self.notes})

    def report(self, **options: Any) -> Any:
        """act's memory report of the step: an ``act.Report``, or with ``format="html"`` (or
        text) a text. ``allocator="cuda-caching"`` replays the step through PyTorch's caching
        allocator, on a card of ``device_memory="24GB"``."""
        import act
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "step.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(self.log())
            return act.Module.parse("module {}").report(view="torch", log=path, **options)

    def __str__(self) -> str:
        rows = ["%-20s %15s" % (f[:-6].replace("_", " "), format(getattr(self, f), ","))
                for f in self.FIELDS]
        return "\n".join(rows + ["the total peak is in %s, at %s" % (self.phase, self.at)])

    def __repr__(self) -> str:
        return "<act.TorchMemory: retained %d, peak %d, total peak %d>" % (
            self.retained_bytes, self.peak_bytes, self.total_peak_bytes)


def _different(tensors):
    """Storages on the card, each once."""
    return {t.untyped_storage()._cdata: t.untyped_storage() for t in tensors
            if isinstance(t, torch.Tensor) and t.device.type == "meta"}.values()


def _bytes(tensors):
    return sum(storage.nbytes() for storage in _different(tensors))


def on_meta(value):
    """A quantisation state with its tensors on the meta device."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("meta")
    twin = copy.copy(value)
    for name, field in vars(value).items():
        if isinstance(field, torch.Tensor) or hasattr(field, "absmax"):
            setattr(twin, name, on_meta(field))
    return twin


def state_tensors(value):
    """The tensors of a quantisation state."""
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for field in vars(value).values() if isinstance(field, torch.Tensor) or hasattr(field, "absmax")
            for t in state_tensors(field)]


def quantised(model):
    """The states of parameters of few bits, as bitsandbytes has them beside the elements."""
    return [t for p in model.parameters() if getattr(p, "quant_state", None) is not None
            for t in state_tensors(p.quant_state)]


def meta_twin(model):
    """The model with its parameters and buffers on the meta device."""
    memo = {}
    for p in model.parameters():
        if getattr(p, "quant_state", None) is not None:
            twin = torch.Tensor._make_subclass(type(p), p.detach().to("meta"), p.requires_grad)
            twin.__dict__.update(p.__dict__, quant_state=on_meta(p.quant_state), module=None)
            memo[id(p)] = twin
        else:
            memo[id(p)] = torch.nn.Parameter(p.detach().to("meta"), requires_grad=p.requires_grad)
    for b in model.buffers():
        memo[id(b)] = b.detach().to("meta")
    return copy.deepcopy(model, memo)


def quantize_4bit(model: torch.nn.Module, *, skip: Sequence[str] = ("lm_head",), quant_type: str = "nf4",
                  double: bool = True, compute_dtype: torch.dtype = torch.bfloat16) -> torch.nn.Module:
    """The model with bitsandbytes' 4-bit layers in place of its linear ones, on the meta device.

    As ``BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_use_double_quant=double)`` of transformers loads it; layers
    whose name ends in one of ``skip`` stay. It changes the model that it is given, and returns it.
    """
    import bitsandbytes as bnb
    for name, module in list(model.named_modules()):
        for child, layer in list(module.named_children()):
            path = (name + "." if name else "") + child
            if type(layer) is not torch.nn.Linear or any(path.endswith(s) for s in skip):
                continue
            made = bnb.nn.Linear4bit(layer.in_features, layer.out_features, layer.bias is not None,
                                     compute_dtype=compute_dtype, compress_statistics=double,
                                     quant_type=quant_type, device="meta")
            weight = torch.empty(layer.weight.shape, dtype=compute_dtype, device="meta")
            data, state = bnb.functional.quantize_4bit(weight, compress_statistics=double, quant_type=quant_type)
            made.weight = bnb.nn.Params4bit(data, requires_grad=False, quant_state=state, quant_type=quant_type,
                                            compress_statistics=double, bnb_quantized=True, module=made)
            made.weight.quant_state = made.quant_state = state
            if layer.bias is not None:
                made.bias = torch.nn.Parameter(layer.bias.detach().to("meta", compute_dtype), requires_grad=False)
            setattr(module, child, made)
    for p in model.parameters():
        p.requires_grad_(False)
    return model


def torch_memory(loss: Callable[[Any], torch.Tensor], model: torch.nn.Module, *,
                 optimizer: Optional[Callable[[list[Any]], Any]] = None, attention: str = "sdpa",
                 sizes: Union[int, Iterable[int], None] = None, packed: int = 1) -> TorchMemory:
    """What PyTorch on a card takes for a training step of a module.

    ``loss(model)`` runs forward and returns the scalar to differentiate; it is called
    with a twin of the model on the meta device, and may hand it tensors of the host.
    ``optimizer`` makes an optimizer of parameters (``torch.optim.AdamW``); without one
    the step ends with backward. ``attention`` says which kernel SDPA takes: sdpa (as
    PyTorch chooses on CUDA, cuDNN's aside), sdpa-flash, sdpa-efficient, sdpa-math, or
    eager for models that compute it themselves. flash_attention_2 is flash-attn's
    functions, for models of transformers, whose attention it sets; ``packed`` is then how
    many sequences a row of tokens holds.

    Checkpointing, hooks and frozen parameters are as they are in the model. The second
    step is measured, when the optimizer has its states and gradients are freed
    (``zero_grad``). A number that the step reads from a tensor (``.item()``) is 1.
    Where the size of a result depends on data (``nonzero``, ``masked_select``), ``sizes``
    gives how many elements are found: one number for all, or one for each in order. The
    step may run twice, so a list is read anew. Without it all elements are, and ``notes``
    says so: that is the worst case. Parameters of 4 bits (bitsandbytes) have their scales
    counted with them.

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
    if attention == "flash_attention_2":
        for module in twin.modules():
            if hasattr(getattr(module, "config", None), "_attn_implementation"):
                module.config._attn_implementation = attention
    scales = quantised(twin)
    for measured in ([True] if made is None else [False, True]):
        states = [] if made is None else [
            t for state in made.state.values() for t in state.values()
            if isinstance(t, torch.Tensor)]
        own = [*twin.parameters(), *twin.buffers(), *states, *scales]
        lives = current["lives"] = _Step([
            t.untyped_storage() for t in own if t.device.type == "meta"],
            sizes if sizes is None or isinstance(sizes, int) else iter(sizes))
        with cuda_choices(attention, packed), lives:
            value = loss(twin)
            kept = lives.counted() - {lives.number(value)}
            begin = lives.now
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
        parameter_bytes=_bytes([*twin.parameters(), *scales]), buffer_bytes=_bytes(twin.buffers()),
        input_bytes=sum(t.nbytes for _, t in lives.inputs.values()),
        gradient_bytes=gradients, optimizer_bytes=_bytes(states),
        retained_bytes=retained,
        peak_bytes=max((total for _, total in activations), default=0),
        total_peak_bytes=static + top, phase=at[4] if at else "forward",
        at=at[1] if at else "?",
        saved=sorted(((lives.records[n][0], lives.records[n][1]) for n in kept), reverse=True),
        events=[(*r, n in lives.apart) for n, r in enumerate(lives.records)],
        kept=sorted(kept), moments=lives.now, backward=begin, products=lives.products,
        residents=[t.nbytes() for t in _different([*own, *(t for _, t in lives.inputs.values())])],
        model=type(model).__name__, attention=attention,
        notes=sorted(lives.notes))
