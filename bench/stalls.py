#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the hot loop of a kernel would issue, without a card: a small scheduler over SASS.

    build/venv/bin/python bench/stalls.py [--shared BYTES] [--threads N] [--programs N]
                                          [--function TEXT] [--json] FILE.cubin ...
    build/venv/bin/python bench/stalls.py --compare [--build FOLDER]

ptxas writes into each instruction how many cycles to wait after it and which scoreboards to
set and wait for. So the loop can be played back: the warps that a multiprocessor holds go
through it, four schedulers issue one instruction a cycle each, and units take as long as
`Machine` says. Printed per kernel, as Nsight Compute names them: the cycles of a trip, the
share of cycles in which a scheduler issues, the share in which tensor cores are busy, and
the cycles that a warp stalls per instruction that it issues, by reason:

    wait                 the count that ptxas gave the instruction before
    short_scoreboard     shared memory, a shuffle, a special function
    long_scoreboard      global memory, and spilled registers
    mio_throttle         the queue to shared memory and special functions is full
    math_pipe_throttle   the unit is busy
    barrier              other warps are not there yet
    not_selected         another warp was

Played are the instructions that every trip of the loop executes, and of programs that take
turns the time that a thread of one warp needs to read the turn and to pass it. The turn
itself has come, as have copies from global memory; there are no bank conflicts, and
instructions are always at hand. Products of warp groups (wgmma) are not known.

