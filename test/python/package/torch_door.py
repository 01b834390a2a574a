# SPDX-License-Identifier: Apache-2.0
"""torch_door.py BUILD [NAME...]: torch.compile(backend="act") trains toy models of many
families as eager PyTorch does: 20 steps of AdamW, losses within 1e-4. Then what a
function under autograd has to do: calls that wait for their backward, gradients that
add up, buffers that are updated, dropout, and graphs that stay in eager.

Without names: those of a run of CI. --all: all."""
import copy
import pathlib
import sys
import warnings

build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(build / "python" / "site"))
warnings.filterwarnings("ignore", message=".*Model config.*")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import transformers as T  # noqa: E402

import act  # noqa: E402
from act._torch import door  # noqa: E402

T.logging.set_verbosity_error()
failures = 0
IDS = torch.randint(0, 64, (2, 16), generator=torch.Generator().manual_seed(1))
SIZE = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
LLAMA = {**SIZE, "intermediate_size": 64, "num_key_value_heads": 2, "vocab_size": 64,
         "use_cache": False}


def check(what, ok):
    global failures
    failures += not ok
    print(("ok  " if ok else "BAD ") + what, flush=True)


def language(model):
    return model, lambda m: m(input_ids=IDS, labels=IDS).loss


def classifier(model, *shape):
    x, y = torch.randn(shape), torch.randint(0, 5, shape[:1])
    return model, lambda m: F.cross_entropy(m(x), y)


def vit():
    x, y = torch.randn(2, 3, 16, 16), torch.tensor([1, 3])
    return T.ViTForImageClassification(T.ViTConfig(
        **SIZE, intermediate_size=64, image_size=16, patch_size=4, num_labels=5,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0)), \
        lambda m: m(pixel_values=x, labels=y).loss


nn = torch.nn
FAMILIES = {
    "mlp": lambda: classifier(nn.Sequential(
        nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.Sigmoid(), nn.LayerNorm(32),
        nn.Linear(32, 5)), 8, 10),
    "convolutions": lambda: classifier(nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=4), nn.GELU(), nn.AvgPool2d(3, 1, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(16, 5)), 4, 3, 16, 16),
    "llama": lambda: language(T.LlamaForCausalLM(T.LlamaConfig(**LLAMA))),
    "gpt2": lambda: language(T.GPT2LMHeadModel(T.GPT2Config(
        n_embd=32, n_layer=3, n_head=4, vocab_size=64, n_positions=32, resid_pdrop=0,
        embd_pdrop=0, attn_pdrop=0, use_cache=False))),
    "vit": vit,
    "bert": lambda: language(T.BertForMaskedLM(T.BertConfig(
        **SIZE, intermediate_size=64, vocab_size=64, max_position_embeddings=32,
        hidden_dropout_prob=0, attention_probs_dropout_prob=0))),
    "t5": lambda: language(T.T5ForConditionalGeneration(T.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=3, num_heads=4, vocab_size=64,
        dropout_rate=0.0, use_cache=False, decoder_start_token_id=0))),
    "qwen3": lambda: language(T.Qwen3ForCausalLM(T.Qwen3Config(**LLAMA, head_dim=8))),
    "gemma": lambda: language(T.GemmaForCausalLM(T.GemmaConfig(**LLAMA, head_dim=8))),
    "opt": lambda: language(T.OPTForCausalLM(T.OPTConfig(
        **SIZE, ffn_dim=64, vocab_size=64, word_embed_proj_dim=32,
        max_position_embeddings=32, dropout=0.0, use_cache=False))),
    "gpt-neox": lambda: language(T.GPTNeoXForCausalLM(T.GPTNeoXConfig(
        **SIZE, intermediate_size=64, vocab_size=64, use_cache=False, hidden_dropout=0.0,
        attention_dropout=0.0))),
    "phi3": lambda: language(T.Phi3ForCausalLM(T.Phi3Config(**LLAMA, pad_token_id=0))),
}


class Recorder:
    """The backend, and what it compiled."""

    def __init__(self, **options):
        self.options, self.compiled = options, []

    def __call__(self, gm, examples):
        made = door.backend(gm, examples, options={"on_unsupported": "error", **self.options})
        self.compiled.append(made)
        return made


