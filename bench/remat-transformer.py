#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the training step of a decoder as a graph for act-remat.

  bench/remat-transformer.py LAYERS [> graph.txt]      50 nodes per layer

One node per op, forward and backward, in the order they run. Bytes are those of
bf16 activations of a Llama-like layer (h 4096, 32 heads, 8 of keys and values,
ffn 14336, s 2048, attention in primitives), costs its flops, or ten times the
bytes moved where those take longer. Gradients of parameters have no bytes here:
they are added to buffers that outlive the step.
"""
import sys

H, HEADS, KV, FFN, S, VOCAB = 4096, 32, 8, 14336, 2048, 128256
D = H // HEADS

nodes, edges = [], []  # (bytes, cost); (from, to)


def node(elements, flops, *inputs):
    moved = 2 * elements + sum(nodes[i][0] for i in inputs)
    nodes.append((2 * elements, max(flops, 10 * moved)))
    n = len(nodes) - 1
    edges.extend((i, n) for i in sorted(set(inputs)))
    return n


class Tape:
    """Forward ops now, what their gradients need for later."""

    def __init__(self):
        self.rules, self.grads = [], {}

    def op(self, elements, flops, inputs, rules):
        y = node(elements, flops, *inputs)
        self.rules.append((y, inputs, rules))
        return y

    def add_grad(self, x, g):
        old = self.grads.get(x)
        self.grads[x] = g if old is None else node(nodes[x][0] // 2, 0, old, g)

    def linear(self, x, m, k, n):
        flops = 2 * m * k * n
        return self.op(m * n, flops, [x], lambda y, dy: (
            node(0, flops, dy, x), [(x, node(m * k, flops, dy))]))

    def unary(self, x, elements, saved):
        """saved: 'x', 'y' or None, what the derivative reads."""
        def rule(y, dy):
            read = {'x': [x], 'y': [y], None: []}[saved]
            return None, [(x, node(elements, 0, dy, *read))]
        return self.op(elements, 0, [x], rule)

    def add(self, a, b):
        return self.op(nodes[a][0] // 2, 0, [a, b],
                       lambda y, dy: (None, [(a, dy), (b, dy)]))

    def product(self, a, b, elements, flops):
        """An elementwise or a matrix product."""
        return self.op(elements, flops, [a, b], lambda y, dy: (None, [
            (a, node(nodes[a][0] // 2, flops, dy, b)),
            (b, node(nodes[b][0] // 2, flops, dy, a))]))

    def backward(self, loss):
        self.grads[loss] = loss
        for y, inputs, rule in reversed(self.rules):
            if y in self.grads:
                _, grads = rule(y, self.grads.pop(y))
                for x, g in grads:
                    self.add_grad(x, g)


def layer(t, x):
    n = t.unary(x, S * H, 'x')
    q = t.unary(t.linear(n, S, H, H), S * H, None)          # rope
    k = t.unary(t.linear(n, S, H, KV * D), S * KV * D, None)
    v = t.linear(n, S, H, KV * D)
    scores = t.product(q, k, HEADS * S * S, 2 * S * S * H)
    p = t.unary(scores, HEADS * S * S, 'y')                 # softmax
    o = t.product(p, v, S * H, 2 * S * S * H)
    x = t.add(x, t.linear(o, S, H, H))
    n = t.unary(x, S * H, 'x')
    gate, up = t.linear(n, S, H, FFN), t.linear(n, S, H, FFN)
    m = t.product(t.unary(gate, S * FFN, 'x'), up, S * FFN, 0)
    return t.add(x, t.linear(m, S, FFN, H))


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    t = Tape()
    x = node(S * H, 0)
    for _ in range(int(sys.argv[1])):
        x = layer(t, x)
    logits = t.linear(t.unary(x, S * H, 'x'), S, H, VOCAB)
    t.backward(t.unary(logits, S * VOCAB, 'y'))
    print(len(nodes), len(edges))
    print('\n'.join(f'{b} {c}' for b, c in nodes))
    print('\n'.join(f'{a} {b}' for a, b in edges))


main()
