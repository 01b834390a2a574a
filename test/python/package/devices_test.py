# SPDX-License-Identifier: Apache-2.0
"""devices_test.py BUILD: devices, memory, streams, code and launches from Python, on the
host and on simulators: tensor maps that the compiler asks for and that a caller makes,
arguments of each type, variables, copies and events, arrays without a copy. Whatever is
wrong is an exception of act."""
import pathlib
import random
import sys

build = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(build / "python" / "site"))

import numpy as np  # noqa: E402
import torch  # noqa: E402

import act  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
COPIES = (ROOT / "test/runtime/sim/kernels/cuda/tma.sm_90a.ptx").read_text()
failures = 0


def check(what, ok):
    global failures
    failures += not ok
    print(("ok  " if ok else "BAD ") + what)


def refuses(what, text, call):
    try:
        call()
    except act.Error as error:
        check(f"{what}: {str(error)[:100]}", text in str(error))
    else:
        check(f"{what}: was not refused", False)


def maps_of_the_compiler():
    """A kernel for Hopper: its tensor maps are made from its arguments."""
    sim = act.Device("sim:sm_90a")
    kernel = sim.kernels(act.Module.load(
        ROOT / "examples/10-tile-kernels/matmul-hopper.mlir"))["matmul"]
    check("the kernel asks for tensor maps", len(kernel.entry["tensor_maps"]) == 3)
    torch.manual_seed(0)
    x, w = (torch.randn(s, dtype=torch.bfloat16) for s in ((300, 192), (192, 480)))
    y = sim.zeros((300, 480), "bf16")
    kernel(sim.array(x), sim.array(w), y)
    want = x.float() @ w.float()
    check("its values on the simulator", torch.allclose(
        torch.from_dlpack(y).float(), want, atol=0.3, rtol=0.02))
    # The same maps, made by the caller.
    again, given = sim.zeros((300, 480), "bf16"), [sim.array(x), sim.array(w)]
    made = []
    for m in kernel.entry["tensor_maps"]:
        made.append(act.TensorMap(
            (*given, again)[m["argument"]], m["box"][::-1], shape=m["sizes"][::-1],
            strides=m["strides"][:0:-1], swizzle=m["swizzle"], l2_promotion=256))
    kernel.launch(kernel.entry["grid"], *given, again, *made)
    check("the same with maps of the caller", torch.equal(
        torch.from_dlpack(again), torch.from_dlpack(y)))
    refuses("a buffer that is too small", "argument 0", lambda: kernel(
        sim.zeros((100, 192), "bf16"), given[1], again))
    refuses("a number where memory is expected", "expected memory",
            lambda: kernel(given[0], given[1], 3.0))
    refuses("an argument too few", "takes 3 arguments, got 2", lambda: kernel(*given))


def copied(sim, kernel, tensor_map, places, count, dtype):
    """What a kernel copies through the map, as it lies in shared memory."""
    out = sim.zeros(count, dtype)
    width = out.bytes // count
    kernel.launch(1, tensor_map, out, count * width, *places, block=32,
                  shared=1024 + count * width)
    return out.numpy()


