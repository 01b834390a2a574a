#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputation under a budget, one row per instance and budget.

  bench/remat.py [--act-remat build/bin/act-remat] [--data ../shared/data/remat]

The instances are the graphs of the Checkmate and Moccasin papers where the folder
has them, and a decoder's training step of 10,000 nodes. Every schedule is checked
here again. Seconds are processor time of the whole program.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BUDGETS = {'UNet': [0.9, 0.8, 0.6], 'SegNet': [0.9, 0.8], 'FCN8': [0.9, 0.8],
           'VGG19': [0.9, 0.8], 'RL100': [0.9, 0.8]}


def read(path):
    words = list(map(int, open(path).read().split()))
    n, m = words[:2]
    inputs = [[] for _ in range(n)]
    ends = words[2 + 2 * n:2 + 2 * n + 2 * m]
    for a, b in zip(ends[::2], ends[1::2]):
        inputs[b].append(a)
    return words[2:2 + 2 * n:2], words[3:3 + 2 * n:2], inputs


def measure(graph, schedule):
    """Peak bytes and extra cost, straight from the definition."""
    size, cost, inputs = graph
    made, last, first, extra = {}, {}, 0, 0
    for s, v in enumerate(schedule):
        for a in inputs[v]:
            last[made[a]] = s
        if v == first:
            first += 1
        else:
            assert v < first, f'step {s} computes {v} too early'
            extra += cost[v]
        made[v] = last[s] = s
    assert first == len(size), f'node {first} is never computed'
    change = [0] * (len(schedule) + 1)
    for s, v in enumerate(schedule):
        change[s] += size[v]
        change[last[s] + 1] -= size[v]
    peak = live = 0
    for c in change:
        live += c
        peak = max(peak, live)
    return peak, extra


def run(tool, path, budget):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool, path, f'--budget={budget}', '--json'],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr.strip())
    a = json.loads(done.stdout)
    graph = read(path)
    peak, extra = measure(graph, a['schedule'])
    assert peak == a['peak_bytes'] <= a['budget_bytes'], (peak, a['peak_bytes'])
    assert extra == a['extra_cost'] >= a['bound_cost'], (extra, a['extra_cost'])
    return len(graph[0]), a, after.ru_utime - before.ru_utime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--act-remat',
                        default=os.path.join(ROOT, 'build/bin/act-remat'))
    parser.add_argument('--data',
                        default=os.path.join(ROOT, '../shared/data/remat'))
    args = parser.parse_args()
    cases = []
    if os.path.isdir(args.data):
        for name, budgets in BUDGETS.items():
            path = os.path.join(args.data, name + '.txt')
            cases += [(name, path, b) for b in budgets]
    else:
        print(f'no graphs in {os.path.relpath(args.data)}: only the generated one')
    print(f'{"instance":<14}{"nodes":>6}{"budget":>8}{"extra %":>10}'
          f'{"bound %":>10}{"seconds":>9}  outcome')
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
        subprocess.run([sys.executable, os.path.join(HERE, 'remat-transformer.py'),
                        '204'], stdout=f, check=True)
        cases += [('transformer', f.name, b) for b in (0.8, 0.5, 0.2)]
        for name, path, budget in cases:
            nodes, a, seconds = run(args.act_remat, path, budget)
            print(f'{name:<14}{nodes:>6}{budget:>8}{a["extra_cost_percent"]:>10.4f}'
                  f'{a["bound_percent"]:>10.4f}{seconds:>9.2f}  {a["outcome"]}',
                  flush=True)


main()
