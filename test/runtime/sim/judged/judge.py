# SPDX-License-Identifier: Apache-2.0
"""Asks ptxas which of many spellings it takes, and writes what it says.

    python3 judge.py --ptxas /usr/local/cuda/bin/ptxas > spellings.txt

Each line of spellings.txt is a mask and an instruction: bit k of the mask says
that ptxas takes it for settings[k]. All accepted spellings are kept, of the
refused ones a part. Left out are those on which the simulator differs on
purpose (`differs`). JudgedTest.cpp reads the file; ptxas is needed only to make
it anew.
"""
import argparse
import re
import subprocess
import tempfile
import zlib

settings = [("sm_80", "7.0"), ("sm_80", "7.8"), ("sm_86", "8.1"),
            ("sm_89", "8.0"), ("sm_89", "8.6"), ("sm_90", "8.0"),
            ("sm_90a", "9.0")]
declarations = ("{.reg .pred p,q; .reg .b16 h,g,k,m; .reg .b32 x,y,z,w; "
                ".reg .b64 r,s,t,u; .reg .f32 f,e; .reg .f64 D,E; ")

floats = ["f16", "bf16", "f32", "f64"]
halves = ["f16", "bf16", "f16x2", "bf16x2"]
integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"]
numbers = integers + floats
pairs = ["f16x2", "bf16x2", "u16x2", "s16x2"]
everything = numbers + pairs + ["b16", "b32", "b64", "pred"]


def register(t, i=0):
    if t in ("u8", "s8", "u16", "s16", "b16", "f16", "bf16", "e4m3x2",
             "e5m2x2"):
        return "hgkm"[i]
    if t.endswith("64"):
        return "rstu"[i]
    return "pq"[i % 2] if t == "pred" else "xyzw"[i]


def plain(root, types, sources):
    for t in types:
        operands = ", ".join(register(t, i) for i in range(sources + 1))
        yield f"{root}.{t} {operands};"


def arithmetic():
    roots = {1: "abs neg not cnot popc clz brev",
             2: "add sub min max and or xor div rem mul.lo mul.hi mul mul24.lo "
                "addc subc.cc add.cc mul.wide copysign szext.clamp bmsk.wrap",
             3: "sad mad.lo fma.rn fma mad.rn mad mad24.hi madc.lo madc.hi.cc "
                "mad.lo.cc fns shf.l.wrap prmt dp4a.u32 dp2a.lo.s32"}
    for sources, words in roots.items():
        for root in words.split():
            yield from plain(root, everything, sources)
    modifiers = ("rn rz rm rp rni rn.ftz rz.ftz rn.sat rn.ftz.sat ftz sat "
                 "approx approx.ftz full full.ftz rn.relu rn.oob rn.oob.relu "
                 "rn.ftz.relu rn.relu.sat rna approx.rn").split()
    for root, sources in (("add", 2), ("sub", 2), ("mul", 2), ("fma", 3),
                          ("div", 2), ("rcp", 1), ("sqrt", 1), ("mad", 3)):
        for m in modifiers:
            yield from plain(f"{root}.{m}", halves + ["f32", "f64", "s32"],
                             sources)
    for root in ("add.sat sub.sat min.relu max.relu min.ftz min.NaN "
                 "max.NaN.ftz max.ftz.NaN min.xorsign.abs min.abs "
                 "max.NaN.xorsign.abs min.xorsign max.abs.xorsign").split():
        yield from plain(root, everything, 2)
    for root in ("mad.hi.sat", "mad.lo.sat", "mad24.hi.sat"):
        yield from plain(root, everything, 3)
    for root in ("abs.ftz", "neg.ftz"):
        yield from plain(root, everything, 1)
    for root in "sin cos lg2 ex2 tanh rsqrt rcp sqrt".split():
        for m in ("", ".approx", ".approx.ftz", ".ftz"):
            yield from plain(root + m, halves + ["f32", "f64"], 1)


def bits():
    for t in everything:
        d, a, b = register(t), register(t, 1), register(t, 2)
        for root in ("shl", "shr"):
            yield f"{root}.{t} {d}, {a}, x;"
        yield f"bfe.{t} {d}, {a}, x, y;"
        yield f"bfi.{t} {d}, {a}, {b}, x, y;"
        yield f"bfind.{t} x, {a};"
        yield f"bfind.shiftamt.{t} x, {a};"
    yield from ("lop3.b32 x,y,z,w,0x3c;", "lop3.b32 x,y,z,w,x;",
                "lop3.or.b32 x|p,y,z,w,0x3c,q;",
                "lop3.and.b32 _|p,y,z,w,0x3c,!q;",
                "lop3.xor.b32 x|p,y,z,w,0x3c,q;",
                "lop3.or.b32 x,y,z,w,0x3c,q;", "prmt.b32.f4e x,y,z,w;",
                "prmt.f4e.b32 x,y,z,w;", "shl.b32 x,y,r;", "shl.b64 r,s,t;",
                "bfe.u32 x,y,1,r;", "dp4a.u32.s32 x,y,z,w;",
                "dp2a.u32.s32 x,y,z,w;", "and.pred p, p, !q;")


def comparisons():
    for c in ("eq", "ne", "lt", "lo", "hs", "equ", "geu", "num", "nan"):
        for t in everything:
            a, b = register(t), register(t, 1)
            for ftz in ("", ".ftz"):
                yield f"setp.{c}{ftz}.{t} p, {a}, {b};"
                yield f"setp.{c}{ftz}.{t} p|q, {a}, {b};"
            for d in everything:
                yield f"set.{c}.{d}.{t} {register(d, 2)}, {a}, {b};"
    for t in everything:
        d, a, b = register(t), register(t, 1), register(t, 2)
        yield f"selp.{t} {d}, {a}, {b}, p;"
        yield f"slct.{t}.s32 {d}, {a}, {b}, x;"
        yield f"slct.ftz.{t}.f32 {d}, {a}, {b}, f;"
        yield f"slct.ftz.{t}.s32 {d}, {a}, {b}, x;"
        yield f"mov.{t} {d}, {a};"
    for o in "finite infinite number notanumber normal subnormal".split():
        yield from (f"testp.{o}.{t} p, {register(t)};" for t in floats)
    yield from ("setp.lt.and.s32 p|q, x, y, !p;", "setp.lt.s32 _|q, x, y;",
                "setp.lt.s32 p|_, x, y;", "setp.lt.s32 p, x, y, q;",
                "set.lt.and.u32.s32 x,y,z,!p;", "selp.s32 x,1,0,p;")


