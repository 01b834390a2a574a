# SPDX-License-Identifier: Apache-2.0
"""mutate.py ACTRT_SIM [--sample N] [--only PATTERN] [--list] [--kernels] [-j N]: how many
broken kernels does the simulator notice?

Every operator is applied at every site of every kernel of kernels/ that is to pass; each
result (a mutant) is run like the original, in all cases that launch the kernel and under up
to --seeds seeds, until it is noticed. Noticed by a check: actrt-sim exits with 2 (a race, a deadlock, an
uninitialised read, …). By the result: the output is wrong and no check said so. A mutant
that the decoder refuses is no mutant. Those that change nothing by happens-before are
listed with the argument in equivalent-mutants.txt and counted apart.

  delete sync     a barrier, fence, mbarrier operation, commit or wait goes away
  delete copy     an asynchronous copy or product goes away
  delete access   an access to shared memory, an atomic operation or a store goes away
  delete other    any other instruction goes away, but `mov` of a register or a number, which is
                  a name only, and the last `ret`
  wait N+1        wait_group waits for one group less
  parity          an mbarrier wait looks at the other parity
  bytes           expect_tx of 16 bytes more, and of 16 less
  arrivals        mbarrier.init with one arrival more, and one less
  semantics       acquire, release, acq_rel → relaxed; sc → acq_rel; volatile → weak
  scope           gpu, sys, cluster → cta
  barrier id      a named barrier becomes the next one (not barrier 0 of all threads: any number
                  is as good)
  move            the instruction goes past the next access to memory that it orders. What
                  waits (barrier, wait, fence) orders those behind it; what tells (barrier,
                  arrival, commit, fence) those before it. An arrival that goes the other way
                  would tell more, and break nothing.

--sample N takes N mutants, the same ones each time. A mutant is called
FILE KERNEL operator #n, of the n-th instruction; --only takes a pattern of names."""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import pathlib
import re
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "kernels"))
import launch  # noqa: E402

Statement = collections.namedtuple("Statement", "start end guard opcode operands")
Mutant = collections.namedtuple("Mutant", "name family text")


def body_of(text, entry):
    """The span of the braces of an entry."""
    at = re.search(r"\.entry\s+" + re.escape(entry) + r"\s*\(", text).end()
    start = text.index("{", text.index(")", at))
    depth = 0
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return start + 1, i
    raise ValueError(f"{entry}: no end")


def statements(text, entry):
    """Instructions in order; None where a basic block or a scope ends."""
    at, end = body_of(text, entry)
    found = []
    token = re.compile(r"(?://|\.loc\b)[^\n]*|\s+|[{}]|[\w$%]+:(?!:)|[^;{}\s][^;]*;", re.S)
    while at < end:
        match = token.match(text, at)
        if not match:
            raise ValueError(f"cannot read {text[at:at + 40]!r}")
        word = match.group()
        if word in "{}" or (word.endswith(":") and not word.isspace()):
            found.append(None)
        elif not word.isspace() and not word.startswith(("//", ".loc")):
            parts = re.match(r"(@!?[\w$%]+\s+)?([\w.:]+)\s*(.*);$", word, re.S)
            if parts:
                guard, opcode, operands = parts.groups()
                found.append(Statement(at, match.end(), guard or "", opcode, operands))
                if opcode.split(".")[0] in ("bra", "brx", "ret", "exit", "trap", "call"):
                    found.append(None)
        at = match.end()
    return found


