// SPDX-License-Identifier: Apache-2.0
#include "act/Plan/Csv.h"
#include "act/Plan/Solver.h"
#include "act/Plan/Validator.h"
#include "test/lib/TransformerInstance.h"
#include <ctime>
#include <gtest/gtest.h>
#include <random>

using namespace act;
using namespace act::plan;
using instances::Shape;

namespace {

Plan solved(const Problem &problem, const SolverOptions &options = {}) {
  auto plan = solve(problem, options);
  EXPECT_TRUE(bool(plan)) << (plan ? "" : plan.error().str());
  return plan ? *plan : Plan();
}

/// The definition, pair by pair.
bool overlapFree(const Problem &p, const std::vector<int64_t> &offsets) {
  for (size_t i = 0; i < p.buffers.size(); ++i)
    for (size_t j = i + 1; j < p.buffers.size(); ++j) {
      const Buffer &x = p.buffers[i], &y = p.buffers[j];
      if (x.bytes && y.bytes && x.first < y.last && y.first < x.last &&
          offsets[i] < offsets[j] + y.bytes &&
          offsets[j] < offsets[i] + x.bytes)
        return false;
    }
  return true;
}

Problem randomProblem(std::mt19937 &random, int n, int time, int size) {
  Problem p;
  for (int i = 0; i < n; ++i) {
    int64_t first = random() % time;
    p.buffers.push_back({"r" + std::to_string(i), int64_t(random() % size),
                         first, first + 1 + int64_t(random() % (time / 3 + 1)),
                         int64_t(1) << (random() % 4)});
  }
  return p;
}

TEST(Plan, TheHeadersExample) {
  Problem p{{{"a", 256, 0, 2}, {"b", 256, 1, 3}, {"c", 256, 2, 4}}};
  Plan plan = solved(p);
  EXPECT_EQ(p.lowerBound(), 512);
  EXPECT_EQ(plan.arenaBytes, 512);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
  EXPECT_TRUE(bool(validate(p, plan)));
}

TEST(Plan, EmptyAndZeroSizedProblems) {
  EXPECT_EQ(solved(Problem()).arenaBytes, 0);
  Problem p{{{"z", 0, 3, 4, 64}, {"one", 1, 0, 9, 64}}};
  Plan plan = solved(p);
  EXPECT_EQ(plan.arenaBytes, 1);
  EXPECT_EQ(plan.provenBytes, 1);
  EXPECT_TRUE(bool(validate(p, plan)));
}

TEST(Plan, RandomProblemsAreValidAndRepeatable) {
  std::mt19937 random(5);
  for (int i = 0; i < 6; ++i) {
    Problem p = randomProblem(random, 200, 300, 5000);
    SolverOptions options;
    options.nodes = 20'000;
    Plan plan = solved(p, options), again = solved(p, options);
    EXPECT_EQ(plan.offsets, again.offsets);
    auto verdict = validate(p, plan);
    ASSERT_TRUE(bool(verdict)) << verdict.error().str();
    EXPECT_EQ(verdict->highestByte, plan.arenaBytes);
    EXPECT_EQ(verdict->lowerBoundBytes, plan.lowerBoundBytes);
    EXPECT_TRUE(overlapFree(p, plan.offsets));
  }
}

TEST(Plan, MoreNodesNeverHurt) {
  std::mt19937 random(6);
  Problem p = randomProblem(random, 150, 60, 5000);
  SolverOptions none, some;
  none.nodes = 0;
  EXPECT_LE(solved(p, some).arenaBytes, solved(p, none).arenaBytes);
}

/// The promise: no waste on training steps, in under half a second of CPU time
/// (a tenth on a quiet machine).
TEST(Plan, TrainingStepsWasteNothing) {
  for (int layers : {1, 28, 126})
    for (bool flash : {true, false})
      for (bool fusedLoss : {true, false})
        for (int segment : {0, 1, 5, 11}) {
          Shape shape;
          shape.layers = layers;
          shape.flash = flash;
          shape.fusedLoss = fusedLoss;
          shape.segment = segment;
          Problem p = instances::TransformerInstance(shape).problem;
          std::clock_t start = std::clock();
          Plan plan = solved(p);
          double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
          auto verdict = validate(p, plan);
          ASSERT_TRUE(bool(verdict)) << verdict.error().str();
          EXPECT_EQ(verdict->lowerBoundBytes, p.lowerBound());
          EXPECT_EQ(plan.arenaBytes, p.lowerBound())
              << layers << " " << flash << " " << fusedLoss << " " << segment;
          EXPECT_LT(seconds, 0.5) << p.buffers.size();
        }
}

/// Of odd shapes too, or it is proven that it cannot be avoided.
TEST(Plan, OddShapesWasteNothingEither) {
  std::mt19937 random(9);
  for (int i = 0; i < 40; ++i) {
    Shape s;
    s.layers = 1 + random() % 24;
    s.tokens = 7 + random() % 600;
    s.h = 5 + random() % 700;
    s.kv = 1 + random() % s.h;
    s.ffn = 3 + random() % 3000;
    s.heads = 1 + random() % 16;
    s.vocabulary = 11 + random() % 5000;
    s.flash = random() % 2;
    s.fusedLoss = random() % 2;
    s.segment = random() % 4;
    Problem p = instances::TransformerInstance(s).problem;
    Plan plan = solved(p);
    ASSERT_TRUE(bool(validate(p, plan)));
    EXPECT_EQ(plan.arenaBytes, plan.provenBytes)
        << "layers " << s.layers << " flash " << s.flash << " segment "
        << s.segment << " tokens " << s.tokens << " h " << s.h;
  }
}

TEST(Validator, FindsWhatIsBroken) {
  Shape shape;
  shape.layers = 4;
  Problem p = instances::TransformerInstance(shape).problem;
  Plan good = solved(p);
  ASSERT_TRUE(bool(validate(p, good)));

  Plan bad = good;
  bad.offsets.pop_back();
  EXPECT_FALSE(bool(validate(p, bad)));
  bad = good;
  bad.arenaBytes -= 256;
  auto verdict = validate(p, bad);
  ASSERT_FALSE(bool(verdict));
  EXPECT_NE(verdict.error().message.find("leaves the arena"),
            std::string::npos);
  bad = good;
  bad.offsets[3] += 1;
  EXPECT_FALSE(bool(validate(p, bad)));
  bad = good;
  bad.offsets[3] = -256;
  EXPECT_FALSE(bool(validate(p, bad)));
  bad.offsets[3] = INT64_MIN;
  EXPECT_FALSE(bool(validate(p, bad)));
  bad.offsets[3] = INT64_MAX - 255;
  EXPECT_FALSE(bool(validate(p, bad)));

  // A lifetime that the planner believed to be one launch shorter.
  int found = 0;
  for (Buffer &b : p.buffers) {
    ++b.last;
    found += !validate(p, good);
    --b.last;
  }
  EXPECT_GT(found, int(p.buffers.size() / 4));
}

/// The sweep says what the definition says, for random offsets.
TEST(Validator, AgreesWithTheDefinition) {
  std::mt19937 random(11);
  int clean = 0;
  for (int i = 0; i < 3000; ++i) {
    Problem p = randomProblem(random, 5, 8, 12);
    Plan plan;
    plan.arenaBytes = 1000;
    for (const Buffer &b : p.buffers)
      plan.offsets.push_back(int64_t(random() % 24) / b.alignment *
                             b.alignment);
    bool expected = overlapFree(p, plan.offsets);
    clean += expected;
    ASSERT_EQ(bool(validate(p, plan)), expected) << i;
  }
  EXPECT_GT(clean, 100);
  EXPECT_LT(clean, 2900);
}

/// Hundreds of buffers around some that are fixed.
TEST(Plan, KeepsFixedOffsets) {
  std::mt19937 random(14);
  for (int i = 0; i < 4; ++i) {
    Problem p = randomProblem(random, 300, 300, 5000);
    SolverOptions quick;
    quick.nodes = 1000;
    const Plan free = solved(p, quick);
    for (size_t k = 0; k < p.buffers.size(); k += 10)
      p.buffers[k].offset = free.offsets[k];
    const Plan plan = solved(p, quick);
    auto verdict = validate(p, plan);
    EXPECT_TRUE(bool(verdict)) << verdict.error().str();
    EXPECT_LE(plan.arenaBytes, free.arenaBytes + free.arenaBytes / 8);
  }
  // One that is not where it is fixed is noticed.
  Problem p{{{"a", 4, 0, 2}, {"b", 4, 1, 3}}};
  p.buffers[0].offset = 8;
  Plan plan = solved(p);
  EXPECT_EQ(plan.arenaBytes, 12);
  EXPECT_EQ(plan.provenBytes, 12);
  plan.offsets = {0, 4};
  auto verdict = validate(p, plan);
  ASSERT_FALSE(bool(verdict));
  EXPECT_EQ(verdict.error().message,
            "buffer 'a' at offset 0 is fixed at offset 8");
  EXPECT_EQ(fit(p, 11).error().message,
            "no plan fits in 11 bytes: buffer 'a' is fixed at offset 8 and has "
            "4 bytes");
  p.buffers[1].offset = 10;
  EXPECT_EQ(solve(p).error().message,
            "no plan keeps the fixed offsets: buffers 'a' and 'b' share bytes "
            "at time 1 (offsets 8 and 10)");
}

TEST(Problem, RejectsNonsense) {
  for (const Buffer &b :
       {Buffer{"x", -1, 0, 1}, Buffer{"x", 1, 1, 1}, Buffer{"x", 1, 2, 1},
        Buffer{"x", 1, 0, 1, 0}, Buffer{"x", INT64_MAX, 0, 1},
        Buffer{"x", 1, 0, 1, INT64_MAX}}) {
    auto plan = solve(Problem{{b}});
    ASSERT_FALSE(bool(plan));
    EXPECT_EQ(plan.error().message.find("buffer 'x' "), 0u);
  }
  Buffer huge{"x", int64_t(1) << 61, INT64_MIN, INT64_MAX};
  EXPECT_FALSE(bool(solve(Problem{{huge, huge, huge}})));
  EXPECT_FALSE(bool(solve(Problem{{huge, Buffer{"y", 1, 0, 1}}})));
  // The largest plan can be read back, with its offsets as fixed ones.
  Problem most{{huge}};
  auto plan = solve(most);
  ASSERT_TRUE(bool(plan));
  auto back = readCsv(writeCsv(most, &*plan), "written");
  ASSERT_TRUE(bool(back)) << back.error().message;
  EXPECT_EQ(back->buffers[0].offset, 0);
}

TEST(Csv, RoundTrip) {
  Problem p{{{"a", 256, 0, 2}, {"b,\"c\"", 100, 1, 3}}};
  EXPECT_EQ(writeCsv(p), "id,lower,upper,size\na,0,2,256\n"
                         "\"b,\"\"c\"\"\",1,3,100\n");
  std::mt19937 random(2);
  Problem r = randomProblem(random, 50, 40, 100);
  r.buffers[7].name = "with,comma \"and\" quotes";
  r.buffers[8].name = "two\nlines";
  Plan plan = solved(r);
  auto back = readCsv(writeCsv(r, &plan));
  ASSERT_TRUE(bool(back)) << back.error().str();
  EXPECT_EQ(writeCsv(*back), writeCsv(r, &plan));
  EXPECT_TRUE(bool(validate(*back, plan)));
  // A plan is a problem of which every buffer is fixed, and has one plan.
  EXPECT_EQ(solved(*back).offsets, plan.offsets);
}

TEST(Csv, ErrorsNameTheLine) {
  struct Case {
    const char *text, *where, *message;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"", "f:0", "expected a header: id,lower,upper,size"},
           {"id,lower,upper\n", "f:1", "column 'size' is missing"},
           {"id,lower,upper,size,x\n", "f:1",
            "unknown column 'x', expected id, lower, upper, size, alignment, "
            "hint, gaps, offset"},
           {"id,lower,upper,size,gaps\na,1,5,3,2-\n", "f:2",
            "expected gaps like 7-8 or 9-10@1:17, found '2-'"},
           {"id,lower,upper,size,gaps\na,1,5,3,2-3@0:9\n", "f:2",
            "buffer 'a' has a gap with bytes [0, 9) in use, expected a part of "
            "its 3 bytes"},
           {"id,lower,upper,size,gaps\na,1,5,3,2-4 3-5\n", "f:2",
            "buffer 'a' has gaps that overlap: [2, 4) and [3, 5)"},
           {"id,lower,upper,size,gaps\na,1,5,3,0-2\n", "f:2",
            "buffer 'a' has a gap [0, 2) outside of its lifetime [1, 5)"},
           {"id,id,lower,upper,size\n", "f:1", "column 'id' appears twice"},
           {"id,lower,upper,size,end\n", "f:1",
            "columns 'upper' and 'end' are the same"},
           {"id,start,end,size\na,1,9223372036854775807,3\n", "f:2",
            "expected an end below 2^63 - 1"},
           {"id,lower,upper,size,offset\na,1,2,3,-1\n", "f:2",
            "buffer 'a' is fixed at offset -1, expected at least 0"},
           {"id,lower,upper,size,alignment,offset\na,1,2,3,4,6\n", "f:2",
            "buffer 'a' is fixed at offset 6, which is not a multiple of its "
            "alignment 4"},
           {"id,lower,upper,size,offset\na,1,2,3,9223372036854775807\n", "f:2",
            "buffer 'a' is fixed at offset 9223372036854775807 with 3 bytes, "
            "expected an end of at most 2^61"},
           {"id,lower,upper,size\na,1,2\n", "f:2",
            "expected 4 fields, found 3"},
           {"id,lower,upper,size\r\n\r\na,1,2,3x\r\n", "f:3",
            "expected a 64-bit integer as size, found '3x'"},
           {"id,lower,upper,size\na,1,2,99999999999999999999\n", "f:2",
            "expected a 64-bit integer as size, found "
            "'99999999999999999999'"},
           {"id,lower,upper,size\na,2,1,3\n", "f:2",
            "buffer 'a' is alive in [2, 1), which is empty"},
           {"id,lower,upper,size\n\"a,2,1,3\n", "f:2",
            "a quoted field is not closed"}}) {
    auto r = readCsv(c.text, "f");
    ASSERT_FALSE(bool(r)) << c.text;
    EXPECT_EQ(r.error().where, c.where) << c.text;
    EXPECT_EQ(r.error().message, c.message);
  }
}