def conversions():
    types = numbers + ["f16x2", "bf16x2", "tf32", "e4m3x2", "e5m2x2"]
    modifiers = (" rn rz rm rp rna rni rzi ftz rn.ftz rzi.ftz sat rn.sat "
                 "rzi.sat rn.relu rz.relu rp.relu rn.satfinite rna.satfinite "
                 "rn.relu.satfinite rn.satfinite.relu rz.satfinite relu "
                 "satfinite rni.relu rn.ftz.sat rm.ftz rm.satfinite rni.sat "
                 "rn.ftz.relu").split(" ")
    for d in types:
        for a in types:
            for m in modifiers:
                word = f"cvt.{m}.{d}.{a}" if m else f"cvt.{d}.{a}"
                yield f"{word} {register(d, 1)}, {register(a)};"
                if d.endswith("x2") and a in ("f32", "f16"):
                    yield (f"{word} {register(d, 1)}, {register(a, 2)}, "
                           f"{register(a, 3)};")
    for t in ("u16", "s16", "u8", "s8", "u4", "s2"):
        yield f"cvt.pack.sat.{t}.s32 x,y,z;"
        yield f"cvt.pack.sat.{t}.s32.b32 x,y,z,w;"
        yield f"cvt.pack.{t}.s32.b32 x,y,z,w;"


def exchanges():
    for m in ("up", "down", "bfly", "idx"):
        for t in ("b32", "u32", "b64"):
            yield f"shfl.sync.{m}.{t} x, y, 1, 31, -1;"
            yield f"shfl.sync.{m}.{t} x|p, y, z, w, 0xffffffff;"
            yield f"shfl.{m}.{t} x, y, 1, 31;"
    for m in ("all", "any", "uni", "ballot"):
        for t, d in (("pred", "p"), ("b32", "x")):
            yield f"vote.sync.{m}.{t} {d}, q, -1;"
            yield f"vote.sync.{m}.{t} {d}, !q, y;"
            yield f"vote.{m}.{t} {d}, q;"
    for m in ("any", "all"):
        for t in ("b32", "b64", "u32"):
            yield f"match.{m}.sync.{t} x, {register(t, 1)}, -1;"
            yield f"match.{m}.sync.{t} x|p, {register(t, 1)}, -1;"
    for o in ("add", "min", "max", "and", "or", "xor"):
        for t in ("u32", "s32", "b32", "f32"):
            yield f"redux.sync.{o}.{t} x, y, -1;"
    yield from ("elect.sync x|p, -1;", "elect.sync _|p, -1;",
                "elect.sync x, -1;", "activemask.b32 x;", "activemask x;",
                "activemask.u32 x;")


def moves():
    for s in ("const global local shared shared::cta shared::cluster param "
              "generic").split():
        for t in ("u32", "u64", "b64"):
            yield f"cvta.{s}.{t} r, s;"
            yield f"cvta.to.{s}.{t} r, s;"
        yield f"isspacep.{s} p, r;"
    yield from ("mov.b32 x, {h,g};", "mov.b64 r, {x,y};",
                "mov.b64 r, {h,g,k,m};", "mov.b32 {h,g}, x;",
                "mov.b64 {_,y}, r;", "mov.b64 {_,_}, r;", "mov.u32 x, {h,g};",
                "mov.f64 D, {x,y};", "mov.u64 r, {x,y};",
                "mov.u32 x, %clock;", "mov.u64 r, %clock64;",
                "mov.u64 r, %globaltimer;", "mov.u32 x, %globaltimer_lo;",
                "mov.u64 r, %clock;", "mov.u32 x, %clock64;",
                "mov.pred p, 1;", "mov.b32 x, f;", "mov.u32 x, r;",
                "mov.b32 x, {h,g,k,m};", "mov.b16 h, {g,k};",
                "mov.b16 {h,g}, k;", "mov.b32 {h,g,k,m}, x;",
                "mov.b64 r, {h,g};", "mov.b32 x, {y,h};",
                "mov.b32 x, {1,h};")
    bytes_ = ".reg .b8 B0, B1, B2, B3; "
    yield from (bytes_ + s for s in (
        "mov.b32 x, {B0,B1,B2,B3};", "mov.b32 {B0,B1,B2,B3}, x;",
        "mov.b16 h, {B0,B1};", "mov.b16 {B0,B1}, h;", "mov.b32 {B0,B1}, x;",
        "mov.b32 x, {B0,B1,h,B2};", "mov.b32 {B0,_,_,B1}, x;",
        "cvt.rn.bf16.u8 h, B0;", "cvt.rni.s8.bf16 B0, h;",
        "cvt.rn.f16.u8 h, B0;", "cvt.rn.bf16.s8 h, x;"))
    for t in ("b16", "u16", "b32", "u32", "s32", "b64", "u64", "f32", "f64",
              "pred"):
        yield f".shared .b32 S; mov.{t} {register(t)}, S;"
    for s in ("", "to."):
        yield f".shared .b32 S; cvta.{s}shared.u64 r, S;"


