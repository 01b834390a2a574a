// SPDX-License-Identifier: Apache-2.0
//
// Derives the formulas that MemoryFormulas.h describes from one written-out
// program. Numbers come from counting; letters come from types and from how the
// counts relate to the number of layers.
#include "passes/memory/MemoryFormulas.h"
#include "dialects/act/Types.h"
#include <algorithm>
#include <numeric>
#include <set>

using namespace mlir;
using namespace act;
using symbolic::Polynomial;

Polynomial act::bytesInLetters(RankedTensorType type) {
  int64_t elements = type.getNumElements();
  Polynomial product =
      Polynomial::constant(elements ? byteSize(type) / elements : 0);
  for (const std::string &name : dimNames(type)) {
    auto dim = Polynomial::parse(name);
    product = product * (dim ? *dim : Polynomial::constant(1));
  }
  return product;
}

/// The most that alignment adds to a buffer of this type. Its bytes are a
/// multiple of the gcd of their coefficients.
static Polynomial paddingOf(RankedTensorType type) {
  int64_t step = arenaAlignment;
  Polynomial bytes = bytesInLetters(type);
  for (auto &[monomial, coefficient] : bytes.terms())
    step = std::gcd(step, int64_t(coefficient % arenaAlignment));
  return Polynomial::constant(arenaAlignment - step);
}

namespace {

/// A letter and its value in this program; without a name, a number.
struct Letter {
  std::string name;
  int64_t value = 0;

  /// `count` relative to the letter: letter - (value - count).
  Polynomial below(int64_t count) const {
    if (name.empty())
      return Polynomial::constant(count);
    return Polynomial::letter(name) + Polynomial::constant(count - value);
  }
};

/// A subset of the indices 0 .. size - 1.
struct Indices {
  int64_t count = 0, sum = 0;
  void add(int64_t i, int64_t sign) {
    count += sign;
    sum += sign * i;
  }
  /// Distinct indices have the minimum sum exactly if they are the first ones.
  bool areFirst() const { return sum == count * (count - 1) / 2; }
  bool areLast(int64_t size) const {
    return sum == count * (2 * size - count - 1) / 2;
  }
};

/// One derivation. Live values are grouped by the part of the IR that makes
/// them and by run (`Kind`), so that a kind's instances differ only in their
/// layer. Which layers these are shows how the count depends on L.
class Deriver {
public:
  Deriver(const Program &program, const symbolic::Letters &letters)
      : program(program), letters(letters) {
    findSegments();
    findHolders();
  }
  MemoryFormulas run();

private:
  /// A buffer and the launches during which it holds its memory.
  struct Holder {
    const FlatBuffer *buffer;
    unsigned first, last;
    bool crosses; // the memory is alive from forward to backward
  };
  /// The live instances of a value in the layers of one run.
  struct Alive {
    const FlatBuffer *sample = nullptr;
    Indices slices;
    bool crosses = false;
  };
  using Source = std::pair<const void *, unsigned>;
  using Kind = std::pair<Source, int>; // and run
  using AliveKinds = std::map<Kind, Alive>;

  void findSegments();
  void findHolders();
  std::string fresh(std::string name, StringRef meaning, int64_t value);
  void change(AliveKinds &alive, const Holder &h, int64_t sign) const;
  Polynomial times(const Alive &kind, int run, int64_t slice) const;
  using Weight = llvm::function_ref<Polynomial(RankedTensorType)>;
  Polynomial sum(const AliveKinds &alive, int run, int64_t slice,
                 Weight weight = bytesInLetters) const;
  void findLayerPeaks();
  bool isCandidate(unsigned t, unsigned highest) const;
  void findPeak(const std::vector<Polynomial> &sums);

