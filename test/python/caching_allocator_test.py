# SPDX-License-Identifier: Apache-2.0
"""caching_allocator_test.py BUILD [--seed N] [--count N]: the replay's allocator is PyTorch's.

PyTorch's own CUDA caching allocator is run on a card that is not there
(TorchAllocator.cpp, compiled here against the torch that is installed), and gets the same
requests as act's model of it: drawn at random. After each, bytes allocated, reserved and split off inactive, the number of retries and whether
the card is full have to be the same.
"""
import argparse
import pathlib
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20

SETTINGS = [
    "",
    "max_split_size_mb:20",
    "max_split_size_mb:32,max_non_split_rounding_mb:24",
    "max_split_size_mb:64",
    "large_segment_size_mb:24",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:8,16:4,>:2]",
    "roundup_power2_divisions:[2:8,8:2]",
    "expandable_segments:True",
    "expandable_segments:True,roundup_power2_divisions:8",
    "expandable_segments:True,large_segment_size_mb:24",
    "expandable_segments:True,max_split_size_mb:30",
    "max_split_size_mb:20,large_segment_size_mb:12",
    "per_process_memory_fraction:0.7",
    "per_process_memory_fraction:0.8,garbage_collection_threshold:0.5",
    "per_process_memory_fraction:1.0,garbage_collection_threshold:0.3",
]


def compile_torch_allocator(folder):
    """The path of the program, or why there is none."""
    site = pathlib.Path(sysconfig.get_paths()["purelib"])
    torch, cuda = site / "torch", site / "nvidia" / "cu13"
    compiler = next(filter(None, map(shutil.which, ["clang++-22", "clang++", "g++"])), None)
    if not (torch / "lib/libc10_cuda.so").exists() or not (cuda / "include/cuda.h").exists():
        return None, f"no torch with CUDA 13 in {site}"
    if not compiler:
        return None, "no C++ compiler"
    program = folder / "TorchAllocator"
    done = subprocess.run(
        [compiler, "-std=c++20", "-w", f"-I{torch}/include", f"-I{cuda}/include",
         HERE / "TorchAllocator.cpp", f"-L{torch}/lib", f"-L{cuda}/lib", "-l:libcudart.so.13",
         "-lc10_cuda", "-lc10", f"-Wl,-rpath,{torch}/lib:{cuda}/lib", "-rdynamic", "-o", program],
        capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return program, None


def draw(rng, steps):
    """Requests up to 64 MiB, many at the sizes where a rule begins."""
    lines, live = [], []
    for step in range(steps):
        if rng.random() < 0.01:
            lines.append("e")
        elif live and rng.random() < 0.47:
            lines.append(f"f {live.pop(rng.randrange(len(live)))}")
        else:
            size = rng.randint(1, 1 << rng.randint(8, 26))
            if rng.random() < 0.4:
                size = rng.choice([MIB // 2, MIB, 2 * MIB]) * rng.randint(1, 40) \
                    + rng.choice([-1, 0, 0, 1])
            lines.append(f"a {step} {size}")
            live.append(step)
    return lines


def answers(program, settings, device, trace):
    done = subprocess.run([program, settings, str(device)], input="\n".join(trace),
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} {settings} {device}: {done.stderr}")
    return done.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=6, help="traces for each setting")
    arguments = parser.parse_args()
    replay = pathlib.Path(arguments.build) / "test/lib/ReplayTrace"
    rng = random.Random(arguments.seed)
    seen = full = retried = 0
    with tempfile.TemporaryDirectory() as folder:
        torch, why = compile_torch_allocator(pathlib.Path(folder))
        if not torch:
            print(f"skipped: {why}")
            sys.exit(77)
        for settings in SETTINGS:
            for number in range(arguments.count):
                trace = draw(rng, 600)
                device = rng.choice([150, 220, 301, 400, 64000]) * MIB
                want = answers(torch, settings, device, trace)
                have = answers(replay, settings, device, trace)
                for at, line in enumerate(trace):
                    if at >= len(have) or want[at] != have[at]:
                        sys.exit(f"'{settings}', {device} bytes, request {at}, '{line}': expected "
                                 f"{want[at]}, found {have[at:at + 1]} (seed {arguments.seed})")
                seen += len(trace)
                full += sum(line.startswith("full") for line in want)
                retried += int(want[-1].split()[-1])
    print(f"{seen} requests with {len(SETTINGS)} settings as in PyTorch; the card was full {full} "
          f"times, cached segments were given back {retried} times")
    if not full or not retried:
        sys.exit("expected a card that is full now and then")


if __name__ == "__main__":
    main()
