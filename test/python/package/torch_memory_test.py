# SPDX-License-Identifier: Apache-2.0
"""torch_memory_test.py BUILD: act.torch_memory is what act's view torch says of the types
that both know, to the byte; what PyTorch's allocator on the CPU says of optimizers; and
it runs through other models and checkpointing."""
import math
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
        fields, batch, seq, attention, policy, segments, kind = torch_view_test.draw(rng)
        config = T.AutoConfig.for_model(**fields)
        config._attn_implementation = "eager" if attention == "eager" else "sdpa"
        model, tokens, labels = torch_view.build(
            config, getattr(torch, fields["torch_dtype"]), batch, seq)
        try:
            if segments:
                torch_view.place_checkpoints(model, segments, kind, attention == "eager" or seq >= (
                    getattr(config, "sliding_window", None) or math.inf))
        except torch_view.Refused:
            continue  # runs of layers that no checkpoint can hold
        cache = torch_view.NO_CACHE.get(fields["model_type"], {})

        def loss(m):
            return m(input_ids=tokens, labels=labels, **cache).loss

        try:
            module = act.import_config(fields, batch=batch, seq=seq)
            if policy:
                module.run(remat=policy)
            mine = module.report(view="torch", attention=attention, checkpoint=kind)
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
            check(f"{fields} {batch} {seq} {attention} {policy} {kind}: {theirs!r}, "
                  f"act {mine['retained_bytes']}, {mine['peak_bytes']}", False)
        agree += same
    check(f"{agree} models as view torch says, with and without checkpoints, {refused} refused by both",
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


def llama(**fields):
    config = T.LlamaConfig(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                           num_key_value_heads=2, vocab_size=96, use_cache=False, **fields)
    with torch.device("meta"):
        return T.LlamaForCausalLM(config).to(torch.bfloat16).train()


def loss_of(batch=2, rows=16, **more):
    ids = torch.zeros(batch, rows, dtype=torch.int64)
    return lambda m: m(input_ids=ids, labels=ids, **more).loss


def flash():
    """flash-attn's functions without the package: what act counts as sdpa-flash, and packed rows."""
    fields = llama().config.to_dict() | {"torch_dtype": "bfloat16"}
    mine = act.import_config(fields, batch=2, seq=16).report(view="torch", attention="flash_attention_2")
    theirs = act.torch_memory(loss_of(), llama(), attention="flash_attention_2")
    check(f"flash_attention_2: {theirs!r}",
          all(mine[f] == getattr(theirs, f) for f in ("retained_bytes", "peak_bytes")))
    model = llama()
    model.config._attn_implementation = "sdpa"
    packed = act.torch_memory(loss_of(), model, attention="flash_attention_2", packed=4)
    # The boundaries of four sequences in each layer: five numbers of 32 bits.
    check(f"packed: {packed!r}", packed.retained_bytes == theirs.retained_bytes + 2 * 4 * 5)
    # The same with the boundaries given, as transformers' collator gives them.
    ends = torch.tensor([0, 8, 16, 24, 32], dtype=torch.int32)
    given = act.torch_memory(loss_of(1, 32, cu_seq_lens_q=ends, cu_seq_lens_k=ends, max_length_q=8, max_length_k=8),
                             llama(), attention="flash_attention_2")
    # One row is twice as long, and so are the rotary tables.
    check(f"with boundaries: {given!r}", given.retained_bytes == theirs.retained_bytes + 2 * 16 * 16 * 2)
    refuses = False
    try:
        act.torch_memory(loss_of(), llama().to(torch.float32), attention="flash_attention_2")
    except act.Error:
        refuses = True
    check("flash_attention_2 refuses f32", refuses)


def adapters():
    """LoRA and QLoRA, by PEFT and bitsandbytes."""
    import peft
    targets = ["q_proj", "v_proj"]
    lora = peft.get_peft_model(llama(), peft.LoraConfig(r=8, target_modules=targets))
    full = act.torch_memory(loss_of(), llama(), optimizer=torch.optim.AdamW)
    plain = act.torch_memory(loss_of(), lora, optimizer=torch.optim.AdamW)
    rank = 2 * 8 * (64 + 64 + 64 + 32)  # two layers: q [64, 64] and v [32, 64]
    check(f"LoRA: {plain!r}", plain.gradient_bytes == 4 * rank and plain.optimizer_bytes == 8 * rank
          and plain.parameter_bytes == full.parameter_bytes + 4 * rank
          and plain.total_peak_bytes < full.total_peak_bytes)
    for double in (True, False):
        model = act.quantize_4bit(llama(), double=double)
        four = sum(p.numel() for p in model.parameters() if getattr(p, "quant_state", None))
        blocks = four * 2 // 64  # each byte holds two elements
        layers = 14  # each has a table of 16 numbers, and with double one of 256 and an offset
        scales = (blocks + layers * (4 * 256 + 4) + sum(
            -(-p.numel() * 2 // 64 // 256) * 4 for p in model.parameters() if getattr(p, "quant_state", None))
                  ) if double else 4 * blocks
        rest = 2 * (2 * 96 * 64 + 5 * 64)  # embeddings, head and norms
        qlora = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules=targets))
        memory = act.torch_memory(loss_of(), qlora, optimizer=torch.optim.AdamW, attention="flash_attention_2")
        expected = four + scales + layers * 4 * 16 + rest + 4 * rank
        check(f"QLoRA, scales {'of 8 bits' if double else 'of 32 bits'}: {memory!r}, parameters "
              f"{memory.parameter_bytes}", memory.parameter_bytes == expected
              and memory.retained_bytes == plain.retained_bytes
              and any(op == "dequantize_4bit" for _, op, *_ in memory.events))
    # On the host bitsandbytes runs; what autograd keeps there are the same tensors.
    kept = []
    for device in ("meta", "cpu"):
        torch.manual_seed(0)
        layer = act.quantize_4bit(torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(),
                                                      torch.nn.Linear(96, 32)), double=False)
        for linear in (layer[0], layer[2]) if device == "cpu" else ():
            import bitsandbytes as bnb
            data, state = bnb.functional.quantize_4bit(torch.randn(linear.out_features, linear.in_features).bfloat16(),
                                                       quant_type="nf4")
            linear.weight = bnb.nn.Params4bit(data, requires_grad=False, quant_state=state, quant_type="nf4",
                                              bnb_quantized=True)
            linear.bias = torch.nn.Parameter(torch.zeros(linear.out_features).bfloat16(), requires_grad=False)
        x = torch.zeros(8, 64, dtype=torch.bfloat16, device=device, requires_grad=True)
        tensors = {t.untyped_storage()._cdata: t.untyped_storage().nbytes()
                   for _, _, t in torch_view.saved_tensors(layer(x).sum().grad_fn)}
        kept.append(sorted(tensors.values()))
    check(f"a graph of 4-bit layers keeps {sum(kept[0])} bytes, on the host {sum(kept[1])}", kept[0] == kept[1])


