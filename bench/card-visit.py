#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All that is to be found out on a Hopper card, in one go and in a few minutes.

    build/venv/bin/python bench/card-visit.py --compile-to FOLDER [--build FOLDER] [--target sm_90a]
                                              [--ptxas FILE] [--small]
    build/venv/bin/python bench/card-visit.py --compiled FOLDER --log FILE [--build FOLDER] [--device cuda:0]
        [--parts right,times,steps,counters] [--limits right=110,times=180,steps=200,counters=90]
        [--stuck SECONDS] [--assembled] [--again] [--small]

The first compiles everything where there is no card, to artifacts as act-opt makes them:
with cubins where it finds a ptxas that is new enough, else with PTX alone, and it says so.
With --ptxas it makes them once more, with that one's machine code in place of both, if
tools/check-wgmma.py finds nothing in it; --assembled then takes these, to compare two
assemblers (in two logs). The second runs where the card is, and needs libact_runtime alone
of act. Its parts:

    right     every kernel's results against f64's, and the same bits in a second run
    times     the same kernels beside PyTorch's (cuDNN, FlashAttention, cuBLAS) and Triton's:
              attention of heads of 64, 128 and 256, full and causal, 4x4096 and 1x16384 tokens,
              forward and backward; products of 4096^3 and of Llama-3.2-1B's layers
    steps     a training step of four layers of Llama-3.2-1B, and of the whole model, beside
              PyTorch eager, with torch.compile and with Liger
    counters  what ncu counts of those that are furthest from their goals, and of their peers:
              the tensor cores' share of the time, and what warps wait for

They are bench/card.py's and bench/card-steps.py's, which may also run alone. Each result is
in the log as soon as there is one. A part ends at its limit, in seconds, and what says
nothing for --stuck seconds (60; 120 for steps), or crashes, is stopped, noted as failed and
passed over. The same command goes on where the log ends; --again also tries what failed.
Steps are timed by the host, kernels by events. At the end, and with --parts= alone, the
log's results are printed beside the goals, and what was left out. A ratio says how many
times as fast act is as the fastest peer, and backward also as the fastest with the same
bits each time.

With --target sm_80 (both times), act's code for Ampere runs on the Hopper card, and is to be
as fast as FlashAttention-2, whose code PyTorch has for sm_80 alone: forward, and backward
where that gives the same bits, too. To see what a change brought, compile at both commits,
and run both in one visit, with a log each; --only attention leaves out the rest.

--small is for a simulator's device, which runs all of it but the peers and ncu
(--device sim:sm_90a --small).
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

from artifacts import read_artifact, write_artifact
from card import Linear, all_works, sees_card
from results import Results

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
LIMITS = {"right": 110, "times": 180, "steps": 200, "counters": 90}
STEPS = {"four-layers": ["--layers", 4], "llama-3.2-1b": ["--model", ROOT / "examples/models/llama-3.2-1b.json"]}
POLICIES = ["--policies", "none,selective"]
COUNTED = 3
METRICS = ("gpu__time_duration.sum,launch__registers_per_thread,sm__inst_issued.avg.pct_of_peak_sustained_active,"
           "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active,smsp__inst_executed.sum,"
           r"regex:smsp__average_warps_issue_stalled_.*_per_issue_active\.ratio")
# How many times as fast as the fastest peer, and as the fastest that gives the same bits.
FORWARD, BACKWARD, SAME_BITS, SQUARE, LAYER, STEP = 1.05, 1.00, 1.08, 1.05, 1.00, 1 / 0.85
OLDER = 1.00  # forward, and backward with the same bits: of FlashAttention-2, on code for sm_80
ROW = "{:<44}{:>10}  {:<34}{:>10}{:>8}{:>7}  {}"


def python(script, *arguments):
    return [sys.executable, HERE / script, *arguments]


def nvdisasm():
    import triton
    return pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/nvdisasm"


