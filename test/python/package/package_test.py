# SPDX-License-Identifier: Apache-2.0
"""package_test.py BUILD: the Python package that build.py installed. Its doctests, the
symbols that its libraries export, a training step, a differentiable function, and
bad input of each kind, which is an exception of act and never an abort."""
import doctest
import importlib
import inspect
import pathlib
import random
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
site = build / "python" / "site"
sys.path.insert(0, str(site))

import numpy as np  # noqa: E402

import act  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
TINY = {"model_type": "llama", "hidden_size": 32, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 64}
failures = 0


def check(what, ok):
    global failures
    failures += not ok
    print(("ok  " if ok else "BAD ") + what)


def refuses(what, kind, text, call):
    try:
        call()
    except act.Error as error:
        check(f"{what}: {kind.__name__}", isinstance(error, kind) and text in str(error))
        if not (isinstance(error, kind) and text in str(error)):
            print(f"    {type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001
        check(f"{what}: {type(error).__name__} is no act.Error: {error}", False)
    else:
        check(f"{what}: was not refused", False)


def doctests():
    for name in ("act", "act.compiler", "act.device", "act.kernel", "act.step",
                 "act.report", "act.errors", "act.tile"):
        result = doctest.testmod(importlib.import_module(name))
        check(f"doctests of {name}: {result.attempted}", not result.failed)


def exports():
    for library, prefixes in (("libact_compiler.so.0", ("actc_",)),
                              ("libact_runtime.so.0", ("actrt_", "mgpu"))):
        lines = subprocess.run(["nm", "-D", "--defined-only", site / "act" / library],
                               check=True, capture_output=True, text=True).stdout
        names = [line.split()[-1] for line in lines.splitlines()]
        others = [n for n in names if not n.startswith(prefixes)]
        check(f"{library} exports {len(names)} functions of its C API alone",
              names and not others)
    check("there are type stubs", (site / "act" / "_act.pyi").exists()
          and (site / "act" / "py.typed").exists())


def annotated():
    """Whatever is public says what it takes and returns, for type checkers."""
    missing, seen = [], 0
    for module in (act, act.tile):
        for name in module.__all__:
            public = getattr(module, name)
            members = {name: public} if inspect.isfunction(public) else {
                f"{name}.{k}": v for k, v in vars(public).items()
                if inspect.isclass(public) and public.__module__.startswith("act.")
                and (not k.startswith("_") or k in ("__init__", "__call__"))}
            for where, member in members.items():
                member = member.fget if isinstance(member, property) else member
                member = getattr(member, "__func__", member)
                if not inspect.isfunction(member) or member.__name__ == "<lambda>":
                    continue
                seen += 1
                signature = inspect.signature(member)
                if signature.return_annotation is signature.empty or any(
                        p.annotation is p.empty for n, p in signature.parameters.items()
                        if n not in ("self", "cls")):
                    missing.append(where)
    check(f"{seen} public functions are annotated, but not {missing}", seen > 100 and not missing)


def training():
    m = act.import_config(TINY, batch=2, seq=8)
    m.run(fuse_attention=True, remat="layer", optimizer="adamw")
    step = act.Device("host").load(m.emit())
    step.initialise(seed=1)
    tokens = np.arange(16, dtype=np.int32).reshape(2, 8) % 64
    losses = []
    for i in range(1, 9):
        out = step.run("step", inputs={"tokens": tokens, "labels": tokens},
                       scalars={"lr": 1e-2, "step": i})
        losses.append(float(out["loss"]))
    check(f"eight steps: loss {losses[0]:.3f} to {losses[-1]:.3f}",
          losses[-1] < losses[0] / 2)
    report = m.report()
    check("the report's arena is the step's",
          report.arena_bytes == step.statistics()["arena_bytes"])
    check("the step has the report, too", step.report["arena_bytes"] == report["arena_bytes"])
    name = "model.norm.weight"
    step.set(name, np.full(32, 0.5, np.float32))
    check("parameters are set and read", (step.get(name) == 0.5).all())
    again = act.Module.parse(m.bytecode)
    check("a module goes through bytecode", again.text == act.Module.parse(m.text).text)


FUNCTION = """
module @f {
  act.parameter @w "w" : tensor<4x3xf32>
  func.func @forward(%x: tensor<5x3xf32> {act.name = "x", act.requires_grad},
                     %u: tensor<5x4xf32> {act.name = "u"})
      -> (tensor<5x4xf32> {act.name = "y"}, tensor<4x5xf32> {act.name = "t"},
          tensor<5x3xf32> {act.name = "same"},
          tensor<5x4xf32> {act.name = "next", act.updates = "u"})
      attributes {act.differentiable} {
    %w = act.param @w : tensor<4x3xf32>
    %z = act.linear %x, %w : (tensor<5x3xf32>, tensor<4x3xf32>) -> tensor<5x4xf32>
    %y = act.tanh %z : tensor<5x4xf32>
    %t = act.transpose %y [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>
    %n = act.add %u, %y : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    return %y, %t, %x, %n
      : tensor<5x4xf32>, tensor<4x5xf32>, tensor<5x3xf32>, tensor<5x4xf32>
  }
}"""


def function():
    """Forward and backward of a function, apart, on memory of the caller's."""
    rng = np.random.default_rng(0)
    x, w, u = (rng.standard_normal(s, np.float32) for s in ((5, 3), (4, 3), (5, 4)))
    dy, dt, ds = (rng.standard_normal(s, np.float32) for s in ((5, 4), (4, 5), (5, 3)))
    y = np.tanh(x @ w.T)
    dz = (dy + dt.T) * (1 - y * y)
    for name, options in (("host", {}), ("sim:sm_80", {"target": "sm_80"})):
        m = act.Module.parse(FUNCTION).run("--autodiff")
        step = act.Device(name).load(m.emit(**options), bind_tensors=True)
        ports = {p.name: p for p in step.outputs("grad")}
        check(f"{name}: what is used in backward, what updates what",
              [n for n, p in ports.items() if p.backward] == ["x.grad"]
              and ports["next"].updates == "u")
        refuses(f"{name}: backward before forward", act.DeviceError,
                "does not follow its forward", step.backward)
        refuses(f"{name}: nothing is bound", act.DeviceError, "is not bound", step.forward)
        refuses(f"{name}: values of bound parameters", act.DeviceError, "bound memory",
                lambda s=step: s.initialise())
        got = {n: np.empty(p.shape, np.float32) for n, p in ports.items()}
        dw = np.ones((4, 3), np.float32)  # gradients are added
        step.bind_parameter("w", w)
        step.bind_state("w.grad", dw)
        for port, array in {"x": x, "u": u, "y.grad": dy, "t.grad": dt, "same.grad": ds}.items():
            step.bind_input("grad", port, array)
        for port, array in got.items():
            step.bind_output("grad", port, array)
        step.forward()
        step.backward()
        want = {"y": y, "t": y.T, "same": x, "next": u + y, "x.grad": dz @ w + ds}
        check(f"{name}: values and gradients", np.allclose(dw, 1 + dz.T @ x, atol=1e-5)
              and all(np.allclose(got[n], v, atol=1e-5) for n, v in want.items()))
        refuses(f"{name}: backward twice", act.DeviceError, "does not follow its forward",
                step.backward)


def bad_input():
    refuses("text that is no module", act.CompileError, "error",
            lambda: act.Module.parse("func.func @f("))
    refuses("an op of no known dialect", act.CompileError, "other.op",
            lambda: act.Module.parse('"other.op"() : () -> ()'))
    refuses("a torch op that is not known", act.CompileError, "torch.aten.cholesky",
            lambda: act.Module.parse("""func.func @forward(%x: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32> {
              %0 = "torch.aten.cholesky"(%x) : (!torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,4],f32>
              return %0 : !torch.vtensor<[4,4],f32>
            }""").run(raise_to_act=True))
    refuses("bytes that are no bytecode", act.CompileError, "",
            lambda: act.Module.parse(b"ML\xefR\x01\x02\x03garbage"))
    refuses("a config without a type", act.CompileError, "model_type",
            lambda: act.import_config({"hidden_size": 3}))
    m = act.import_config(TINY, batch=1, seq=8)
    refuses("an unknown flag", act.CompileError, "no-such-pass",
            lambda: m.run("--no-such-pass"))
    refuses("an unknown policy", act.CompileError, "polic", lambda: m.run(remat="nothing"))
    refuses("an unknown target", act.CompileError, "sm_1", lambda: m.emit(target="sm_1"))
    refuses("an artifact that is none", act.DeviceError, "",
            lambda: act.Device("host").load(b"x" * 100))
    refuses("an unknown device", act.DeviceError, "abacus", lambda: act.Device("abacus"))
    step = act.Device("host").load(m.run(optimizer="sgd").emit())
    refuses("an unknown port", act.DeviceError, "nothing",
            lambda: step.bind_input("step", "nothing", np.zeros(3, np.float32)))
    refuses("an array of another shape", act.DeviceError, "tokens",
            lambda: step.bind_input("step", "tokens", np.zeros((1, 9), np.int32)))
    refuses("an unknown parameter", act.DeviceError, "w.w", lambda: step.get("w.w"))
    # The same artifact with bytes changed: refused or run, but the process lives.
    # Of a GPU's artifact: that of a host holds native code, which is trusted.
    artifact, rng, refused = bytearray(m.emit(target="sm_80")), random.Random(1), 0
    sim = act.Device("sim:sm_80")
    for _ in range(200):
        other = bytearray(artifact)
        for _ in range(rng.randint(1, 4)):
            other[rng.randrange(min(len(other), 4000))] = rng.randrange(256)
        try:
            sim.load(bytes(other))
        except act.DeviceError:
            refused += 1
    check(f"200 artifacts with changed bytes: {refused} refused", refused > 100)
    text, refused = m.clone().text, 0
    for _ in range(100):
        cut = rng.randrange(len(text))
        try:
            act.Module.parse(text[:cut] + rng.choice("(){}<>%@x0") + text[cut + rng.randint(0, 3):])
        except act.CompileError:
            refused += 1
    check(f"100 texts with changed characters: {refused} refused", refused > 50)


for part in (doctests, exports, annotated, training, function, bad_input):
    part()
print(f"{failures} failures")
sys.exit(failures > 0)