def copies():
    for cache in ("ca", "cg", "cs"):
        for space in ("shared", "shared::cta", "shared::cluster"):
            word = f"cp.async.{cache}.{space}.global"
            for rest in ("4", "8", "16", "12", "4, 2", "16, x", "16, p", "8, q",
                         "16, x, r", "w"):
                yield f"{word} [x], [r], {rest};"
            for hint in ("L2::64B", "L2::128B", "L2::256B", "L2::32B"):
                yield f"{word}.{hint} [x], [r], 16;"
            for rest in ("16, s", "16, x, s", "16, p, s", "16"):
                yield f"{word}.L2::cache_hint [x], [r], {rest};"
                yield f"{word}.L2::cache_hint.L2::128B [x], [r], {rest};"
    for space in ("", ".shared", ".shared::cta", ".shared::cluster", ".global"):
        for noinc in ("", ".noinc"):
            for t in ("", ".b64", ".b32"):
                yield f"cp.async.mbarrier.arrive{noinc}{space}{t} [r];"
    yield from ("cp.async.commit_group;", "cp.async.commit_group 0;",
                "cp.async.wait_group 0;", "cp.async.wait_group 7;",
                "cp.async.wait_group -1;", "cp.async.wait_group x;",
                "cp.async.wait_group;", "cp.async.wait_all;",
                "cp.async.wait_all 0;", "cp.async.bulk.commit_group;",
                "cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group 9;",
                "cp.async.bulk.wait_group.read 1;",
                "cp.async.bulk.wait_group.write 1;",
                "cp.async.bulk.wait_group.read x;",
                "cp.async.bulk.wait_group -1;", "cp.async.bulk.wait_all;")
    tx = "mbarrier::complete_tx::bytes"
    spaces = ("global", "shared::cta", "shared::cluster", "shared")
    for to in spaces:
        for source in spaces:
            word = f"cp.async.bulk.{to}.{source}"
            for end in (f"{tx} [x], [r], y, [z];", f"{tx} [x], [r], 16, [z];",
                        "bulk_group [r], [x], y;", "bulk_group [r], [x], 20;",
                        f"{tx}.L2::cache_hint [x], [r], y, [z], s;",
                        "bulk_group.L2::cache_hint [r], [x], y, s;",
                        f"{tx}.multicast::cluster [x], [r], y, [z], h;",
                        f"{tx}.multicast::cluster.L2::cache_hint "
                        "[x], [r], y, [z], h, s;",
                        "bulk_group.cp_mask [r], [x], y, h;",
                        f"{tx} [x], [r], y;", "bulk_group [r], [x], y, [z];",
                        "[x], [r], y, [z];"):
                yield f"{word}.{end}" if end[0] != "[" else f"{word} {end}"
    for op in "and or xor add inc dec min max exch".split():
        for t in everything[:-1]:
            for ftz in ("", ".noftz"):
                if ftz and t not in ("f16", "bf16", "f32"):
                    continue
                yield (f"cp.reduce.async.bulk.global.shared::cta.bulk_group."
                       f"{op}{ftz}.{t} [r], [x], y;")
                yield (f"cp.reduce.async.bulk.shared::cluster.shared::cta.{tx}."
                       f"{op}{ftz}.{t} [x], [y], z, [w];")
    yield from (f"cp.reduce.async.bulk.global.shared::cta.bulk_group."
                "L2::cache_hint.add.u32 [r], [x], y, s;",
                f"cp.reduce.async.bulk.shared::cta.global.{tx}.add.u32 "
                "[x], [r], y, [z];",
                f"cp.reduce.async.bulk.shared::cluster.global.{tx}.add.u32 "
                "[x], [r], y, [z];")
    for m in ("", ".L2::cache_hint"):
        for rest in ("y", "y, s", "16", "17"):
            yield f"cp.async.bulk.prefetch.L2.global{m} [r], {rest};"
    coordinates = ["x", "x, y", "x, y, z", "x, y, z, w", "x, y, z, w, x"]
    for n, c in enumerate(coordinates, 1):
        for mode in ("", ".tile"):
            for to in ("shared::cta", "shared::cluster", "shared"):
                word = f"cp.async.bulk.tensor.{n}d.{to}.global{mode}.{tx}"
                yield f"{word} [x], [r, {{{c}}}], [y];"
                yield f"{word}.L2::cache_hint [x], [r, {{{c}}}], [y], s;"
                yield f"{word}.multicast::cluster [x], [r, {{{c}}}], [y], h;"
                yield (f"{word}.multicast::cluster.L2::cache_hint "
                       f"[x], [r, {{{c}}}], [y], h, s;")
            word = f"cp.async.bulk.tensor.{n}d.global.shared::cta{mode}"
            yield f"{word}.bulk_group [r, {{{c}}}], [x];"
            yield f"{word}.bulk_group.L2::cache_hint [r, {{{c}}}], [x], s;"
            yield f"{word} [r, {{{c}}}], [x];"
            yield f"{word}.{tx} [r, {{{c}}}], [x];"
            word = f"cp.async.bulk.prefetch.tensor.{n}d.L2.global{mode}"
            yield f"{word} [r, {{{c}}}];"
            yield f"{word}.L2::cache_hint [r, {{{c}}}], s;"
            for op in "and or xor add inc dec min max exch".split():
                word = f"cp.reduce.async.bulk.tensor.{n}d.global.shared::cta"
                yield f"{word}.{op}{mode}.bulk_group [r, {{{c}}}], [x];"
        yield (f"cp.async.bulk.tensor.{n % 5 + 1}d.shared::cluster.global.{tx} "
               f"[x], [r, {{{c}}}], [y];")
    yield from ("cp.async.bulk.tensor.2d.global.shared::cluster.bulk_group "
                "[r, {x, y}], [z];",
                f"cp.async.bulk.tensor.2d.shared::cluster.global.{tx} "
                "[x], [r], [y];",
                f"cp.async.bulk.tensor.2d.shared::cluster.global.{tx}.tile "
                "[x], [r, {y, z}], [w];",
                f"cp.async.bulk.tensor.2d.{tx}.shared::cluster.global "
                "[x], [r, {y, z}], [w];",
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.tile "
                "[r, {x, y}], [z];",
                f"cp.async.bulk.tensor.2d.shared::cluster.global.{tx}."
                "cta_group::1 [x], [r, {y, z}], [w];",
                f"cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4."
                f"{tx} [x], [r, {{x, y, z, w, x}}], [w];")


