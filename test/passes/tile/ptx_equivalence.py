# SPDX-License-Identifier: Apache-2.0
"""Which mutants of a kernel for warp groups change nothing: rules over its instructions and the ways between them.

Each rule below is a function that gives the reason, or None where it does not apply. A rule that says nothing decides
nothing. What a rule says holds for every order of threads, not only for those that were run; warp-groups-mutants.py
runs these mutants all the same, and fails if one is noticed.

The rules rely on what is true of every kernel that act makes: all threads of a role take the same way, but for what
stands behind a test for lane 0 and for loops that wait for an mbarrier; and each mbarrier of a ring has its own place,
less than 128 bytes behind a fixed one."""
import collections
import re

import mutate

LIMIT = 8  # groups; more count as this many


class Flow:
    """A kernel's instructions, numbered from 0, and where each may go next."""

    def __init__(self, text, entry):
        self.all = [s for s in mutate.statements(text, entry) if s]
        starts = {s.start: i for i, s in enumerate(self.all)}
        labels, waiting = {}, []
        begin, end = mutate.body_of(text, entry)
        for m in re.finditer(r"^\s*(?:\{ (?:\.reg \.\w+ %\w+; )+)?([\w$]+):|[^;{}\n]+;", text[begin:end], re.M):
            if m.group(1):
                waiting.append((m.group(1), begin + m.end()))
        ordered = sorted(starts)
        for label, at in waiting:
            labels[label] = starts.get(next((s for s in ordered if s >= at), None))
        self.next, self.before = [], [[] for _ in self.all]
        for i, s in enumerate(self.all):
            word = s.opcode.split(".")[0]
            after = [i + 1] if i + 1 < len(self.all) else []
            if word == "bra":
                after = [labels[s.operands.strip()]] + (after if s.guard else [])
            elif word in ("ret", "exit", "trap") and not s.guard:
                after = []
            self.next.append(after)
            for j in after:
                self.before[j].append(i)
        self.definitions = collections.defaultdict(list)
        for s in self.all:
            for register in mutate.results(s):
                self.definitions[register].append(s)
        # What only lane 0 reaches, and the ways that lane 0 of each warp may take.
        self.of_lane_0, self.next_of_lane_0 = set(), list(self.next)
        self.find_lane_tests()
        self.pending = {kind: self.most_pending(kind) for kind in KINDS}

    def definition(self, register):
        """The only instruction that writes it."""
        found = self.definitions.get(register, [])
        return found[0] if len(found) == 1 else None

    def is_lane(self, register, alone=False):
        """Zero in lane 0 alone: the lane, the thread, or either with other bits. `alone`: in lane 0 of each warp."""
        s = self.definition(register)
        if s is None:
            return False
        operands = mutate.split(s.operands)
        if s.opcode == "and.b32":
            return operands[2] == "31" and self.is_lane(operands[1])
        if alone:
            return False
        if s.opcode == "mov.u32":
            return operands[1] == "%tid.x"
        return s.opcode == "or.b32" and any(self.is_lane(o) for o in operands[1:])

    def find_lane_tests(self):
        for i, s in enumerate(self.all):
            test = s.opcode.startswith("bra") and s.guard and self.definition(s.guard.strip(" @!"))
            if not test or not re.match(r"setp\.(ne|eq)\.\w32$", test.opcode):
                continue
            _, register, number = mutate.split(test.operands)
            if number != "0" or not self.is_lane(register):
                continue
            taken_by_0 = test.opcode.startswith("setp.eq") != s.guard.startswith("@!")
            edge = (i, self.next[i][0] if taken_by_0 else i + 1)
            if self.is_lane(register, alone=True):
                self.next_of_lane_0[i] = [edge[1]]
            reached, work = {0}, [0]
            while work:
                at = work.pop()
                for j in self.next[at]:
                    if (at, j) != edge and j not in reached:
                        reached.add(j)
                        work.append(j)
            self.of_lane_0 |= set(range(len(self.all))) - reached

    def ways(self, kind):
        """The ways of threads that have groups."""
        alone = all(i in self.of_lane_0 for i, s in enumerate(self.all) if kind.commit(s))
        return self.next_of_lane_0 if alone else self.next

    def most_pending(self, kind):
        """How many groups may be under way before each instruction."""
        most = [-1] * len(self.all)
        most[0], work = 0, [0]
        ways = self.ways(kind)
        while work:
            i = work.pop()
            s, now = self.all[i], most[i]
            if kind.commit(s):
                now = min(now + 1, LIMIT)
            elif kind.wait(s) is not None:
                now = min(now, kind.wait(s))
            for j in ways[i]:
                if now > most[j]:
                    most[j] = now
                    work.append(j)
        return most

    def walk(self, start, back, stop):
        """What lies behind `start` (or before it, if `back`), up to and without those for which stop() says so;
        and whether each way ended at one of these."""
        ways = self.before if back else self.next
        seen, work, stopped = set(), list(ways[start]), bool(ways[start])
        while work:
            i = work.pop()
            if i in seen or stop(self.all[i]):
                continue
            seen.add(i)
            work += ways[i]
            stopped &= bool(ways[i])
        return seen, stopped

    def base(self, operand):
        """The fixed part of an address in shared memory, which tells the ring; None: unknown."""
        inside = re.search(r"\[([^\]]+)\]\s*$", operand)
        inside = inside.group(1) if inside else operand
        fixed = re.fullmatch(r"tile_shared\+(\d+)", inside)
        if fixed:
            return int(fixed.group(1))
        s = self.definition(inside)
        parts = mutate.split(s.operands) if s and s.opcode == "add.s64" else []
        return int(parts[2]) if parts and parts[2].isdigit() else None

    def place(self, i):
        """base() of the mbarrier of an instruction; of the same one in another block of the cluster, if mapa is before it."""
        operand = next(o for o in mutate.split(self.all[i].operands)[::-1] if o.startswith("["))
        last = self.all[i - 1]
        if last.opcode.startswith("mapa.") and mutate.results(last) == mutate.registers([operand]):
            operand = mutate.split(last.operands)[1]
        return self.base(operand)


