# SPDX-License-Identifier: Apache-2.0
"""packing.py BUILD: samples of different lengths in one row cannot see each other.

- Changing a sample, its number of labels kept, leaves the others' losses per token
  and their gradients at the embedding's output as they were, bit for bit. A token's
  loss is the loss of a step in which it alone has a label; every token id stands
  once, so a row of the embedding's gradient is the gradient at its output there.
- With the loss summed, the packed gradients are the sum of those of each sample
  alone, to 1e-5. (Losses are means: they are multiplied by their label counts.)
- So they are where the samples are in the rows of two micro-batches.
- Outputs are those of each sample alone, where segments say what they are, and where a
  mask says what padding is.
- What was packed is reported: share of padding, effective tokens.
"""
import json
import re
import sys

import numpy as np
import torch

from agreement import Act, build_model, config, weights_of

LENGTHS, SEQ = [7, 4, 11, 5], 32
EMBEDDING = "model.embed_tokens.weight"


def packed_row(samples):
    """tokens, labels, segments [1, 1, SEQ]; the rest of the row is padding."""
    tokens, labels, segments = (np.full((1, 1, SEQ), v) for v in (0, -100, -1))
    at = 0
    for i, s in enumerate(samples):
        end = at + len(s)
        tokens[0, 0, at:end] = s
        labels[0, 0, at:end - 1] = s[1:]
        segments[0, 0, at:end] = i
        at = end
    return tokens, labels, segments


def one_label_each(row):
    """One step per label of the row, with that label alone."""
    tokens, labels, segments = row
    places = np.flatnonzero(labels[0, 0] != -100)
    alone = np.full((len(places), 1, SEQ), -100)
    alone[np.arange(len(places)), 0, places] = labels[0, 0, places]
    spread = lambda a: np.repeat(a[0][None], len(places), 0)
    return places, (spread(tokens), alone, spread(segments))


def train(act, module, weights, row, *options):
    tokens, labels, segments = row
    return act.train(module, tokens, labels, "--segments", act.save("segments", segments),
                     *options, optimizer="sgd", lr=0, init=weights)


def check_isolation(act, module, weights, samples, title):
    changed = 2
    other = list(samples)
    # Token ids that stand nowhere else, so that rows of the gradient stay apart.
    other[changed] = np.arange(40, 40 + len(samples[changed]))
    rows = packed_row(samples), packed_row(other)
    good = True

    losses = []
    for row in rows:
        places, steps = one_label_each(row)
        losses.append(np.array(train(act, module, weights, steps).losses))
    segment = rows[0][2][0, 0, places]
    kept = segment != changed
    if not np.array_equal(losses[0][kept], losses[1][kept]):
        print(f"{title}: losses of unchanged samples differ")
        good = False
    if np.array_equal(losses[0][~kept], losses[1][~kept]):
        print(f"{title}: losses of the changed sample did not change")
        good = False

    a, b = (train(act, module, weights, row).gradients[EMBEDDING] for row in rows)
    for i, s in enumerate(samples):
        if i != changed and a[s].tobytes() != b[s].tobytes():
            print(f"{title}: gradients at the embedding of sample {i} differ")
            good = False
        if i != changed and not a[s].any():
            print(f"{title}: sample {i} has no gradient at all")
            good = False
    print(f"{title}: {kept.sum()} losses of unchanged samples compared", flush=True)
    return good


