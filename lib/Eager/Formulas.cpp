// SPDX-License-Identifier: Apache-2.0
//
// Derives formulas from runs with chosen sizes and verifies them at other sizes
// (Formulas.h). A formula that fails there is not returned.
#include "act/Eager/Formulas.h"
#include <algorithm>
#include <numeric>
#include <set>

namespace act::eager {
namespace {

using symbolic::Expr;
using symbolic::Letters;
using symbolic::Monomial;
using symbolic::Polynomial;

/// Factors up to this are coefficients; larger ones belong to letters.
constexpr int64_t mostCoefficient = 22;

int64_t largestPrime(int64_t n) {
  int64_t largest = 1;
  for (int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p)
      largest = p;
  return std::max(largest, n);
}

/// Sizes that tell letters apart. Those in `kept` keep their values.
class Sizes {
public:
  Sizes(const Model &real, const std::set<std::string> &kept, int round)
      : kept(kept), used{1} {
    model = real;
    hf::ModelConfig &c = model.config;
    bool square = c.family == hf::Family::Gpt2 || c.family == hf::Family::Bert;
    int64_t groups = c.heads / c.kvHeads;
    // Heads above 256 elements take other kernels, and kernels pad to 8.
    int64_t d = c.headDim;
    choose("d", c.headDim, like(d, 8, (d <= 256 ? 23 : 263) + 3 * round));
    for (int i = 0; i < 10 * round; ++i) // other primes than in earlier rounds
      prime();
    choose("b", model.batch, prime());
    // Kernels write blocks of 32 rows.
    int64_t s = model.seq;
    choose("s", model.seq, like(s, 32, 41));
    if (c.slidingWindow)
      c.slidingWindow = windowHides(real) ? model.seq / 2 : 2 * model.seq;
    if (groups == 1) {
      choose("a", c.heads, prime());
      c.kvHeads = c.heads;
    } else {
      choose("k", c.kvHeads, prime());
      choose("g", groups, prime());
      c.heads = groups * c.kvHeads;
    }
    if (square)
      c.hidden = c.heads * c.headDim;
    else
      choose("h", c.hidden, prime());
    choose("f", c.intermediate, prime());
    choose("V", c.vocab, prime());
    // Rope has no position table; otherwise only the table has this size.
    if (!c.rope)
      choose("P", c.maxPositions, like(0, 1, 2 * model.seq + 100));
    else
      c.maxPositions = 2 * model.seq;
    std::sort(values.begin(), values.end(),
              [](auto &x, auto &y) { return x.second > y.second; });
  }

  /// A dimension in letters, or its double if it is half of such a product.
  struct Term {
    Polynomial over;
    int64_t halves = 0; // 0 or 1
  };
  std::optional<Term> dimension(int64_t n) const {
    for (int64_t offset = 0; offset <= 64; ++offset)
      for (int64_t sign : {1, -1}) {
        int64_t rest = n - sign * offset;
        if (rest < 0 || (offset == 0 && sign < 0))
          continue;
        if (auto found = product(rest)) {
          found->over += Polynomial(sign * offset * (1 + found->halves));
          return found;
        }
      }
    return std::nullopt;
  }

  /// Bytes of a tensor.
  std::optional<Polynomial> bytes(const Allocation &a) const {
    Polynomial sum(1);
    int64_t elements = 1, halves = 0;
    for (int64_t n : a.shape) {
      auto term = dimension(n);
      if (!term)
        return std::nullopt;
      sum *= term->over;
      halves += term->halves;
      elements *= n;
    }
    if (elements == 0)
      return Polynomial();
    sum *= Polynomial(a.bytes / elements);
    Polynomial whole;
    for (const auto &[monomial, coefficient] : sum.terms()) {
      if (coefficient % (int64_t(1) << halves))
        return std::nullopt;
      whole += Polynomial::term(coefficient / (int64_t(1) << halves), monomial);
    }
    return named(whole);
  }