TEST(Csv, GapsAndHints) {
  const std::string text = "id,lower,upper,size,alignment,hint,gaps,offset\n"
                           "a,5,10,15,1,0,,0\n"
                           "b,-9,12,18,2,-1,-7--5 9-10@1:17,16\n";
  auto contents = readCsv(text);
  ASSERT_TRUE(bool(contents)) << contents.error().str();
  const Buffer &b = contents->buffers[1];
  EXPECT_EQ(contents->buffers[0].hint, 0);
  EXPECT_EQ(b.hint, -1);
  ASSERT_EQ(b.gaps.size(), 2u);
  EXPECT_EQ(b.gaps[0].first, -7);
  EXPECT_EQ(b.gaps[0].last, -5);
  EXPECT_EQ(b.gaps[1].high, 17);
  EXPECT_EQ(writeCsv(*contents), text);
  // An empty field is as none.
  contents = readCsv("id,lower,upper,size,alignment,hint,offset\na,0,1,8,,,\n");
  ASSERT_TRUE(bool(contents)) << contents.error().str();
  EXPECT_EQ(contents->buffers[0].alignment, 1);
  EXPECT_EQ(contents->buffers[0].hint, -1);
  EXPECT_FALSE(contents->buffers[0].offset);
}

/// Columns under the names that other tools give them. Only `end` has its last
/// moment inside, of gaps as well.
TEST(Csv, OtherNamesOfColumns) {
  const std::string expected = "id,lower,upper,size,gaps,offset\n"
                               "a,5,10,15,9-10,21\nb,6,12,18,,\n";
  for (const char *text :
       {"size,buffer,begin,upper,gaps,offset\n"
        "15,a,5,10,9-10,21\n18,b,6,12,,\n",
        "buffer_id,start,end,size,offset,gaps\n"
        "a,5,9,15,21,9-9\nb,6,11,18,,\n",
        "lower,end,gaps,id,size,offset\n5,9,9-9,a,15,21\n6,11,,b,18,\n",
        "buffer,start,upper,size,offset,gaps\n"
        "a,5,10,15,21,9-10\nb,6,12,18,,\n"}) {
    auto problem = readCsv(text);
    ASSERT_TRUE(bool(problem)) << problem.error().str();
    EXPECT_EQ(writeCsv(*problem), expected) << text;
  }
}