def tensor_maps():
    fields = {"global_address": "b64", "rank": "b32", "box_dim": "b32",
              "global_dim": "b32", "global_stride": "b64",
              "element_stride": "b32", "elemtype": "b32",
              "interleave_layout": "b32", "swizzle_mode": "b32",
              "swizzle_atomicity": "b32", "fill_mode": "b32"}
    for field, t in fields.items():
        for space in ("", ".global", ".shared::cta", ".shared",
                      ".shared::cluster"):
            word = f"tensormap.replace.tile.{field}{space}.b1024"
            v = "s" if t == "b64" else "x"
            for rest in (v, "1", f"0, {v}", "0, 1"):
                yield f"{word}.{t} [r], {rest};"
        word = f"tensormap.replace.tile.{field}.shared::cta.b1024"
        for rest in (*map(str, range(2, 17)), "-1", f"3, {v}", f"4, {v}",
                     f"5, {v}", f"-1, {v}", f"x, {v}"):
            yield f"{word}.{t} [r], {rest};"
        yield f"{word}.{'b32' if t == 'b64' else 'b64'} [r], 1;"
        yield f"tensormap.replace.{field}.shared::cta.b1024.{t} [r], 1;"
    for scope in ("cta", "cluster", "gpu", "sys", ""):
        end = f".{scope}" if scope else ""
        for tail in ("", ".sync", ".sync.aligned"):
            word = ("tensormap.cp_fenceproxy.global.shared::cta.tensormap::"
                    f"generic.release{end}{tail}")
            yield f"{word} [r], [x], 128;"
            yield f"{word} [r], [x], 64;"
        for order in ("acquire", "release", ""):
            word = ("fence.proxy.tensormap::generic"
                    f"{'.' if order else ''}{order}{end}")
            for rest in ("", " [r], 128", " [r], 64", " [x], 128", " [r]"):
                yield f"{word}{rest};"


def memory():
    orders = ["", ".weak", ".volatile", ".mmio", ".mmio.relaxed",
              ".mmio.acquire.sys", ".acq_rel.gpu", ".sc.gpu", ".gpu"]
    orders += [f".{o}{s}" for o in ("relaxed", "acquire", "release")
               for s in ("", ".cta", ".cluster", ".gpu", ".sys")]
    orders += [f".mmio.relaxed.{s}" for s in ("cta", "gpu", "sys")]
    spaces = ["", ".global", ".shared", ".shared::cta", ".shared::cluster",
              ".local", ".const", ".param", ".param::entry", ".param::func"]
    for o in orders:
        for s in spaces:
            yield f"ld{o}{s}.b32 x, [r];"
            yield f"st{o}{s}.b32 [r], x;"
            yield f"ld{o}{s}.v2.b32 {{x,y}}, [r];"
            yield f"st{o}{s}.v2.b32 [r], {{x,y}};"
    caches = [f".{c}" for c in "ca cg cs lu cv wb wt".split()]
    level1 = [f".L1::{e}" for e in ("evict_normal", "evict_unchanged",
                                    "evict_first", "evict_last",
                                    "no_allocate")]
    level2 = [f".L2::{e}" for e in ("evict_normal", "evict_first",
                                    "evict_last")]
    sizes = [f".L2::{n}B" for n in (32, 64, 128, 256)]
    words = caches + level1 + level2 + sizes
    words += [a + b for a in (caches[0], level1[3]) for b in level2 + sizes]
    words += [caches[0] + level1[0], level1[0] + level2[1] + sizes[2]]
    for w in words:
        for s in spaces[:-2]:
            yield f"ld{s}{w}.b32 x, [r];"
            yield f"st{s}{w}.b32 [r], x;"
        for o in (".weak", ".volatile", ".relaxed.gpu", ".acquire.sys"):
            yield f"ld{o}.global{w}.b32 x, [r];"
        for o in (".weak", ".volatile", ".relaxed.gpu", ".release.sys"):
            yield f"st{o}.global{w}.b32 [r], x;"
        yield f"ld.mmio.relaxed.sys.global{w}.b32 x, [r];"
        yield f"st.mmio.relaxed.sys.global{w}.b32 [r], x;"
        yield f"ld.global{w}.nc.b32 x, [r];"
        yield f"ld.global.nc{w}.b32 x, [r];"
        yield f"ld.shared.nc{w}.b32 x, [r];"
    for s in spaces[:-2]:
        for w in ["", *level1, *level2[:1], caches[0]]:
            yield f"ld{s}{w}.L2::cache_hint.b32 x, [r], s;"
            yield f"ld{s}{w}.L2::cache_hint.L2::128B.b32 x, [r], s;"
            yield f"st{s}{w}.L2::cache_hint.b32 [r], x, s;"
        for o in (".volatile", ".relaxed.gpu"):
            yield f"ld{o}{s}.L2::cache_hint.b32 x, [r], s;"
            yield f"st{o}{s}.L2::cache_hint.b32 [r], x, s;"
        yield f"ld{s}.L2::cache_hint.b32 x, [r];"
        yield f"ld{s}.L2::cache_hint.b32 x, [r], x;"
        yield f"ld{s}.b32 x, [r], s;"
        yield f"st{s}.b32 [r], x, s;"
        yield f"ld{s}.nc.b32 x, [r];"
        yield f"ld.weak{s}.nc.b32 x, [r];"
        yield f"ld.relaxed.gpu{s}.nc.b32 x, [r];"
        yield f"ldu{s}.b32 x, [r];"
        yield f"ldu{s}.v4.b32 {{x,y,z,w}}, [r];"
    yield from ("ldu.global.nc.b32 x, [r];",
                "ldu.global.v4.b16 {h,g,k,m}, [r];",
                "ldu.global.v8.b16 {h,g,k,m,h,g,k,m}, [r];", "ldu.global.ca.b32 x, [r];",
                "ldu.relaxed.gpu.global.b32 x, [r];",
                "ldu.weak.global.b32 x, [r];",
                "ldu.global.L2::128B.b32 x, [r];",
                "st.global.nc.b32 [r], x;", "st.global.b32 [r], 1;",
                "st.global.v2.b32 [r], {1,x};", "st.global.v2.b32 [r], {_,x};",
                "ld.global.v2.b32 {_,x}, [r];", "ld.global.b32 _, [r];",
                "ld.global.b32 {x}, [r];", "st.global.b32 [r], {x};",
                "ld.global.v2.b32 {_,_}, [r];", "ld.global.b32 x, r;",
                "ld.global.b32 x, [h];", "ld.b32 x, [16];",
                ".param .b32 a; ld.param.b32 x, [a];",
                ".param .b32 a; st.param.b32 [a], x;",
                ".param .b32 a; ld.param::func.b32 x, [a];",
                ".param .b32 a; st.param::func.b32 [a], x;",
                ".param .b32 a; ld.param::entry.b32 x, [a];",
                ".param .b32 a; st.param::entry.b32 [a], x;",
                "ld.param.b64 r, [memory];", "st.param.b64 [memory], r;",
                "st.param::func.b64 [memory], r;", "ld.b64 r, [memory];",
                "ld.param::entry.b64 r, [memory];", "st.b64 [memory], r;",
                "ld.local.b64 r, [memory];", "ld.global.b64 r, [memory];",
                ".param .b32 a; ld.b32 x, [a];",
                ".param .b32 a; st.b32 [a], x;",
                ".param .b32 a; ld.local.b32 x, [a];",
                ".local .b32 a; ld.param.b32 x, [a];",
                ".shared .b32 a; st.b32 [a], x;",
                "ld.local.b32 x, [16];", "st.shared.b32 [16], x;",
                "ld.global.b32 x, [16];",
                ".shared .b32 a; ld.shared.b32 x, [a];",
                ".shared .b32 a; ld.global.b32 x, [a];",
                ".shared .b32 a; st.local.b32 [a], x;",
                ".local .b32 a; ld.shared.b32 x, [a];",
                ".local .b32 a; ld.b32 x, [a];")
    wide = everything + ["b8", "tf32", "e4m3x2", "u16x2"]
    for t in wide:
        for count in (1, 2, 4, 8):
            for r in ("hgkm", "xyzw", "rstu", "fefe"):
                if count > 1 and r != register(t, 0) + r[1:]:
                    continue
                names = ",".join(r[i % 4] for i in range(count))
                v = f".v{count}" if count > 1 else ""
                value = f"{{{names}}}" if count > 1 else names
                yield f"ld.global{v}.{t} {value}, [r];"
                yield f"st.global{v}.{t} [r], {value};"
        yield f"ld.relaxed.gpu.global.{t} {register(t)}, [r];"
        yield f"ld.mmio.relaxed.sys.global.{t} {register(t)}, [r];"
        yield f"ld.global.nc.{t} {register(t)}, [r];"
        yield f"ldu.global.{t} {register(t)}, [r];"
    for w in ("", ".weak", ".volatile", ".relaxed.gpu", ".relaxed.sys",
              ".acquire.sys"):
        for s in ("", ".global", ".shared", ".local", ".const", ".param"):
            yield f".reg .b128 Q; ld{w}{s}.b128 Q, [r];"
            yield f".reg .b128 Q; st{w}{s}.b128 [r], Q;"
    yield ".reg .b128 Q; ld.global.nc.b128 Q, [r];"
    yield ".reg .b128 Q; ld.global.v2.b128 {Q,Q}, [r];"
    yield ".reg .b128 Q;"


