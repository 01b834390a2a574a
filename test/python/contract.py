# SPDX-License-Identifier: Apache-2.0
"""contract.py BUILD: the numeric contract, with dropout on. All policies give the
same bytes, at one thread and at two; a run that is saved and resumed gives the bytes
of the run that never stopped. Only --fuse-attention may change bits."""
import sys

from safetensors.numpy import load_file

from agreement import POLICIES, Act, build_model, config, equal_bits, make_batches, weights_of

MODELS = {
    "gpt2": dict(resid_pdrop=0.1, embd_pdrop=0.2, attn_pdrop=0.15),
    "llama": dict(attention_dropout=0.15),
    "bert": dict(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.15),
}


def setup(build, kind, folder):
    act = Act(build, folder)
    cfg = config(kind, **MODELS[kind])
    weights = weights_of(build_model(cfg, 0))
    return act, cfg, weights, make_batches(cfg, 0)


def check_policies(build, kind):
    act, cfg, weights, (tokens, labels) = setup(build, kind, f"contract-{kind}")
    forward = act.import_model(cfg)
    good = True
    for fused in ([], ["--fuse-attention"]):
        first = None
        for policy in POLICIES:
            module = act.emit(act.optimize(forward, *fused, f"--remat={policy}"))
            for threads in (1, 2):
                got = act.train(module, tokens, labels, "--allow-native", "--threads", threads, "--seed", 3,
                                optimizer="adamw", lr=1e-2, init=weights)
                first = first or got
                title = f"{kind} {' '.join(fused)} --remat={policy}, {threads} threads"
                good &= equal_bits(title, first, got)
        # Dropout is on, or the above would show less than it says.
        other = act.train(module, tokens, labels, "--allow-native", "--seed", 4, optimizer="adamw", lr=1e-2,
                          init=weights)
        if other.log == first.log:
            print(f"{kind}: another seed gives the same losses")
            good = False
    return good


def check_resume(build, kind):
    act, cfg, weights, (tokens, labels) = setup(build, kind, f"resume-{kind}")
    module = act.emit(act.optimize(act.import_model(cfg), "--remat=selective"))
    whole, part, log = (act.work / n for n in ("whole.safetensors", "part.safetensors", "log"))
    data = ["--tokens", act.save("tokens", tokens), "--labels", act.save("labels", labels),
            "--optimizer", "adamw", "--lr", "1e-2"]
    start = ["--init", act.save_weights("init", weights), "--seed", "3"]

    def train(steps, *options):
        log.unlink(missing_ok=True)
        act.call("act-run", "train", module, "--allow-native", *data, "--steps", steps, "--log", log, *options)
        return log.read_bytes().splitlines()

    uninterrupted = train(5, *start, "--save", whole)
    before = train(2, *start, "--save", part)
    after = train(5, "--resume", part, "--save", part)
    good = True
    if before + after[-3:] != uninterrupted or before != uninterrupted[:2]:
        print(f"{kind}: the losses of the resumed run differ")
        good = False
    a, b = load_file(whole), load_file(part)
    changed = [n for n in a.keys() | b.keys()
               if n not in a or n not in b or a[n].tobytes() != b[n].tobytes()]
    if changed:
        print(f"{kind}: weights of the resumed run differ: {changed[:5]}")
        good = False
    states = [p.with_name(p.name + ".state").read_bytes() for p in (whole, part)]
    if states[0] != states[1]:
        print(f"{kind}: the optimizer state of the resumed run differs")
        good = False
    if good:
        print(f"{kind}: 2 + 3 steps equal 5")
    return good


def main(build):
    results = [check(build, kind) for kind in MODELS for check in (check_policies, check_resume)]
    return all(results)


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
