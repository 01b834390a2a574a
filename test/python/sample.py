# SPDX-License-Identifier: Apache-2.0
"""A fixed sample of many cases that are alike."""


def every(cases, n, kind_of):
    """Of each kind of case every nth, in order: from its first for the first kind, from
    its second for the next. One at least of each. Kinds that are listed in the same order
    of types, say, so show each type in turn."""
    cases, kinds = list(cases), {}
    for case in cases:
        kinds.setdefault(kind_of(case), []).append(case)
    kept = set()
    for number, alike in enumerate(kinds.values()):
        kept.update(map(id, alike[number % n::n] or alike[:1]))
    return [case for case in cases if id(case) in kept]