def atomics():
    operations = "add min max and or xor inc dec exch cas".split()
    for o in operations:
        for t in everything + ["b8", "b128"]:
            d, a, b = (register(t, i) for i in range(3))
            before = ""
            if t == "b128":
                before, d, a, b = ".reg .b128 Q,P; ", "Q", "P", "Q"
            for m in ("", ".noftz"):
                for s in ("", ".global", ".shared"):
                    yield f"{before}atom{s}.{o}{m}.{t} {d}, [r], {a};"
                    yield f"{before}atom{s}.{o}{m}.{t} {d}, [r], {a}, {b};"
                    yield f"{before}red{s}.{o}{m}.{t} [r], {a};"
            yield f"{before}red.global.{o}.{t} [r], {a}, {b};"
            yield f"{before}atom.sys.global.{o}.{t} {d}, [r], {a};"
    for s in ("", ".global", ".shared", ".shared::cta", ".shared::cluster",
              ".local", ".const", ".param"):
        for o in (".relaxed", ".acquire", ".release", ".acq_rel", ".sc",
                  ".volatile", ".weak", ".mmio", ""):
            for c in (".cta", ".cluster", ".gpu", ".sys", ""):
                yield f"atom{o}{c}{s}.add.u32 x, [r], y;"
                yield f"red{o}{c}{s}.add.u32 [r], y;"
        yield f"atom{s}.add.L2::cache_hint.u32 x, [r], y, s;"
        yield f"red{s}.add.L2::cache_hint.u32 [r], y, s;"
    for n, regs in (("2", "x,y"), ("4", "x,y,z,w"), ("8", "x,y,z,w,x,y,z,w"),
                    ("2", "h,g"), ("4", "h,g,k,m"), ("8", "h,g,k,m,h,g,k,m"),
                    ("2", "r,s")):
        for t in ("f32", "f16", "bf16", "f16x2", "bf16x2", "u32", "b32", "f64"):
            if register(t) != regs[0]:
                continue
            for o in ("add", "min", "max", "exch", "and"):
                for m in ("", ".noftz"):
                    for s in ("", ".global", ".shared"):
                        word = f"{s}.{o}{m}.v{n}.{t}"
                        yield f"atom{word} {{{regs}}}, [r], {{{regs}}};"
                        yield f"red{word} [r], {{{regs}}};"
    yield from ("atom.global.add.v2.f32 {x,y}, [r], {z,w};",
                "atom.global.add.v2.f32 {x,y}, [r], z;",
                "atom.global.add.v2.f32 x, [r], {z,w};",
                "atom.global.add.v2.f32 _, [r], {z,w};",
                "atom.global.add.v2.f32 {_,_}, [r], {z,w};",
                "atom.global.add.u32 {x}, [r], {y};",
                "atom.global.add.v2.f32 {_,x}, [r], {z,w};",
                "atom.global.add.v2.f32 {x,y}, [r], {z,w,z};",
                "atom.global.add.L2::cache_hint.v2.f32 {x,y}, [r], {z,w}, s;",
                "atom.global.add.L2::cache_hint.u32 x, [r], y;",
                "atom.global.add.u32 x, [r], y, s;",
                "atom.global.add.u32 _, [r], y;", "red.global.add.u32 [r], 1;",
                "atom.global.add.u32 x, [r], 1;",
                "atom.global.add.u32 x, r, 1;",
                "atom.global.cas.b32 _, [r], y, z;",
                "atom.global.cas.b32 x, [r], 0, 1;",
                "atom.global.cas.b32 x, [r], y;",
                "atom.global.exch.b32 _, [r], y;")