def maps_of_the_caller():
    sim = act.Device("sim:sm_90a")
    x = np.arange(24 * 32, dtype=np.float32).reshape(24, 32)
    b = sim.array(x)
    load = sim.kernel(COPIES, "load2")
    got = copied(sim, load, act.TensorMap(b, (4, 8)), (16, 3, 0, 0, 0), 32, "f32")
    check("a box of a matrix", (got.reshape(4, 8) == x[3:7, 16:24]).all())
    got = copied(sim, load, act.TensorMap(b, (4, 8), offset=32, shape=(12, 16), strides=(256,)),
                 (4, 5, 0, 0, 0), 32, "f32")
    check("every other row, from an offset", (got.reshape(4, 8) == x[10:18:2, 12:20]).all())
    got = copied(sim, load, act.TensorMap(b, (4, 8), element_strides=(2, 1)),
                 (0, 0, 0, 0, 0), 16, "f32")
    check("every other row, by steps", (got.reshape(2, 8) == x[0:4:2, :8]).all())
    got = copied(sim, load, act.TensorMap(b, (4, 8), fill="nan"), (28, 22, 0, 0, 0), 32, "f32")
    want = np.full((4, 8), np.nan, np.float32)
    want[:2, :4] = x[22:, 28:]
    check("outside is NaN", np.array_equal(got.reshape(4, 8), want, equal_nan=True))
    got = copied(sim, load, act.TensorMap(b, (8, 32), swizzle=128), (0, 0, 0, 0, 0), 256, "f32")
    rows = got.reshape(8, 8, 4)  # 16-byte pieces of rows of 128 bytes
    check("swizzled rows", all((rows[r, c ^ r].ravel() == x[r, 4 * c:4 * c + 4]).all()
                               for r in range(8) for c in range(8)))
    five = np.arange(2 * 3 * 4 * 5 * 8, dtype=np.int32).reshape(2, 3, 4, 5, 8)
    got = copied(sim, sim.kernel(COPIES, "load5"),
                 act.TensorMap(sim.array(five), (1, 2, 2, 1, 4)), (4, 2, 1, 1, 1), 16, "i32")
    check("five dimensions", (got.reshape(1, 2, 2, 1, 4) == five[1:, 1:, 1:3, 2:3, 4:]).all())
    m = act.TensorMap(b, (4, 8))
    check(f"a map is 128 bytes: {m}", len(bytes(m)) == 128)
    refuses("a map on the host", "no tensor maps",
            lambda: act.TensorMap(act.Device("host").zeros((8, 8)), (4, 8)))
    refuses("a box of three dimensions", "2 numbers in box", lambda: act.TensorMap(b, (1, 4, 8)))
    refuses("a box that is too long", "256", lambda: act.TensorMap(b, (4, 512)))
    refuses("beyond the buffer", "reads 3200 bytes of a buffer that has 3072",
            lambda: act.TensorMap(b, (4, 8), shape=(25, 32)))
    refuses("an unknown swizzle", "0, 32, 64, 128", lambda: act.TensorMap(b, (4, 8), swizzle=3))
    refuses("an unknown type", "tf32", lambda: act.TensorMap(b, (4, 8), dtype="f31"))
    refuses("a negative size", "at least 0", lambda: act.TensorMap(b, (4, -8)))
    # Whatever the numbers are: a map, or an exception of act.
    rng, made, refused = random.Random(1), 0, 0
    wild = (0, 3, 512, 1 << 20, 1 << 33, -1)

    def few(n, usual, odds=0.05):
        return [rng.choice(wild if rng.random() < odds else usual) for _ in range(n)]

    for _ in range(500):
        rank = rng.choice((0, 1, 2, 2, 2, 3, 5, 6))
        try:
            act.TensorMap(b, few(rank, (4, 8)), shape=few(rank, (1, 2, 3)),
                          strides=few(max(rank - 1, 0), (16, 48, 128)),
                          offset=rng.choice((0, 0, 0, 16, 8, -16)),
                          swizzle=rng.choice((0, 32, 64, 128)),
                          interleave=rng.choice((0, 0, 0, 16, 32)),
                          fill=rng.choice(("zeros", "nan")))
            made += 1
        except act.Error:
            refused += 1
    check(f"500 maps of random numbers: {made} made, {refused} refused", made and refused > 100)