--compare assembles act's attention and product for sm_80 as they were timed on an H200, takes
FlashAttention-2's kernels from the installed PyTorch, and prints both beside what the card
said (MEASURED).
"""
import argparse
import collections
import dataclasses
import itertools
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import sass_stats


@dataclasses.dataclass
class Machine:
    """Cycles of one of the four schedulers for an instruction of a warp, and latencies."""
    registers: int = 65536
    shared: int = 166912       # bytes of programs, with 1 KiB each of the system's
    warps: int = 64
    mma: float = 8             # m16n8k16 of 16 bits: 1024 products a cycle and multiprocessor
    fma: float = 2
    alu: float = 2
    xu: float = 8              # special functions: 16 a cycle and multiprocessor
    queue: int = 8             # instructions of a scheduler on their way to shared memory or xu
    shared_latency: int = 23   # beside the cycles that data take
    xu_latency: int = 20
    local_latency: int = 33    # spilled registers, from the L1 cache
    global_latency: int = 500
    barrier: int = 20
    look: int = 650            # a thread reads a turn, and what others wrote before it
    fence: int = 650           # it passes one, when memory has what the program wrote


# Of sm_80, sm_86 and sm_89: published figures. On Hopper, mma.sync was seen to reach 62 % of wgmma's speed.
MACHINES = {
    "80": Machine(),
    "86": Machine(shared=102400, warps=48, mma=16, fma=1),
    "89": Machine(shared=102400, warps=48, mma=16, fma=1),
    "90": Machine(shared=233472, mma=6, fma=1),
}
REASONS = ("wait", "short_scoreboard", "long_scoreboard", "mio_throttle", "math_pipe_throttle", "barrier",
           "not_selected")


@dataclasses.dataclass
class Step:
    """One instruction of the loop, as the scheduler sees it."""
    op: str
    unit: str        # mma, fma, alu, xu, lsu, global, barrier, none
    cycles: float    # of the unit
    stall: int
    wait: int        # mask of scoreboards
    write: int       # scoreboard that is set until the result is there, or 7
    read: int        # until the operands were read, or 7
    least: tuple = ()  # (scoreboard, n): waits until at most n are pending
    barrier: tuple = ()  # (number or None for that of a part, threads or 0 for all)
    aside: tuple = ()  # (warp, cycles) of a branch that one warp takes


def unit_of(i, m):
    kind, base = sass_stats.classify(i), i.base
    if kind == "mma":
        flop = sass_stats.mma_flop(i)
        return "mma", m.mma * (flop or 4096) / 4096
    if kind == "mufu" or base in ("F2F", "F2I", "I2F", "FRND", "POPC", "FLO", "BREV"):
        return "xu", m.xu
    if kind in ("ldsm", "lds", "sts"):
        return "lsu", max(1, sass_stats.smem_cycles(i))
    if kind == "cp_async":
        return "lsu", 4
    if kind == "shuffle" and base == "SHFL":
        return "lsu", 1
    if kind == "local":
        return "local", 4 if ".128" in i.op else 2 if ".64" in i.op else 1
    if kind in ("ldg", "stg", "atom"):
        return "global", 4 if ".128" in i.op else 2 if ".64" in i.op else 1
    if base == "BAR":
        return "barrier", 1
    if kind in ("fma", "half") or base == "IMAD":
        return "fma", m.fma
    if kind in ("int", "fp_cmp", "cvt", "mov", "shuffle"):
        return "alu", m.alu
    return "none", 1


def step_of(i, m):
    unit, cycles = unit_of(i, m)
    least = barrier = ()
    if i.base == "DEPBAR" and (found := re.match(r"SB(\d), (0x[0-9a-f]+|\d+)", i.args)):
        least = int(found[1]), int(found[2], 0)
    if unit == "barrier":
        number, *threads = [a.strip() for a in i.args.split(",")]
        # A number in a register is that of the warp's part of the program (tile.barrier parts).
        barrier = None if number.startswith("R") else int(number, 0), int(threads[0], 0) if threads else 0
    return Step(i.op, unit, cycles, max(1, i.stall or 1), i.wait, i.write, i.read, least, barrier)


QUEUED = ("lsu", "local", "global", "xu")


class Warp:
    def __init__(self, number, program, loop, start):
        self.number, self.program, self.loop = number, program, loop
        self.pc, self.trips, self.ready = 0, 0, start
        self.pending = [[] for _ in range(6)]  # of each scoreboard, (when it is released, kind)
        self.at_barrier = False

    def step(self):
        return self.loop[self.pc]


class Multiprocessor:
    """Plays a loop: `programs` of `threads` threads, until each warp has made `trips`."""

    def __init__(self, machine, loop, threads, programs, trips, start):
        self.m, self.loop, self.trips = machine, loop, trips
        self.warps = [Warp(n, p, loop, start(p, n)) for p in range(programs) for n in range(threads // 32)]
        self.own = [[w for k, w in enumerate(self.warps) if k % 4 == s] for s in range(4)]
        self.free = [collections.defaultdict(float) for _ in range(4)]
        self.queues = [collections.deque() for _ in range(4)]
        self.bus = 0.0  # of shared memory
        self.arrived = collections.defaultdict(list)
        self.stalls, self.issues, self.busy = collections.Counter(), 0, 0.0
        self.of_program = threads // 32
        self.latency = dict(lsu=machine.shared_latency, local=machine.local_latency, **{"global": machine.global_latency})

    def why_not(self, w, s, now):
        """Why the warp cannot issue its next instruction; nothing if it can."""
        if w.at_barrier:
            return "barrier"
        if now < w.ready:
            return "wait"
        step = w.step()
        for n in range(6):
            waits = w.pending[n]
            if waits and waits[0][0] <= now:
                w.pending[n] = waits = [x for x in waits if x[0] > now]
            most = step.least[1] if step.least and step.least[0] == n else 0 if step.wait >> n & 1 else len(waits)
            if len(waits) > most:
                return "long_scoreboard" if any(k in ("local", "global") for _, k in waits) else "short_scoreboard"
        if step.unit in QUEUED:
            if len(self.queues[s]) >= self.m.queue:
                return "mio_throttle"
        elif step.unit in ("mma", "fma", "alu") and self.free[s][step.unit] > now:
            return "math_pipe_throttle"
        return None

    def issue(self, w, s, now):
        step = w.step()
        w.ready = now + step.stall
        for warp, cycles in step.aside:
            if warp == w.number % self.of_program:
                w.ready += cycles
        if step.unit in ("mma", "fma", "alu"):
            self.free[s][step.unit] = max(self.free[s][step.unit], now) + step.cycles
            if step.unit == "mma":
                self.busy += step.cycles
        pending = []
        for board in (step.write, step.read):
            if board < 6:
                entry = [math.inf, step.unit]
                w.pending[board].append(entry)
                pending.append(entry)
            else:
                pending.append(None)
        if step.unit in QUEUED:
            self.queues[s].append((step, pending))
        else:
            for entry in pending:
                if entry:
                    entry[0] = now + 10
        if step.unit == "barrier":
            self.arrive(w, step, now)
        w.pc += 1
        if w.pc == len(self.loop):
            w.pc, w.trips = 0, w.trips + 1

    def arrive(self, w, step, now):
        number, threads = step.barrier
        if number is None:
            number = 1 + w.number % self.of_program % (self.of_program * 32 // threads)
        key = w.program, number
        self.arrived[key].append(w)
        if ".ARV" not in step.op:
            w.at_barrier = True
        if len(self.arrived[key]) >= (threads // 32 or self.of_program):
            for other in self.arrived.pop(key):
                other.at_barrier = False
                other.ready = max(other.ready, now + self.m.barrier)

    def drain(self, s, now):
        """Hands the oldest queued instruction to its unit, if that is free."""
        if not self.queues[s]:
            return
        step, (write, read) = self.queues[s][0]
        if step.unit == "xu":
            if self.free[s]["xu"] > now:
                return
            self.free[s]["xu"] = now + step.cycles
            done = now + self.m.xu_latency
        else:
            if self.bus > now:
                return
            self.bus = max(self.bus, now) + step.cycles
            done = now + step.cycles + self.latency[step.unit]
        self.queues[s].popleft()
        if write:
            write[0] = done
        if read:
            read[0] = now + 4

    def run(self, most=2_000_000):
        now, last = 0, [0] * 4
        counted_from = None
        while any(w.trips < self.trips for w in self.warps):
            for k in range(4):
                self.drain((now + k) % 4, now)
            if counted_from is None and all(w.trips >= 2 for w in self.warps):
                counted_from = now
                self.stalls.clear()
                self.issues, self.busy = 0, 0.0
            for s in range(4):
                can = []
                for w in self.own[s]:
                    why = self.why_not(w, s, now)
                    if why:
                        self.stalls[why] += 1
                    else:
                        can.append(w)
                if can:
                    # The one that issued last goes on while it can, else the oldest.
                    chosen = next((w for w in can if w.number == last[s]), can[0])
                    last[s] = chosen.number
                    self.stalls["not_selected"] += len(can) - 1
                    self.issue(chosen, s, now)
                    self.issues += 1
            now += 1
            if now > most:
                raise RuntimeError("the loop does not end")
        return now - counted_from


@dataclasses.dataclass
class Prediction:
    name: str
    instructions: int
    programs: int
    cycles: float      # of a trip of all warps of a multiprocessor
    issue: float
    tensor: float
    flop: float        # a cycle and multiprocessor
    stalls: dict


def residents(machine, registers, threads, shared):
    warps = threads // 32
    by_registers = machine.registers // (256 * math.ceil(registers / 8)) // warps
    by_shared = machine.shared // (shared + 1024)
    return max(1, min(by_registers, by_shared, machine.warps // warps))


def hot_loop(ins, labels):
    """The instructions of the innermost loop with products and fewest others, in every trip, and its FLOP."""
    def products(code):
        return [i for i in code if sass_stats.classify(i) == "mma"]

    blocks, succ, loops = sass_stats.find_loops(ins, labels)
    best = None, 0, {}
    for loop in loops:
        always = sass_stats.always_blocks(loop, succ)
        body = sass_stats.body_of(always, ins, blocks)
        flop = sum(map(sass_stats.mma_flop, products(body)))
        if not flop or any("GMMA" in i.base for i in products(body)) or \
                any(products(sass_stats.body_of(k["nodes"], ins, blocks)) for k in loop["kids"]):
            continue
        if not best[1] or len(body) / flop < len(best[0]) / best[1]:
            best = body, flop, turns_of(loop, always, ins, blocks)
    return best


def turns_of(loop, always, ins, blocks):
    """{address of a branch: [(warp, "look" or "fence")]} of the blocks that one thread enters to take or pass a turn."""
    found = collections.defaultdict(list)
    for b in sorted(loop["nodes"] - always):
        code = ins[blocks[b][0]:blocks[b][1]]
        kind = "fence" if any(i.base == "MEMBAR" for i in code) else \
            "look" if any(i.base in ("LD", "LDG") and "STRONG.GPU" in i.op for i in code) else None
        before = [a for a in always if a < b]
        if not kind or not before:
            continue
        branch = blocks[max(before)][1] - 1
        name = (ins[branch].pred or "").lstrip("!")
        # The thread's number, to which the branch's predicate compares: `ISETP.NE.U32.AND P0, PT, R200, 0xe0, PT`.
        sets = (re.search(r", (RZ|0x[0-9a-f]+|\d+)\b, \w+$", i.args.strip()) for i in reversed(ins[:branch])
                if i.base == "ISETP" and i.args.split(",")[0].strip() == name)
        number = next((m[1] for m in sets if m), "RZ")
        found[ins[branch].addr].append((0 if number == "RZ" else int(number, 0) // 32, kind))
    return found


def predict(cubin, nvdisasm, shared=None, programs=None, machine=None, function=None, threads=None):
    elf = sass_stats.Elf(cubin)
    functions = elf.functions()
    if function and not any(re.search(function, name) for name in functions):
        return
    target, code = sass_stats.disassemble(nvdisasm, cubin)
    arch = re.sub(r"\D", "", target or f"sm_{elf.sm}")
    for name, (ins, labels) in code.items():
        if function and not re.search(function, name):
            continue
        body, flop, turns = hot_loop(ins, labels)
        if not body:
            continue
        about = functions.get(name, {})
        own = threads or about.get("reqntid") or about.get("maxntid") or 128
        m = machine or MACHINES[arch]
        count = programs or residents(m, about.get("regs", 255), own, shared or about.get("static_smem", 0))
        loop = [step_of(i, m) for i in body]
        for step, i in zip(loop, body):
            step.aside = tuple((warp, getattr(m, kind)) for warp, kind in turns.get(i.addr, ()))
        length = sum(s.stall for s in loop)
        trips = 6
        sm = Multiprocessor(m, loop, own, count, trips,
                            lambda p, n: int(length * 0.4 * p) + 3 * n)
        cycles = sm.run()
        warps = own // 32 * count
        # All warps have made as many trips as instructions were issued.
        made = sm.issues / len(loop) / warps
        yield Prediction(name, len(loop), count, cycles / made, sm.issues / cycles / 4, sm.busy / cycles / 4,
                         flop * warps * made / cycles,
                         {r: sm.stalls[r] / sm.issues for r in REASONS})


# TFLOP/s on an H200 at 1.74 GHz, 2026-11-27, of 4 sequences of 4096 tokens, 2048 wide; backward with the kernels
# before and after it. Both are code for mma.sync. act's forward kernel for heads of 128 was one program of 8 warps on
# a multiprocessor. Of heads of 128, full, also what ncu said: the share of cycles that
# issue, and in which tensor cores are busy.
MEASURED = {
    ("act", "forward", 64, False): (326,), ("act", "forward", 64, True): (290,),
    ("act", "forward", 128, False): (295, 0.2815, 0.4705), ("act", "forward", 128, True): (255,),
    ("act", "backward", 64, False): (194,), ("act", "backward", 64, True): (174,),
    ("act", "backward", 128, False): (194, 0.1470, 0.3168), ("act", "backward", 128, True): (165,),
    ("act", "product", 128, False): (438,),
    ("FlashAttention-2", "forward", 64, False): (298,), ("FlashAttention-2", "forward", 64, True): (269,),
    ("FlashAttention-2", "forward", 128, False): (345, 0.4543, 0.5661), ("FlashAttention-2", "forward", 128, True): (290,),
    ("FlashAttention-2", "backward", 64, False): (258,), ("FlashAttention-2", "backward", 64, True): (227,),
    ("FlashAttention-2", "backward", 128, False): (274, 0.2616, 0.4945), ("FlashAttention-2", "backward", 128, True): (241,)}
# Its blocks (rows, columns; backward rows, keys), threads, and bytes of shared memory.
FLASH = {("forward", 64): ("64ELi128ELi128ELi4", 128, 49152), ("forward", 128): ("128ELi128ELi64ELi4", 128, 65536),
         ("backward", 64): ("64ELi128ELi128ELi8", 256, 147456), ("backward", 128): ("128ELi64ELi128ELi8", 256, 147456)}


def of_flash(nvdisasm, folder):
    """(key, Prediction) of FlashAttention-2's kernels for bf16, lengths that blocks divide, nothing else."""
    import torch
    library = pathlib.Path(torch.__file__).parent / "lib/libtorch_cuda.so"
    if not library.exists():
        print("this PyTorch has no kernels for CUDA: FlashAttention-2 is left out")
        return
    subprocess.run([pathlib.Path(nvdisasm).parent / "cuobjdump", "-arch", "sm_80", "-xelf", "all", library],
                   cwd=folder, check=True, capture_output=True)
    for cubin in sorted(folder.glob("*.cubin")):
        if b"pytorch_flash" not in cubin.read_bytes():
            continue
        for (kind, d), (blocks, threads, shared) in FLASH.items():
            for causal in (False, True):
                name = "flash_fwd_kernel" if kind == "forward" else "flash_bwd_dq_dk_dv_loop_seqk_parallel"
                flags = f"ELb0ELb{causal:d}ELb0ELb0ELb1ELb1ELb0E" + "Lb0E" * (kind == "forward")
                for p in predict(cubin, nvdisasm, shared, None, MACHINES["90"],
                                 f"{name}.*ILi{blocks}E.*bfloat16.*{flags}", threads):
                    yield ("FlashAttention-2", kind, d, causal), p


