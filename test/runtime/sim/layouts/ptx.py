# SPDX-License-Identifier: Apache-2.0
"""PTX that feeds one instruction with raw registers from memory and writes its raw
result back: register i of thread t of block b is word ((b·threads + t)·count + i)."""

HEAD = """.version {version}
.target {target}
.address_size 64
"""


class Kernel:
    def __init__(self, name, parameters, target, version="8.4", extra=""):
        self.lines = [HEAD.format(version=version, target=target), extra,
                      f".visible .entry {name}(" +
                      ", ".join(f".param .u64 p{i}" for i in range(parameters)) + ")", "{",
                      ".reg .pred %p<4>;", ".reg .b32 %t<16>;", ".reg .b64 %d<32>;"]
        for i in range(parameters):
            self.add(f"ld.param.u64 %d{i}, [p{i}];")
        self.add("mov.u32 %t0, %tid.x;", "mov.u32 %t1, %ctaid.x;", "mov.u32 %t2, %ntid.x;",
                 "mad.lo.u32 %t3, %t1, %t2, %t0;")

    def add(self, *lines):
        self.lines += lines

    def fragment(self, prefix, count, word, parameter, load):
        """Loads or stores `count` registers of a thread; declares them when it loads."""
        bits = int(word[1:])
        if load:
            self.add(f".reg .{word} {prefix}<{count}>;")
        else:
            self.add()
        address = f"%d{16 + parameter}"
        self.add(f"mul.wide.u32 {address}, %t3, {count * bits // 8};",
                 f"add.s64 {address}, {address}, %d{parameter};")
        for i in range(count):
            at = f"[{address}+{i * bits // 8}]"
            if load:
                self.add(f"ld.global.{word} {prefix}{i}, {at};")
            else:
                self.add(f"st.global.{word} {at}, {prefix}{i};")

    def text(self):
        return "\n".join(self.lines + ["ret;", "}", ""])


def braces(prefix, count):
    return "{" + ", ".join(f"{prefix}{i}" for i in range(count)) + "}"


def mma(instruction, counts, words, target):
    """counts and words of A, B, C, D: registers a thread and their type."""
    k = Kernel("layout", 4, target)
    for i, prefix in enumerate(("%a", "%b", "%c")):
        k.fragment(prefix, counts[i], words[i], i, True)
    k.add(f".reg .{words[3]} %x<{counts[3]}>;")
    k.add(f"{instruction} {braces('%x', counts[3])}, {braces('%a', counts[0])}, "
          f"{braces('%b', counts[1])}, {braces('%c', counts[2])};")
    k.fragment("%x", counts[3], words[3], 3, False)
    return k.text()


def copy_to_shared(k, parameter, at, size):
    """All threads copy `size` bytes (a multiple of 4) of global memory to smem + at."""
    k.add("{", ".reg .b32 %i, %v, %s;", ".reg .b64 %g;", ".reg .pred %q;",
          "mov.u32 %i, %t0;", "loop:", f"setp.ge.u32 %q, %i, {size // 4};", "@%q bra done;",
          f"mul.wide.u32 %g, %i, 4;", f"add.s64 %g, %g, %d{parameter};",
          "ld.global.b32 %v, [%g];", "shl.b32 %s, %i, 2;", f"add.u32 %s, %s, {at};",
          "add.u32 %s, %s, %t5;", "st.shared.b32 [%s], %v;", "add.u32 %i, %i, %t2;",
          "bra loop;", "done:", "}")


def copy_from_shared(k, parameter, at, size):
    k.add("{", ".reg .b32 %i, %v, %s;", ".reg .b64 %g;", ".reg .pred %q;",
          "mov.u32 %i, %t0;", "loop:", f"setp.ge.u32 %q, %i, {size // 4};", "@%q bra done;",
          f"mul.wide.u32 %g, %i, 4;", f"add.s64 %g, %g, %d{parameter};",
          "shl.b32 %s, %i, 2;", f"add.u32 %s, %s, {at};", "add.u32 %s, %s, %t5;",
          "ld.shared.b32 %v, [%s];", "st.global.b32 [%g], %v;", "add.u32 %i, %i, %t2;",
          "bra loop;", "done:", "}")


SHARED = ".extern .shared .align 1024 .b8 smem[];"


def ldmatrix(count, transposed, target="sm_80"):
    """p0: the matrices' bytes; p1: a shared byte offset a thread; p2: registers."""
    k = Kernel("layout", 3, target, extra=SHARED)
    k.add("mov.u32 %t5, smem;")
    copy_to_shared(k, 0, 0, 128 * count * 2)
    k.add("bar.sync 0;")
    k.fragment("%o", 1, "b32", 1, True)
    k.add("add.u32 %o0, %o0, %t5;", f".reg .b32 %x<{count}>;",
          f"ldmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16 "
          f"{braces('%x', count)}, [%o0];")
    k.fragment("%x", count, "b32", 2, False)
    return k.text()


def stmatrix(count, transposed):
    """p0: registers; p1: a shared byte offset a thread; p2: the bytes of shared memory."""
    k = Kernel("layout", 3, "sm_90a", extra=SHARED)
    k.add("mov.u32 %t5, smem;")
    k.fragment("%x", count, "b32", 0, True)
    k.fragment("%o", 1, "b32", 1, True)
    k.add("add.u32 %o0, %o0, %t5;",
          f"stmatrix.sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16 "
          f"[%o0], {braces('%x', count)};", "bar.sync 0;")
    copy_from_shared(k, 2, 0, 128 * count)
    return k.text()


def movmatrix():
    k = Kernel("layout", 2, "sm_80")
    k.fragment("%x", 1, "b32", 0, True)
    k.add("movmatrix.sync.aligned.m8n8.trans.b16 %x0, %x0;")
    k.fragment("%x", 1, "b32", 1, False)
    return k.text()


def wgmma(instruction, d, d_word, a_registers, sizes, descriptors, tail):
    """p0: A's image or registers, p1: B's image, p2: D before, p3: D after.
    `descriptors`: those of A (None when in registers) and B at address 0 of smem."""
    k = Kernel("layout", 4, "sm_90a", extra=SHARED)
    k.add("mov.u32 %t5, smem;")
    a_size, b_size = sizes
    b_at = -(-a_size // 1024) * 1024
    if descriptors[0] is not None:
        copy_to_shared(k, 0, 0, a_size)
    copy_to_shared(k, 1, b_at, b_size)
    k.add("fence.proxy.async;", "bar.sync 0;",
          "shr.u32 %t6, %t5, 4;", "cvt.u64.u32 %d8, %t6;")
    if descriptors[0] is None:
        k.fragment("%a", a_registers, "b32", 0, True)
        a = braces("%a", a_registers)
    else:
        k.add(f"add.s64 %d9, %d8, {descriptors[0] - (1 << 64) if descriptors[0] >> 63 else descriptors[0]};")
        a = "%d9"
    b = descriptors[1] + (b_at >> 4)
    k.add(f"add.s64 %d10, %d8, {b - (1 << 64) if b >> 63 else b};")
    k.fragment("%x", d, d_word, 2, True)
    k.add("setp.ne.b32 %p0, 1, 0;", "wgmma.fence.sync.aligned;",
          f"{instruction} {braces('%x', d)}, {a}, %d10, %p0{tail};",
          "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;")
    k.fragment("%x", d, d_word, 3, False)
    return k.text()