  const Program &program;
  const symbolic::Letters &letters;
  std::vector<Holder> holders;
  std::vector<Letter> layersOf; // of a run
  std::vector<int64_t>
      segmentOf; // of a run: its index among the segments, or -1
  Letter segments;
  MemoryFormulas out;
};

std::string Deriver::fresh(std::string name, StringRef meaning, int64_t value) {
  std::string letter = name;
  for (int i = 2; letters.count(letter) || out.letters.count(letter); ++i)
    letter = name + std::to_string(i);
  out.letters[letter] = value;
  out.meaning[letter] = meaning.str();
  return letter;
}

// Segments are consecutive forward runs of one function in one body. The runs
// that backward repeats or differentiates are pieces of them and get no letter.
void Deriver::findSegments() {
  std::map<std::pair<unsigned, std::string>, std::vector<unsigned>> families;
  // With fewer than four layers, values moved back one layer ahead cannot be
  // told from values left by all layers but the last two.
  bool moves = llvm::any_of(program.buffers,
                            [](const FlatBuffer &b) { return b.onHost; });
  for (auto [i, run] : llvm::enumerate(program.runs)) {
    bool tooFew = moves && run.count > 1 && run.count < 4;
    out.layersAreTooFew |= tooFew;
    layersOf.push_back({tooFew ? std::string() : run.letter, run.count});
    segmentOf.push_back(-1);
    if (!run.backward) {
      families[{run.body, run.callee}].push_back(i);
      out.layersAreCut |= run.from > 0 && run.letter.empty();
    }
  }
  std::set<std::pair<int64_t, int64_t>>
      sizes; // segments, layers of the longest
  std::set<std::string> names;
  for (const Letter &l : layersOf)
    names.insert(l.name);
  names.erase("");
  for (auto &[key, family] : families) {
    int64_t longest = 0, end = program.runs[family[0]].from;
    bool behind = family.size() > 1;
    for (unsigned i : family) {
      const FlatRun &run = program.runs[i];
      behind &= run.from == end;
      end = run.from + run.count;
      longest = std::max(longest, run.count);
    }
    if (!behind)
      continue;
    sizes.insert({family.size(), longest});
    for (unsigned i = 0; i < family.size(); ++i)
      segmentOf[family[i]] = i;
  }
  Letter pieces;
  if (sizes.size() == 1) {
    auto [count, longest] = *sizes.begin();
    segments = {fresh("n", "segments of layers", count), count};
    pieces = {fresh("m", "layers of the longest segment", longest), longest};
  } else if (sizes.empty() && names.size() == 1 && !out.layersAreCut) {
    pieces = *llvm::find_if(layersOf,
                            [](const Letter &l) { return !l.name.empty(); });
  }
  for (Letter &l : layersOf)
    if (l.name.empty() && l.value <= pieces.value)
      l = pieces;
}

// Ops that work in place hand a root's memory from value to value. Each gets
// its own time, because their types may have different letters for the same
// bytes.
void Deriver::findHolders() {
  std::map<unsigned, std::vector<const FlatBuffer *>> chains;
  for (unsigned i = 0; i < program.buffers.size(); ++i)
    if (const FlatBuffer &b = program.buffers[i];
        !b.parent && !program.buffers[program.root(i)].onHost)
      chains[program.root(i)].push_back(&b);
  for (auto &[root, chain] : chains) {
    const FlatBuffer &owner = program.buffers[root];
    if (!owner.bytes)
      continue;
    std::stable_sort(chain.begin(), chain.end(),
                     [](auto *x, auto *y) { return x->first < y->first; });
    bool crosses = program.backward && owner.first < *program.backward &&
                   owner.last >= *program.backward;
    for (size_t i = 0; i < chain.size(); ++i) {
      unsigned end =
          i + 1 < chain.size() ? chain[i + 1]->first : owner.last + 1;
      if (end > chain[i]->first)
        holders.push_back({chain[i], chain[i]->first, end - 1, crosses});
    }
  }
}

// Adds an instance to the live ones, or with sign -1 takes it away.
void Deriver::change(AliveKinds &alive, const Holder &h, int64_t sign) const {
  Kind key{h.buffer->source(), h.buffer->run};
  Alive &kind = alive[key];
  kind.sample = h.buffer;
  kind.crosses = h.crosses;
  kind.slices.add(h.buffer->slice, sign);
  if (kind.slices.count == 0)
    alive.erase(key);
}

/// The number of live instances of a kind in layer `slice` of run `run`.
Polynomial Deriver::times(const Alive &kind, int run, int64_t slice) const {
  auto [count, indices] = std::pair(kind.slices.count, kind.slices);
  int of = kind.sample->run;
  if (of < 0)
    return Polynomial::constant(count);
  int64_t layers = program.runs[of].count;
  int64_t length = run >= 0 ? program.runs[run].count : 1;
  bool inFirst = slice == 0 && length > 1;
  // The count grows with the number of layers if the only missing slices are
  // those that this moment, near an end of its run, has not reached.
  bool early = inFirst || slice + 2 < length;
  bool grows = layers == 1
                   ? !inFirst && (kind.crosses || run != of)
                   : indices.areFirst() && count + (early ? 0 : 2) >= layers;
  grows |= count > 1 && indices.areLast(layers) &&
           count + (early ? slice + 1 : 2) >= layers;
  return grows ? layersOf[of].below(count) : Polynomial::constant(count);
}

/// The bytes alive, in letters. What every earlier segment has left counts per
/// segment, times the number of segments.
Polynomial Deriver::sum(const AliveKinds &alive, int run, int64_t slice,
                        Weight weight) const {
  Polynomial total;
  // For a value that every earlier segment has left: the count in each segment,
  // and the segments.
  std::map<std::pair<Source, std::string>, std::pair<Polynomial, Indices>> left;
  for (auto &[key, kind] : alive) {
    Polynomial bytes = times(kind, run, slice) * weight(kind.sample->type);
    int of = key.second;
    if (of < 0 || of == run || segmentOf[of] < 0) {
      total += bytes;
      continue;
    }
    auto &[each, segmentsThere] = left[{key.first, bytes.str()}];
    each = bytes;
    segmentsThere.add(segmentOf[of], 1);
  }
  for (auto &[key, entry] : left) {
    auto &[each, there] = entry;
    total += each * (there.areFirst() ? segments.below(there.count)
                                      : Polynomial::constant(there.count));
  }
  return total;
}

// Only the ends of a run can be the peak (see the header). The moment that is
// highest at this size is always one, so that the formula gives this program's
// peak.
bool Deriver::isCandidate(unsigned t, unsigned highest) const {
  const FlatLaunch &launch = program.launches[t];
  if (launch.run < 0 || t == highest || launch.slice == 0)
    return true;
  return launch.slice + 2 >= program.runs[launch.run].count;
}

struct Candidate {
  Polynomial sum;
  int64_t value;          // at this program's size
  Polynomial atLeast;     // counts of layers shifted: 1 stands for two layers
  Polynomial ofThisModel; // the same, with the model's own letters bound
};

/// Erases candidates that another dominates for all sizes, as seen by `view`.
void prune(std::vector<Candidate> &candidates, Polynomial Candidate::*view) {
  std::vector<Candidate> kept;
  for (Candidate &c : candidates) {
    auto below = [&](const Candidate &k) {
      return (k.*view).dominates(c.*view);
    };
    if (llvm::any_of(kept, below))
      continue;
    llvm::erase_if(
        kept, [&](const Candidate &k) { return (c.*view).dominates(k.*view); });
    kept.push_back(c);
  }
  candidates = std::move(kept);
}

/// The maximum of `sums`, for all sizes of at least two layers. Candidates that
/// matter for this model come first, and of those the largest at `letters`.
void Deriver::findPeak(const std::vector<Polynomial> &sums) {
  symbolic::Letters all = letters, widths;
  all.insert(out.letters.begin(), out.letters.end());
  std::set<std::string> counts;
  for (const Letter &l : layersOf)
    if (!l.name.empty() && l.value > 1)
      counts.insert(l.name);
  if (segments.value > 1)
    counts.insert(segments.name);
  for (const FlatParameter &p : program.parameters)
    for (const std::string &name :
         dimNames(cast<RankedTensorType>(p.op.getType())))
      if (auto it = letters.find(name); it != letters.end())
        widths.insert(*it);

  // The segments are fixed for this model, too.
  widths.insert(out.letters.begin(), out.letters.end());
  auto twoLayers = [&](Polynomial p) {
    for (const std::string &l : counts)
      p = p.substitute(l, Polynomial::letter(l) + Polynomial::constant(1));
    return p;
  };

  std::vector<Candidate> candidates;
  for (const Polynomial &p : sums) {
    auto value = p.evaluate(all);
    candidates.push_back(
        {p, value ? *value : 0, twoLayers(p), twoLayers(p.bind(widths))});
  }
  // Largest first, because they eliminate most of the others.
  llvm::stable_sort(candidates,
                    [](auto &x, auto &y) { return x.value > y.value; });
  prune(candidates, &Candidate::atLeast);
  std::vector<Candidate> matter = candidates;
  prune(matter, &Candidate::ofThisModel);
  std::vector<Polynomial> list;
  for (const Candidate &c : matter)
    list.push_back(c.sum);
  for (const Candidate &c : candidates)
    if (!llvm::is_contained(ArrayRef(list).take_front(matter.size()), c.sum))
      list.push_back(c.sum);
  out.peak = symbolic::Expr::max(list);
  out.shown = out.peak.candidates().size() == list.size() ? matter.size() : 0;
}

// The peak of each layer, counting only its own buffers.
void Deriver::findLayerPeaks() {
  std::map<int, std::vector<const Holder *>> byLayer;
  for (const Holder &h : holders)
    if (h.buffer->layer >= 0)
      byLayer[h.buffer->layer].push_back(&h);
  std::vector<Polynomial> last; // neighbours are often equal
  symbolic::Expr highest;
  for (auto &[layer, list] : byLayer) {
    std::map<unsigned, Polynomial> changes;
    for (const Holder *h : list) {
      Polynomial bytes = bytesInLetters(h->buffer->type);
      changes[h->first] += bytes;
      changes[h->last + 1] += -1 * bytes;
    }
    Polynomial live;
    std::vector<Polynomial> sums;
    for (auto &[t, change] : changes)
      sums.push_back(live += change);
    if (sums != last)
      highest = symbolic::Expr::max(sums);
    last = std::move(sums);
    out.layerPeak[layer] = highest;
  }
}

// Sweeps over the launches with the kinds alive at each. Equal sums are dropped
// at once, because comparing candidates is quadratic.
MemoryFormulas Deriver::run() {
  std::vector<std::vector<const Holder *>> begin(program.launches.size() + 1),
      end(program.launches.size() + 1);
  for (const Holder &h : holders) {
    begin[h.first].push_back(&h);
    end[h.last + 1].push_back(&h);
  }
  auto live = program.liveBytes();
  unsigned highest = std::max_element(live.begin(), live.end()) - live.begin();
  AliveKinds alive;
  std::vector<Polynomial> sums, paddings;
  std::set<std::map<symbolic::Monomial, symbolic::Coefficient>> seen;
  for (unsigned t = 0; t < program.launches.size(); ++t) {
    for (const Holder *h : begin[t])
      change(alive, *h, 1);
    for (const Holder *h : end[t])
      change(alive, *h, -1);
    const FlatLaunch &launch = program.launches[t];
    // Until a buffer dies, memory only grows, so earlier launches cannot be the
    // peak.
    if (isCandidate(t, highest) && (t == highest || !end[t + 1].empty()))
      if (Polynomial p = sum(alive, launch.run, launch.slice);
          seen.insert(p.terms()).second) {
        sums.push_back(std::move(p));
        paddings.push_back(sum(alive, launch.run, launch.slice, paddingOf));
      }
  }
  out.alignment = symbolic::Expr::max(paddings);
  findLayerPeaks();
  AliveKinds kept;
  for (const Holder &h : holders)
    if (h.crosses && h.first < *program.backward &&
        h.last >= *program.backward - 1)
      change(kept, h, 1);
  out.retained = sum(kept, -1, 0);

  findPeak(sums);
  return std::move(out);
}

} // namespace

MemoryFormulas act::deriveFormulas(const Program &program,
                                   const symbolic::Letters &letters) {
  return Deriver(program, letters).run();
}
