# SPDX-License-Identifier: Apache-2.0
"""Finds the repeated layers of a graph, by the modules that its nodes come from.

A run of layers is N slices of the graph, one behind the other, that are equal but for
their parameters, where each reads what the one before has made. They become one
function and an act.repeat, so that a policy or a budget treats them as layers.
"""

import re
from collections import defaultdict

import torch
from torch.fx import Node
from torch.fx.node import map_arg

from .capture import module_path


class Run:
    """Layers ``nodes[i]`` (lists), all of one form.

    ``carried``: for each value that a layer takes from the one before, the node in
    front of layer 0 and the position of the node that makes it in a layer.
    ``shared``: nodes in front that all layers read. ``parameters``: for each, the
    argument nodes of all layers. ``results``: the same nodes as in ``carried``, of
    the last layer.
    """

    def __init__(self, path, nodes):
        self.path, self.nodes = path, nodes
        self.carried, self.shared, self.parameters = [], [], []

    @property
    def count(self):
        return len(self.nodes)


def find(graph):
    """The runs of a graph, in order, none inside another."""
    lists = defaultdict(lambda: defaultdict(list))
    for at, node in enumerate(graph.nodes):
        path = module_path(node)
        found = re.search(r"^(.*?)\.?(?<![^.])(\d+)(?=\.|$)", path)
        if found:
            lists[found.group(1)][int(found.group(2))].append(at)
    runs = []
    for path, layers in lists.items():
        numbers = sorted(layers)
        begin = 0
        # The longest stretches of equal neighbours.
        while begin < len(numbers):
            run, end = None, len(numbers)
            while end - begin >= 2 and run is None:
                run = _run(graph, path, [layers[n] for n in numbers[begin:end]])
                if run is None:
                    end -= 1
            if run:
                runs.append(run)
                begin = end
            else:
                begin += 1
    return runs


def _run(graph, path, slices):
    position = {}
    for i, at in enumerate(slices):
        if at[-1] - at[0] + 1 != len(at):
            return None  # others' nodes are in between
        if i and at[0] != slices[i - 1][-1] + 1:
            return None
        if len(at) != len(slices[0]):
            return None
        for k, a in enumerate(at):
            position[graph.nodes[a]] = (i, k)
    run = Run(path, [[graph.nodes[a] for a in at] for at in slices])
    arguments = {a.node: a for a in graph.arguments}
    # By the place of use: what each layer reads there.
    reads = defaultdict(list)
    for i, nodes in enumerate(run.nodes):
        for k, node in enumerate(nodes):
            first = run.nodes[0][k]
            if node.target != first.target or not _same(node, first):
                return None
            for slot, value in enumerate(_operands(node)):
                reads[k, slot].append(value)
    carried = {}  # position in a layer -> node in front
    parameters, shared = {}, []
    for values in reads.values():
        kinds = [position.get(v) for v in values]
        inside = [p is not None and p[0] == i for i, p in enumerate(kinds)]
        if all(inside):
            if len({p[1] for p in kinds}) != 1:
                return None
        elif any(inside):
            return None
        elif all(p is not None and p[0] == i for i, p in enumerate(kinds[1:])):
            # From the layer before; layer 0 reads what is in front.
            made = {p[1] for p in kinds[1:]}
            if len(made) != 1 or kinds[0] is not None:
                return None
            at = made.pop()
            if carried.setdefault(at, values[0]) is not values[0]:
                return None
        elif any(p is not None for p in kinds):
            return None
        elif all(v is values[0] for v in values):
            if values[0] not in shared:
                shared.append(values[0])
        elif all(v in arguments and arguments[v].parameter for v in values):
            if not _alike([arguments[v] for v in values]):
                return None
            parameters[tuple(values)] = None
        elif all(v in graph.constants for v in values):
            if not all(_equal(graph.constants[v], graph.constants[values[0]])
                       for v in values):
                return None
            if values[0] not in shared:
                shared.append(values[0])
        else:
            return None
    # A parameter belongs to one place in the run, and is read nowhere else.
    places = [v for group in parameters for v in group]
    if len(set(places)) != len(places) or any(
            user not in position for v in places for user in v.users):
        return None
    if any(_shape(front) != _shape(run.nodes[0][at]) for at, front in carried.items()):
        return None
    # Only the last layer's carried values may be read behind the run.
    out = {r for r in graph.results if isinstance(r, Node)}
    for node, (i, k) in position.items():
        outside = node in out or any(user not in position for user in node.users)
        if outside and not (i == len(slices) - 1 and k in carried):
            return None
        later = any(position.get(user, (i,))[0] not in (i, i + 1) for user in node.users)
        if later:
            return None
    if not carried:
        return None
    run.carried = [(front, at) for at, front in sorted(carried.items())]
    run.shared = [s for s in shared if s not in graph.constants]
    run.parameters = list(parameters)
    return run


def _operands(node):
    found = []
    map_arg((node.args, node.kwargs), found.append)
    return found


def _same(node, other):
    """Equal but for the nodes that they read."""
    def strip(_):
        return ()

    return (map_arg(node.args, strip) == map_arg(other.args, strip)
            and map_arg(dict(node.kwargs), strip)
            == map_arg(dict(other.kwargs), strip))


def _shape(node):
    value = node.meta["val"]
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else None


def _alike(arguments):
    return len({(a.shape, a.dtype, a.requires_grad) for a in arguments}) == 1


def _equal(x, y):
    if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
        return x is y or (x.dtype == y.dtype and torch.equal(x, y))
    return x == y
