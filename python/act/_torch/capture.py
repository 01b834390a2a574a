# SPDX-License-Identifier: Apache-2.0
"""From a graph that Dynamo or torch.export made to one of ATen operators.

The graph is functional and forward-only: act differentiates it. Operators that act
knows as a whole (attention, norms, losses) are kept; others are decomposed. What
depends on no input is computed here, once.
"""

import re

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from ..errors import Error

#: Composite operators that operators.py knows.
KEPT = {
    "aten.linear.default", "aten.scaled_dot_product_attention.default",
    "aten.silu.default", "aten.gelu.default", "aten.layer_norm.default",
    "aten.rms_norm.default", "aten.embedding.default", "aten.softmax.int",
    "aten._softmax.default", "aten.log_softmax.int", "aten.cross_entropy_loss.default",
    "aten.dropout.default", "aten.conv2d.default", "aten.conv1d.default",
    "aten.conv2d.padding", "aten.matmul.default", "aten.mse_loss.default",
    "aten.max_pool2d.default", "aten.avg_pool2d.default",
    "aten.adaptive_avg_pool2d.default", "aten.relu.default",
}

_IGNORED = ("aten._assert_tensor_metadata", "aten._assert_async", "aten.sym_constrain")


class Unsupported(Error):
    """A graph that act does not take, with the reason."""


class Argument:
    """An argument of the graph: what kind of value it is, and its name."""

    def __init__(self, node, name, tensor, parameter):
        self.node, self.name = node, name
        self.dtype, self.shape = tensor.dtype, tuple(tensor.shape)
        self.requires_grad = tensor.requires_grad
        #: Whether it is a parameter of act: one that keeps its place.
        self.parameter = parameter


class Graph:
    """``nodes`` are the operators to run, in order; ``constants`` has the value of
    each node that depends on no input; ``results`` are nodes, and ``updates`` the
    arguments (by position) whose new values the first results are."""

    def __init__(self, nodes, arguments, results, updates, constants):
        self.nodes, self.arguments = nodes, arguments
        self.results, self.updates, self.constants = results, updates, constants


def _decompositions():
    table = torch.export.default_decompositions()
    return {op: fn for op, fn in dict(table).items() if str(op) not in KEPT}


def module_path(node):
    """The module that a node was made in: "model.layers.0.mlp", or ""."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    path = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path)
    return re.sub(r"^L\.(args\.\d+|self|fn|mod)\.?", "", path).replace("_modules.", "")


def lower(gm, examples, names=None):
    """A Graph of ``gm``, called with the tensors ``examples``."""
    from torch._functorch.aot_autograd import aot_export_module

    for i, e in enumerate(examples):
        if not isinstance(e, torch.Tensor):
            raise Unsupported("argument %d is a %s, not a tensor: compile with "
                              "dynamic=False" % (i, type(e).__name__))
        if any(not isinstance(d, int) for d in e.shape):
            raise Unsupported("argument %d has a dynamic shape: compile with "
                              "dynamic=False" % i)
    try:
        lowered, signature = aot_export_module(
            gm, list(examples), trace_joint=False, pre_dispatch=True,
            decompositions=_decompositions())
    except Exception as error:
        raise Unsupported("PyTorch makes no functional graph of it: %s" % (
            str(error).strip().splitlines() or [type(error).__name__])[0]) from error
    for node in reversed(lowered.graph.nodes):
        if str(node.target).startswith(_IGNORED):
            lowered.graph.erase_node(node)
    lowered.graph.eliminate_dead_code()
    places = [n for n in lowered.graph.nodes if n.op == "placeholder"]
    own = dict(gm.named_parameters())
    own.update(gm.named_buffers())
    by_place = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    arguments, following = [], iter(enumerate(examples))
    used = set()  # names
    tokens = set(signature.input_tokens)  # of operators with effects
    for place in places:
        if place.name in tokens:
            continue
        if place.name in by_place:
            name = by_place[place.name]
            tensor = own[name]
        else:
            i, tensor = next(following, (None, None))
            if tensor is None:
                raise Unsupported("the graph has an argument %s that is none of the "
                                  "function's" % place.name)
            name = names[i] if names else _clean(place, gm, i)
        unique, count = name, 1
        while unique in used:
            count += 1
            unique = "%s.%d" % (name, count)
        name = unique
        used.add(name)
        parameter = isinstance(tensor, torch.nn.Parameter) and tensor.is_floating_point()
        arguments.append(Argument(place, name, tensor, parameter))
    output = next(n for n in lowered.graph.nodes if n.op == "output")
    results = list(output.args[0])[len(signature.output_tokens):]
    updates = []
    targets = {a.name: i for i, a in enumerate(arguments)}
    places_at = {a.node.name: i for i, a in enumerate(arguments)}
    names_of_results = [r.name if isinstance(r, Node) else None for r in results]
    mutated = {**signature.buffers_to_mutate,
               **getattr(signature, "parameters_to_mutate", {})}
    for r in names_of_results:
        if r in mutated:
            updates.append(targets[mutated[r]])
        elif r in signature.user_inputs_to_mutate:
            updates.append(places_at[signature.user_inputs_to_mutate[r]])
        else:
            break
    return _fold(lowered, arguments, results, updates)


def _clean(place, gm, i):
    """A name for an argument of Dynamo's graph, by where it comes from."""
    sources = [n for n in gm.graph.nodes if n.op == "placeholder"]
    name = sources[i].name if i < len(sources) else place.name
    name = re.sub(r"^[lL]_+(self_+|fn_+|args_\d+_+)?", "", name)
    name = re.sub(r"_*modules_*|_*parameters_*|_*buffers_*", ".", name)
    return re.sub(r"_?\.+_?", ".", name).strip("._") or "x%d" % i


def _fold(gm, arguments, results, updates):
    """Computes what depends on no argument, and drops what nobody reads."""
    constants, nodes, sizes = {}, [], {}
    for node in gm.graph.nodes:
        if node.op == "call_function" and isinstance(node.meta.get("val"), (int, torch.SymInt)):
            sizes[node] = int(node.meta["val"])  # and arithmetic on sizes
            continue
        if sizes:
            node.args = map_arg(node.args, lambda n: sizes.get(n, n))
            node.kwargs = map_arg(node.kwargs, lambda n: sizes.get(n, n))
        if node.op == "get_attr":
            constants[node] = getattr(gm, node.target)
        if node.op != "call_function":
            continue
        inputs = node.all_input_nodes
        if all(n in constants for n in inputs) and not _random(node):
            constants[node] = _evaluate(node, constants)
        else:
            nodes.append(node)
    for node in reversed(sizes):  # they are no readers of their tensors any more
        if not node.users:
            gm.graph.erase_node(node)
    live = {r for r in results if isinstance(r, Node)}
    kept = []
    for node in reversed(nodes):
        if node in live:
            kept.append(node)
            live.update(node.all_input_nodes)
    return Graph(kept[::-1], arguments, results, updates, constants)


def _random(node):
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def _evaluate(node, constants):
    args = map_arg(node.args, lambda n: constants[n])
    kwargs = dict(map_arg(node.kwargs, lambda n: constants[n]))
    if "device" in kwargs:
        kwargs["device"] = torch.device("cpu")
    with torch.no_grad():
        return node.target(*args, **kwargs)