def asynchronous_stores():
    done = ".mbarrier::complete_tx::bytes"
    for t in everything + ["b8", "b128"]:
        for s in ("", ".shared::cluster"):
            yield f"st.async.weak{s}{done}.{t} [r], {register(t)}, [s];"
            yield f"red.async.relaxed.cluster{s}{done}.add.{t} [r], " \
                  f"{register(t)}, [s];"
    for o in ("", ".weak", ".cluster", ".weak.cluster", ".relaxed.cluster",
              ".release.gpu", ".gpu", ".cta", ".relaxed", ".release.cluster"):
        for s in ("", ".shared", ".shared::cta", ".shared::cluster",
                  ".global"):
            for m in (done, ""):
                bar = ", [s]" if m else ""
                yield f"st.async{o}{s}{m}.b32 [r], x{bar};"
                yield f"red.async{o}{s}{m}.and.b32 [r], x{bar};"
    for o in "add min max and or xor inc dec exch cas".split():
        for t in ("u32", "s32", "b32", "u64", "s64", "b64"):
            yield (f"red.async.relaxed.cluster{done}.{o}.{t} [r], "
                   f"{register(t)}, [s];")
    for n, regs in (("2", "x,y"), ("4", "x,y,z,w"), ("2", "t,u"),
                    ("4", "t,u,t,u"), ("8", "x,y,z,w,x,y,z,w")):
        t = "f32" if regs[0] == "x" else "b64"
        yield f"st.async.weak{done}.v{n}.{t} [r], {{{regs}}}, [s];"
        yield f"red.async.relaxed.cluster{done}.add.v{n}.{t} [r], " \
              f"{{{regs}}}, [s];"
    yield from (f"st.async{done}.b32 [r], 5, [s];", f"st.async{done}.b32 [r], x;",
                f"st.async.weak{done}.L2::cache_hint.b32 [r], x, [s], t;")


def fences():
    for kind in ("alias", "async", "async.global", "async.shared::cta",
                 "async.shared::cluster", "async.shared", "async.local",
                 "tensormap"):
        yield f"fence.proxy.{kind};"
    scopes = ("", ".cta", ".cluster", ".gpu", ".sys")
    restricts = ("", ".sync_restrict::shared::cta",
                 ".sync_restrict::shared::cluster")
    for scope in scopes:
        for restrict in restricts:
            for order in ("", ".sc", ".acq_rel", ".acquire", ".release"):
                yield f"fence{order}{restrict}{scope};"
                if order not in (".sc", ".acq_rel"):
                    yield f"fence.proxy.async::generic{order}{restrict}{scope};"
        for order in ("", ".acquire", ".release"):
            yield f"fence.mbarrier_init{order}{scope};"
    for level in ("", ".cta", ".gl", ".sys", ".gpu", ".cluster",
                  ".proxy.alias", ".proxy.async", ".proxy"):
        yield f"membar{level};"


def specials():
    vectors = ("tid ntid ctaid nctaid clusterid nclusterid cluster_ctaid "
               "cluster_nctaid").split()
    scalars = ("laneid warpid nwarpid smid nsmid gridid lanemask_eq "
               "lanemask_le lanemask_lt lanemask_ge lanemask_gt "
               "cluster_ctarank cluster_nctarank is_explicit_cluster clock "
               "clock_hi clock64 globaltimer globaltimer_lo globaltimer_hi "
               "pm0 pm7 pm8 pm0_64 pm7_64 envreg0 envreg31 envreg32 "
               "dynamic_smem_size total_smem_size aggr_smem_size "
               "reserved_smem_offset_begin reserved_smem_offset_end "
               "reserved_smem_offset_cap reserved_smem_offset_0 "
               "reserved_smem_offset_1 current_graph_exec tid clusterid "
               "unknown").split()
    for name in [v + c for v in vectors for c in (".x", ".z", ".w")] + scalars:
        for t, d in (("u16", "h"), ("u32", "x"), ("s32", "x"), ("b32", "x"),
                     ("u64", "r"), ("b64", "r"), ("pred", "p"), ("f32", "f")):
            yield f"mov.{t} {d}, %{name};"
        yield f"add.u32 x, %{name}, 1;"
        yield f"cvt.u64.u32 r, %{name};"
        yield f"mul.wide.u32 r, %{name}, 4;"
        yield f"st.global.u32 [r], %{name};"
    for name in vectors + ["laneid"]:
        for t in ("u32", "b32", "s32", "u16"):
            yield f"mov.v4.{t} {{x,y,z,w}}, %{name};"
        yield f"mov.v2.u32 {{x,y}}, %{name};"
        yield f"mov.v4.u32 {{x,_,z,_}}, %{name};"
    yield from ("mov.u32 x, WARP_SZ;", "add.u32 x, y, WARP_SZ;",
                "mov.u64 r, WARP_SZ;", "mov.u16 h, WARP_SZ;",
                "mov.v2.f32 {f,e}, {e,f};", "mov.v2.u32 {x,y}, {z,w};",
                "mov.v2.b32 {x,y}, {z,1};", "mov.v4.u32 {x,y,z,w}, {w,z,y,x};",
                "mov.v2.u64 {r,s}, {t,u};", "mov.v2.u32 {x,y}, r;",
                "mov.v2.b16 {h,g}, {k,m};", "mov.v2.u32 {x,y}, {z,w,x};",
                "mov.v4.b32 {x,y,z,w}, {x,y};")