/// Damaged text is read or refused; what is read can be planned and printed.
TEST(Csv, SurvivesDamage) {
  std::mt19937 random(13);
  Problem p = randomProblem(random, 12, 20, 100);
  for (Buffer &b : p.buffers)
    b.last += 4;
  p.buffers[3].hint = 64;
  p.buffers[4].gaps = {{p.buffers[4].first + 1, p.buffers[4].first + 2, 0, 0},
                       {p.buffers[4].first + 3, p.buffers[4].first + 4, 0,
                        p.buffers[4].bytes / 2}};
  const std::string whole = writeCsv(p);
  const std::string alphabet = "0123456789-,\"\r\n @:ax\0\xff";
  SolverOptions quick;
  quick.nodes = 100;
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = whole;
    for (unsigned k = 1 + random() % 4; k > 0; --k) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 5);
      else
        text.insert(at, 1, alphabet[random() % alphabet.size()]);
    }
    auto contents = readCsv(text, "f");
    if (!contents) {
      EXPECT_EQ(contents.error().where.find("f:"), 0u);
      continue;
    }
    ++read;
    Plan plan = solved(*contents, quick);
    EXPECT_TRUE(bool(validate(*contents, plan)));
    auto again = readCsv(writeCsv(*contents, &plan));
    ASSERT_TRUE(bool(again)) << text;
    EXPECT_EQ(solved(*again, quick).offsets, plan.offsets);
  }
  EXPECT_GT(read, 200);
}

} // namespace
