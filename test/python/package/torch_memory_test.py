# SPDX-License-Identifier: Apache-2.0
"""torch_memory_test.py BUILD: act.torch_memory is what act's view torch says of the types
that both know, to the byte; what PyTorch's allocator on the CPU says of optimizers; and
it runs through other models and checkpointing."""
import pathlib
import random
import sys
import warnings

build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(build / "python" / "site"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers as T  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

import act  # noqa: E402
import torch_view  # noqa: E402
import torch_view_test  # noqa: E402

T.logging.set_verbosity_error()
failures = 0


def check(what, ok):
    global failures
    failures += not ok
    print(("ok  " if ok else "BAD ") + what, flush=True)


def five_types(count):
    rng, agree, refused = random.Random(5), 0, 0
    while agree + refused < count:
        fields, batch, seq, attention, policy, _, _ = torch_view_test.draw(rng)
        if policy:
            continue
        config = T.AutoConfig.for_model(**fields)
        config._attn_implementation = "eager" if attention == "eager" else "sdpa"
        model, tokens, labels = torch_view.build(
            config, getattr(torch, fields["torch_dtype"]), batch, seq)
        cache = torch_view.NO_CACHE.get(fields["model_type"], {})

        def loss(m):
            return m(input_ids=tokens, labels=labels, **cache).loss

        try:
            mine = act.import_config(fields, batch=batch, seq=seq).report(
                view="torch", attention=attention)
        except act.CompileError:
            mine = None
        try:
            theirs = act.torch_memory(loss, model, attention=attention)
        except act.Error:
            theirs = None
        if mine is None or theirs is None:
            check(f"both refuse {fields['model_type']} {attention}", mine is theirs)
            refused += 1
            continue
        same = all(mine[f] == getattr(theirs, f) for f in ("retained_bytes", "peak_bytes")) \
            and (fields["model_type"] == "bert"  # whose class has a bias that is not used
                 or mine["parameters_bytes"] == theirs.parameter_bytes
                 and mine["gradients_bytes"] == theirs.gradient_bytes)
        if not same:
            check(f"{fields} {batch} {seq} {attention}: {theirs!r}, act {mine!r}", False)
        agree += same
    check(f"{agree} models as view torch says, {refused} refused by both",
          agree + refused == count and agree > refused)


def optimizers():
    """The most bytes that a step of an optimizer allocates, by PyTorch's own log."""
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 32))
    x = torch.randn(4, 64)
    for name, make in {
        "AdamW": lambda p: torch.optim.AdamW(p, foreach=True),
        "Adam with amsgrad, one by one": lambda p: torch.optim.Adam(p, amsgrad=True,
                                                                    foreach=False),
        "SGD with momentum": lambda p: torch.optim.SGD(p, 1e-2, momentum=0.9, foreach=True),
        "RMSprop": lambda p: torch.optim.RMSprop(p, foreach=True),
        "Adafactor": lambda p: torch.optim.Adafactor(p, foreach=True),
    }.items():
        optimizer = make(model.parameters())
        model(x).sum().backward()
        optimizer.step()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as log:
            optimizer.step()
        now = most = 0
        for _, bytes_ in sorted((e.start_ns(), e.nbytes()) for e in
                                log.profiler.kineto_results.events() if e.name() == "[memory]"):
            # A step's number is on the host on a card, too; it is no memory of the model.
            now += bytes_ if abs(bytes_) > 8 else 0
            most = max(most, now)
        memory = act.torch_memory(lambda m: m(x).sum(), model, optimizer=make)
        change = {}
        for size, _, born, died, phase, _ in memory.events:
            if phase == "optimizer":
                change[born] = change.get(born, 0) + size
                change[died] = change.get(died, 0) - size
        total = top = 0
        for moment in sorted(change):
            total += change[moment]
            top = max(top, total)
        states = sum(t.nbytes for s in optimizer.state.values() for t in s.values()
                     if torch.is_tensor(t) and t.dim())
        small = sum(1 for s in optimizer.state.values() for t in s.values()
                    if torch.is_tensor(t) and t.dim() == 0 and t.device.type != "cpu")
        check(f"{name}: states of {states}, {most} for a step",
              memory.optimizer_bytes == states and top == most and small == 0)


def others():
    """Other models run, and the sums are sums."""
    ids = torch.zeros(2, 16, dtype=torch.int64)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
            "vocab_size": 64}
    llama = {**size, "intermediate_size": 64, "num_key_value_heads": 2, "use_cache": False}
    for model in (
        T.GemmaForCausalLM(T.GemmaConfig(**llama, head_dim=8)),
        T.Gemma2ForCausalLM(T.Gemma2Config(**llama, head_dim=8)),
        T.Qwen3ForCausalLM(T.Qwen3Config(**llama, head_dim=8)),
        T.Phi3ForCausalLM(T.Phi3Config(**llama, pad_token_id=0)),
        T.PhiForCausalLM(T.PhiConfig(**llama)),
        T.OlmoForCausalLM(T.OlmoConfig(**llama)),
        T.GPTNeoXForCausalLM(T.GPTNeoXConfig(**size, intermediate_size=64)),
        T.OPTForCausalLM(T.OPTConfig(hidden_size=32, ffn_dim=64, num_hidden_layers=2,
                                     num_attention_heads=4, vocab_size=64,
                                     word_embed_proj_dim=32, max_position_embeddings=32)),
        T.BloomForCausalLM(T.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=64)),
        T.T5ForConditionalGeneration(T.T5Config(
            d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=64,
            decoder_start_token_id=0)),
        T.DistilBertForMaskedLM(T.DistilBertConfig(dim=32, hidden_dim=64, n_layers=2,
                                                   n_heads=4, vocab_size=64)),
        T.ElectraForMaskedLM(T.ElectraConfig(**size, intermediate_size=64,
                                             embedding_size=32)),
    ):
        name = type(model).__name__
        try:
            memory = act.torch_memory(lambda m: m(input_ids=ids, labels=ids).loss,
                                      model.train(), optimizer=torch.optim.AdamW)
        except Exception as error:  # noqa: BLE001
            check(f"{name}: {type(error).__name__}: {str(error)[:200]}", False)
            continue
        check(f"{name}: {memory!r}", memory.optimizer_bytes == 2 * memory.gradient_bytes
              and memory.retained_bytes == sum(s for s, _ in memory.saved)
              and memory.total_peak_bytes >= memory.parameter_bytes + memory.optimizer_bytes
              + memory.peak_bytes)
    model = T.LlamaForCausalLM(T.LlamaConfig(**llama)).train()
    plain = act.torch_memory(lambda m: m(input_ids=ids, labels=ids).loss, model)
    model.gradient_checkpointing_enable()
    less = act.torch_memory(lambda m: m(input_ids=ids, labels=ids).loss, model)
    check(f"checkpointing keeps {less.retained_bytes} of {plain.retained_bytes}",
          less.retained_bytes < plain.retained_bytes / 2)
    for p in model.model.parameters():
        p.requires_grad_(False)
    frozen = act.torch_memory(lambda m: m(input_ids=ids, labels=ids).loss, model,
                              optimizer=torch.optim.AdamW)
    head = model.lm_head.weight.nbytes
    check("frozen parameters have no gradients and no states",
          frozen.gradient_bytes == head and frozen.optimizer_bytes == 2 * head)


five_types(12)
optimizers()
others()
print(f"{failures} failures")
sys.exit(failures > 0)