KINDS = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .b32 total[4];
.visible .entry kinds(.param .u64 .ptr .global .align 8 out, .param .s8 a, .param .u16 b,
                      .param .s32 c, .param .u64 d, .param .f32 e, .param .f64 f,
                      .param .align 4 .b8 g[8]) {
  .reg .b64 %rd<8>;
  .reg .b32 %r<4>;
  .reg .b16 %h<4>;
  .reg .f32 %f<2>;
  .reg .f64 %d<9>;
  ld.param.u64 %rd1, [out];
  ld.param.s8 %h1, [a];
  cvt.rn.f64.s16 %d1, %h1;
  st.global.f64 [%rd1], %d1;
  ld.param.u16 %h2, [b];
  cvt.rn.f64.u16 %d2, %h2;
  st.global.f64 [%rd1+8], %d2;
  ld.param.s32 %r1, [c];
  cvt.rn.f64.s32 %d3, %r1;
  st.global.f64 [%rd1+16], %d3;
  ld.param.u64 %rd2, [d];
  cvt.rn.f64.u64 %d4, %rd2;
  st.global.f64 [%rd1+24], %d4;
  ld.param.f32 %f1, [e];
  cvt.f64.f32 %d5, %f1;
  st.global.f64 [%rd1+32], %d5;
  ld.param.f64 %d6, [f];
  st.global.f64 [%rd1+40], %d6;
  ld.param.u32 %r2, [g+4];
  cvt.rn.f64.u32 %d7, %r2;
  st.global.f64 [%rd1+48], %d7;
  mov.u64 %rd3, total;
  st.global.u32 [%rd3+8], %r1;
  ret;
}
.visible .entry empty() { ret; }
"""


def arguments():
    sim = act.Device("sim:sm_80")
    code = sim.code(KINDS)
    kernel, out = code.kernel("kinds"), sim.zeros(7, "f64")
    struct = np.array([1, 7], np.int32).tobytes()
    kernel[1](out, -5, 60000, np.int64(-3), (1 << 64) - (1 << 12), 0.5, np.float32(0.25), struct,
              block=1)
    check("arguments of each type", list(out.numpy()) == [
        -5, 60000, -3, float((1 << 64) - (1 << 12)), 0.5, 0.25, 7])
    total = code.variable("total", "i32")
    check("a variable that a kernel wrote", list(total.numpy()) == [0, 0, -3, 0])
    total.write(np.array([4, 3, 2, 1], np.int32))
    check("a variable that was written", list(total.numpy()) == [4, 3, 2, 1])
    code.kernel("empty").launch((1, 1), block=(32,))
    check("what a kernel is", code.kernel("empty").about()["required_block"] == (0, 0, 0))
    good = (out, 1, 1, 1, 1, 1.0, 1.0, struct)
    for at, value, text in ((0, 3, "expected memory"), (1, 300, "an integer of 8 bits"),
                            (2, -40000, "an integer of 16 bits"), (3, 0.5, "an integer"),
                            (4, 1 << 64, "an integer of 64 bits"), (5, "x", "a float of 32 bits"),
                            (5, 1e300, "a float of 32 bits"), (7, 3, "a tensor map or bytes"),
                            (7, b"xyz", "argument 7")):
        refuses(f"argument {at} is {value!r:.20}", text, lambda: kernel.launch(
            1, *good[:at], value, *good[at + 1:], block=1))
    refuses("an argument too many", "8 arguments, got 9",
            lambda: kernel.launch(1, *good, 1, block=1))
    refuses("no size of a block", "block", lambda: kernel[1](*good))
    refuses("a grid of four dimensions", "three sizes",
            lambda: kernel.launch((1, 1, 1, 1), *good, block=1))
    refuses("a grid of nothing", "grid", lambda: kernel.launch(0, *good, block=1))
    refuses("no kernel of this name", "none", lambda: code.kernel("none"))
    refuses("no variable of this name", "none", lambda: code.variable("none", "i32"))
    refuses("a variable as another type", "nf4", lambda: code.variable("total", "nf4"))
    refuses("clusters before Hopper", "clusters",
            lambda: code.kernel("empty").launch(2, block=32, cluster=2))
    refuses("text that is no PTX", "", lambda: sim.code("hello"))


def memory():
    for name in ("host", "sim:sm_80"):
        device = act.Device(name)
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        b = device.array(x)
        seen = torch.from_dlpack(b)
        check(f"{name}: torch sees a buffer", seen.tolist() == x.tolist())
        seen[0, 0] = 9
        check(f"{name}: and writes it", b.numpy()[0, 0] == 9)
        check(f"{name}: the host's own memory is used", (x[0, 0] == 9) == (name == "host"))
        del b
        check(f"{name}: an array outlives its buffer", seen.sum().item() == 24)
        z = device.zeros((2, 3), "f32")
        z.copy(device.array(x))
        check(f"{name}: a copy on the device", (z.numpy() == x).all())
        z.fill(0xff)
        check(f"{name}: bytes are filled", np.isnan(z.numpy()).all())
        halves = device.array(torch.ones(3, dtype=torch.bfloat16))
        check(f"{name}: {halves} as a torch tensor", torch.from_dlpack(halves).tolist() == [1] * 3)
        before = device.about()
        more = device.zeros((1 << 10,), "i64")
        check(f"{name}: memory is counted",
              device.about()["current_bytes"] == before["current_bytes"] + more.bytes)
        del more
        device.reset_peak()
        check(f"{name}: and the peak anew",
              device.about()["peak_bytes"] == before["current_bytes"])
        refuses(f"{name}: NumPy has no bf16", "bf16", halves.numpy)
        refuses(f"{name}: an array of another shape", "another type",
                lambda: z.read(np.empty((3, 2), np.float32)))
        refuses(f"{name}: an array of another type", "another type",
                lambda: z.write(np.zeros((2, 3), np.int32)))
        refuses(f"{name}: a copy of other bytes", "24 bytes cannot take 6", lambda: z.copy(halves))
        refuses(f"{name}: a byte of 256", "at most 255", lambda: z.fill(256))
        refuses(f"{name}: an unknown type", "f7", lambda: device.zeros(3, "f7"))
        refuses(f"{name}: a negative shape", "at least 0", lambda: device.zeros((3, -1)))
        refuses(f"{name}: more than there is", "", lambda: device.zeros(1 << 46, "i1"))
        refuses(f"{name}: an array of complex numbers", "not a supported type",
                lambda: device.array(np.zeros(3, np.complex64)))


def arrays():
    """What has gaps, may not be written, or is no array."""
    for name in ("host", "sim:sm_80"):
        device = act.Device(name)
        whole = np.arange(8, dtype=np.float32)
        b = device.zeros(4)
        b.write(whole[::2])
        check(f"{name}: every other element is written", list(b.numpy()) == [0, 2, 4, 6])
        check(f"{name}: an array with gaps", list(device.array(whole[1::2]).numpy()) == [1, 3, 5, 7])
        refuses(f"{name}: is not read into", "without gaps", lambda: b.read(whole[::2]))
        fixed = np.frombuffer(bytes(16), np.float32)
        copy = device.array(fixed)
        copy.fill(255)
        check(f"{name}: what may not be written is copied", (fixed == 0).all())
        refuses(f"{name}: and not read into", "written", lambda: b.read(fixed))
        check(f"{name}: a copy by DLPack", not np.shares_memory(
            np.from_dlpack(b), b.numpy()) and torch.from_dlpack(b).data_ptr() == b.address)
        one = device.array(np.array(3, np.float32))
        check(f"{name}: an array of no dimensions", one.numpy() == 3)
        for what, text, call in (
                ("a list", "expected an array", lambda: device.array([1.0])),
                ("a list to read into", "expected an array", lambda: b.read([1.0])),
                ("a byte that is a word", "an integer", lambda: b.fill("a")),
                ("a shape that is a float", "expected", lambda: device.zeros(2.5)),
                ("an artifact that is a number", "file's name", lambda: device.load(123)),
                ("a negative number of threads", "threads: expected at least 0", lambda: act.Device(name, threads=-1))):
            refuses(f"{name}: {what}", text, call)
    sim = act.Device("sim:sm_80")
    kernel = sim.kernel(KINDS, "empty")
    kernel[np.int64(1)](block=np.int32(32))
    for what, text, options in (("a grid of a float", "expected", dict(grid=1.5, block=1)),
                                ("a block of nothing", "block: expected", dict(grid=1, block=0)),
                                ("a block without sizes", "one to three", dict(grid=1, block=())),
                                ("negative shared memory", "shared", dict(grid=1, block=1, shared=-1))):
        refuses(what, text, lambda o=options: kernel.launch(o.pop("grid"), **o))
    hopper = act.Device("sim:sm_90a").zeros((8, 8))
    for what, options in (("a box that is a number", dict(box=4)), ("a float", dict(box=(4.0, 8))),
                          ("a swizzle that is a list", dict(box=(4, 8), swizzle=[1])),
                          ("no dimensions", dict(box=(), shape=()))):
        refuses(what, "tensor map" if "float" not in what else "box",
                lambda o=options: act.TensorMap(hopper, **o))
    step = act.Device("host").load(act.Module.parse("""module {
      func.func @forward(%x: tensor<f32> {act.name = "x"}) -> (tensor<f32> {act.name = "y"}) {
        %y = act.gelu %x : tensor<f32>
        return %y : tensor<f32>
      }
    }""").emit(mode="infer"))
    out = step.run("forward", inputs={"x": np.array(0, np.float32)})
    check("an input of no dimensions", out["y"] == 0)
    refuses("a list as an input", "expected an array", lambda: step.bind_input("forward", "x", [1.0]))


def threads():
    """Calls wait for others without Python's lock."""
    import threading
    import time
    sim = act.Device("sim:sm_80")
    for what, call in (("a stream", sim.stream), ("memory", lambda: sim.zeros(4)),
                       ("a copy", lambda: sim.zeros(4).numpy())):
        stream = sim.stream()
        other = threading.Thread(target=lambda: stream.call(lambda: time.sleep(0.2)), daemon=True)
        other.start()
        time.sleep(0.05)
        call()
        other.join(20)
        check(f"{what} while a callback runs", not other.is_alive())


