#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long programs of attention's gradient wait for their turns, without a card.

    build/venv/bin/python bench/turns.py [--slots N] [--add SHARE] [--jitter SHARE] [--tokens N] [--heads N]

Each program has a block of keys, goes over the rows of its head, and adds to the rows' gradient in turn. The
programs are played as a card runs them: so many at once (--slots), in the order of their tickets, each iteration
as long as the others give or take --jitter, and --add of it from the moment that the turn is there until it is
passed. Printed is the time without turns as a share of the time with them, for

    first row      all start at their first row, the last keys first in turn (before tile-shift-turns)
    rings          neighbours start at different rows and go around (tile-shift-turns), full attention alone
    keys ascend    causal, the first keys first in turn
    keys descend   causal, the last keys first (ConvertLinalgToTile.cpp)
"""
import argparse
import heapq
import random


def play(programs, slots, add, jitter, seed=0):
    """The time until all programs, lists of (place, turn or None), have ended; `slots` run at once."""
    draw = random.Random(seed)
    turns, waiting, at = {}, {}, [0] * len(programs)
    events, order, now = [], 0, 0.0

    def at_work(program, since):
        length = (1 - add) * draw.uniform(1 - jitter, 1 + jitter)
        heapq.heappush(events, (since + length, program, False))

    for order in range(min(slots, len(programs))):
        at_work(order, 0.0)
    order += 1
    while events:
        now, program, has_added = heapq.heappop(events)
        place, turn = programs[program][at[program]]
        if not has_added:
            if turn is None or turns.get(place, 0) == turn:
                heapq.heappush(events, (now + add, program, True))
            else:
                waiting[place, turn] = program
            continue
        turns[place] = turns.get(place, 0) + 1
        if (other := waiting.pop((place, turns[place]), None)) is not None:
            heapq.heappush(events, (now + add, other, True))
        at[program] += 1
        if at[program] < len(programs[program]):
            at_work(program, now)
        elif order < len(programs):
            at_work(order, now)
            order += 1
    assert not waiting, "programs wait for ever"
    return now


def first_row(heads, keys, rows):
    """Heads fastest, all from row 0."""
    return [[((head, row), turn) for row in range(rows)] for turn in range(keys) for head in range(heads)]


def rings(heads, keys, rows, most=16, before=256):
    """As passes/tile/ShiftTurns.cpp."""
    wanted = 4
    while wanted < most and wanted * heads < before:
        wanted *= 2
    wanted = min(wanted, keys, rows)
    ring = -(-keys // -(-keys // wanted))
    apart = 1 << (rows // ring).bit_length() - 1
    programs = []
    for first in range(0, keys, ring):
        size = min(ring, keys - first)
        for head in range(heads):
            for k in range(size):
                own = []
                for n in range(rows):
                    row = (n + k * apart) % rows
                    started = min(row // apart, size - 1)
                    own.append(((head, row), first + (started - k) % size))
                programs.append(own)
    return programs


def causal(heads, keys, rows, descend):
    """A block of keys is seen by the rows from its own on; heads fastest."""
    programs = []
    for turn in range(keys):
        key = keys - 1 - turn if descend else turn
        for head in range(heads):
            own = []
            for row in range(key * rows // keys, rows):
                seen = row * keys // rows  # the last keys that this row sees
                own.append(((head, row), seen - key if descend else key))
            programs.append(own)
    return programs


def without_turns(programs):
    return [[(place, None) for place, _ in own] for own in programs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slots", type=int, default=132)
    parser.add_argument("--add", type=float, default=0.25)
    parser.add_argument("--jitter", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--heads", type=int, default=64, help="of all sequences")
    o = parser.parse_args()
    print(f"{o.heads} heads of {o.tokens} tokens, {o.slots} programs at once: the time without turns / with them")
    print(f"{'keys x rows':<14}{'first row':>12}{'rings':>12}{'keys ascend':>14}{'keys descend':>14}")
    for keys, rows in ((128, 64), (128, 128)):
        k, r = -(-o.tokens // keys), -(-o.tokens // rows)
        line = f"{f'{keys} x {rows}':<14}"
        for width, programs in ((12, first_row(o.heads, k, r)), (12, rings(o.heads, k, r)),
                                (14, causal(o.heads, k, r, False)), (14, causal(o.heads, k, r, True))):
            free = play(without_turns(programs), o.slots, o.add, o.jitter)
            line += f"{free / play(programs, o.slots, o.add, o.jitter):>{width}.2f}"
        print(line)


if __name__ == "__main__":
    main()