class Kind(collections.namedtuple("Kind", "commits waits copies")):
    """Groups of bulk copies, or of products."""

    def commit(self, s):
        return s.opcode.startswith(self.commits)

    def wait(self, s):
        """How many groups it leaves under way; None: it is no such wait."""
        if not s.opcode.startswith(self.waits):
            return None
        return int(s.operands.strip())


KINDS = BULK, PRODUCTS = (
    Kind("cp.async.bulk.commit_group", "cp.async.bulk.wait_group", r"cp\.(reduce\.)?async\.bulk\..*bulk_group"),
    Kind("wgmma.commit_group", "wgmma.wait_group", r"wgmma\.mma_async"))


def kind_of(s):
    return next((k for k in KINDS if k.commit(s) or k.wait(s) is not None), None)


def followed(flow, i, kind):
    """The next instruction waits for as many groups or more."""
    later = kind.wait(flow.all[i + 1]) if flow.next[i] == [i + 1] else None
    return later is not None and later <= kind.wait(flow.all[i])


def waits_for_nothing(flow, i, kind):
    # .read ends before what it stands for; counted alike, the count is right only where all waits are alike.
    alike = len({s.opcode for s in flow.all if kind.wait(s) is not None}) == 1
    left = kind.wait(flow.all[i])
    return alike and left < LIMIT and flow.pending[kind][i] <= left  # -1: no thread with groups comes here


# ---- the rules: (flow, place) -> reason

def needless_wait(flow, i):
    """A wait that is deleted, or leaves one group more: all groups but those that it leaves are over anyway,
    whichever way led there; or the next instruction is a wait for more."""
    kind = kind_of(flow.all[i])
    if kind and kind.wait(flow.all[i]) is not None:
        if waits_for_nothing(flow, i, kind):
            return "no more groups are under way than the wait leaves"
        if followed(flow, i, kind):
            return "the next instruction waits for more"


