#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the losses in a log of `act-run train --log` as text.

  loss-curve.py LOG.jsonl [--width 72] [--height 16]

A dot is the mean training loss of the steps that share its column, an `o` a loss on
held-out text.
"""
import argparse
import json


def read(path):
    """The steps' losses and held-out losses, as lists of (step, loss)."""
    training, held_out = [], []
    with open(path) as file:
        for line in file:
            entry = json.loads(line)
            training.append((entry["step"], entry["loss"]))
            if "val_loss" in entry:
                held_out.append((entry["step"], entry["val_loss"]))
    return training, held_out


def column_means(points, first, last, width):
    """width means, None where no point falls."""
    sums, counts = [0.0] * width, [0] * width
    for step, loss in points:
        column = (step - first) * (width - 1) // max(1, last - first)
        sums[column] += loss
        counts[column] += 1
    return [s / c if c else None for s, c in zip(sums, counts)]


def draw(training, held_out, width, height):
    first, last = training[0][0], training[-1][0]
    losses = [loss for _, loss in training + held_out]
    low, high = min(losses), max(losses)
    step = (high - low) / (height - 1) or 1.0
    canvas = [[" "] * width for _ in range(height)]
    for points, mark in (training, "."), (held_out, "o"):
        for column, mean in enumerate(column_means(points, first, last, width)):
            if mean is not None:
                canvas[round((high - mean) / step)][column] = mark
    for row, marks in enumerate(canvas):
        print(f"{high - row * step:7.3f} |{''.join(marks).rstrip()}")
    print(" " * 8 + "+" + "-" * width)
    print(" " * 9 + f"step {first}".ljust(width - 12) + f"step {last}".rjust(12))
    print(f"         . training {training[-1][1]:.3f}" +
          (f"   o held out {held_out[-1][1]:.3f}" if held_out else "") +
          "   (nats per character, at the end)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log")
    parser.add_argument("--width", type=int, default=72)
    parser.add_argument("--height", type=int, default=16)
    args = parser.parse_args()
    training, held_out = read(args.log)
    if not training:
        parser.error(f"{args.log} has no steps")
    draw(training, held_out, max(16, args.width), max(4, args.height))


if __name__ == "__main__":
    main()
