# SPDX-License-Identifier: Apache-2.0
"""Lifetimes of a module in kernel form, from its text alone.

An oracle for the compiler's liveness: it reads the generic form of the IR, runs
the program with names in place of tensors, and notes when each name is made and
last read. It knows seven things:

  act.group              one launch; makes its results, reads its operands
  act.repeat, func.call  their callee's body, once per iteration or once
  act.reshape, act.kept  other names for the same memory
  act.split              names for parts of it
  act.offload            in a group: its result is in the host's arena
  a stack of results     one buffer per iteration if only repeats read it, slice
                         by slice; else one tensor
  inplace                a result takes an operand's memory if that dies there

Parameters, inputs, scalars and the entry's results have memory of their own.
"""
import re

ALIGNMENT = 64
WIDTH = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "bf16": 2, "f16": 2, "i16": 2,
         "f8E4M3FN": 1, "i8": 1, "i1": 1}
OP = re.compile(r'^\s*(?:(%\w+)(?::\d+)? = )?"([\w.]+)"\(([^)]*)\)(.*)$')
TENSOR = re.compile(r"tensor<((?:[^<>]|<[^<>]*>)*)>")


def align(n):
    return -(-n // ALIGNMENT) * ALIGNMENT


def tensor_bytes(text):
    *dims, element = text.split(",")[0].strip().split("x")
    n = WIDTH[element]
    for d in dims:
        n *= int(d)
    return n


class Op:
    def __init__(self, result, name, operands, rest):
        self.result, self.name, self.operands, self.rest = result, name, operands, rest
        self.arguments, self.body = [], []  # of a group

    def attribute(self, pattern, default=None):
        found = re.search(pattern, self.rest)
        return found[1] if found else default

    def segments(self):
        sizes = self.attribute(r"operandSegmentSizes = array<i32: ([\d, ]+)>")
        return [int(n) for n in sizes.split(",")]

    def result_bytes(self):
        return [tensor_bytes(t) for t in TENSOR.findall(self.rest.rsplit("->", 1)[1])]


    def workspace_bytes(self):
        """What the kernel of a group needs while it runs."""
        types = self.attribute(r"workspace = \[((?:tensor<[^>]*>(?:, )?)*)\]", "")
        return [tensor_bytes(t) for t in TENSOR.findall(types)]


class Function:
    def __init__(self):
        self.arguments, self.ops = [], []

    def uses(self, name):
        """Where a value is used: (op, operand number)."""
        return [(op, i) for op in self.ops for i, v in enumerate(op.operands) if v == name]


def parse(text):
    """Functions by name. What is inside a group is kept as its body."""
    functions, stack, function = {}, [], None
    for line in text.splitlines():
        if line.lstrip().startswith("^bb"):
            if function and len(stack) >= 1:
                of = function if len(stack) == 1 else stack[-1]
                of.arguments = re.findall(r"(%\w+):", line)
            continue
        closing = re.match(r"^\s*\}\)(.*)$", line)
        if closing and stack:
            op = stack.pop()
            op.rest += closing[1]
            if op.name == "func.func":
                function = None
            continue
        found = OP.match(line)
        if not found or found[2] in ("builtin.module", "act.parameter"):
            continue
        result, name, operands, rest = found.groups()
        op = Op(result, name, re.findall(r"%[\w#]+", operands), rest)
        if name == "func.func":
            function = functions[op.attribute(r'sym_name = "([^"]+)"')] = Function()
        elif len(stack) == 1:
            function.ops.append(op)
        else:
            stack[-1].body.append(op)
        if rest.rstrip().endswith("({"):
            stack.append(op)
    return functions


class Buffer:
    def __init__(self, size, time):
        self.bytes, self.first, self.last = size, time, time
        self.whole = None  # the stack it is a slice of
        self.is_stack = self.output = False
        self.reuses = None
        self.on_host = False

    def read(self, time):
        self.last = max(self.last, time)
        if self.whole:
            self.whole.read(time)

    def root(self):
        b = self
        while b.whole or b.reuses:
            b = b.whole or b.reuses
        return b


class Liveness:
    """`launches`: (name, operands, results, inplace). `buffers`: those that own memory."""

    def __init__(self, text, entry):
        self.functions, self.made, self.launches = parse(text), [], []
        self.phases = {}
        function = self.functions[entry]
        for value in self.run(function, {a: None for a in function.arguments}):
            value.output = True
        self.settle()
        self.buffers = [b for b in self.made if not (b.whole or b.reuses or b.output)]

    def new(self, size):
        self.made.append(Buffer(size, len(self.launches)))
        return self.made[-1]

    def run(self, function, env):
        """The values that the function returns. In `env`: a buffer, a list of
        slices, or None for what is not in the arena."""
        for op in function.ops:
            values = [env[v] for v in op.operands]
            if op.name == "act.group":
                results = self.launch(op, values)
            elif op.name == "act.repeat":
                results = self.repeat(function, op, values)
            elif op.name == "func.call":
                callee = self.functions[op.attribute(r"callee = @([\w.]+)")]
                results = self.run(callee, dict(zip(callee.arguments, values)))
            elif op.name in ("act.reshape", "act.kept", "act.split"):
                results = values * len(op.result_bytes())
            elif op.name == "func.return":
                return values
            elif op.name in ("act.param", "act.site", "act.phase"):
                if op.name == "act.phase":
                    self.phases.setdefault(op.attribute(r'name = "(\w+)"'), len(self.launches))
                results = [None]
            else:
                raise ValueError(f"{op.name} is in no kernel")
            if op.result:
                env[op.result] = results[0]
                env |= {f"{op.result}#{i}": r for i, r in enumerate(results)}

    def launch(self, op, values):
        copy = any(inner.name in ("act.offload", "act.fetch") for inner in op.body)
        if copy and values == [None]:
            return values  # an input stays where it is
        time = len(self.launches)
        for value in values:
            if value:
                value.read(time)
        results = [self.new(n) for n in op.result_bytes()]
        for n in op.workspace_bytes():
            self.new(n)
        for b in results:
            b.on_host = any(inner.name == "act.offload" for inner in op.body)
        inplace = op.attribute(r"inplace = array<i64: ([-\d, ]+)>", "")
        inplace = [int(n) for n in inplace.split(",")] if inplace else []
        self.launches.append((op.attribute(r'name = "([^"]+)"'), values, results, inplace))
        return results

    def repeat(self, function, op, values):
        callee = self.functions[op.attribute(r"callee = @([\w.]+)")]
        count = int(op.attribute(r"count = (\d+)"))
        carried, shared, _ = op.segments()
        carry, stacked = values[:carried], values[carried + shared:]
        index = [None] * (len(callee.arguments) - len(values))
        sizes = op.result_bytes() if op.result else []
        stacks = []
        for i in range(carried, len(sizes)):
            uses = function.uses(f"{op.result}#{i}" if len(sizes) > 1 else op.result)
            by_slice = all(u.name == "act.repeat" and n >= sum(u.segments()[:2]) for u, n in uses)
            stacks.append([None] * count if by_slice else self.new(sizes[i]))
            if not by_slice:
                stacks[-1].is_stack = True
        for n in range(count):
            at = count - 1 - n if re.search(r"[ {]reverse[,} ]", op.rest) else n
            slices = [s[at] if isinstance(s, list) else s for s in stacked]
            results = self.run(callee, dict(zip(callee.arguments,
                                                index + carry + values[carried:carried + shared] + slices)))
            carry = results[:carried]
            for stack, value in zip(stacks, results[carried:]):
                if isinstance(stack, list):
                    stack[at] = value
                else:
                    value.whole = stack
        return carry + stacks

    def settle(self):
        for b in self.made:
            if b.whole:
                b.whole.first = min(b.whole.first, b.first)
                b.whole.last = max(b.whole.last, b.last)
        for time, (_, values, results, inplace) in enumerate(self.launches):
            for result, i in zip(results, inplace):
                old = values[i] if i >= 0 else None
                if not old or old.is_stack or old.whole or result.whole or result.output:
                    continue
                owner = old.root()
                alone = sum(1 for v in values if v and v.root() is owner) == 1
                if owner.output or owner.last != time or owner.bytes != result.bytes or not alone:
                    continue
                result.reuses = owner
                owner.last = result.last

    def timeline(self, alignment=1, on_host=False):
        change = [0] * (len(self.launches) + 1)
        for b in self.buffers:
            if b.on_host != on_host:
                continue
            size = -(-b.bytes // alignment) * alignment
            change[b.first] += size
            change[b.last + 1] -= size
        live, out = 0, []
        for c in change[:-1]:
            live += c
            out.append(live)
        return out

    def retained(self):
        """Bytes made before the phase "backward" and read after."""
        border = self.phases["backward"]
        return sum(b.bytes for b in self.buffers if b.first < border <= b.last and not b.on_host)


def read_plan(text, on_host=False):
    """The module's act.plan: totals, and buffers as (name, offset, bytes, first, last);
    `on_host`: of the second arena, if there is one."""
    host = "host, " if on_host else ""
    entry = re.compile(rf'\{{bytes = (\d+) : i64, first = (\d+) : i64, {host}last = (\d+) : i64, '
                       r'name = "([^"]*)", offset = (-?\d+) : i64\}')
    totals = {k: int(re.search(rf"{k} = (\d+) : i64", text)[1])
              for k in ("arena_bytes", "lower_bound_bytes")}
    buffers = [(name, int(offset), int(size), int(first), int(last))
               for size, first, last, name, offset in entry.findall(text)]
    return totals, buffers


def plan_errors(totals, buffers):
    """What is wrong with a plan, by itself: a few lines that share nothing with
    the planner. Quadratic on purpose."""
    errors = []
    for name, offset, size, first, last in buffers:
        if offset < 0 or offset % ALIGNMENT:
            errors.append(f"{name} at {offset} is not aligned")
        if offset + size > totals["arena_bytes"]:
            errors.append(f"{name} ends at {offset + size}, outside of the arena")
    for i, (a, ao, an, af, al) in enumerate(buffers):
        for b, bo, bn, bf, bl in buffers[:i]:
            if af <= bl and bf <= al and ao < bo + bn and bo < ao + an:
                errors.append(f"{a} and {b} overlap")
    times = range(max((last for *_, last in buffers), default=0) + 1)
    bound = max(sum(align(n) for _, _, n, f, l in buffers if f <= t <= l) for t in times)
    if bound != totals["lower_bound_bytes"]:
        errors.append(f"the lower bound is {bound}, not {totals['lower_bound_bytes']}")
    if totals["arena_bytes"] > 1.01 * bound:
        errors.append(f"the arena of {totals['arena_bytes']} is over 1 % above {bound}")
    return errors