def train(name, steps=20, **options):
    torch.manual_seed(0)
    torch._dynamo.reset()
    model, loss = FAMILIES[name]()
    model.train()
    twin = copy.deepcopy(model)
    backend = Recorder(**options)
    compiled = torch.compile(twin, backend=backend, dynamic=False)
    optimizers = [torch.optim.AdamW(m.parameters(), 1e-3) for m in (model, twin)]
    worst = 0.0
    for _ in range(steps):
        losses = [loss(model), loss(compiled)]
        for value, optimizer in zip(losses, optimizers):
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
        worst = max(worst, abs(losses[0].item() - losses[1].item()))
    texts = [c.module.text for c in backend.compiled]
    buffers = max([(a - b).abs().max().item() for a, b in zip(model.buffers(), twin.buffers())
                   if a.is_floating_point()], default=0)
    if not options and name not in ("mlp", "convolutions"):
        # Few values of an MLP fill more padding; batch norm is several ops, and keeps more.
        eager = act.torch_memory(loss, model).peak_bytes
        # Dynamo may compile a graph again.
        arena = sum({c.program.text(): c.arena_bytes for c in backend.compiled}.values())
        check(f"{name}: an arena of {arena}, PyTorch has a peak of {eager}", arena < eager)
    check(f"{name} {options or ''}: loss {losses[1].item():.4f}, at most {worst:.1e} from "
          f"eager's; {sum(t.count('act.repeat @') for t in texts)} repeats, "
          f"{sum(t.count('act.attention ') for t in texts)} attentions",
          worst < 1e-4 and buffers < 1e-4 and len(backend.compiled) > 0)
    return texts


def layers():
    """A policy keeps less, and a budget is kept."""
    torch.manual_seed(0)
    model = T.LlamaForCausalLM(T.LlamaConfig(**LLAMA)).train()
    sizes = {}
    for policy in ("none", "selective", "layer"):
        exported = act.from_torch(model, kwargs={"input_ids": IDS, "labels": IDS},
                                  remat=policy)
        sizes[policy] = exported.report()["retained_bytes"]
        loss = exported(input_ids=IDS, labels=IDS).loss
        model.zero_grad()
        loss.backward()
        grads = {n: p.grad.clone() for n, p in model.named_parameters()}
        model.zero_grad()
        eager = model(input_ids=IDS, labels=IDS).loss
        eager.backward()
        check(f"from_torch, {policy}: loss and gradients of a Llama",
              torch.allclose(loss, eager, atol=1e-5) and all(
                  torch.allclose(grads[n], p.grad, atol=1e-5)
                  for n, p in model.named_parameters()))
    check(f"policies keep {sizes}", sizes["layer"] < sizes["selective"] < sizes["none"])
    names = [p.name for p in act.Device().load(exported.compiled._artifact,
                                               bind_tensors=True).parameters]
    check("parameters have the module's names",
          set(names) == {n for n, _ in model.named_parameters()})


class Parts(nn.Module):
    """Halves of which one may be empty, as a rope of the whole head leaves no rest."""

    def __init__(self, at):
        super().__init__()
        self.at, self.inner = at, nn.Linear(6, 6)

    def forward(self, x):
        x = self.inner(x)
        a, b = x[..., :self.at], x[..., self.at:]
        c, d = x.split([self.at, 6 - self.at], dim=-1)
        return torch.cat((torch.sin(a), b), dim=-1) + torch.cat((d, c * 2), dim=-1)


def empty_parts():
    torch.manual_seed(0)
    x = torch.randn(4, 6)
    for at in (0, 4, 6):
        model = Parts(at)
        made, grads = act.from_torch(model, (x,)), []
        for run in (model, made):
            model.zero_grad()
            y = run(x)
            (y * y).sum().backward()
            grads.append([y, *[p.grad.clone() for p in model.parameters()]])
        check(f"a part of {6 - at} elements", all(
            torch.allclose(a, b, atol=1e-5) for a, b in zip(*grads)))
    for forward in (lambda x: x[:, 6:].sum() + x.sum(), lambda x: (x * 2, x[:, 6:])):
        model = nn.Module()
        model.forward = forward
        try:
            act.from_torch(model, (x,))
            check("a sum of nothing, and nothing as a result, are refused", False)
        except act.Error as error:
            check(f"no elements: {error}", "elements" in str(error))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, 6)

    def forward(self, x):
        return torch.tanh(self.inner(x)), x * 2, x