def check_sum(act, module, cfg, weights, samples, flags):
    row = packed_row(samples)
    halves = [np.concatenate(parts, 1) for parts in zip(packed_row(samples[:1]), packed_row(samples[1:]))]
    count = (row[1] != -100).sum()
    ways = {"one row": train(act, module, weights, row),
            "two micro-batches": train(act, module, weights, halves, "--micro-batches=2")}
    total = {n: np.zeros(g.shape) for n, g in ways["one row"].gradients.items()}
    loss = 0.0
    for s in samples:
        alone = act.import_model(cfg, batch=1, seq=len(s), name="alone")
        alone = act.optimize(alone, *flags)
        labels = np.append(s[1:], -100)
        one = act.train(alone, np.reshape(s, (1, 1, -1)), labels.reshape(1, 1, -1),
                        optimizer="sgd", lr=0, init=weights)
        loss += one.losses[0] * (len(s) - 1)
        for n in total:
            total[n] += one.gradients[n].astype(np.float64) * (len(s) - 1)
    good = True
    for way, got in ways.items():
        worst = max((np.abs(got.gradients[n] * float(count) - g).max() / np.abs(g).max(), n)
                    for n, g in total.items())
        print(f"packed against one by one {' '.join(flags)}, {way}: gradients {worst[0]:.1e} at {worst[1]}, "
              f"loss {got.losses[0] * count:.7g} and {loss:.7g}")
        good &= worst[0] <= 1e-5 and abs(got.losses[0] * count - loss) <= 1e-5 * abs(loss)
    return good


def check_outputs(act, cfg, model, samples):
    module = act.import_model(cfg, "--packed=5", "--mode", "infer", batch=1, seq=SEQ, name="infer")
    with torch.no_grad():
        alone = [model(input_ids=torch.as_tensor(s[None])).logits[0].numpy() for s in samples]
    row = packed_row(samples)
    found = act.infer(module, weights_of(model), row[0], "--segments", act.save("segments", row[2]))[0]
    pairs = list(zip(np.split(found, np.cumsum(LENGTHS)), alone))
    # Two rows, with padding in front and behind.
    tokens, mask = np.zeros((2, SEQ // 2), int), np.zeros((2, SEQ // 2), int)
    tokens[0, -7:], tokens[1, :11] = samples[0], samples[2]
    mask[0, -7:] = mask[1, :11] = 1
    found = act.infer(module, weights_of(model), tokens, "--attention-mask", act.save("mask", mask))
    pairs += [(found[SEQ // 2 - 7:SEQ // 2], alone[0]), (found[SEQ // 2:SEQ // 2 + 11], alone[2])]
    worst = max(np.abs(a - b).max() / np.abs(b).max() for a, b in pairs)
    print(f"outputs of packed samples: worst {worst:.1e}")
    return worst <= 1e-5


def check_report(act, module, samples):
    path = act.work / "samples.jsonl"
    path.write_text("".join(json.dumps({"tokens": [int(t) for t in s]}) + "\n" for s in samples))
    output = act.call("act-run", "train", module, "--pack", path, "--steps", 1,
                      "--optimizer", "sgd", "--lr", 0)
    tokens = sum(map(len, samples))
    padding = re.search(r"padding ([0-9.]+) ?%", output)
    effective = re.search(r"effective tokens (\d+)", output)
    expected = 100 * (1 - tokens / SEQ)
    if (not padding or abs(float(padding[1]) - expected) > 0.01
            or not effective or int(effective[1]) != tokens):
        print(f"expected padding {expected:.2f} % and effective tokens {tokens}, found:\n{output}")
        return False
    return True


def main(build):
    act = Act(build, "packing")
    cfg = config("llama", vocab_size=61)
    model = build_model(cfg, 0)
    weights = weights_of(model)
    starts = np.cumsum([1] + LENGTHS)
    samples = [np.arange(a, a + n) for a, n in zip(starts, LENGTHS)]
    results = [check_outputs(act, cfg, model, samples)]
    for flags in (["--remat=none"], ["--fuse-attention", "--remat=layer"]):
        packed = act.import_model(cfg, "--packed=5", batch=1, seq=SEQ, name="packed")
        module = act.optimize(packed, *flags)
        results += [check_isolation(act, module, weights, samples, " ".join(flags)),
                    check_sum(act, module, cfg, weights, samples, flags),
                    check_report(act, module, samples)]
    return all(results)


if __name__ == "__main__":
    sys.exit(not main(*sys.argv[1:]))
