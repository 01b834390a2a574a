#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""three_ways.py FOLDER: one step of a folder's model on chats.jsonl in three ways: with
attention unfused, fused, and fused with checkpoints and packed samples. What the report
says before the step runs stands beside what the step wrote.
"""
import pathlib
import sys
import tempfile

import act
from act.finetune import ModelFolder, Optimizer, Shape
from act.finetune.rows import Batches, Rows
from act.finetune.tokens import tokenised
from act.finetune.training import Feed

HERE = pathlib.Path(__file__).resolve().parent
SEQ, TOKENS = 256, 2048
WAYS = {
    "flash off": Shape(seq=SEQ, batch=TOKENS // SEQ, pack=False, remat="none", fuse_attention=False),
    "flash on": Shape(seq=SEQ, batch=TOKENS // SEQ, pack=False, remat="none"),
    "checkpoints, packed": Shape(seq=SEQ, batch=TOKENS // SEQ, remat="layer")}


def main(path):
    folder, optimizer = ModelFolder(path), Optimizer()
    with tempfile.TemporaryDirectory() as cache:
        data = tokenised(HERE / "chats.jsonl", folder, cache=pathlib.Path(cache))
        print(f"{'':20}  {'planned peak':>14}  {'written':>14}  {'tokens':>6}  {'padding':>7}  loss")
        for name, shape in WAYS.items():
            module = shape.step_module(folder.config, optimizer)
            step = act.Device().load(module.emit(), measure=True)
            step.initialise(seed=0)
            rows = Rows(data, SEQ, shape.pack)
            batch = Batches(rows, shape.batch)[1]
            out = step.run("step", inputs=Feed(step, "step", SEQ)(batch),
                           scalars={"lr": 1e-3, "step": 1})
            # A plan aligns values to 64 bytes, so the last byte may stay unwritten.
            planned, written = (step.statistics()[n] for n in ("arena_bytes", "arena_high_water"))
            print(f"{name:20}  {planned:14,}  {written:14,}  {batch.real:6,}  "
                  f"{1 - batch.real / batch.tokens.size:7.1%}  {float(out['loss']):.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