WAITS = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry waits(.param .u64 flag) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [flag];
again:
  ld.acquire.gpu.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra again;
  ret;
}
.visible .entry sets(.param .u64 flag) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
  st.release.gpu.u32 [%rd1], 1;
  ret;
}
.visible .entry races(.param .u64 p) {
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, %tid.x;
  st.global.u32 [%rd1], %r1;
  ret;
}"""


def streams():
    sim = act.Device("sim:sm_80")
    code, flag = sim.code(WAITS), sim.zeros(1, "i32")
    one, two = sim.stream(), sim.stream()
    code.kernel("waits").launch(1, flag, block=1, stream=one)
    code.kernel("sets").launch(1, flag, block=1, stream=two)
    one.synchronize()
    two.synchronize()
    check("kernels of two streams run together", flag.numpy()[0] == 1)
    flag.fill(0)
    b, values = sim.zeros(1000), np.arange(2000, dtype=np.float32)
    code.kernel("waits").launch(1, flag, block=1, stream=one)
    b.write(values[::2], one)  # a copy without gaps lives until it is read
    code.kernel("sets").launch(1, flag, block=1, stream=two)
    two.synchronize()
    one.synchronize()
    check("an array with gaps, written later", (b.numpy() == values[::2]).all())
    for name in ("host", "sim:sm_80"):
        device = act.Device(name)
        stream, other, order = device.stream(), device.stream(), []
        b, got = device.zeros(1000), np.empty(1000, np.float32)
        start = stream.record()
        b.write(np.arange(1000, dtype=np.float32), stream)
        stream.call(lambda: order.append("written"))
        end = stream.record()
        other.wait(end)
        b.read(got, other)
        other.call(lambda: order.append("read"))
        other.synchronize()
        end.synchronize()
        check(f"{name}: copies in the order of events", (got == np.arange(1000)).all()
              and order == ["written", "read"])
        check(f"{name}: time between events", start.elapsed(end) >= 0)
        del stream, other, start, end
    race, where = code.kernel("races"), sim.zeros(4, "i32")
    for stream in (None, sim.stream()):
        try:
            race.launch(1, where, block=64, stream=stream)
            if stream:
                stream.synchronize()
            check("a race is found", False)
        except act.Finding as finding:
            check(f"a race is found {'in a stream' if stream else ''}",
                  "race" in finding.findings[0])
    race.launch(1, where, block=1)
    check("the device works on", where.numpy()[0] == 0)
    refuses("a stream of another device", "", lambda: act.Device("sim:sm_80").kernel(
        WAITS, "sets").launch(1, flag, block=1, stream=sim.stream()))


def steps():
    """Outputs that NumPy has no type for, and outputs that the caller binds."""
    m = act.Module.parse("""module {
      func.func @forward(%x: tensor<4xbf16> {act.name = "x"})
          -> (tensor<4xbf16> {act.name = "y"}) {
        %y = act.gelu %x : tensor<4xbf16>
        return %y : tensor<4xbf16>
      }
    }""")
    step = act.Device("host").load(m.emit(mode="infer"))
    x = torch.tensor([0.0, 16.0, -64.0, 32.0], dtype=torch.bfloat16)
    out = step.run("forward", inputs={"x": x})
    check("an output of bf16 is a torch tensor", out["y"].tolist() == [0, 16, 0, 32])
    mine = torch.zeros(4, dtype=torch.bfloat16)
    step.bind_output("forward", "y", mine)
    check("an output that was bound", step.run("forward") == {} and mine.tolist() == [0, 16, 0, 32])


for part in (maps_of_the_compiler, maps_of_the_caller, arguments, memory, arrays, threads, streams,
             steps):
    part()
print(f"{failures} failures")
sys.exit(failures > 0)