def routed():
    """Sizes that depend on data: given, or all."""
    class Routed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.experts = torch.nn.Linear(8, 2), torch.nn.ModuleList(torch.nn.Linear(8, 8) for _ in "ab")

        def forward(self, x):
            chosen, out = self.gate(x).argmax(-1), torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows = (chosen == i).nonzero().squeeze(-1)
                out = out.index_add(0, rows, torch.tanh(expert(x[rows])))
            return out

    x = torch.zeros(100, 8)
    worst = act.torch_memory(lambda m: m(x).sum(), Routed())
    given = act.torch_memory(lambda m: m(x).sum(), Routed(), sizes=[60, 40])
    # For each row and expert: its number, its input and its result. x is not trained.
    check(f"routed: {given!r}, at worst {worst!r}", worst.notes != [] and given.notes == []
          and worst.retained_bytes - given.retained_bytes == 100 * (8 + 2 * 4 * 8))
    refuses = False
    try:
        act.torch_memory(lambda m: m(x).sum(), Routed(), sizes=[60])
    except act.Error as error:
        refuses = "nonzero" in str(error)
    check("a size that is not given is an error", refuses)


def reports():
    """The log as act's report reads it: the same figures, replayed, as a formula, and on a card."""
    memory = act.torch_memory(loss_of(), llama(), optimizer=torch.optim.AdamW)
    report = memory.report(allocator="cuda-caching", device_memory="24GB")
    check("the report's figures are the log's",
          report["retained_bytes"] == memory.retained_bytes and report["optimizer_bytes"] == memory.optimizer_bytes
          and report["total_peak_bytes"] == memory.total_peak_bytes
          and report["reserved_peak_bytes"] >= memory.total_peak_bytes)
    without = act.torch_memory(loss_of(), llama())
    fields = llama().config.to_dict() | {"torch_dtype": "bfloat16"}
    mine = act.import_config(fields, batch=2, seq=16).report(view="torch", allocator="cuda-caching")
    theirs = without.report(allocator="cuda-caching")
    check(f"the replay reserves {theirs['reserved_peak_bytes']}, of view torch {mine['reserved_peak_bytes']}",
          theirs["reserved_peak_bytes"] == mine["reserved_peak_bytes"])
    check("as a page", "<html" in memory.report(format="html"))
    formula = act.torch_formula(lambda b, s: (loss_of(b, s), llama()), {"b": 2, "s": 16})
    small = {"b": 3, "s": 40}
    measured = act.torch_memory(loss_of(3, 40), llama()).retained_bytes
    check(f"retained = {formula}", formula is not None and eval(formula, {}, small) == measured)
    formula = act.torch_formula(lambda b, s: (loss_of(b, s), llama()), {"b": 2, "s": 16}, of="peak_bytes")
    measured = act.torch_memory(loss_of(3, 40), llama()).peak_bytes
    check(f"peak = {formula}", formula is not None and eval(formula, {}, small) == measured)
    size, at = act.torch_fits(lambda n: (loss_of(1, n), llama()), "rows", "8MB")
    more = act.torch_memory(loss_of(1, size + 1), llama()).total_peak_bytes
    check(f"{size} rows fit on 8 MB", at.total_peak_bytes <= 8_000_000 < more)
    for what, change in (("a list that is none", '"storages": 3'), ("a phase that is none", '"sideways"')):
        text = memory.log()
        text = text.replace('"forward"', change, 1) if "phase" in what else \
            text.replace('"storages": [', change + ', "others": [', 1)
        path = build / "python" / "damaged.json"
        path.write_text(text)
        said = ""
        try:
            act.Module.parse("module {}").report(view="torch", log=str(path))
        except act.CompileError as error:
            said = str(error)
        check(f"{what}: {said[:100]}", "view torch" in said)


five_types(16)
optimizers()
others()
flash()
adapters()
routed()
reports()
print(f"{failures} failures")
sys.exit(failures > 0)
