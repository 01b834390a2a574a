# SPDX-License-Identifier: Apache-2.0
"""Writes a Graph as a module of act."""

import torch
from torch.fx import Node

from . import layers, operators, patterns, products
from .capture import Unsupported
from .program import Body, Program, Value, element, number, tensor_type


assert products  # it adds its handlers to those of operators


class Writer:
    """Writes nodes into a body. ``values`` are those of nodes that are written."""

    def __init__(self, program, body, graph, tracked):
        self.program, self.body, self.graph = program, body, graph
        self.tracked = tracked  # nodes with a gradient
        self.values = {}
        self.symbols = {}  # argument node -> (symbol, shape, dtype): parameters
        self.outer = None  # of a layer: who hands values in
        self.layer = None  # of a layer: the value of its number

    # ---- Values ----

    def value(self, node, broadcasts=False):
        """The Value of a node. With ``broadcasts`` a constant may come with dimensions
        of 1 where its elements repeat."""
        if node in self.values:
            value = self.values[node]
            return value[0] if isinstance(value, tuple) else value
        if node in self.graph.constants:
            return self._constant(node, broadcasts)
        if node in self.symbols:
            symbol, shape, dtype = self.symbols[node]
            self.values[node] = self.body.op("act.param @%s : %s" % (
                symbol, tensor_type(shape, dtype)), shape, dtype)
            return self.values[node]
        raise Unsupported("%s is not a tensor" % node)

    def operand(self, value):
        """A Value, or a number."""
        if not isinstance(value, Node):
            return value
        constant = self.graph.constants.get(value)
        if isinstance(constant, torch.Tensor) and constant.numel() == 1 \
                and constant.dim() == 0:
            return constant.item()
        return self.value(value, broadcasts=True)

    def tracks(self, node):
        return node in self.tracked

    def _constant(self, node, broadcasts):
        tensor = self.graph.constants[node]
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported("%s is not a tensor" % node)
        whole = tuple(tensor.shape)
        small = _compress(tensor)
        if small.numel() == 1:
            return self.body.constant(small.item(), whole if not broadcasts else
                                      (1,) * len(whole), tensor.dtype)
        value = self.hold(small)
        return value if broadcasts else self.body.expand(value, whole)

    def hold(self, tensor):
        """A constant that is not in the text but an input that the caller binds."""
        for port, held in self.program.held:
            if held.shape == tensor.shape and held.dtype == tensor.dtype \
                    and torch.equal(held, tensor):
                break
        else:
            port = "constant.%d" % len(self.program.held)
            self.program.held.append((port, tensor.contiguous()))
        return self.input(port, tuple(tensor.shape), tensor.dtype)

    def input(self, port, shape, dtype):
        """The argument of @forward of that name; a layer gets it as a shared value."""
        if self.outer:
            return self.outer(port, shape, dtype)
        for value, name, _ in self.program.inputs:
            if name == port:
                return value
        value = Value("%%in%d" % len(self.program.inputs), shape, dtype)
        self.program.inputs.append((value, port, ""))
        return value

    # ---- What operators ask ----

    def is_causal(self, mask, s, t):
        """Whether a mask is the constant lower triangle."""
        tensor = self.graph.constants.get(mask)
        if tensor is None or tuple(tensor.shape[-2:]) != (s, t) or s != t:
            return False
        small = _compress(tensor)
        if any(d != 1 for d in small.shape[:-2]) or s == 1:
            return False
        triangle = torch.ones(s, t, dtype=torch.bool).tril()
        small = small.reshape(small.shape[-2:])
        if small.dtype == torch.bool:
            return torch.equal(small.expand(s, t), triangle)
        finite = small.expand(s, t)
        return bool((finite[triangle] == 0).all()) and bool(
            (finite[~triangle] <= torch.finfo(finite.dtype).min).all())

    def is_uniform(self, mask, value):
        tensor = self.graph.constants.get(mask)
        if tensor is None:
            return False
        wanted = value if tensor.dtype == torch.bool else 0
        return bool((tensor == wanted).all())

    def causal_mask(self, s):
        return self.body.op("act.causal_mask : " + tensor_type((s, s), torch.bool),
                            (s, s), torch.bool)

    def dropout(self, x, p):
        self.program.sites += 1
        layer = " layer(%s)" % self.layer if self.layer else ""
        site = self.body.fresh()
        self.body.lines.append("    %s = act.site %d%s : i64" % (
            site, self.program.sites - 1, layer))
        return self.body.op("act.dropout %s p %s rng(%%seed, %%step, %s) : %s" % (
            x.name, number(p), site, x.type), x.shape, x.dtype)

    # ---- Nodes ----

    def write(self, nodes):
        """Nodes in order. What only a pattern's inside reads is not written."""
        needed = self._patterns(nodes)
        for node in nodes:
            if node not in needed:
                continue
            if self._empty(node):
                continue
            pattern = self.found.get(node)
            if pattern:
                self.values[node] = pattern(self)
                continue
            name = str(node.target)
            handler = operators.HANDLERS.get(name)
            if handler is None:
                raise Unsupported("act has no form of %s" % name)
            try:
                self.values[node] = handler(self, node)
            except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
                # What a handler did not think of leaves the graph to PyTorch.
                raise Unsupported("act does not read these arguments of %s (%s)" % (
                    name, error)) from error
            self._check(node)

    def _empty(self, node):
        """Whether the node makes a tensor without elements, which no type of act has. It
        stays out of the text; only a concatenation may read it."""
        meta = node.meta.get("val")
        if isinstance(meta, torch.Tensor) and meta.numel() == 0:
            self.values[node] = Value("", tuple(meta.shape), meta.dtype)
            return True
        if str(node.target) != "aten.cat.default":
            for operand in node.all_input_nodes:
                value = self.values.get(operand)
                if isinstance(value, Value) and 0 in value.shape:
                    raise Unsupported("%s reads a tensor without elements" % node.target)
        return False

    def _check(self, node):
        value, meta = self.values[node], node.meta.get("val")
        if isinstance(value, Value) and isinstance(meta, torch.Tensor):
            if value.shape != tuple(meta.shape) or value.dtype != meta.dtype:
                wanted = tuple(meta.shape)
                if value.dtype == meta.dtype and all(
                        v in (1, d) for v, d in zip(
                            (1,) * (len(wanted) - value.rank) + value.shape, wanted)):
                    self.values[node] = self.body.expand(value, wanted)
                    return
                raise Unsupported("%s: expected %s, made %s" % (
                    node.target, tensor_type(tuple(meta.shape), meta.dtype), value.type))

    def _patterns(self, nodes):
        """Finds what several nodes are together; returns the nodes to write."""
        self.found = {}
        inside = set(nodes)
        used = {r for r in self.graph.results if isinstance(r, Node)}
        used |= {n for n in inside if any(u not in inside for u in n.users)}
        needed, work = set(), [n for n in nodes if n in used]
        while work:
            node = work.pop()
            if node in needed or node not in inside:
                continue
            needed.add(node)
            norm = patterns.match_rms_norm(node)
            rope = None if norm else patterns.match_rope(node)
            grouped = patterns.match_grouped(node)
            if norm:
                x, weight, eps = norm
                self.found[node] = lambda w, x=x, g=weight, e=eps: operators.rms_norm(
                    w, w.value(x), w.value(g), e)
                work += [x, weight]
            elif rope:
                self.found[node] = lambda w, r=rope: _rope(w, *r)
                work += rope
            elif grouped:
                self.found[node] = lambda w, x=grouped, n=node: w.body.repeat_heads(
                    w.value(x), operators.result(n)[0])
                work.append(grouped)
            else:
                work += node.all_input_nodes
        return needed