def autograd():
    torch.manual_seed(0)
    model = Twice()
    x = torch.randn(4, 6, requires_grad=True)
    exported = act.from_torch(model, (x,))

    def both(function):
        """Two calls before either backward; the second's results are used twice."""
        model.zero_grad()
        x.grad = None
        a, b, c = function(x)
        d, e, _ = function(x.t()[:6].t()[:, :6] if x.shape[1] > 6 else x * 3)
        ((d * d).sum() + (e * a).sum() + b.sum() + (c ** 2).sum()).backward()
        return [x.grad.clone(), *[p.grad.clone() for p in model.parameters()]]

    check("two calls under way, inputs with gradients", all(
        torch.allclose(a, b, atol=1e-5) for a, b in zip(both(exported), both(model))))
    model.zero_grad()
    for _ in range(2):
        exported(x)[0].sum().backward()
    twice = model.inner.weight.grad.clone()
    model.zero_grad()
    exported(x)[0].sum().backward()
    check("gradients add up", torch.allclose(twice, 2 * model.inner.weight.grad, atol=1e-5))
    with torch.no_grad():
        check("without gradients", torch.allclose(exported(x)[0], model(x)[0], atol=1e-6)
              and not exported(x)[0].requires_grad)
    y = exported(x)[0].sum()
    y.backward(retain_graph=True)
    try:
        y.backward()
        check("backward twice through a call is refused", False)
    except RuntimeError as error:
        check(f"backward twice through a call: {error}", "retain_graph" in str(error)
              or "second time" in str(error))
    y = exported(x)[0].sum()
    with torch.no_grad():
        model.inner.weight.add_(1)
    try:
        y.backward()
        check("a weight that is changed before backward is refused", False)
    except RuntimeError as error:
        check("a weight that is changed before backward is refused",
              "modified by an inplace operation" in str(error))
    try:
        exported(x, x)
        check("arguments of another structure", False)
    except act.Error as error:
        check(f"arguments of another structure: {error}", True)


def dropout():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5)).train()
    x = torch.randn(32, 64)
    exported = act.from_torch(model, (x,))
    a, b = exported(x), exported(x)
    share = (a == 0).float().mean().item()
    kept = a != 0
    check(f"dropout drops {share:.2f}, other elements each time",
          0.4 < share < 0.6 and not torch.equal(a, b)
          and torch.allclose(a[kept], 2 * model[0](x)[kept], atol=1e-5))
    model.zero_grad()
    a.sum().backward()
    check("its gradient drops the same", torch.allclose(
        model[0].bias.grad, 2 * kept.float().sum(0), atol=1e-4))


def inference():
    """A model with nothing to train."""
    torch.manual_seed(0)
    model = T.LlamaForCausalLM(T.LlamaConfig(**LLAMA)).eval()
    for p in model.parameters():
        p.requires_grad_(False)
    for device in ("host", "sim:sm_80"):
        exported = act.from_torch(model, kwargs={"input_ids": IDS}, device=device)
        check(f"inference on {device}", torch.allclose(
            exported(input_ids=IDS).logits, model(input_ids=IDS).logits, atol=1e-5))


GENERIC = """
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#col = affine_map<(d0, d1) -> (d0)>
#tr = affine_map<(d0, d1) -> (d1, d0)>
module @g {
  func.func @forward(%x: tensor<5x3xf32> {act.name = "x", act.requires_grad}, %w: tensor<3xf32> {act.name = "w", act.requires_grad}, %t: tensor<3x5xf32> {act.name="t", act.requires_grad})
      -> (tensor<5x3xf32> {act.name = "y"}, tensor<5xf32> {act.name="z"}) attributes {act.differentiable} {
    %c = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<5x3xf32>
    %y = linalg.generic {indexing_maps = [#id, #row, #tr, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %w, %t : tensor<5x3xf32>, tensor<3xf32>, tensor<3x5xf32>) outs(%e : tensor<5x3xf32>) {
    ^bb0(%a: f32, %b: f32, %d: f32, %o: f32):
      %0 = arith.mulf %a, %b : f32
      %1 = math.sin %0 : f32
      %2 = math.exp %d : f32
      %3 = arith.divf %1, %2 : f32
      %4 = arith.addf %3, %c : f32
      %5 = math.rsqrt %4 : f32
      linalg.yield %5 : f32
    } -> tensor<5x3xf32>
    %e2 = tensor.empty() : tensor<5xf32>
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<5xf32>) -> tensor<5xf32>
    %z = linalg.generic {indexing_maps = [#id, #row, #col], iterator_types = ["parallel", "reduction"]} ins(%y, %w : tensor<5x3xf32>, tensor<3xf32>) outs(%f : tensor<5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %0 = math.tanh %a : f32
      %1 = arith.mulf %0, %b : f32
      %2 = arith.addf %o, %1 : f32
      linalg.yield %2 : f32
    } -> tensor<5xf32>
    return %y, %z : tensor<5x3xf32>, tensor<5xf32>
  }
}
"""