def of_act(build, nvdisasm, folder):
    """The same of act's, whose code is for sm_80, assembled for the card."""
    import kernels
    for d, causal in itertools.product((64, 128), (False, True)):
        for kind, (entry, ptx) in kernels.step_kernels(build, "sm_80", d, causal, 4096, folder, []).items():
            cubin = ptx.with_suffix(".cubin")
            kernels.run(kernels.wheel() / "ptxas", "-arch", "sm_90", ptx, "-o", cubin)
            for p in predict(cubin, nvdisasm, entry["shared_bytes"], None, MACHINES["90"]):
                yield ("act", kind, d, causal), p


def compare(o, nvdisasm):
    """Predicted beside measured; the share of pairs that are in the order that was measured."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        for key, p in itertools.chain(of_act(o.build, nvdisasm, pathlib.Path(name)),
                                      of_flash(nvdisasm, pathlib.Path(name))):
            if key in MEASURED:
                found[key] = p
    print(f"{'kernel':<42}{'programs':>9}{'issue':>8}{'ncu':>7}{'tensor':>8}{'ncu':>7}{'TFLOP/s':>9}{'measured':>9}")
    pairs = []
    for key, p in sorted(found.items(), key=lambda k: MEASURED[k[0]][0]):
        tflops, *ncu = MEASURED[key]
        own = p.flop * 132 * 1.74e-3
        who, kind, d, causal = key
        if key[:3] == ("act", "forward", 128) and p.programs != 1:
            ncu, tflops = (), "-"  # of another form
        else:
            pairs.append((tflops, own))
        issue, tensor = (f"{n:.1%}" for n in ncu) if ncu else ("", "")
        name = f"{who} {kind}" + (f" D {d} {'causal' if causal else 'full'}" if kind != "product" else "")
        print(f"{name:<42}{p.programs:>9}{p.issue:>8.1%}{issue:>7}{p.tensor:>8.1%}{tensor:>7}{own:>9.0f}{tflops:>9}")
    ordered = [(x - a) * (y - b) > 0 for (x, y), (a, b) in itertools.combinations(pairs, 2) if x != a]
    print(f"{sum(ordered) / len(ordered):.0%} of all pairs are in the order that was measured; "
          "act's kernels were measured before 2026-11-28 (--build of that time: 87%)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cubin", nargs="*")
    parser.add_argument("--nvdisasm", help="otherwise that of Triton's wheel")
    parser.add_argument("--function", help="regular expression on the function's name")
    parser.add_argument("--threads", type=int, help="of a program, where the cubin does not say")
    parser.add_argument("--shared", type=int, help="bytes of shared memory of a launch")
    parser.add_argument("--programs", type=int, help="on a multiprocessor, otherwise as many as there is room for")
    parser.add_argument("--compare", action="store_true")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--json", action="store_true")
    o = parser.parse_args()
    import kernels
    nvdisasm = o.nvdisasm or kernels.wheel() / "nvdisasm"
    if o.compare:
        return compare(o, nvdisasm)
    found = [p for c in o.cubin for p in predict(c, nvdisasm, o.shared, o.programs, None, o.function, o.threads)]
    if not found:
        sys.exit("stalls.py: no loop that multiplies by mma.sync")
    if o.json:
        print(json.dumps([dataclasses.asdict(p) for p in found], indent=1))
        return 0
    for p in found:
        print(f"{p.name}: {p.programs} programs on a multiprocessor, {p.instructions} instructions, {p.cycles:.0f} cycles "
              f"a trip, issue {p.issue:.1%}, tensor cores {p.tensor:.1%}, {p.flop:.0f} FLOP a cycle")
        print("  " + "  ".join(f"{r} {p.stalls[r]:.2f}" for r in REASONS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
