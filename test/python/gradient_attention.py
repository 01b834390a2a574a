# SPDX-License-Identifier: Apache-2.0
"""The cases of gradients.py about act.attention: every option, and several together."""
import numpy as np

from central_differences import Value
from gradient_ops import CASES, op_case

# Bodies of score regions on %s (f64) at %b, %n, %i, %j.
ALIBI = """%d = arith.subi %i, %j : index
    %e = arith.index_cast %d : index to i64
    %f = arith.sitofp %e : i64 to f64
    %g = arith.index_cast %n : index to i64
    %h = arith.sitofp %g : i64 to f64
    %c = arith.constant -0.125 : f64
    %k = arith.mulf %h, %c : f64
    %l = arith.mulf %f, %k : f64
    %r = arith.addf %s, %l : f64"""
BIAS = """%w = arith.constant 3 : index
    %d = arith.muli %i, %w : index
    %e = arith.addi %d, %j : index
    %f = arith.addi %e, %b : index
    %g = arith.index_cast %f : index to i64
    %h = arith.sitofp %g : i64 to f64
    %k = math.sin %h : f64
    %r = arith.addf %s, %k : f64"""
CURVED = """%t = math.tanh %s : f64
    %q = arith.mulf %s, %s : f64
    %e = math.exp %t : f64
    %u = arith.divf %q, %e : f64
    %v = arith.subf %u, %t : f64
    %one = arith.constant 1.0 : f64
    %a = arith.addf %q, %one : f64
    %l = math.log %a : f64
    %o = math.sqrt %a : f64
    %x = math.fma %l, %o, %v : f64
    %y = math.sin %s : f64
    %z = math.erf %y : f64
    %m = arith.negf %z : f64
    %c = math.cos %x : f64
    %g = math.rsqrt %a : f64
    %h = arith.mulf %c, %g : f64
    %r = arith.addf %m, %h : f64"""
# Kinks lie where no score is: 10 and -10.
KINKS = """%hi = arith.constant 10.0 : f64
    %lo = arith.constant -10.0 : f64
    %a = arith.maximumf %s, %lo : f64
    %b0 = arith.minimumf %a, %hi : f64
    %c = arith.minnumf %hi, %b0 : f64
    %d = arith.maxnumf %lo, %c : f64
    %p = arith.cmpf ogt, %s, %lo : f64
    %e = arith.select %p, %d, %hi : f64
    %f = arith.subf %e, %lo : f64
    %g = math.absf %f : f64
    %h = math.log2 %g : f64
    %r = math.exp2 %h : f64"""
HIDE = """%two = arith.constant 2 : index
    %m = arith.remui %j, %two : index
    %zero = arith.constant 0 : index
    %p = arith.cmpi eq, %m, %zero : index
    %x = arith.constant 0xFFF0000000000000 : f64
    %r = arith.select %p, %s, %x : f64"""
CONSTANT = "%r = arith.constant 0.5 : f64"


def attention(p, q, k, v, *others, sinks=False, causal=False, top_left=False, window=None, softcap=None, mask=None, cu=None,
              dropout=None, score=None, scale=0.7):
    text, types = f"act.attention {q}, {k}, {v} scale {scale}", [q.type, k.type, v.type]
    text += " causal" if causal else ""
    text += " top_left" if top_left else ""
    text += f" window({window})" if window else ""
    text += f" softcap({softcap})" if softcap else ""
    if mask is not None:
        m = p.input("mask", np.array(mask, bool))
        text, types = text + f" mask({m})", types + [m.type]
    if cu is not None:
        c = p.input("cu_seqlens", np.array(cu, np.int32))
        text, types = text + f" cu_seqlens({c})", types + [c.type]
    others = list(others)
    if sinks:
        sinks = others.pop(0)
        text, types = text + f" sinks({sinks})", types + [sinks.type]
    if others:
        text, types = text + f" bias({others[0]})", types + [others[0].type]
    if dropout is not None:
        text, types = text + f" dropout({dropout}, {p.generator()})", types + ["i64"] * 3
    if score:
        text += (f" score {{\n  ^bb0(%s: f64, %b: index, %n: index, %i: index, %j: index):\n"
                 f"    {score}\n    act.yield %r : f64\n  }}")
    shape = q.shape[:-1] + v.shape[-1:]
    return p.op(f"{text} : ({', '.join(types)}) -> {Value('', shape, 'f64').type}", shape)


def case(name, b=2, s=5, t=None, heads=4, kv=2, d=3, dv=None, sinks=False, bias=None, alone=True,
         **options):
    t, dv = t or s, dv or d
    if "cu" in options:
        shapes = [(s, heads, d), (s, kv, d), (s, kv, dv)]
    else:
        shapes = [(b, s, heads, d), (b, t, kv, d), (b, t, kv, dv)]
    shapes += [(heads,)] * sinks + [bias] * (bias is not None)
    op_case(f"attention-{name}", shapes, lambda p, *v: attention(p, *v, sinks=sinks, **options),
            domain=(-1.5, 1.5), alone=alone)


PADDING = [[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]]
case("mha", kv=4)
case("gqa")
case("mqa", kv=1)
case("one-head", heads=1, kv=1)
for d in (1, 2, 7, 8, 16, 33):
    case(f"head{d}", d=d, causal=True, alone=False)