def generic():
    """Gradients of linalg ops, which the door writes for what act has no op for."""
    torch.manual_seed(0)
    x, w, t = (torch.randn(s, requires_grad=True) for s in ((5, 3), (3,), (3, 5)))
    y = (torch.sin(x * w) / torch.exp(t.T) + 2).rsqrt()
    z = (torch.tanh(y) * w).sum(1)
    dy, dz = torch.randn_like(y), torch.randn_like(z)
    torch.autograd.backward([y, z], [dy, dz])
    want = {"y": y, "z": z, "x.grad": x.grad, "w.grad": w.grad, "t.grad": t.grad}
    for device, options in (("host", {}), ("sim:sm_80", {"target": "sm_80"})):
        step = act.Device(device).load(act.Module.parse(GENERIC).emit(**options))
        got = step.run("grad", inputs={"x": x.detach(), "w": w.detach(), "t": t.detach(),
                                       "y.grad": dy, "z.grad": dz})
        check(f"gradients of linalg ops on {device}", all(
            torch.allclose(torch.from_numpy(got[k]), v.detach(), atol=1e-5)
            for k, v in want.items()))


def windows():
    """Convolutions and pools with every argument, or the reason why not."""
    torch.manual_seed(0)
    image, line = torch.randn(2, 6, 9, 8), torch.randn(2, 6, 9)
    for module, x in ((nn.Conv2d(6, 8, 3, stride=2, padding=1, dilation=2, groups=2), image),
                      (nn.Conv2d(6, 12, 3, padding=(1, 0), groups=6, bias=False), image),
                      (nn.Conv2d(6, 4, 3, padding=1), image[0]), (nn.Conv2d(6, 4, 2, 2), image[0]),
                      (nn.Conv1d(6, 4, 3, padding="same"), line), (nn.Conv1d(6, 4, 4, stride=3), line[0]),
                      (nn.MaxPool2d(2, dilation=2), image), (nn.MaxPool2d(3, 2, 1), image[0]),
                      (nn.AvgPool2d(3, 2, 1), image), (nn.AvgPool2d(2, 1, divisor_override=3), image),
                      (nn.AvgPool2d((3, 2)), image)):
        grads = []
        made = act.from_torch(module, (x,))
        for run in (module, made):
            module.zero_grad()
            y = run(x)
            (y * torch.arange(y.numel()).reshape(y.shape) / y.numel()).sum().backward() \
                if y.requires_grad else None
            grads.append([y] + [p.grad.clone() for p in module.parameters()])
        check(f"{module} of {list(x.shape)}", all(
            torch.allclose(a, b, atol=1e-4) for a, b in zip(*grads)))
    for module, x in ((nn.MaxPool2d(2, ceil_mode=True), image), (nn.Conv2d(6, 4, 3), image[:0]),
                      (nn.AvgPool2d(3, 2, 1, count_include_pad=False), image),
                      (nn.ConvTranspose2d(6, 4, 3), image)):
        try:
            act.from_torch(module, (x,))
            check(f"{module} was not refused", False)
        except act.Error as error:
            check(f"{module}: {error}", True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch._dynamo.reset()
            got = torch.compile(module, backend="act", dynamic=False)(x)
        check(f"{module} stays in eager", torch.equal(got, module(x)))


def eager():
    torch._dynamo.reset()

    def odd(x):
        return torch.linalg.inv(x @ x.T + torch.eye(4)).sum() * x.cumsum(0).sum()

    x = torch.randn(4, 4, requires_grad=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        y = torch.compile(odd, backend="act", dynamic=False)(x)
    text = " ".join(str(s.message) for s in said)
    check(f"what act has no form of stays in eager: {text[:90]}",
          torch.allclose(y, odd(x), rtol=1e-3) and "stays in eager" in text)
    try:
        act.from_torch(nn.Upsample(scale_factor=2, mode="bicubic"), (torch.randn(1, 3, 4, 4),))
        check("from_torch refuses what it has no form of", False)
    except act.Error as error:
        check(f"from_torch refuses: {error}", "aten." in str(error))
    torch._dynamo.reset()
    model = nn.Linear(3, 3)
    compiled = torch.compile(model, backend="act", options={"remat": "selective"})
    x = torch.randn(2, 3)
    check('backend="act" by its name, with options',
          torch.allclose(compiled(x), model(x), atol=1e-6))


names = sys.argv[2:] or ["mlp", "convolutions", "llama", "gpt2", "vit", "bert", "t5", "qwen3"]
for name in FAMILIES if names == ["--all"] else names:
    train(name)
if not sys.argv[2:] or names == ["--all"]:
    train("llama", steps=3, device="sim:sm_80")
    train("vit", steps=2, device="sim:sm_80")
    train("convolutions", steps=2, device="sim:sm_80")
    train("t5", steps=3, remat="layer")
    for part in (layers, autograd, dropout, inference, generic, windows, empty_parts, eager):
        part()
print(f"{failures} failures")
sys.exit(failures > 0)
