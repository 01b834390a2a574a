#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sass_stats.py - static statistics of the hot loops of CUDA kernels, from cubin + nvdisasm.

    sass_stats.py [options] FILE.cubin [FILE2.cubin ...]

For every function of every cubin: registers/thread, static smem, threads per CTA (if the cubin
records reqntid/maxntid), stack frame, local-memory (spill) instructions; then its loops, found as
nested strongly connected components of the control flow graph, and for each hot loop the number of
SASS instructions by class, the tensor-core FLOP done by one warp in one iteration, instructions per
MFLOP of MMA, the sum of the stall counts, and a simple per-sub-core throughput bound.

Which loops are reported: the innermost loops that hold MMA instructions (a loop whose only inner
loops are MMA-free, e.g. mbarrier spin waits, counts as innermost); if the function has no MMA, its
innermost loops that are not spin waits.  --all-loops reports every loop.

Conventions
  * All counts are per warp, per trip, static.  A warp-group MMA (HGMMA 64xNxK) counts a quarter of
    its FLOP for each of the 4 warps, so instructions/MFLOP of HMMA and HGMMA kernels compare.
  * "always" counts instructions in blocks that every trip executes (all back-edge sources are
    dominated by the block); "total" also has the conditional blocks, with spin-wait loops included.
    The headline figures use "always" unless nothing else is left.
  * BRA.DIV fallbacks (divergent-warp emulation) are not followed.