def assemble(made, file, target, ptxas):
    """Writes the artifact `made` with machine code alone; as it is where that is not to be trusted."""
    step = read_artifact(made)
    text, cubin = file.with_suffix(".ptx"), file.with_suffix(".cubin")
    text.write_bytes(bytes(step["code"]))
    for command in ([ptxas, "-arch", target, text, "-o", cubin],
                    [*python(ROOT / "tools/check-wgmma.py"), "--nvdisasm", nvdisasm(), cubin]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode:
            print(f"{made.name} stays as it is: {(done.stderr or done.stdout).strip().splitlines()[:1]}")
            shutil.copy(made, file)
            break
    else:
        step["code"] = list(cubin.read_bytes())
        for part in (step, *step["kernels"]):
            for name in ("images", "image_offset", "image_bytes"):
                part.pop(name, None)
        write_artifact(step, file)
    text.unlink()
    cubin.unlink(missing_ok=True)


def compile_all(o):
    own = ["--build", o.build, "--target", o.target] + ["--small"] * o.small
    folder = o.compile_to / "made"
    commands = [python("card.py", *own, "--all", "--compile-to", folder / "kernels")]
    commands += [python("card-steps.py", *own, *which, *POLICIES, "--compile-to", folder / name)
                 for name, which in STEPS.items()]
    for command in commands:
        subprocess.run(list(map(str, command)), check=True)
    made = sorted(folder.rglob("*.act"))
    without = sum(b"\x7fELF" not in file.read_bytes() for file in made)
    print(f"{len(made)} artifacts, {without} of them without cubins")
    for file in (*made, *folder.rglob("index.json")) if o.ptxas else ():
        to = o.compile_to / "assembled" / file.relative_to(folder)
        to.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".act":
            assemble(file, to, o.target, o.ptxas)
        else:
            shutil.copy(file, to)
    return 0


def stop(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def work(command, o, end, stuck):
    """Runs a command that adds to the log, again after what failed, until it ends or the time does."""
    while time.monotonic() < end:
        known = len(Results(o.log).lines)
        process = subprocess.Popen(list(map(str, [*command, "--log", o.log])), start_new_session=True)
        size, heard, why = -1, time.monotonic(), None
        try:
            while process.poll() is None and not why:
                time.sleep(0.1)
                now, grown = time.monotonic(), o.log.stat().st_size if o.log.exists() else 0
                if grown != size:
                    size, heard = grown, now
                if now > end:
                    break
                if now > heard + stuck:
                    why = f"nothing for {stuck:.0f} s"
        finally:
            over = process.poll() is None and not why
            stop(process)
        if over:
            break
        why = why or f"exit status {process.returncode}"
        results = Results(o.log)
        new = {line["unit"] for line in results.lines[known:]}
        failed = [unit for unit in results.begun() if unit in new]
        for unit in failed:
            results.add(unit, "failed", why=why)
            print(f"{unit} FAILED: {why}", flush=True)
        if not failed:
            if process.returncode and not new:
                results.add(pathlib.Path(command[1]).name, "skipped", why=f"it did nothing, {why}")
            return
    print("the part's time is over", flush=True)


def counters(o, folder, end, common):
    """ncu's counters of the works furthest from their goals."""
    results, ncu = Results(o.log), shutil.which("ncu")
    if not ncu or not o.device.startswith("cuda"):
        return results.add("counters", "skipped", why="ncu is not in PATH" if not ncu else "no card")
    timed = {w.name: min((r / goal for _, _, _, r, goal in ratios(results, f"times {w.name}")), default=9)
             for w in all_works(o)}
    for name in sorted(timed, key=timed.get)[:COUNTED]:
        unit, left = f"counters {name}", end - time.monotonic()
        if left < 10 or not results.take(unit):
            continue
        command = [ncu, "--profile-from-start", "off", "--clock-control", "none", "--csv", "--page", "raw"]
        script = python("card.py", *common, "--all", "--profile", "--only", f"^{name}$", "--compiled",
                        folder / "kernels")
        for what in (["--metrics", METRICS], ["--section", "SpeedOfLight", "--section", "WarpStateStats"]):
            process = subprocess.Popen(list(map(str, command + what + script)), stdout=subprocess.PIPE, text=True,
                                       start_new_session=True)
            try:
                said = process.communicate(timeout=max(min(left, end - time.monotonic()), 1))[0]
            except subprocess.TimeoutExpired:
                stop(process)
                results.add(unit, "failed", why="out of time")
                break
            if process.returncode == 0:
                results.add(unit, "row", csv=said)
                results.add(unit, "done")
                print(said, flush=True)
                break
        else:
            results.add(unit, "failed", why=said.strip()[-300:])


def ratios(results, unit):
    """(label, act's ms, the peer, how many times as fast act is, the goal) of what the unit timed."""
    older = any(line.get("target", "").startswith("sm_8") for line in results.of("machine", "row"))
    rows, made = {}, []
    for line in results.of(unit, "row"):
        rows.setdefault(line["label"], {})[line["who"]] = line["ms"]
    for label, ms in rows.items():
        act = ms.get("act")
        peers = {who: taken for who, taken in ms.items() if who != "act"}
        wanted = [(peers, BACKWARD if "backward" in label else FORWARD if "attention" in label else
                   SQUARE if unit.removeprefix("times linear-") in Linear.KINDS else LAYER)]
        if older and "attention" in label:
            flash = {who: taken for who, taken in peers.items() if "FlashAttention" in who}
            same = {who: taken for who, taken in flash.items() if "same bits" in who}
            wanted = [(same if "backward" in label else flash, OLDER)]
        elif "backward" in label:
            wanted.append(({who: taken for who, taken in peers.items() if "same bits" in who}, SAME_BITS))
        for of, goal in wanted:
            if act and of:
                who = min(of, key=of.get)
                made.append((label, act, who, of[who] / act, goal))
    return made


def show(results):
    """The log's results beside the goals, and what is not in it."""
    print("\n" + ROW.format("", "act, ms", "beside", "ms", "ratio", "goal", ""))
    steps, missed = {}, 0
    for unit in results.units():
        wrong = any(not l["right"] for l in results.of(unit.replace("times ", "right ", 1), "done") if "right" in l)
        if unit.startswith("times "):
            made = ratios(results, unit)
            for label, act, who, ratio, goal in made:
                verdict = "WRONG RESULTS" if wrong else "" if ratio >= goal else "missed"
                missed += verdict != ""
                print(ROW.format(label, f"{act:.3f}", who, f"{act * ratio:.3f}", f"{ratio:.3f}", f"{goal:.2f}",
                                 verdict))
            for line in results.of(unit, "row") if not made else ():
                print(ROW.format(line["label"], f"{line['ms']:.3f}", "no peer", "-", "-", "-", "WRONG RESULTS" * wrong))
        for line in results.of(unit, "row") if unit.startswith("step ") else ():
            steps.setdefault(line["label"], {})[line["who"]] = line
    for label, rows in steps.items():
        own = {who: l["ms"] for who, l in rows.items() if who.startswith("act")}
        peers = {who: l["ms"] for who, l in rows.items() if not who.startswith("act")}
        who = min(peers, key=peers.get, default="no peer")
        for policy, taken in own.items():
            beside = [f"{peers[who]:.3f}", f"{peers[who] / taken:.3f}"] if peers else ["-", "-"]
            verdict = "missed" * bool(peers and peers[who] / taken < STEP)
            missed += verdict != ""
            print(ROW.format(f"{label} {policy.removeprefix('act ')}", f"{taken:.3f}", who, *beside, f"{STEP:.2f}",
                             verdict))
    right = [l for u in results.units() if u.startswith("right ") for l in results.of(u, "done")]
    worst = max((e for l in right for e in l["errors"].values()), default=0)
    print(f"right: {sum(l['right'] for l in right)} of {len(right)}, the worst relative error {worst:.4f}; "
          f"goals missed: {missed}")
    for unit in results.units():
        for state in ("failed", "skipped"):
            for line in results.of(unit, state)[-1:]:
                print(f"{state}: {unit}: {line['why']}")
    for unit in results.begun():
        print(f"cut off: {unit}")
    if not any(l.get("peers") for u in results.units() for l in results.of(u, "done")):
        print("skipped: all peers: no card, or PyTorch sees none")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--ptxas", type=pathlib.Path)
    parser.add_argument("--compile-to", type=pathlib.Path)
    parser.add_argument("--compiled", type=pathlib.Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--log", type=pathlib.Path)
    parser.add_argument("--parts", default=",".join(LIMITS))
    parser.add_argument("--limits", default="")
    parser.add_argument("--stuck", type=float)
    parser.add_argument("--only", default="", help="kernels whose name matches this")
    parser.add_argument("--assembled", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--small", action="store_true")
    o = parser.parse_args()
    o.all = True
    if o.compile_to:
        return compile_all(o)
    if not o.log or (o.parts and not o.compiled):
        parser.error("--compile-to, or --compiled and --log")
    limits = LIMITS | {part: float(seconds) for part, _, seconds in
                       (l.partition("=") for l in o.limits.split(",") if l)}
    results = Results(o.log)
    if o.again:
        failed = {unit for unit in results.units() if results.of(unit, "failed")}
        o.log.write_text("".join(json.dumps(line) + "\n" for line in results.lines if line["unit"] not in failed))
        results = Results(o.log)
    folder = o.compiled and o.compiled / ("assembled" if o.assembled else "made")
    if o.parts:
        results.add("machine", "row", target=o.target)
    if o.parts and shutil.which("nvidia-smi"):
        query = "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit"
        said = subprocess.run(["nvidia-smi", query, "--format=csv,noheader"], capture_output=True, text=True).stdout
        results.add("machine", "row", says=said.strip())
        print(said.strip())
    common = ["--build", o.build, "--device", o.device] + ["--small"] * o.small
    kernels = python("card.py", *common, "--all", "--no-older", "--only", o.only)
    for part in filter(None, o.parts.split(",")):
        start = time.monotonic()
        end = start + limits[part]
        print(f"\n=== {part}, {limits[part]:.0f} s at most", flush=True)
        if part in ("right", "times"):
            work([*kernels, "--what", part, "--compiled", folder / "kernels"], o, end, o.stuck or 60)
        elif part == "steps":
            # The quickest first; Liger in a process of its own, since it changes PyTorch's classes.
            for peer in ("eager", "compile", "liger") if sees_card(o.device) else ("eager",):
                for name, which in STEPS.items():
                    work(python("card-steps.py", *common, *which, *POLICIES, "--peers", peer, "--compiled",
                                folder / name), o, end, o.stuck or 120)
        else:
            counters(o, folder, end, common)
        print(f"=== {part} took {time.monotonic() - start:.0f} s", flush=True)
    show(Results(o.log))
    return 0


if __name__ == "__main__":
    sys.exit(main())