def ways_of_group(flow, i, kind, at_wait):
    """Whether each way from the commit at `i` agrees. at_wait(N, c), of a wait that leaves N groups with c commits
    since: True: this way agrees, False: it does not, None: go on."""
    ways = flow.ways(kind)
    seen, work = set(), [(j, 0) for j in ways[i]]
    while work:
        j, commits = work.pop()
        if (j, commits) in seen:
            continue
        seen.add((j, commits))
        s = flow.all[j]
        if kind.commit(s):
            commits = min(commits + 1, LIMIT)
        elif kind.wait(s) is not None and not waits_for_nothing(flow, j, kind) and not followed(flow, j, kind):
            answer = at_wait(kind.wait(s), commits)
            if answer is False:
                return False
            if answer:
                continue
        work += [(k, commits) for k in ways[j]]
    return True


def needless_commit(flow, i):
    """A commit that is deleted: its copies join the next group. Waits that leave no group wait for both, if the next
    one is committed by then; all others on the way find nothing to wait for."""
    kind = kind_of(flow.all[i])
    if kind and kind.commit(flow.all[i]) and ways_of_group(flow, i, kind, lambda left, commits: left == 0 and commits > 0):
        return "the next wait is for its group and the next one together"


def commit_before_copy(flow, i):
    """A commit that goes before the last copy of its group, which joins the next one. They differ where a wait is for
    the one and not for the other: where it leaves as many groups as were committed since."""
    kind = kind_of(flow.all[i])
    if not kind or not kind.commit(flow.all[i]):
        return None
    last = next(s for s in reversed(flow.all[:i]) if mutate.is_access(s))
    if not re.match(kind.copies, last.opcode):
        return "what it goes past is not of its groups"
    if ways_of_group(flow, i, kind, lambda left, commits: None if commits < left else commits > left):
        return "each wait for its group is for the next one as well"


def whole_barrier(s):
    return s.opcode.startswith(("bar.warp.sync", "bar.sync", "barrier.cluster."))


NO_WORK = re.compile(r"\.reg|mov|add|sub|mul|mad|shl|shr|and|or|xor|bfe|cvt|selp|setp|min|max|neg|bra|ret|ld\.param|mapa|shfl|setmaxnreg|"
                     r"ex2|div|fma|abs|not|bar\.|wgmma\.(fence|commit)|cp\.async\.bulk\.commit")


def warp_barrier(flow, i):
    """A bar.warp.sync between whose neighbours no two lanes meet: on one side, up to the next barrier, no lane does
    anything that others could see or wait for; or on both sides lane 0 alone does.

    Before it, these are no work of a lane: products and waits for them, which are the warp's; issuing a bulk copy, whose
    end no barrier waits for; waits that wait for nothing; arrivals, which nothing behind it needs; and waits for an
    mbarrier that all lanes execute, if products follow, which the warp begins together. Behind it, waits for an mbarrier
    are none."""
    if not flow.all[i].opcode.startswith("bar.warp.sync"):
        return None
    lanes = flow.of_lane_0

    def nothing_waited(j):
        kind = kind_of(flow.all[j])
        return kind is not None and kind.wait(flow.all[j]) is not None and waits_for_nothing(flow, j, kind)

    # Each way back, and whether a product was met on it.
    before, seen, work = set(), set(), [(j, False) for j in flow.before[i]]
    while work:
        j, together = work.pop()
        s = flow.all[j]
        if (j, together) in seen or whole_barrier(s):
            continue
        seen.add((j, together))
        op = s.opcode
        polls = op.startswith("mbarrier.try_wait")
        if not (NO_WORK.match(op) or op.startswith(("wgmma.", "mbarrier.arrive")) or re.match(BULK.copies, op) or
                nothing_waited(j) or (polls and together and j not in lanes)):
            before.add(j)
        together |= op.startswith("wgmma.")
        work += [(k, together) for k in flow.before[j]]
    behind = {j for j in flow.walk(i, False, whole_barrier)[0]
              if not NO_WORK.match(flow.all[j].opcode) and not flow.all[j].opcode.startswith("mbarrier.try_wait") and
              not flow.all[j].opcode.startswith("wgmma.wait") and not nothing_waited(j)}
    if not before:
        return "no lane does anything before it"
    if not behind:
        return "no lane does anything behind it"
    if before | behind <= lanes:
        return "lane 0 alone does something on either side"