  Model model;

private:
  /// The next prime that no letter uses.
  int64_t prime() {
    while (largestPrime(next) != next || used.count(next))
      ++next;
    used.insert(next);
    return next++;
  }
  bool isNew(int64_t n) const {
    int64_t p = largestPrime(n);
    return p > mostCoefficient && !used.count(p);
  }
  /// A number with the same remainder as `size` modulo `unit`.
  int64_t like(int64_t size, int64_t unit, int64_t from) {
    int64_t n = from * unit + size % unit;
    while (!isNew(n))
      n += unit;
    used.insert(largestPrime(n));
    return n;
  }
  void choose(const std::string &letter, int64_t &size, int64_t other) {
    if (size == 0)
      return;
    if (!kept.count(letter)) {
      size = other;
      values.push_back({letter, size});
    }
  }
  /// n as a product of letters and a small factor, possibly halved.
  std::optional<Term> product(int64_t n) const {
    if (n == 0)
      return Term{Polynomial(), 0};
    std::vector<std::string> letters;
    auto divide = [&](int64_t rest) {
      letters.clear();
      for (const auto &[letter, value] : values)
        for (; rest % value == 0; rest /= value)
          letters.push_back(letter);
      return rest;
    };
    if (int64_t rest = divide(n); rest <= mostCoefficient)
      return Term{Polynomial::monomial(rest, letters), 0};
    if (int64_t rest = divide(2 * n); rest <= mostCoefficient)
      return Term{Polynomial::monomial(rest, letters), 1};
    return std::nullopt;
  }
  /// Replaces g*k by a, and d*a by h for models where they are equal.
  Polynomial named(const Polynomial &p) const {
    bool square = model.config.family == hf::Family::Gpt2 ||
                  model.config.family == hf::Family::Bert;
    Polynomial heads = kept.count("k")
                           ? p.substitute("g", Polynomial::letter("a"))
                           : joined(p, "g", "k", "a");
    return square ? joined(heads, "d", "a", "h") : heads;
  }
  /// Replaces x*y by z; `p` itself if a term has more of x than of y.
  static Polynomial joined(const Polynomial &p, const std::string &x,
                           const std::string &y, const std::string &z) {
    Polynomial out;
    for (const auto &[monomial, coefficient] : p.terms()) {
      const std::map<std::string, unsigned> &powers = monomial.exponents();
      auto count = [&powers](const std::string &letter) {
        auto it = powers.find(letter);
        return it == powers.end() ? 0u : it->second;
      };
      unsigned pairs = count(x);
      if (pairs > count(y))
        return p;
      std::vector<std::string> letters;
      for (const auto &[letter, power] : powers)
        for (unsigned i = letter == x || letter == y ? pairs : 0; i < power;
             ++i)
          letters.push_back(letter);
      letters.insert(letters.end(), pairs, z);
      out += Polynomial::term(coefficient, Monomial(letters));
    }
    return out;
  }

  const std::set<std::string> &kept;
  std::set<int64_t> used;
  int64_t next = 29;
  std::vector<std::pair<std::string, int64_t>> values;
};

/// A run and the polynomial of each of its storages.
struct Lettered {
  Run run;
  std::vector<Polynomial> bytes;

  /// Alive at each moment.
  std::vector<Polynomial> live() const {
    std::vector<Polynomial> change(run.moments + 2), out;
    for (size_t i = 0; i < bytes.size(); ++i)
      if (!run.allocations[i].apart) {
        change[run.allocations[i].born] += bytes[i];
        change[run.allocations[i].died] =
            change[run.allocations[i].died] - bytes[i];
      }
    Polynomial now;
    for (int64_t m = 0; m <= run.moments; ++m)
      out.push_back(now += change[m]);
    return out;
  }
  /// Kept for backward.
  Polynomial retained() const {
    Polynomial sum;
    for (const Saved &s : run.saved)
      sum += bytes[s.allocation];
    return sum;
  }
  /// The first moment at which something is made for a layer.
  int64_t start(int layer, Phase phase) const {
    for (const Allocation &a : run.allocations)
      if (a.layer == layer && a.phase == phase)
        return a.born;
    return run.moments;
  }
};

/// Letters whose sizes stay numbers.
using Kept = std::set<std::string>;

class Deriver {
public:
  Deriver(const Model &model, const Options &options, const Run &run)
      : model(model), options(options), real(run) {}