def operands():
    """Numbers and registers of each type where each type is wanted."""
    values = ("1", "-1", "1.0", "0f3f800000", "0d3ff0000000000000", "h", "x",
              "r", "f", "D", "p", "i", "j", "o", "v")
    before = ".reg .u32 i; .reg .s64 j; .reg .f16 o; .reg .s16 v; "
    types = integers[2:] + ["b16", "b32", "b64", "f32", "f64", "f16", "f16x2",
                            "bf16", "bf16x2", "pred"]
    for t in types:
        d = {"f32": "f", "f64": "D"}.get(t, register(t))
        for v in values:
            yield f"{before}mov.{t} {d}, {v};"
            yield f"{before}st.global.{t} [r], {v};"
            yield f"{before}selp.{t} {d}, {v}, {d}, p;"
            yield f"{before}setp.eq.{t} p, {d}, {v};"
            yield f"{before}add.{t} {d}, {d}, {v};"
            yield f"{before}add.{t} {v}, {d}, {d};"
            yield f"{before}min.{t} {d}, {d}, {v};"
            yield f"{before}and.{t} {d}, {d}, {v};"
            yield f"{before}mul.lo.{t} {d}, {d}, {v};"
            yield f"{before}atom.global.add.{t} {d}, [r], {v};"
            yield f"{before}ld.global.{t} {v}, [r];"
            yield f"{before}cvt.rn.f32.{t} f, {v};"
            yield f"{before}cvt.u32.{t} x, {v};"
            yield f"{before}fma.rn.{t} {d}, {d}, {d}, {v};"
            yield f"{before}shl.{t} {d}, {d}, {v};"
    for v in values:
        yield f"{before}shfl.sync.bfly.b32 x, {v}, 1, 31, -1;"
        yield f"{before}shfl.sync.bfly.b32 {v}, y, 1, 31, -1;"
        yield f"{before}mul.wide.u32 r, {v}, 2;"
        yield f"{before}mad.wide.s32 r, {v}, 2, s;"
        yield f"{before}prmt.b32 x, y, {v}, z;"
        yield f"{before}lop3.b32 x, y, {v}, z, 3;"
        yield f"{before}ex2.approx.f32 f, {v};"
        yield f"{before}cvt.rn.f16x2.f32 x, {v}, f;"
        yield f"{before}popc.b32 x, {v};"
        yield f"{before}vote.sync.ballot.b32 x, p, {v};"
        yield f"{before}redux.sync.add.u32 x, {v}, -1;"
        yield f"{before}bfe.u32 x, y, {v}, 3;"
        yield f"{before}shf.l.wrap.b32 x, y, z, {v};"
        yield f"{before}slct.f32.s32 f, e, f, {v};"
        yield f"{before}shfl.sync.bfly.b32 x, y, 1, 31, {v};"
        yield f"{before}match.any.sync.b32 x, y, {v};"
        yield f"{before}redux.sync.and.b32 x, y, {v};"
        yield f"{before}bar.warp.sync {v};"
        yield f"{before}bar.sync 0, {v};"
    for v in values[5:]:
        yield f"{before}match.any.sync.b32 {v}, y, -1;"
        yield f"{before}redux.sync.and.b32 {v}, y, -1;"
        yield f"{before}shf.l.wrap.b32 {v}, y, z, x;"
        yield f"{before}vote.sync.ballot.b32 {v}, p, -1;"
        yield f"{before}elect.sync {v}|p, -1;"


def control():
    for root in ("bar", "bar.cta", "barrier", "barrier.cta"):
        for a in ("", ".aligned"):
            for n in ("0", "15", "16", "-1", "x"):
                for count in ("", ", 0", ", 32", ", 33", ", 2048", ", y"):
                    yield f"{root}.sync{a} {n}{count};"
                    yield f"{root}.arrive{a} {n}{count};"
                    yield f"{root}.red.popc{a}.u32 x, {n}{count}, p;"
                    yield f"{root}.red.and{a}.pred p, {n}{count}, !q;"
    for n in ("0", "15", "16", "-1", "65535", "65536", "x"):
        yield f"pmevent {n};"
        yield f"pmevent.mask {n};"
    for n in ("7", "8", "100", "-1", "x"):
        yield f"wgmma.wait_group.sync.aligned {n};"
    for n in ("255", "256", "-1", "1000000"):
        yield f"lop3.b32 x,y,z,w,{n};"


def hints():
    spaces = ("", ".global", ".local", ".shared", ".const", ".param",
              ".param::entry", ".shared::cta")
    priorities = ["L2::evict_last", "L2::evict_normal", "L2::evict_first",
                  "L2::evict_unchanged"]
    for s in spaces:
        for level in ["L1", "L2", "tensormap", *priorities]:
            yield f"prefetch{s}.{level} [r];"
            yield f"prefetchu{s}.{level} [r];"
            for n in ("64", "128", "x"):
                yield f"discard{s}.{level} [r], {n};"
                yield f"applypriority{s}.{level} [r], {n};"
        for a in priorities + ["L2", "L1::evict_last"]:
            yield f"createpolicy.fractional{s}.{a}.b64 r, 1.0;"
            for b in [""] + ["." + b for b in priorities]:
                yield f"createpolicy.range{s}.{a}{b}.b64 r, [s], x, 32;"
    for a in priorities:
        for b in [""] + ["." + b for b in priorities]:
            for v in (", 1.0", ", 0.5", ", 0f3F000000", ", 0f40000000",
                      ", 2.0", ", 0.0", ", -1.0", ", f", ", x", ", 1", ""):
                yield f"createpolicy.fractional.{a}{b}.b64 r{v};"
        yield f"createpolicy.cvt.{a}.b64 r, s;"
        yield f"createpolicy.{a}.b64 r;"
    for words in ("cvt", "cvt.L2", "cvt.L1", "fractional", "range", "L2"):
        for t, v in (("b64", "s"), ("b64", "x"), ("u64", "s"), ("b32", "x")):
            yield f"createpolicy.{words}.{t} r, {v};"
    yield from ("prefetch.L1 [memory];", "prefetch.param.tensormap [memory];",
                "prefetch.tensormap [memory];", "prefetch.global.L1 [16];",
                ".shared .b32 a; prefetch.L1 [a];",
                ".shared .b32 a; prefetch.global.L1 [a];")