def fence_of_registers(flow, i):
    """A wgmma.fence whose registers an earlier fence has covered: since then only products of the same shape have used
    them. PTX asks for it at the first product and after other accesses to the registers."""
    if not flow.all[i].opcode.startswith("wgmma.fence"):
        return None

    def fence(s):
        return s.opcode.startswith("wgmma.fence")

    def used(s):
        operands = mutate.split(s.operands)
        return mutate.registers([o for o in operands[:2] if o.startswith("{")])
    products = [flow.all[j] for j in flow.walk(i, False, fence)[0] if flow.all[j].opcode.startswith("wgmma.mma")]
    of = {r: p.opcode for p in products for r in used(p)}
    between, covered = flow.walk(i, True, fence)
    for j in between:
        s = flow.all[j]
        if s.opcode.startswith("wgmma.mma"):
            if any(of.get(r, s.opcode) != s.opcode for r in used(s)):
                return None
        elif mutate.registers([s.guard, s.operands]) & set(of):
            return None
    return "an earlier fence covers its registers" if covered else None


def fence_of_inits(flow, i):
    """A fence.mbarrier_init that goes before the last init, of an mbarrier that no copy signals: threads arrive and
    wait there, and these the barrier behind the fence orders. That of a cluster orders those of all its blocks: it
    releases and acquires."""
    if not flow.all[i].opcode.startswith("fence.mbarrier_init"):
        return None
    last = next(s for s in reversed(flow.all[:i]) if mutate.is_access(s))
    if any(s.opcode.startswith("barrier.cluster.arrive.relaxed") for s in flow.all):
        return None
    users = [j for j, s in enumerate(flow.all) if s.opcode.startswith(("mbarrier.arrive", "mbarrier.try_wait"))]
    signals = [j for j, s in enumerate(flow.all) if s.opcode.startswith("cp.async.bulk") and "mbarrier" in s.opcode]
    signalled = [flow.place(j) for j in signals]
    bases = signalled + [flow.place(j) for j in users]
    if None in bases or not last.opcode.startswith("mbarrier.init"):
        return None
    of_last = flow.base(mutate.split(last.operands)[0])
    ring = max((b for b in bases if b <= of_last), default=None)
    if ring is not None and ring not in signalled and of_last - ring < 128:
        return "no copy signals the mbarrier whose init it goes before"


def last_arrival(flow, i):
    """An arrival that is each thread's last at this ring, deleted or relaxed. Without it the phase that it counts for never ends, so who
    waits for that phase hangs in every order; nobody does, if the mutant ends."""
    s = flow.all[i]
    if not s.opcode.startswith(("mbarrier.arrive.shared", "mbarrier.arrive.release.cluster")):
        return None
    ring = flow.place(i)
    later = [j for j in flow.walk(i, False, lambda s: False)[0] if flow.all[j].opcode.startswith("mbarrier.arrive")]
    if ring is not None and all(flow.place(j) not in (ring, None) for j in later):
        return "nobody waits for the last phases of its ring"


def other_barrier(flow, i):
    """Another number for a named barrier, which nothing else uses. All its threads then come from this place: with
    others missing it would hang in every order."""
    s = flow.all[i]
    operands = mutate.split(s.operands)
    if not re.match(r"bar\.sync", s.opcode) or len(operands) < 2 or not operands[0].isdigit():
        return None
    numbers = [mutate.split(o.operands)[0] for o in flow.all if re.match(r"bar\.(sync|arrive)", o.opcode)]
    if all(n.isdigit() and int(n) != int(operands[0]) + 1 for n in numbers):
        return "all its threads meet at the other number"


RULES = {
    ("delete sync", ""): (needless_wait, needless_commit, warp_barrier, fence_of_registers, last_arrival),
    ("semantics", ""): (last_arrival,),
    ("wait N+1", ""): (needless_wait,),
    ("move", ""): (warp_barrier, fence_of_registers),
    ("move", "^"): (commit_before_copy, fence_of_inits, warp_barrier),
    ("barrier id", ""): (other_barrier,),
}


def reason(flow, family, number, variant):
    """Why the mutant changes nothing; None: no rule says that it does not."""
    return next((why for rule in RULES.get((family, variant), ()) if (why := rule(flow, number - 1))), None)