def split(operands):
    """Operands at the commas outside of brackets."""
    out, depth, current = [], 0, ""
    for c in operands:
        depth += {"{": 1, "[": 1, "(": 1, "}": -1, "]": -1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            out.append(current.strip())
            current = ""
        else:
            current += c
    return out + [current.strip()] if current.strip() else out


SYNCHRONISES = re.compile(
    r"(bar|barrier)\.|membar|fence\.|mbarrier\.(init|arrive|arrive_drop|expect_tx|complete_tx|test_wait|try_wait)|"
    r"cp\.async\.(commit_group|wait_group|wait_all|mbarrier)|cp\.async\.bulk\.(commit_group|wait_group)|"
    r"wgmma\.(fence|commit_group|wait_group)|tensormap\.cp_fenceproxy")
WAITS = re.compile(
    r"(bar|barrier)(\.cta)?\.(sync|red)|bar\.warp|barrier\.cluster\.wait|membar|fence\.|mbarrier\.(test|try)_wait|"
    r"mbarrier\.expect_tx|cp\.async\.wait|cp\.async\.bulk\.wait|wgmma\.(fence|wait)|tensormap\.cp_fenceproxy")
TELLS = re.compile(
    r"(bar|barrier)(\.cta)?\.(sync|red|arrive)|bar\.warp|barrier\.cluster\.arrive|membar|fence\.|"
    r"mbarrier\.(arrive|complete_tx)|cp\.async\.(bulk\.)?commit|cp\.async\.mbarrier|wgmma\.(fence|commit)|"
    r"tensormap\.cp_fenceproxy")
COPIES = re.compile(r"cp\.async\.(ca|cg)\.|cp\.async\.bulk\.(shared|global|tensor)|cp\.reduce\.async|wgmma\.mma_async")
MEMORY = re.compile(r"(ld|st|atom|red|ldmatrix|stmatrix|wmma\.(load|store)|tensormap\.replace)\b")
ACCESSES = re.compile(r"(st\.(?!local|param)|ld\.(volatile\.)?shared|atom|red\.|ldmatrix|stmatrix)")
PLAIN_GLOBAL_LOAD = re.compile(r"ld\.(param|const|local)|ld\.global(?!.*(acquire|volatile|relaxed))|st\.local")


def edited(text, s, replacement):
    return text[:s.start] + replacement + text[s.end:]


def rebuilt(s, opcode=None, operands=None):
    return f"{s.guard}{opcode or s.opcode} {', '.join(operands) if operands is not None else s.operands};"


def with_sum(s, operands, index, delta, operation="add.u32"):
    """The statement with operand `index` changed by a number, through a register of its own
    when the operand is one."""
    value = operands[index]
    if re.fullmatch(r"-?\d+|0x[0-9a-fA-F]+", value):
        number = int(value, 0) + delta if operation == "add.u32" else int(value, 0) ^ delta
        return None if number < 0 else rebuilt(s, operands=[*operands[:index], str(number), *operands[index + 1:]])
    inside = rebuilt(s, operands=[*operands[:index], "%mutant", *operands[index + 1:]])
    return f"{{ .reg .b32 %mutant; {operation} %mutant, {value}, {delta}; {inside} }}"


def mutants_of(text, entry):
    """(family, n-th statement, variant, text)"""
    all_statements = statements(text, entry)
    # The end of the body returns as well as the last instruction.
    last = max(i for i, s in enumerate(all_statements) if s and s.opcode == "ret")
    number = 0
    for i, s in enumerate(all_statements):
        if s is None:
            continue
        number += 1
        op, operands = s.opcode, split(s.operands)
        out = []
        if SYNCHRONISES.match(op):
            out.append(("delete sync", "", edited(text, s, " ")))
        if COPIES.match(op):
            out.append(("delete copy", "", edited(text, s, " ")))
        if ACCESSES.match(op):
            out.append(("delete access", "", edited(text, s, " ")))
        if not (SYNCHRONISES.match(op) or COPIES.match(op) or ACCESSES.match(op) or op.startswith(".") or
                is_name(s) or i == last):
            out.append(("delete other", "", edited(text, s, " ")))
        if ".wait_group" in op:
            replacement = with_sum(s, operands, len(operands) - 1, 1)
            out.append(("wait N+1", "", edited(text, s, replacement)))
        if re.match(r"mbarrier\.(test|try)_wait\.parity", op):
            out.append(("parity", "", edited(text, s, with_sum(s, operands, 2, 1, "xor.b32"))))
        if re.match(r"mbarrier\.(arrive\.|arrive_drop\.)?expect_tx", op):
            for delta in (16, -16):
                replacement = with_sum(s, operands, len(operands) - 1, delta)
                if replacement:
                    out.append(("bytes", f"{delta:+d}", edited(text, s, replacement)))
        if op.startswith("mbarrier.init"):
            for delta in (1, -1):
                out.append(("arrivals", f"{delta:+d}", edited(text, s, with_sum(s, operands, 1, delta))))
        if re.match(r"(ld|st|atom|red|fence|mbarrier|barrier)\.", op):
            weak = re.sub(r"\.(acquire|release|acq_rel)\b", ".relaxed", op)
            if op.startswith("fence."):
                weak = op.replace(".sc.", ".acq_rel.") if "proxy" not in op and "mbarrier_init" not in op else op
            if op.startswith(("barrier.cluster.wait", "mbarrier.init")):
                weak = op
            if weak != op:
                out.append(("semantics", "", edited(text, s, rebuilt(s, weak))))
            if ".volatile" in op:
                out.append(("semantics", "", edited(text, s, rebuilt(s, op.replace(".volatile", "")))))
        if re.match(r"membar\.(gl|sys)", op):
            out.append(("scope", "", edited(text, s, rebuilt(s, "membar.cta"))))
        elif re.match(r"(ld|st|atom|red|fence|mbarrier)\.", op) and "proxy" not in op and "init" not in op:
            narrow = re.sub(r"\.(gpu|sys|cluster)(?=\.|$)", ".cta", op, count=1)
            if narrow != op and not narrow.startswith("mbarrier") or (narrow != op and ".shared::cta" in op):
                out.append(("scope", "", edited(text, s, rebuilt(s, narrow))))
        if re.match(r"(bar|barrier)(\.cta)?\.(sync|arrive|red)", op) and "cluster" not in op:
            at, count = (1, 3) if ".red" in op else (0, 1)
            if len(operands) > count or operands[at] != "0":
                out.append(("barrier id", "", edited(text, s, with_sum(s, operands, at, 1))))
        if WAITS.match(op):
            out += [("move", "", t) for t in moved_down(text, all_statements, i)]
        if TELLS.match(op):
            out += [("move", "^", t) for t in moved_up(text, all_statements, i)]
        for family, variant, changed in out:
            yield family, number, variant, changed


def is_name(s):
    """A register or number under another name. Compilers write a value's zero twice, or where
    nobody reads it; assemblers make nothing of it."""
    return s.opcode.startswith("mov") and \
        re.fullmatch(r"%(?:p|rs|r|rd|f|fd)\d+|-?(?:0[xXfFdD])?[0-9a-fA-F]+(?:\.\d+)?", split(s.operands)[-1]) is not None


def is_access(s):
    """What the operator `move` goes past. Loads of parameters, constants and plain ones from
    global memory are not."""
    if COPIES.match(s.opcode) or s.opcode.startswith("mbarrier."):
        return True
    return bool(MEMORY.match(s.opcode)) and not PLAIN_GLOBAL_LOAD.match(s.opcode)


def registers(words):
    return set(re.findall(r"%[\w$]+|(?<![\w.])[pP]\d*\b", " ".join(words)))


def results(s):
    """Registers that it writes."""
    if re.match(r"(st|red|bar\.sync|cp|fence|membar)\b", s.opcode):
        return set()
    operands = split(s.operands)
    return registers(operands[:1]) if operands and "[" not in operands[0] else set()


def moved_down(text, all_statements, i):
    """Past the next access in its basic block. What stands between goes first: it must not
    need a result."""
    s, between = all_statements[i], []
    for other in all_statements[i + 1:]:
        if other is None:
            return
        if is_access(other):
            break
        if SYNCHRONISES.match(other.opcode):
            return  # changing places with its like is another question
        between.append(other)
    else:
        return
    if any(results(s) & registers([o.guard, o.operands]) for o in [*between, other]):
        return
    yield text[:s.start] + " " + text[s.end:other.end] + " " + text[s.start:s.end] + text[other.end:]


def moved_up(text, all_statements, i):
    """Before the last access in its basic block: a store or copy goes behind it instead, which
    is the same and keeps what the instruction itself reads."""
    s, between = all_statements[i], []
    for other in reversed(all_statements[:i]):
        if other is None:
            return
        if is_access(other):
            break
        if SYNCHRONISES.match(other.opcode):
            return
        between.append(other)
    else:
        return
    if not results(other):
        yield text[:other.start] + " " + text[other.end:s.end] + " " + text[other.start:other.end] + text[s.end:]
    elif not any(results(o) & registers([s.guard, s.operands]) for o in [other, *between]):
        yield text[:other.start] + text[s.start:s.end] + " " + text[other.start:s.start] + text[s.end:]


def all_mutants(pattern):
    """(cases, PTX path, target, mutants) for every correct kernel. Its cases launch it with
    other sizes; the last of them is the largest and goes first."""
    cases = collections.defaultdict(list)
    for case in launch.load_cases():
        if case.exit:
            continue
        path, target = case.files()[0] if case.files() else (None, None)
        if path is None:
            continue
        cases[path, target, case.entry].append(case)
    for (path, target, entry), of_text in cases.items():
        kernel = []
        for family, number, variant, changed in mutants_of(path.read_text(), entry):
            name = f"{path.stem} {entry} {family.replace(' ', '-')}{variant} #{number}"
            if fnmatch.fnmatch(name, pattern):
                kernel.append(Mutant(name, family, changed))
        if kernel:
            yield of_text[::-1], path, target, kernel


def equivalents():
    listed = {}
    for line in (HERE / "equivalent-mutants.txt").read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, argument = line.split(":: ", 1)
            listed[name.strip()] = argument
    return listed


def judge(sim, runs, path, target, text, folder, seeds):
    """check, result, missed or invalid; and the line that says why. `runs`: prepared cases,
    each with a limit of instructions."""
    ptx = folder / path.name
    ptx.write_text(text)
    for prepared, limit in runs:
        for seed in range(seeds):
            code, _, stderr, wrong = prepared.run(sim, ptx, target, seed, 600, ("--max-instructions", str(limit)))
            first = next((line for line in stderr.splitlines() if line.strip()), "")
            if code == "timeout":
                return "missed", first
            # Findings that are tolerated stand in front of what stopped it.
            stopped = next((line for line in stderr.splitlines() if "was stopped after" in line), "")
            if code == 2 or stopped:
                return "check", stopped if code != 2 else first
            if code != 0:
                return "invalid", first
            if wrong:
                return "result", wrong[0]
    return "missed", ""


def prepare(sim, case, path, target, folder):
    """The case's files, and how many instructions a mutant of it gets; None: it fails itself."""
    prepared = launch.Prepared(case, folder)
    code, stdout, _, wrong = prepared.run(sim, path, target, 0, 600)
    if code != 0 or wrong:
        return None
    # Who spins runs longer under other seeds.
    return prepared, max(20 * int(re.search(r"warp instructions +(\d+)", stdout).group(1)), 200_000)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sim")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--kernels", action="store_true", help="a table by kernel, too")
    parser.add_argument("--show", action="store_true", help="a line for every mutant")
    parser.add_argument("--at-least", type=float, default=99.0, help="percent to be noticed")
    parser.add_argument("-j", type=int, default=2)
    options = parser.parse_args()
    groups = list(all_mutants(options.only))
    total = sum(len(g[3]) for g in groups)
    if options.sample:
        def rank(m):
            return hashlib.sha256(m.name.encode()).hexdigest()
        kept = sorted((rank(m) for g in groups for m in g[3]))[:options.sample]
        chosen = set(kept)
        groups = [(c, p, t, [m for m in ms if rank(m) in chosen]) for c, p, t, ms in groups]
        groups = [g for g in groups if g[3]]
    if options.list:
        for g in groups:
            for m in g[3]:
                print(m.name)
        print(total, "mutants")
        return 0
    sim = pathlib.Path(options.sim)
    sim = str(sim / "bin/actrt-sim" if sim.is_dir() else sim)
    listed = equivalents()
    work = pathlib.Path(tempfile.mkdtemp(prefix="act-mutants-"))
    scores, kernels = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    stale = []

    # In pieces: kernels have from two mutants to hundreds.
    pieces = [(c, p, t, ms[k:k + 16]) for c, p, t, ms in groups for k in range(0, len(ms), 16)]

    def piece_results(index):
        cases, path, target, mutants = pieces[index]
        folder = work / str(index)
        runs = [prepare(sim, case, path, target, folder / str(k)) for k, case in enumerate(cases)]
        if None in runs:
            return [(m, "unusable", "the kernel itself fails") for m in mutants]
        # A look at those that are listed, in case they are noticed by now.
        return [(m, *judge(sim, runs, path, target, m.text, folder, 2 if m.name in listed else options.seeds))
                for m in mutants]

    try:
        with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
            for outcome in pool.map(piece_results, range(len(pieces))):
                for mutant, verdict, why in outcome:
                    if mutant.name in listed:
                        if verdict in ("check", "result"):
                            stale.append(mutant.name)
                        elif verdict == "missed":
                            verdict = "equivalent"
                    scores[mutant.family][verdict] += 1
                    kernels[" ".join(mutant.name.split()[:2])][verdict] += 1
                    if verdict in ("missed", "unusable") or options.show:
                        print(f"{verdict}: {mutant.name}  {why}", flush=True)
    finally:
        shutil.rmtree(work)
    if options.kernels:
        table("kernel", sorted(kernels.items()))
    return report(scores, stale, options.at_least, not options.sample and options.only == "*")


def table(of, rows):
    columns = ["check", "result", "missed", "equivalent", "invalid", "unusable"]
    width = max(len(name) for name, _ in rows) + 1
    print(f"{of:{width}}" + "".join(f"{c:>11}" for c in columns) + f"{'noticed':>9}")
    for name, counts in rows:
        counted = counts["check"] + counts["result"] + counts["missed"]
        share = 100 * (counts["check"] + counts["result"]) / counted if counted else 100
        print(f"{name:{width}}" + "".join(f"{counts[c]:11}" for c in columns) + f"{share:8.1f}%")


def report(scores, stale, at_least, whole):
    everything = collections.Counter()
    for counts in scores.values():
        everything += counts
    table("family", [*sorted(scores.items()), ("all", everything)])
    for name in stale:
        print(f"listed as equivalent, but noticed: {name}")
    counted = everything["check"] + everything["result"] + everything["missed"]
    noticed = everything["check"] + everything["result"]
    bad = counted == 0 or 100 * noticed < at_least * counted or everything["unusable"] or stale
    # Of a part, the share may be any.
    if whole and 100 * everything["equivalent"] > 5 * (counted + everything["equivalent"]):
        print("more than 5 % are listed as equivalent")
        bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