  Result<Formulas> derive() {
    Kept ones;
    const hf::ModelConfig &c = model.config;
    for (auto [letter, size] : {std::pair("b", model.batch),
                                {"s", model.seq},
                                {"a", c.heads},
                                {"k", c.kvHeads},
                                {"d", c.headDim},
                                {"P", c.maxPositions}})
      if (size == 1)
        ones.insert(letter);
    std::vector<Kept> tries{{}};
    if (!ones.empty())
      tries.push_back(ones);
    for (bool anyDepth : {true, false})
      for (const Kept &kept : tries)
        if (auto found = attempt(kept, anyDepth))
          return std::move(*found);
    return Error{"no formula was found that gives these bytes", ""};
  }

private:
  /// Runs with all layers, or with `depth` equal ones.
  std::optional<Lettered> lettered(const Kept &kept, int round,
                                   std::optional<int64_t> depth = {}) {
    Sizes sizes(model, kept, round);
    Options how = options;
    if (depth) {
      hf::ModelConfig &c = sizes.model.config;
      if (c.firstWindowLayer == c.layers)
        c.firstWindowLayer = *depth;
      c.layers = *depth;
      for (size_t i = 0; i < how.segments.size(); ++i)
        if (how.segments[i] != int64_t(i) + 1)
          return std::nullopt;
      if (!how.segments.empty()) {
        how.segments.resize(*depth);
        std::iota(how.segments.begin(), how.segments.end(), 1);
      }
      if (c.slidingWindow && c.firstWindowLayer > 0 &&
          c.firstWindowLayer < c.layers)
        return std::nullopt;
    }
    auto run = eager::run(sizes.model, how);
    if (!run)
      return std::nullopt;
    Lettered out;
    for (const Allocation &a : run->allocations) {
      auto bytes = sizes.bytes(a);
      if (!bytes)
        return std::nullopt;
      out.bytes.push_back(std::move(*bytes));
    }
    out.run = std::move(*run);
    return out;
  }

  static Letters lettersOf(const Model &m) {
    const hf::ModelConfig &c = m.config;
    Letters all{{"b", m.batch}, {"s", m.seq},     {"h", c.hidden},
                {"a", c.heads}, {"d", c.headDim}, {"f", c.intermediate},
                {"V", c.vocab}, {"L", c.layers}};
    if (!c.rope)
      all["P"] = c.maxPositions;
    if (c.kvHeads != c.heads)
      all["k"] = c.kvHeads;
    return all;
  }

  /// Whether the formulas give the bytes of a run.
  static bool gives(const Formulas &f, const Letters &letters, const Run &run) {
    auto is = [](const Result<int64_t> &value, int64_t bytes) {
      return value && *value == bytes;
    };
    if (f.saved.size() != run.saved.size() ||
        !is(f.retained.evaluate(letters), run.retainedBytes) ||
        !is(f.peak.evaluate(letters), run.peakBytes))
      return false;
    for (size_t i = 0; i < run.saved.size(); ++i)
      if (!is(f.saved[i].evaluate(letters), run.saved[i].bytes))
        return false;
    return true;
  }

  std::optional<Formulas> attempt(const Kept &kept, bool anyDepth) {
    auto found = lettered(kept, 0);
    if (!found)
      return std::nullopt;
    Formulas out;
    out.letters = lettersOf(model);
    for (const Saved &s : found->run.saved)
      out.saved.push_back(found->bytes[s.allocation]);
    if (anyDepth) {
      auto few = lettered(kept, 0, depth), more = lettered(kept, 0, depth + 1);
      if (!few || !more)
        return std::nullopt;
      out.retained = atDepth(few->retained(), more->retained());
      out.peak = Expr::max(peaks(*few, *more));
    } else {
      out.retained = found->retained();
      out.peak = Expr::max(distinct(found->live()));
    }
    if (!gives(out, out.letters, real))
      return std::nullopt;
    // Verify at other sizes, where a wrong formula would differ.
    Sizes others(model, kept, 1);
    auto again = eager::run(others.model, options);
    if (!again || !gives(out, lettersOf(others.model), *again))
      return std::nullopt;
    conditions(kept, anyDepth, out);
    return out;
  }

