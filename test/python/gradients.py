# SPDX-License-Identifier: Apache-2.0
"""gradients.py BUILD [NAME...] [--every N]: the gradient of every op that has one, with every
option, against central differences in f64 (see central_differences.py). A case that
does not compile or run has failed.

An op of a case is there twice: on parameters themselves, whose gradients go straight
into their buffers, and on values computed from them that are used elsewhere too.

The check bites: one element changed by 1e-5 of the largest is noticed, in every
tensor. What has no gradient is refused. Modules with repeated layers give the same
bytes under every policy. What --fuse-attention makes of a program (gradient_fused.py)
has the loss and the gradients of the program.

--every N: of the cases of an op, which are named after it, every Nth."""
import argparse
import fnmatch
import pathlib
import subprocess
import sys
import time

import numpy as np

import gradient_attention
import gradient_fused
import gradient_models
import gradient_ops
from actrt import Runtime
from central_differences import Compiler, Differences, Evaluation, Program, seed_of
from sample import every

POLICIES = ["none", "layer", "sqrt", "segments=2", "attention", "attention-core", "selective"]


def check_case(runtime, compiler, name, write):
    """Problems, and the worst difference."""
    program = Program(seed_of(name))
    write(program)
    evaluation = Evaluation(runtime, compiler.compile(name, program.text()), program)
    differences, gradients = Differences(evaluation, program), evaluation.gradients()
    problems, worst = differences.judge(gradients)
    problems += check_bites(differences, program, gradients)
    if "dropout" not in program.text():
        problems += check_eval(evaluation, program)
    if "act.repeat" in program.text():
        problems += check_policies(runtime, compiler, name, program, evaluation)
    evaluation.step.release()
    return problems, worst


def check_bites(differences, program, gradients):
    """Every tensor's gradient, wrong in one element, is noticed; in a large tensor,
    in any one of those that are looked at."""
    problems = []
    for name, g in gradients.items():
        top = np.abs(g).max()
        if (top == 0) != (name in program.zero):
            problems.append(f"{name}: the gradient is {'' if top == 0 else 'not '}zero")
        if top == 0:
            continue
        places, _ = differences.elements[name]
        wrong = np.array(g)
        wrong.flat[places[0]] += 10 * (program.tolerance * top + differences.floor)
        if not differences.judge({**gradients, name: wrong})[0]:
            problems.append(f"{name}: a wrong gradient is not noticed")
    return problems


def check_eval(evaluation, program):
    """The loss of the step is that of the forward pass alone."""
    out = evaluation.step.bind("eval", program.inputs)
    evaluation.step.run("eval")
    (found,) = (float(v) for v in out.values())
    expected = evaluation.loss()
    if abs(found - expected) > 1e-12 * (1 + abs(expected)):
        return [f"loss of @forward: expected {expected!r} as in @step, found {found!r}"]
    return []


def check_policies(runtime, compiler, name, program, evaluation):
    expected = {n: g.tobytes() for n, g in evaluation.gradients().items()}
    loss, problems = evaluation.loss(), []
    for policy in POLICIES:
        if policy in ("segments=2", "sqrt") and program.layers < 2:
            continue
        tag = f"{name}-{policy.replace('=', '-')}"
        try:
            artifact = compiler.compile(tag, program.text(), f"--remat={policy}")
            other = Evaluation(runtime, artifact, program)
        except (RuntimeError, AssertionError) as error:
            problems.append(f"--remat={policy}: {error}")
            continue
        found = other.gradients()
        for n, g in found.items():
            if g.tobytes() != expected[n]:
                problems.append(f"--remat={policy}: gradient of {n} has other bytes")
        if other.loss() != loss:
            problems.append(f"--remat={policy}: the loss differs")
        other.step.release()
    return problems


def check_refused(compiler, name, write, message):
    program = Program(seed_of(name))
    write(program)
    try:
        compiler.compile(name, program.text())
    except RuntimeError as error:
        return [] if message in str(error) else [f"expected {message!r}, found {error}"]
    return [f"expected {message!r}, but it compiles"]


def check_fused(runtime, compiler, name, write, fuses):
    """Problems, and the worst difference between fused and not."""
    program = Program(seed_of(name))
    program.fused_tolerance = 1e-10
    write(program)
    plain = Evaluation(runtime, compiler.compile(name, program.text()), program)
    artifact = compiler.compile(f"{name}-fused", program.text(), "--fuse-attention")
    fused = Evaluation(runtime, artifact, program)
    ir = subprocess.run([compiler.tool, compiler.work / f"{name}.mlir", "--fuse-attention"],
                        capture_output=True, text=True, check=True).stdout
    left = [op for op in ("act.attention", "act.softmax") if op in ir]
    expected = ["act.attention"] if fuses else ["act.softmax"]
    problems = [] if left == expected else [f"expected {expected} after fusing, found {left}"]
    gradients, loss = fused.gradients(), plain.loss()
    errors = {"the loss": abs(fused.loss() - loss) / (1 + abs(loss))}
    for n, g in plain.gradients().items():
        errors[n] = np.abs(gradients[n] - g).max() / max(np.abs(g).max(), 1e-3)
        if not np.abs(g).max() > 0:
            problems.append(f"{n}: no gradient")
    problems += [f"{n} differs by {e:.1e}" for n, e in errors.items()
                 if not e <= program.fused_tolerance]
    for evaluation in (plain, fused):
        evaluation.step.release()
    return problems, max(errors.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    names = options.names
    runtime = Runtime(options.build / "lib/libact_runtime.so")
    compiler = Compiler(options.build, options.build / "test/python/gradients")
    cases = {**gradient_ops.CASES, **gradient_models.CASES, **gradient_models.REFUSED}
    spellings = {f"fused-{n}": (w, fuses) for fuses, programs in
                 ((True, gradient_fused.FUSES), (False, gradient_fused.ALONE))
                 for n, w in programs.items()}
    cases |= spellings
    if names:
        cases = {c: w for c, w in cases.items() if any(fnmatch.fnmatch(c, n) for n in names)}
        if not cases:
            sys.exit(f"no case is called {' or '.join(names)}")
    cases = {c: cases[c] for c in every(cases, options.every, lambda c: c.split("-")[0])}
    failed = []
    for name, write in cases.items():
        start = time.monotonic()
        try:
            if name in spellings:
                problems, worst = check_fused(runtime, compiler, name, *write)
            elif isinstance(write, tuple):
                problems, worst = check_refused(compiler, name, *write), 0.0
            else:
                problems, worst = check_case(runtime, compiler, name, write)
        except (RuntimeError, AssertionError) as error:
            problems, worst = [str(error)], float("nan")
        seconds = time.monotonic() - start
        refused = isinstance(write, tuple) and name not in spellings
        result = "FAILED" if problems else "refused" if refused else f"{worst:.1e}"
        print(f"{name}: {result} ({seconds:.1f} s)", flush=True)
        for p in problems[:6]:
            print("  " + p.replace("\n", "\n  "), flush=True)
        if problems:
            failed.append(name)
    print(f"{len(cases)} cases, {len(failed)} failed: {' '.join(failed)}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