def mbarriers():
    spaces = ("", ".shared", ".shared::cta", ".shared::cluster", ".global")
    orders = [""] + [f".{o}{c}" for o in ("release", "acquire", "relaxed")
                     for c in ("", ".cta", ".cluster", ".gpu")]
    for s in spaces:
        for end in ("init{}.b64 [x], 1;", "init{}.b64 [x], y;",
                    "init{}.b64 [x];", "inval{}.b64 [x];", "init{} [x], 1;",
                    "inval{}.b32 [x];", "pending_count{}.b64 x, r;"):
            yield f"mbarrier.{end.format(s)}"
        for o in orders:
            for kind in ("arrive", "arrive_drop"):
                for more in ("", ".expect_tx", ".noComplete"):
                    for d in ("r", "_"):
                        for count in ("", ", 1", ", y"):
                            yield (f"mbarrier.{kind}{more}{o}{s}.b64 {d}, [x]"
                                   f"{count};")
                yield f"mbarrier.{kind}{o}{s}.b64 [x];"
            for kind in ("expect_tx", "complete_tx"):
                yield f"mbarrier.{kind}{o}{s}.b64 [x], 16;"
                yield f"mbarrier.{kind}{o}{s}.b64 [x], y;"
            for kind in ("test_wait", "try_wait"):
                yield f"mbarrier.{kind}{o}{s}.b64 p, [x], r;"
                yield f"mbarrier.{kind}{o}{s}.b64 p, [x], r, z;"
                yield f"mbarrier.{kind}.parity{o}{s}.b64 p, [x], y;"
                yield f"mbarrier.{kind}.parity{o}{s}.b64 p, [x], 1, 1000;"


def matrices():
    registers = {"x1": "{x}", "x2": "{x,y}", "x4": "{x,y,z,w}"}
    for n, regs in [*registers.items(), ("x1", "x"), ("x2", "{x}"),
                    ("x3", "{x,y,z}"), ("x2", "r")]:
        for t in ("", ".trans"):
            for s in ("", ".shared", ".shared::cta", ".shared::cluster",
                      ".global"):
                for b in ("b16", "b8", "b32"):
                    word = f"matrix.sync.aligned.m8n8.{n}{t}{s}.{b}"
                    yield f"ld{word} {regs}, [r];"
                    yield f"st{word} [r], {regs};"
    yield from ("ldmatrix.sync.m8n8.x1.b16 {x}, [r];",
                "ldmatrix.aligned.m8n8.x1.b16 {x}, [r];",
                "movmatrix.sync.aligned.m8n8.trans.b16 x, y;",
                "movmatrix.sync.aligned.m8n8.b16 x, y;",
                "movmatrix.sync.aligned.m8n8.trans.b32 x, y;")


def differs(spelling):
    """Where the ISA and ptxas part, or nothing is gained by following."""
    return (
        # Taken by ptxas, not in the ISA.
        re.match(r"(addc|madc\.lo)\.[us]16 ", spelling)
        or re.match(r"fma\.r[zmp]\.bf16", spelling)
        or re.match(r"rcp\.r[nz]\.ftz\.f64", spelling)
        or re.match(r"st\.async\S* \[r\], x;", spelling)
        or re.match(r"cp\.async\.(bulk\.)?wait_group -1", spelling)
        or re.match(r"tensormap\.replace\.tile\.global_stride\S* \[r\], 4",
                    spelling)
        or re.match(r"ld\.global\.b32 x, \[h\]", spelling)
        or re.search(r"atom\S*\.(and|x?or|exch)\.b(32|128) ., \[r\], ., .;",
                     spelling)
        or re.search(r"setp\.eq\.bf16x2 p, x, p;|bfe\.u32 x, y, -1, 3;|"
                     r"cvt\.rn\.f16x2\.f32 x, r, f;", spelling)
        or re.match(r"mov\.v\d\.\w+ \S+, %laneid;", spelling)
        # The ISA wants PTX 7.1 for the sink.
        or re.match(r"mbarrier\.arrive_drop(\.noComplete)?(\.shared)?\.b64 _,",
                    spelling)
        # What changes while a kernel runs is read by mov alone.
        or re.match(r"cvt\S* \w+, %(clock|globaltimer|pm)", spelling))


def refusals(ptxas, target, version, spellings):
    """The indices of those for which ptxas has an error."""
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(f".version {version}\n.target {target}\n.address_size 64\n"
                ".visible .entry k(.param .u64 memory)\n{\n")
        first = 6
        for s in spellings:
            f.write(declarations + s + "}\n")
        f.write("ret;\n}\n")
        f.flush()
        said = subprocess.run([ptxas, "-arch=" + target, f.name, "-o",
                               "/dev/null"], capture_output=True, text=True)
    return {int(m.group(1)) - first for m in
            re.finditer(r", line (\d+); (?:error|fatal) ", said.stderr)}


def judge(ptxas, target, version, spellings):
    """Those that ptxas takes. It finds some errors only where a file has no
    others, so what is left is asked again."""
    left = spellings
    while refused := refusals(ptxas, target, version, left):
        left = [s for i, s in enumerate(left) if i not in refused]
    return set(left)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ptxas", default="ptxas")
    arguments = parser.parse_args()
    spellings = list(dict.fromkeys(
        s for family in (arithmetic, bits, comparisons, conversions, exchanges,
                         moves, copies, tensor_maps, fences, memory,
                         atomics, asynchronous_stores, specials, operands,
                         control, hints, mbarriers, matrices)
        for s in family() if not differs(s)))
    masks = [0] * len(spellings)
    for k, (target, version) in enumerate(settings):
        taken = judge(arguments.ptxas, target, version, spellings)
        for i, s in enumerate(spellings):
            masks[i] |= (s in taken) << k
    print(" ".join(f"{t}:{v}" for t, v in settings))
    for mask, s in zip(masks, spellings):
        if mask or zlib.crc32(s.encode()) % 6 == 0:
            print(f"{mask:02x} {s}")


main()