case("narrow-values", dv=2)
case("wide-values", d=2, dv=7, causal=True, sinks=True)
case("causal", causal=True)
case("window", causal=True, window=2)
case("window-1", causal=True, window=1)
case("window-wide", causal=True, window=50)
case("window-both-sides", window=3)
case("one-query", s=1, t=6)
case("one-query-causal", s=1, t=6, causal=True)
case("rectangular", s=3, t=7)
case("rectangular-causal", s=3, t=7, causal=True)
case("rectangular-window", s=3, t=7, causal=True, window=3)
case("more-queries", s=7, t=3)
case("queries-that-see-nothing", s=7, t=3, causal=True)
case("padding", mask=PADDING)
case("padding-causal", mask=PADDING, causal=True)
case("padding-of-all", mask=[[0] * 5, [1, 0, 1, 0, 1]])
case("padding-rectangular", s=3, t=5, mask=PADDING, causal=True)
case("packed", s=12, cu=[0, 5, 9, 12])
case("packed-causal", s=12, cu=[0, 5, 9, 12], causal=True)
case("packed-window", s=12, cu=[0, 5, 9, 12], causal=True, window=3)
case("packed-unused", s=12, cu=[0, 4, 9, 9, 9], causal=True)
case("packed-one", s=6, cu=[0, 6], causal=True)
case("packed-singles", s=4, cu=[0, 1, 2, 3, 4])
case("softcap", softcap=0.8)
case("softcap-causal", softcap=0.8, causal=True)
case("sinks", sinks=True)
case("sinks-causal", sinks=True, causal=True)
case("sinks-padding-of-all", sinks=True, mask=[[0] * 5, [1, 0, 1, 0, 1]])
case("sinks-packed", sinks=True, s=12, cu=[0, 5, 9, 12], causal=True)
case("dropout", dropout=0.3)
case("dropout-causal", dropout=0.3, causal=True)
case("dropout-packed", dropout=0.3, s=12, cu=[0, 5, 9, 12], causal=True)
case("dropout-zero", dropout=0.0)
case("scale-negative", scale=-0.9)
for name, region in dict(alibi=ALIBI, bias=BIAS, curved=CURVED, kinks=KINKS, hide=HIDE).items():
    case(f"score-{name}", score=region)
    case(f"score-{name}-causal", score=region, causal=True, alone=False)
case("score-packed", score=ALIBI, s=12, cu=[0, 5, 9, 12], causal=True)
case("score-softcap", score=CURVED, softcap=1.1)
case("score-rectangular", score=BIAS, s=3, t=7, causal=True)
case("bias", bias=(2, 4, 5, 5))
case("bias-of-heads", bias=(1, 4, 1, 5), causal=True)
case("bias-of-rows", bias=(2, 1, 5, 1), softcap=0.8, sinks=True)
case("bias-of-all", bias=(1, 1, 1, 1), sinks=True, alone=False)
case("bias-region", bias=(1, 4, 5, 5), score=CURVED, dropout=0.2)
case("bias-packed", bias=(4, 12, 12), s=12, cu=[0, 5, 9, 12], causal=True)
case("bias-rectangular", bias=(1, 1, 3, 7), s=3, t=7, causal=True)
case("top-left", s=3, t=7, causal=True, top_left=True)
case("top-left-more-queries", s=7, t=3, causal=True, top_left=True)
case("top-left-window", s=3, t=7, window=2, top_left=True)
case("all", s=5, causal=True, window=3, softcap=0.9, mask=PADDING, sinks=True, dropout=0.2,
     score=CURVED)
case("all-rectangular", s=3, t=5, causal=True, window=3, softcap=0.9, mask=PADDING, sinks=True,
     dropout=0.2, score=ALIBI)
case("all-packed", s=12, cu=[0, 5, 9, 11], causal=True, window=3, softcap=0.9, sinks=True,
     dropout=0.2, score=BIAS)
case("values-all", dv=5, causal=True, window=3, softcap=0.9, mask=PADDING, sinks=True, dropout=0.2,
     score=CURVED)
case("values-packed", s=12, dv=1, cu=[0, 5, 9, 12], causal=True, dropout=0.3)
# More tokens than a tile holds.
case("tiles", b=1, s=150, heads=2, kv=1, d=5, alone=False)
case("tiles-causal", b=1, s=150, heads=2, kv=1, d=16, causal=True, alone=False)
case("tiles-values", b=1, s=150, heads=2, kv=1, d=5, dv=16, causal=True, alone=False)
case("tiles-window", b=1, s=150, heads=2, kv=1, d=5, causal=True, window=40, alone=False)
case("tiles-window-both-sides", b=1, s=150, heads=2, kv=1, d=5, window=40, alone=False)
case("tiles-rectangular", b=1, s=37, t=150, heads=2, kv=1, d=5, causal=True, alone=False)
case("tiles-packed", s=150, heads=2, kv=1, d=5, cu=[0, 3, 70, 71, 149, 149], causal=True,
     sinks=True, alone=False)
case("tiles-all", b=1, s=150, heads=2, kv=1, d=5, causal=True, window=70, softcap=0.9,
     sinks=True, dropout=0.2, mask=[[i % 7 != 3 for i in range(150)]], score=ALIBI, alone=False)


def constant_score(p):
    """Scores that depend on no q and no k: v alone has a gradient."""
    p.zero = {"q", "k"}
    q, k, v = (p.param(n, (1, 3, 2, 4)) for n in "qkv")
    p.add_loss(attention(p, q, k, v, score=CONSTANT))


CASES["attention-score-constant"] = constant_score