def _rope(w, x, cos, sin):
    x, tables = w.value(x), [w.value(t) for t in (cos, sin)]
    s, d = x.shape[-2:]
    halves = [w.body.split(w.body.reshape(t, (s, d)), [d // 2, d // 2], 1)[0]
              for t in tables]
    halves = [w.body.cast(h, x.dtype) for h in halves]
    return w.body.op("act.rope %s, %s, %s heads_first : %s, %s" % (
        x.name, halves[0].name, halves[1].name, x.type, halves[0].type),
        x.shape, x.dtype)


def _compress(tensor):
    """The tensor with dimensions of 1 where its elements repeat."""
    for d in range(tensor.dim()):
        if tensor.shape[d] > 1:
            first = tensor.narrow(d, 0, 1)
            if torch.equal(first.expand_as(tensor), tensor):
                tensor = first
    return tensor


def write(graph, name="model"):
    """The Program of a graph."""
    program = Program(name)
    body = Body(program)
    tracked = _tracked(graph)
    writer = Writer(program, body, graph, tracked)
    runs = layers.find(graph)
    per_layer = {v: run for run in runs for group in run.parameters for v in group}
    used = set()
    for node in graph.nodes:
        used.update(node.all_input_nodes)
    used |= {r for r in graph.results if isinstance(r, Node)}
    names = set()
    program.places = []  # of parameters: (argument's position, name)
    for i, a in enumerate(graph.arguments):
        if a.node not in used or a.node in per_layer:
            continue
        if a.parameter:
            symbol = _symbol(a.name, names)
            program.parameters.append('act.parameter @%s "%s" : %s%s' % (
                symbol, a.name, tensor_type(a.shape, a.dtype),
                "" if a.requires_grad else " frozen"))
            program.places.append((i, a.name))
            writer.symbols[a.node] = (symbol, a.shape, a.dtype)
        else:
            value = Value("%%in%d" % len(program.inputs), a.shape, a.dtype)
            element(a.dtype)
            program.inputs.append((value, a.name, ", act.requires_grad" if
                                   a.requires_grad and a.dtype.is_floating_point else ""))
            writer.values[a.node] = value
    position = {a.node: i for i, a in enumerate(graph.arguments)}
    at = 0
    nodes = graph.nodes
    index = {n: i for i, n in enumerate(nodes)}
    for number, run in enumerate(sorted(runs, key=lambda r: index[r.nodes[0][0]])):
        begin = index[run.nodes[0][0]]
        writer.write(nodes[at:begin])
        _write_run(writer, run, number, names, position)
        at = index[run.nodes[-1][-1]] + 1
    writer.write(nodes[at:])
    results = []
    types = []
    program.results = []  # (name, node's position in results)
    for i, r in enumerate(graph.results):
        if not isinstance(r, Node):
            program.results.append(None)
            continue
        v = writer.value(r)
        v = body.expand(v, r.meta["val"].shape) if isinstance(
            r.meta.get("val"), torch.Tensor) else v
        updates = ""
        if i < len(graph.updates):
            updates = ', act.updates = "%s"' % graph.arguments[graph.updates[i]].name
        if 0 in v.shape:
            raise Unsupported("a result has no elements")
        program.results.append("out%d" % i)
        results.append(v)
        types.append('%s {act.name = "out%d"%s}' % (v.type, i, updates))
    arguments = ['%s: %s {act.name = "%s"%s}' % (v.name, v.type, port, more)
                 for v, port, more in program.inputs]
    if program.sites:
        arguments += ['%seed: i64 {act.name = "seed"}', '%step: i64 {act.name = "step"}']
    program.functions.append(
        "  func.func @forward(%s)\n      -> (%s)%s {\n"
        "%s\n    return %s : %s\n  }" % (
            ",\n      ".join(arguments), ", ".join(types),
            "\n      attributes {act.differentiable}" if any(
                a.requires_grad for a in graph.arguments) else "", "\n".join(body.lines),
            ", ".join(v.name for v in results), ", ".join(v.type for v in results)))
    return program


def _tracked(graph):
    tracked = {a.node for a in graph.arguments if a.requires_grad}
    for node in graph.nodes:
        if any(n in tracked for n in node.all_input_nodes):
            tracked.add(node)
    return tracked


def _symbol(name, names):
    symbol = "".join(c if c.isalnum() else "_" for c in name).strip("_") or "p"
    symbol = symbol if not symbol[0].isdigit() else "p" + symbol
    unique, i = symbol, 0
    while unique in names:
        i += 1
        unique = "%s_%d" % (symbol, i)
    names.add(unique)
    return unique


def _write_run(outer, run, number, names, position):
    """A function for a layer, and the repeat that calls it."""
    program, graph = outer.program, outer.graph
    callee = _symbol("layer" if not number else "layer%d" % number, names)
    body = Body(program)
    writer = Writer(program, body, graph, outer.tracked)
    carried = [outer.value(front) for front, _ in run.carried]
    shared = [outer.value(s) for s in run.shared]
    arguments = []
    for (front, at), v in zip(run.carried, carried):
        own = Value("%%c%d" % len(arguments), v.shape, v.dtype)
        arguments.append(own)
        writer.values[front] = own
    for s, v in zip(run.shared, shared):
        own = Value("%%c%d" % len(arguments), v.shape, v.dtype)
        arguments.append(own)
        writer.values[s] = own
    extra = {}

    def hand_in(port, shape, dtype):
        if port not in extra:
            shared.append(outer.input(port, shape, dtype))
            extra[port] = Value("%%c%d" % len(arguments), shape, dtype)
            arguments.append(extra[port])
        return extra[port]

    writer.outer = hand_in
    for group in run.parameters:
        members = [graph.arguments[position[v]] for v in group]
        first = members[0]
        pattern = _layer_name([m.name for m in members])
        symbol = _symbol(pattern.replace("{l}", ""), names)
        program.parameters.append('act.parameter @%s "%s" : %s layers(%d)%s' % (
            symbol, pattern, tensor_type(first.shape, first.dtype), run.count,
            "" if first.requires_grad else " frozen"))
        for l, v in enumerate(group):
            program.places.append((position[v], pattern.replace("{l}", str(l))))
        writer.symbols[group[0]] = (symbol, first.shape, first.dtype)
    sites = program.sites
    writer.layer = "%l"
    writer.write(run.nodes[0])
    drops = program.sites > sites
    results = [writer.value(run.nodes[0][at]) for _, at in run.carried]
    listed = ["%s: %s" % (a.name, a.type) for a in arguments]
    types = [v.type for v in carried + shared]
    operands = [v.name for v in shared]
    if drops:
        listed = ["%l: i64"] + listed + ["%seed: i64", "%step: i64"]
        operands += ["%seed", "%step"]
        types += ["i64", "i64"]
    out = ", ".join(v.type for v in results)
    program.functions.append("  func.func private @%s(%s) -> (%s) {\n%s\n    return %s : %s\n  }" % (
        callee, ", ".join(listed), out, "\n".join(body.lines),
        ", ".join(v.name for v in results), out))
    made = [Value(outer.body.fresh(), v.shape, v.dtype) for v in results]
    outer.body.lines.append("    %s = act.repeat @%s count(L = %d) carry(%s)%s : (%s) -> %s" % (
        ", ".join(v.name for v in made), callee, run.count,
        ", ".join(v.name for v in carried),
        " shared(%s)" % ", ".join(operands) if operands else "",
        ", ".join(types), "(%s)" % out if len(results) > 1 else out))
    for (_, at), v in zip(run.carried, made):
        outer.values[run.nodes[-1][at]] = v


def _layer_name(names):
    """The common name of a parameter of all layers, with {l} for the number: from 0,
    or 3+0 for the layers from 3."""
    parts = [n.split(".") for n in names]
    if len({len(p) for p in parts}) == 1:
        differ = [i for i in range(len(parts[0])) if len({p[i] for p in parts}) > 1]
        if len(differ) == 1 and all(p[differ[0]].isdigit() for p in parts):
            p = list(parts[0])
            first = p[differ[0]]
            p[differ[0]] = "{l}" if first == "0" else first + "+{l}"
            return ".".join(p)
    return "layer.{l}.%s" % names[0].replace(".", "_")