  /// Number of equal layers in a run: the first, the last and two in between.
  static constexpr int64_t depth = 4;

  /// The linear function of L through the values at `depth` and `depth` + 1
  /// layers.
  static Polynomial atDepth(const Polynomial &few, const Polynomial &more) {
    Polynomial slope = more - few;
    return few + slope * (Polynomial::letter("L") - Polynomial(depth));
  }

  /// At a moment that occurs once per layer, the live bytes are linear in the
  /// layer, so they are highest at the first or the last one. The candidates
  /// are the moments up to the end of the first layer, from the start of the
  /// last layer to the end of its backward, and from the first layer's backward
  /// on.
  static std::vector<Polynomial> peaks(const Lettered &few,
                                       const Lettered &more) {
    std::vector<Polynomial> a = few.live(), b = more.live(), all;
    int64_t aroundLoss = more.run.backwardMoment - few.run.backwardMoment,
            toEnd = more.run.moments - few.run.moments;
    auto add = [&](int64_t from, int64_t to, int64_t shift) {
      for (int64_t m = std::max<int64_t>(from, 0); m < to; ++m)
        if (m < int64_t(a.size()) && m + shift >= 0 &&
            m + shift < int64_t(b.size()))
          all.push_back(atDepth(a[m], b[m + shift]));
    };
    add(0, few.start(1, Phase::Forward), 0);
    add(few.start(depth - 1, Phase::Forward),
        few.start(depth - 2, Phase::Backward), aroundLoss);
    add(few.start(0, Phase::Backward), few.run.moments + 1, toEnd);
    return distinct(std::move(all));
  }

  static std::vector<Polynomial> distinct(std::vector<Polynomial> list) {
    std::vector<Polynomial> front;
    for (Polynomial &p : list) {
      if (std::any_of(front.begin(), front.end(),
                      [&](const Polynomial &o) { return o.dominates(p); }))
        continue;
      front.erase(
          std::remove_if(front.begin(), front.end(),
                         [&](const Polynomial &o) { return p.dominates(o); }),
          front.end());
      front.push_back(std::move(p));
    }
    return front;
  }

  void conditions(const Kept &kept, bool anyDepth, Formulas &out) const {
    const hf::ModelConfig &c = model.config;
    for (const std::string &letter : kept)
      out.conditions.push_back(
          {letter, "sizes of one are laid out in their own way", 1});
    if (!anyDepth)
      out.conditions.push_back({"L", "so many layers", c.layers});
    const bool windowed = windowHides(model);
    auto runs = [&](Attention kernel) {
      bool plain = !windowed || c.firstWindowLayer > 0;
      return (plain && options.attention == kernel) ||
             (windowed && options.masked.value_or(options.attention) == kernel);
    };
    if (runs(Attention::Efficient))
      out.conditions.push_back(
          {"s_mod_32", "the kernel writes blocks of 32 rows", model.seq % 32});
    if (runs(Attention::Flash) && c.headDim % 8)
      out.conditions.push_back(
          {"d_mod_8", "heads are padded to a multiple of 8", c.headDim % 8});
    if (c.slidingWindow && options.attention != Attention::Eager) {
      out.conditions.push_back(
          {windowed ? "s_from" : "s_to",
           windowed ? "a window hides something" : "a window hides nothing",
           *c.slidingWindow - (windowed ? 0 : 1)});
    }
  }

  const Model &model;
  const Options &options;
  const Run &real;
};

} // namespace

Result<Formulas> formulas(const Model &model, const Options &options,
                          const Run &run) {
  return Deriver(model, options, run).derive();
}

} // namespace act::eager