Only the Python standard library is used.  nvdisasm: --nvdisasm, else $NVDISASM, else PATH, else a
triton wheel beside this script.
"""
import argparse, collections, glob, json, os, re, shutil, struct, subprocess, sys

# ------------------------------------------------------------------ ELF / .nv.info
class Elf:
    def __init__(self, path):
        self.b = b = open(path, "rb").read()
        if b[:4] != b"\x7fELF" or b[4] != 2:
            raise ValueError(f"{path}: not a 64-bit ELF (cubin)")
        shoff, = struct.unpack_from("<Q", b, 0x28)
        self.flags, = struct.unpack_from("<I", b, 0x30)
        # SM number: byte 0 of e_flags in the old cubin ABI, byte 1 from ABI version 8 (CUDA 13)
        self.sm = (self.flags >> 8) & 0xff if b[8] >= 8 else self.flags & 0xff
        shentsize, shnum, shstrndx = struct.unpack_from("<HHH", b, 0x3A)
        self.sec = []
        for i in range(shnum):
            n, t, fl, addr, off, sz, link, info, al, es = struct.unpack_from("<IIQQQQIIQQ", b, shoff + i * shentsize)
            self.sec.append(dict(n=n, type=t, off=off, size=sz, link=link, info=info, entsize=es))
        st = self.sec[shstrndx]
        for s in self.sec:
            s["name"] = self._str(st["off"] + s["n"])
        self.syms = []
        for s in self.sec:
            if s["type"] == 2:
                so = self.sec[s["link"]]["off"]
                for k in range(s["size"] // 24):
                    nm, inf, oth, shndx, val, sz = struct.unpack_from("<IBBHQQ", b, s["off"] + 24 * k)
                    self.syms.append(self._str(so + nm))
                break

    def _str(self, o):
        e = self.b.index(b"\0", o)
        return self.b[o:e].decode("utf8", "replace")

    def eiattr(self, s):
        o, end = s["off"], s["off"] + s["size"]
        while o + 4 <= end:
            fmt, attr = self.b[o], self.b[o + 1]
            v, = struct.unpack_from("<H", self.b, o + 2)
            if fmt == 4:
                yield attr, self.b[o + 4:o + 4 + v]
                o += 4 + v
            else:
                yield attr, v
                o += 4

    def functions(self):
        out = {}
        for s in self.sec:
            if s["name"].startswith(".text.") and s["type"] == 1:
                out[s["name"][6:]] = dict(regs=(s["info"] >> 24) & 0xff, code_bytes=s["size"])
        per = dict(frame=0x11, min_stack=0x12, regs=0x2f)
        for s in self.sec:
            if s["name"] == ".nv.info":
                for a, d in self.eiattr(s):
                    if isinstance(d, bytes) and len(d) == 8:
                        si, v = struct.unpack("<II", d)
                        nm = self.syms[si] if si < len(self.syms) else None
                        if nm in out:
                            for k, code in per.items():
                                if a == code:
                                    out[nm][k] = v
            elif s["name"].startswith(".nv.info."):
                f = out.get(s["name"][9:])
                if f is None:
                    continue
                for a, d in self.eiattr(s):
                    if isinstance(d, bytes) and len(d) == 12 and a in (0x05, 0x10):
                        x, y, z = struct.unpack("<III", d)
                        f["reqntid" if a == 0x10 else "maxntid"] = x * y * z
                    elif a == 0x19 and not isinstance(d, bytes):
                        f["param_bytes"] = d
            elif s["name"].startswith(".nv.shared.") and s["name"][11:] in out:
                out[s["name"][11:]]["static_smem"] = s["size"]
        return out

# ------------------------------------------------------------------ nvdisasm
def find_nvdisasm(arg):
    for c in (arg, os.environ.get("NVDISASM"), shutil.which("nvdisasm"), "/usr/local/cuda/bin/nvdisasm"):
        if c and os.access(c, os.X_OK):
            return c
    here = os.path.dirname(os.path.abspath(__file__))
    for root in (here, os.path.dirname(here), os.getcwd()):
        g = glob.glob(os.path.join(root, "**/triton/backends/nvidia/bin/nvdisasm"), recursive=True)
        if g:
            return g[0]
    sys.exit("nvdisasm not found: give --nvdisasm")

INS = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;?\s*(?:/\*\s*(0x[0-9a-f]{16})\s*\*/)?\s*$")
HEX2 = re.compile(r"^\s*/\*\s*(0x[0-9a-f]{16})\s*\*/\s*$")
LAB = re.compile(r"^\s*([.$\w@]+):\s*$")

class Ins:
    __slots__ = ("addr", "text", "pred", "op", "base", "args", "stall", "wait", "write", "read")

def disassemble(nvdisasm, cubin):
    p = subprocess.run([nvdisasm, "-c", "-hex", cubin], capture_output=True, text=True)
    if p.returncode or not p.stdout:
        p2 = subprocess.run([nvdisasm, "-c", "-hex", "-ndf", cubin], capture_output=True, text=True)
        if p2.returncode:
            raise RuntimeError(f"nvdisasm {cubin}: {p.stderr.strip()[:300]}")
        p = p2
    funcs, cur, labels, last, target = collections.OrderedDict(), None, None, None, None
    for line in p.stdout.splitlines():
        if target is None:
            m = re.search(r"\.target\s+(sm_\w+)", line)
            if m:
                target = m.group(1)
        m = re.match(r"\s*\.section\s+\.text\.([^,\s]+)", line)
        if m:
            cur, labels = [], {}
            funcs[m.group(1)] = (cur, labels)
            continue
        if re.match(r"\s*\.section\s+", line):
            cur = None
            continue
        if cur is None:
            continue
        m = LAB.match(line)
        if m:
            labels[m.group(1)] = len(cur)
            continue
        m = HEX2.match(line)
        if m and last is not None:
            hi = int(m.group(1), 16)
            last.stall = (hi >> 41) & 0xf
            last.wait = (hi >> 52) & 0x3f
            # Scoreboards that are set: until the result is there, and until operands were read; 7 is none.
            last.write, last.read = (hi >> 46) & 7, (hi >> 49) & 7
            last = None
            continue
        m = INS.match(line)
        if not m or not m.group(2):
            continue
        t = re.sub(r"/\*.*?\*/", "", m.group(2)).strip().rstrip(";").strip().strip("{}").strip()
        if not t:
            continue
        i = Ins()
        i.addr, i.text, i.stall, i.wait, i.pred = int(m.group(1), 16), t, None, 0, None
        i.write = i.read = 7
        pm = re.match(r"^@(!?U?P[T\d]\w*)\s+(.*)$", t)
        if pm:
            i.pred, t = pm.group(1), pm.group(2)
        sp = t.split(None, 1)
        i.op, i.args = sp[0], sp[1] if len(sp) > 1 else ""
        i.base = i.op.split(".")[0]
        cur.append(i)
        last = i
    return target, funcs

# ------------------------------------------------------------------ classes
SETS = {
    "mma": "HMMA HGMMA IMMA IGMMA QMMA QGMMA DMMA BMMA BGMMA OMMA UTCHMMA UTCQMMA UTCIMMA UTCOMMA UTCMXQMMA",
    "mma_sync": "WARPGROUP WARPGROUPSET UTCBAR UTCATOMSWS",
    "mufu": "MUFU",
    "fma": "FFMA FMUL FADD FFMA2 FMUL2 FADD2 FFMA32I FMUL32I FADD32I",
    "fp_cmp": "FMNMX FMNMX3 FSEL FSETP FSET FCHK FSWZADD FRND",
    "half": "HFMA2 HADD2 HMUL2 HMNMX2 HSETP2 HSET2 HFMA2_MMA HADD2_32I HFMA2_32I HMUL2_32I VHMNMX",
    "fp64": "DADD DMUL DFMA DSETP DMNMX",
    "cvt": "F2F F2FP F2I I2F I2FP F2IP I2I I2IP",
    "ldsm": "LDSM LDTM",
    "lds": "LDS",
    "sts": "STS STSM ATOMS STTM",
    "ldg": "LDG LD LDE",
    "stg": "STG ST STE",
    "atom": "ATOM ATOMG RED REDG",
    "cp_async": "LDGSTS",
    "cp_async_sync": "LDGDEPBAR DEPBAR ARRIVES",
    "tma": "UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UBLKCP UBLKRED UBLKPF UTMALDG.1D",
    "barrier": "BAR SYNCS MEMBAR FENCE ERRBAR CCTL CCTLL CCTLT NANOSLEEP UCGABAR_ARV UCGABAR_WAIT UCGABAR ELECT ACQBULK SYNCSU CGAERRBAR ACQSHMINIT PREEXIT B2R R2B SETMAXREG USETMAXREG",
    "shuffle": "SHFL VOTE VOTEU MATCH REDUX CREDUX",
    "local": "LDL STL",
    "const": "LDC LDCU ULDC",
    "mov": "MOV UMOV R2UR S2R S2UR CS2R UCS2R MOV32I R2P P2R UP2UR UR2UP MOVM S2UP",
    "int": "IMAD IADD IADD3 LOP3 SHF LEA ISETP SEL PRMT IABS IMNMX VIMNMX VIMNMX3 PLOP3 SGXT BMSK POPC FLO BREV IADD32I LOP32I SHL SHR XMAD VIADD VIADDMNMX IDP IDP4A IMUL VABSDIFF VABSDIFF4 ISCADD ISCADD32I PSETP ICMP IMUL32I LOP IADD64 BFE BFI VIMNMX.U16 VIADD2",
    "branch": "BRA BRX BRXU JMP JMX EXIT RET CALL BSSY BSYNC BREAK WARPSYNC YIELD KILL BPT RPCMOV BMOV BRA_U ENDCOLLECTIVE",
    "tex": "TEX TLD TLD4 TXQ SULD SUST SURED",
    "nop": "NOP",
}
CLASS = {o: c for c, ops in SETS.items() for o in ops.split()}
ORDER = list(SETS) + ["uniform", "other"]

def classify(i):
    b = i.base
    if b == "IMAD" and re.match(r"IMAD\.(MOV|U32$)", i.op):
        return "mov" if ".MOV" in i.op or re.search(r"RZ, RZ", i.args) else "int"
    if b == "HFMA2" and (".MMA" in i.op) and "-RZ, RZ" in i.args:
        return "mov"
    c = CLASS.get(b)
    if c:
        return c
    if b.startswith("UTC"):
        return "mma_sync"
    if b.startswith("U") and len(b) > 2:
        return "uniform"
    return "other"

def mma_flop(i):
    """tensor-core FLOP done by ONE warp for this instruction, or 0 if unknown"""
    b = i.base
    sp = 2 if ".SP" in i.op else 1
    m = re.search(r"\.(\d+)x(\d+)x(\d+)", i.op)
    if m:
        a, n, k = map(int, m.groups())
        f = 2 * a * n * k * sp
        return f / 4 if "GMMA" in b else f
    m = re.search(r"\.(16816|16832|16864|1688|1684|8816|8832|884|168128|168256|88128)(?:\.|$)", i.op)
    if m:
        s = m.group(1)
        dims = {"16816": (16, 8, 16), "16832": (16, 8, 32), "16864": (16, 8, 64), "1688": (16, 8, 8), "1684": (16, 8, 4),
                "8816": (8, 8, 16), "8832": (8, 8, 32), "884": (8, 8, 4), "168128": (16, 8, 128), "168256": (16, 8, 256), "88128": (8, 8, 128)}[s]
        return 2 * dims[0] * dims[1] * dims[2] * sp
    return 0

# Throughput assumptions, cycles of one sub-core (SMSP) per warp instruction.  tensor: dense bf16/fp16
# FLOP per cycle per SM (fp32 accumulate).  smem: 128 B/cycle per SM.  alu: INT/LOP/compare path.
RATES = {  # tensor FLOP/clk/SM, fma lanes/SMSP, alu lanes/SMSP, mufu lanes/SMSP
    "80": (2048, 16, 16, 4), "86": (512, 32, 16, 4), "87": (1024, 32, 16, 4), "89": (512, 32, 16, 4),
    "90": (4096, 32, 16, 4), "100": (8192, 32, 16, 4), "120": (1024, 32, 16, 4),
}

def smem_cycles(i):
    """SM-level shared-memory cycles (128 B/clk) of one warp instruction, no bank conflicts assumed"""
    if i.base in ("LDSM", "STSM"):
        m = re.search(r"\.(\d)(?:\.|$)", i.op)
        return int(m.group(1)) if m else 1
    if i.base in ("LDS", "STS", "LDGSTS"):
        m = re.search(r"\.(64|128)(?:\.|$)", i.op)
        return {None: 1, "64": 2, "128": 4}[m.group(1) if m else None]
    return 0

# ------------------------------------------------------------------ CFG and loops
def build_cfg(ins, labels):
    lab2idx = labels
    starts = {0}
    targets = {}
    for n, i in enumerate(ins):
        b = i.base
        if b in ("BRA", "JMP", "BRX", "BRXU", "JMX"):
            starts.add(n + 1)
            tg = []
            if i.op.startswith("BRA.DIV"):
                tg = []
            else:
                for l in re.findall(r"`?\(?(\.L_[\w.$]+)\)?", i.args):
                    if l in lab2idx:
                        tg.append(lab2idx[l])
                if not tg:
                    m = re.match(r"^(?:!?U?P\w+,\s*)?(0x[0-9a-f]+)$", i.args)
                    if m:
                        a = int(m.group(1), 16)
                        tg = [k for k, j in enumerate(ins) if j.addr == a][:1]
            targets[n] = tg
            starts.update(t for t in tg)
        elif b in ("EXIT", "RET", "KILL", "CALL"):
            starts.add(n + 1)
    for l, k in lab2idx.items():
        starts.add(k)
    starts = sorted(s for s in starts if s < len(ins))
    blk_of = {}
    blocks = []
    for x, s in enumerate(starts):
        e = starts[x + 1] if x + 1 < len(starts) else len(ins)
        blk_of[s] = x
        blocks.append((s, e))
    succ = [[] for _ in blocks]
    for x, (s, e) in enumerate(blocks):
        i = ins[e - 1]
        b, fall = i.base, True
        cond = i.pred is not None and i.pred not in ("PT", "UPT")
        if b in ("BRA", "JMP", "BRX", "BRXU", "JMX"):
            if re.match(r"^!?U?P\d", i.args):
                cond = True
            if i.op.startswith("BRA.DIV") or i.op.startswith("BRA.CONV"):
                cond = True
            for t in targets.get(e - 1, []):
                succ[x].append(blk_of[t])
            fall = cond
        elif b in ("EXIT", "RET", "KILL"):
            if re.match(r"^!?U?P\d", i.args):
                cond = True
            fall = cond
        if fall and x + 1 < len(blocks):
            succ[x].append(x + 1)
        succ[x] = sorted(set(succ[x]))
    return blocks, succ

def sccs(nodes, succ):
    """Tarjan, iterative; returns components with a cycle"""
    nodes = set(nodes)
    idx, low, on, st, out, c = {}, {}, set(), [], [], 0
    for r in sorted(nodes):
        if r in idx:
            continue
        work = [(r, iter([t for t in succ[r] if t in nodes]))]
        idx[r] = low[r] = c; c += 1; st.append(r); on.add(r)
        while work:
            v, it = work[-1]
            adv = False
            for w in it:
                if w not in idx:
                    idx[w] = low[w] = c; c += 1; st.append(w); on.add(w)
                    work.append((w, iter([t for t in succ[w] if t in nodes])))
                    adv = True
                    break
                elif w in on:
                    low[v] = min(low[v], idx[w])
            if adv:
                continue
            work.pop()
            if work:
                low[work[-1][0]] = min(low[work[-1][0]], low[v])
            if low[v] == idx[v]:
                comp = set()
                while True:
                    w = st.pop(); on.discard(w); comp.add(w)
                    if w == v:
                        break
                if len(comp) > 1 or v in succ[v]:
                    out.append(comp)
    return out

def loops_of(nodes, succ, pred, depth=0, parent=None, acc=None):
    acc = [] if acc is None else acc
    for comp in sccs(nodes, succ):
        heads = [n for n in comp if any(p not in comp for p in pred[n])] or [min(comp)]
        # several entries (irreducible, or a peeled entry): take the one most entered from outside, lowest address
        head = min(heads)
        L = dict(head=head, nodes=comp, depth=depth, parent=parent, irreducible=len(heads) > 1, kids=[])
        acc.append(L)
        if parent is not None:
            parent["kids"].append(L)
        rest = comp - {head}
        # inner loops: remove the back edges into the header by removing the header node
        loops_of(rest, succ, pred, depth + 1, L, acc)
    return acc

def always_blocks(L, succ):
    """blocks of the loop on every path head -> latch (dominate all latches inside the loop body)"""
    nodes, head = L["nodes"], L["head"]
    latches = [n for n in nodes if head in succ[n]]
    res = set()
    for b in nodes:
        if b == head:
            res.add(b); continue
        # is any latch reachable from head without b (staying in loop, not through head again)?
        seen, st, ok = {head}, [head], True
        while st:
            v = st.pop()
            if v in latches and v != b:
                ok = False; break
            for w in succ[v]:
                if w in nodes and w != b and w != head and w not in seen:
                    seen.add(w); st.append(w)
        if ok:
            res.add(b)
    return res

def is_spin(L, ins, blocks):
    n = 0
    for b in L["nodes"]:
        for i in ins[blocks[b][0]:blocks[b][1]]:
            n += 1
            if classify(i) in ("mma", "ldsm", "sts", "stg", "cp_async", "tma", "mufu", "fma", "half", "lds"):
                return False
    txt = [i for b in L["nodes"] for i in ins[blocks[b][0]:blocks[b][1]]]
    sync = any(i.base in ("SYNCS", "NANOSLEEP", "CCTL", "ATOM", "ATOMG", "BAR") or i.op.startswith("LD.E.STRONG") or ".STRONG" in i.op for i in txt)
    return n <= 24 and sync or n <= 3

def stat(ins_list, arch):
    cnt, ops = collections.Counter(), collections.Counter()
    flop, unk, stall, nst, ldgsts_b, mma_ops, smc, waits = 0.0, 0, 0, 0, 0, collections.Counter(), 0, 0
    for i in ins_list:
        c = classify(i)
        cnt[c] += 1
        ops[i.op] += 1
        if c == "mma":
            f = mma_flop(i)
            flop += f
            unk += f == 0
            mma_ops[i.op] += 1
        if i.stall is not None:
            stall += max(1, i.stall)
            nst += 1
            waits += i.wait != 0
        smc += smem_cycles(i)
    n = sum(cnt.values())
    d = dict(instructions=n, classes={c: cnt[c] for c in ORDER if cnt[c]}, mma_ops=dict(mma_ops), mma_flop_per_warp=flop,
             stall_sum=stall if nst else None, scoreboard_waits=waits)
    if unk:
        d["mma_unknown_shape"] = unk
    d["other_ops"] = {o: k for o, k in ops.items() if o.split(".")[0] not in CLASS and not o.startswith("U")}
    if not d["other_ops"]:
        del d["other_ops"]
    if flop:
        mf = flop / 1e6
        d["per_mflop"] = {"all": n / mf, "non_mma": (n - cnt["mma"]) / mf, **{c: cnt[c] / mf for c in ORDER if cnt[c]}}
    a = re.sub(r"\D", "", arch or "")
    r = RATES.get(a)
    if r:
        t, fl, al, mu = r
        bound = dict(issue=n, tensor=flop / (t / 4), fma=cnt["fma"] * 32 / fl + cnt["half"] * 32 / fl,
                     alu=(cnt["int"] + cnt["fp_cmp"]) * 32 / al, mufu=cnt["mufu"] * 32 / mu, smem=smc * 4)
        d["cycles_per_warp_per_subcore"] = {k: round(v, 1) for k, v in bound.items()}
        if flop:
            d["issue_per_tensor_cycle"] = round(n / bound["tensor"], 3)
            d["mufu_per_tensor_cycle"] = round(bound["mufu"] / bound["tensor"], 3)
    return d

def find_loops(ins, labels):
    """(blocks, their successors, loops), without the padding after the last EXIT: a one-instruction loop nobody enters"""
    blocks, succ = build_cfg(ins, labels)
    pred = [[] for _ in blocks]
    for x, ss in enumerate(succ):
        for s in ss:
            pred[s].append(x)
    reach, st = {0}, [0]
    while st:
        v = st.pop()
        for w in succ[v]:
            if w not in reach:
                reach.add(w); st.append(w)
    nodes = [x for x, (b0, e0) in enumerate(blocks) if not (e0 - b0 == 1 and x in succ[x] and x not in reach)]
    return blocks, succ, loops_of(nodes, succ, pred)

def body_of(nodes, ins, blocks):
    return [i for b in sorted(nodes) for i in ins[blocks[b][0]:blocks[b][1]]]

def analyse(name, ins, labels, arch, all_loops=False):
    blocks, succ, LS = find_loops(ins, labels)
    body = lambda bs: body_of(bs, ins, blocks)
    for L in LS:
        L["spin"] = is_spin(L, ins, blocks)
        L["mma"] = sum(classify(i) == "mma" for i in body(L["nodes"]))
    has_mma = any(L["mma"] for L in LS)
    out = []
    for L in LS:
        if has_mma:
            hot = L["mma"] and not any(k["mma"] for k in L["kids"])
        else:
            hot = not L["spin"] and not any(not k["spin"] for k in L["kids"])
        if not hot and not all_loops:
            continue
        al = always_blocks(L, succ)
        spin_nodes = set()
        def coll(x):
            for k in x["kids"]:
                if k["spin"]:
                    spin_nodes.update(k["nodes"])
                coll(k)
        coll(L)
        tot = stat(body(L["nodes"]), arch)
        alw = stat(body(al), arch)
        h = blocks[L["head"]]
        out.append(dict(head_addr=hex(ins[h[0]].addr), depth=L["depth"], hot=bool(hot), spin=L["spin"], blocks=len(L["nodes"]),
                        irreducible=L["irreducible"], inner_spin_loops=sum(k["spin"] for k in L["kids"]),
                        inner_loops=len(L["kids"]), spin_instructions=sum(blocks[b][1] - blocks[b][0] for b in spin_nodes),
                        always=alw, total=tot))
    key = lambda l: (-(l["total"]["mma_flop_per_warp"] or 0), -l["total"]["instructions"])
    out.sort(key=key)
    whole = stat(ins, arch)
    return dict(function=name, instructions=len(ins), n_loops=len(LS), n_spin_loops=sum(L["spin"] for L in LS), loops=out,
                whole=dict(classes=whole["classes"], mma_ops=whole["mma_ops"]),
                unclassified=whole.get("other_ops", {}))

def demangle_short(n):
    return n if len(n) < 90 else n[:60] + "..." + n[-25:]

def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cubin", nargs="+")
    ap.add_argument("--nvdisasm")
    ap.add_argument("--json", action="store_true", help="one JSON document on stdout")
    ap.add_argument("--func", help="regular expression on the function name")
    ap.add_argument("--all-loops", action="store_true")
    ap.add_argument("--top", type=int, default=6, help="loops printed per function (text mode)")
    a = ap.parse_args()
    nv = find_nvdisasm(a.nvdisasm)
    res, bad = [], 0
    for path in a.cubin:
        try:
            e0 = Elf(path)
            elf = e0.functions()
            target, funcs = disassemble(nv, path)
            target = target or f"sm_{e0.sm}"
        except (ValueError, RuntimeError, OSError, struct.error) as e:
            bad += 1
            res.append(dict(file=path, error=str(e)))
            continue
        for f, (ins, labels) in funcs.items():
            if a.func and not re.search(a.func, f):
                continue
            if not ins:
                continue
            r = analyse(f, ins, labels, target, a.all_loops)
            r.update(file=path, arch=target, resources=elf.get(f, {}))
            r["local_instructions"] = sum(classify(i) == "local" for i in ins)
            r["has_mma"] = any(classify(i) == "mma" for i in ins)
            res.append(r)
    if a.json:
        json.dump(res, sys.stdout, indent=1)
        print()
        return 1 if bad else 0
    for r in res:
        if "error" in r:
            print(f"{r['file']}: ERROR {r['error']}")
            continue
        q = r["resources"]
        print(f"== {r['file']}  {demangle_short(r['function'])}  {r['arch']}")
        print(f"   regs {q.get('regs')}  threads/CTA {q.get('reqntid') or q.get('maxntid')}  static smem {q.get('static_smem', 0)}"
              f"  frame {q.get('frame', 0)}  LDL/STL {r['local_instructions']}  code {q.get('code_bytes')} B  instr {r['instructions']}"
              f"  loops {r['n_loops']} (spin {r['n_spin_loops']})")
        if r["unclassified"]:
            print("   unclassified:", r["unclassified"])
        for l in r["loops"][:a.top]:
            for which in ("always", "total"):
                s = l[which]
                if which == "total" and s["instructions"] == l["always"]["instructions"]:
                    continue
                print(f"   loop @{l['head_addr']} depth {l['depth']} blocks {l['blocks']} spin {l['inner_spin_loops']}"
                      f"{' IRREDUCIBLE' if l['irreducible'] else ''} [{which}] {s['instructions']} instr, stall sum {s['stall_sum']}, MMA {s['mma_ops']}")
                print("      " + "  ".join(f"{c}={k}" for c, k in s["classes"].items()))
                if "per_mflop" in s:
                    print(f"      MMA FLOP/warp/trip {s['mma_flop_per_warp']:.0f}; per MFLOP: " +
                          "  ".join(f"{c}={v:.1f}" for c, v in s["per_mflop"].items()))
                if "cycles_per_warp_per_subcore" in s:
                    print("      cycles/warp/sub-core: " + "  ".join(f"{c}={v}" for c, v in s["cycles_per_warp_per_subcore"].items())
                          + (f"  issue/tensor {s['issue_per_tensor_cycle']}" if "issue_per_tensor_cycle" in s else ""))
    return 1 if bad else 0

if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        sys.exit(0)
