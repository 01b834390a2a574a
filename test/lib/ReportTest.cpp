// SPDX-License-Identifier: Apache-2.0
#include "act/Report/MemoryReport.h"
#include "act/Report/Paper.h"
#include "test/lib/SampleReport.h"
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::report;
using nlohmann::json;

namespace {

MemoryReport sample(int layers = 4, int segment = 0) {
  plan::instances::Shape shape;
  shape.layers = layers;
  shape.segment = segment;
  return instances::SampleReport(shape).report;
}

json parsed(const std::string &text) {
  json j = json::parse(text, nullptr, false);
  EXPECT_FALSE(j.is_discarded());
  return j;
}

size_t occurrences(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++n;
  return n;
}

/// What the page's script reads.
json pageData(const std::string &html) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  size_t from = html.find(begin) + begin.size();
  return parsed(html.substr(from, html.find("</script>", from) - from));
}

const std::string hostile =
    "</script><script>alert('1')</script><!-- & \"q\" {{css}} \x01\n";

TEST(Report, SampleIsConsistent) {
  for (int segment : {0, 1, 3}) {
    MemoryReport r = sample(5, segment);
    Status s = check(r);
    EXPECT_TRUE(bool(s)) << s.error().str();
    EXPECT_EQ(r.peakBytes, r.lowerBoundBytes);
    EXPECT_EQ(r.timeline[r.peakAt.index].liveBytes, r.peakBytes);
    int64_t alive = 0;
    for (const Buffer &b : r.peakAt.alive)
      alive += b.bytes;
    EXPECT_EQ(alive, r.peakBytes);
  }
}

/// Every sum that a mistake could break is recomputed.
TEST(Report, CheckFindsEveryBrokenSum) {
  const MemoryReport good = sample();
  struct Case {
    const char *what;
    std::function<void(MemoryReport &)> breakIt;
  };
  for (const Case &c : std::initializer_list<Case>{
           {"live_bytes of point 7",
            [](auto &r) { r.timeline[7].liveBytes += 1; }},
           {"live_bytes of point 2",
            [](auto &r) { r.buffers[3].bytes += 256; }},
           {"live_bytes of point", [](auto &r) { r.buffers[3].last += 1; }},
           {"live_bytes of point", [](auto &r) { r.buffers.pop_back(); }},
           {"peak_bytes", [](auto &r) { r.peakBytes -= 1; }},
           {"retained_bytes", [](auto &r) { r.retainedBytes += 1; }},
           {"retained_bytes", [](auto &r) { r.saved.pop_back(); }},
           {"formula of layer 2",
            [](auto &r) { r.layers[2].retained.alignmentBytes += 1; }},
           {"letter 's'", [](auto &r) { r.letters.erase("s"); }},
           {"the timeline has", [](auto &r) { r.buffers[0].last = 1 << 20; }},
           {"is alive in", [](auto &r) { r.buffers[0].first = -1; }},
           {"peak index", [](auto &r) { r.peakAt.index = 1 << 20; }},
           {"unknown node 'nowhere'",
            [](auto &r) { r.graphs[0].edges[0].to = "nowhere"; }},
           {"two nodes", [](auto &r) {
              r.graphs[0].nodes.push_back(r.graphs[0].nodes[0]);
            }}}) {
    MemoryReport bad = good;
    c.breakIt(bad);
    Status s = check(bad);
    ASSERT_FALSE(bool(s)) << c.what;
    EXPECT_NE(s.error().message.find(c.what), std::string::npos)
        << s.error().message;
  }
}

TEST(Report, CompleteDerivesThePeak) {
  MemoryReport r;
  r.timeline.resize(4);
  r.buffers = {{"a", {2}, "f32", 8, noLayer, Category::Saved, 0, 4},
               {"b", {4}, "f32", 16, noLayer, Category::Temporary, 1, 3},
               {"c", {1}, "f32", 4, noLayer, Category::Gradient, 2, 4}};
  ASSERT_TRUE(bool(complete(r)));
  EXPECT_EQ(r.peakAt.index, 2);
  ASSERT_EQ(r.peakAt.alive.size(), 3u);
  EXPECT_EQ(r.peakAt.alive[0].name, "b");
  EXPECT_EQ(r.timeline[3].liveBytes, 12);
  EXPECT_EQ(r.timeline[1].categories[size_t(Category::Temporary)], 16);
  r.buffers[0].last = 5;
  EXPECT_FALSE(bool(complete(r)));
}

TEST(Json, HasTheRequiredFields) {
  MemoryReport r = sample();
  r.flops = 18'000'000'000'000'000'001u;
  json j = parsed(toJson(r));
  EXPECT_EQ(j["view"], "act");
  EXPECT_EQ(j["retained_bytes"], r.retainedBytes);
  EXPECT_EQ(j["peak_bytes"], r.peakBytes);
  EXPECT_EQ(j["total_peak_bytes"], r.totalPeakBytes);
  EXPECT_EQ(j["arena_bytes"], r.arenaBytes);
  EXPECT_EQ(j["lower_bound_bytes"], r.lowerBoundBytes);
  EXPECT_EQ(j["parameters_bytes"], r.parametersBytes);
  EXPECT_EQ(j["gradients_bytes"], r.gradientsBytes);
  EXPECT_EQ(j["optimizer_bytes"], r.optimizerBytes);
  EXPECT_EQ(j["inputs_bytes"], r.inputsBytes);
  EXPECT_EQ(j["outputs_bytes"], r.outputsBytes);
  EXPECT_TRUE(j["scratch_bytes_per_thread"].is_null());
  EXPECT_EQ(j["recomputed_flops"], r.recomputedFlops);
  EXPECT_EQ(j["flops"].get<uint64_t>(), r.flops);
  ASSERT_EQ(j["timeline"].size(), r.timeline.size());
  EXPECT_EQ(j["timeline"][9]["op"], r.timeline[9].op);
  EXPECT_EQ(j["timeline"][9]["loc"], r.timeline[9].loc);
  EXPECT_EQ(j["timeline"][9]["phase"], "forward");
  int64_t highest = 0;
  for (const json &p : j["timeline"]) {
    highest = std::max(highest, p["live_bytes"].get<int64_t>());
    int64_t sum = 0;
    for (const auto &c : p["categories"].items())
      sum += c.value().get<int64_t>();
    EXPECT_EQ(sum, p["live_bytes"]);
  }
  EXPECT_EQ(highest, r.peakBytes);
  int64_t kept = 0;
  for (const json &v : j["saved"]) {
    kept += v["bytes"].get<int64_t>();
    EXPECT_TRUE(v["name"].is_string() && v["dtype"].is_string());
    EXPECT_TRUE(v["shape"].is_array());
    EXPECT_TRUE(v["layer"].is_null() || v["layer"].is_number());
  }
  EXPECT_EQ(kept, r.retainedBytes);
  ASSERT_EQ(j["layers"].size(), 4u);
  EXPECT_EQ(j["layers"][2]["index"], 2);
  EXPECT_EQ(j["layers"][2]["retained_bytes"], r.layers[2].retainedBytes);
  EXPECT_EQ(j["peak"]["live_bytes"], r.peakBytes);
  EXPECT_EQ(j["graphs"][0]["edges"].size(), r.graphs[0].edges.size());
}

TEST(Report, TellsScratchOnceItIsKnown) {
  MemoryReport r = sample();
  EXPECT_EQ(toText(r).find("scratch"), std::string::npos);
  r.scratchBytesPerThread = 98304;
  EXPECT_EQ(parsed(toJson(r))["scratch_bytes_per_thread"], 98304);
  EXPECT_EQ(pageData(toHtml(r))["scratch_bytes_per_thread"], 98304);
  EXPECT_NE(toText(r).find("scratch of each thread"), std::string::npos);
  EXPECT_NE(toText(r).find("98,304"), std::string::npos);
}

TEST(Report, TellsTensorMapsOfATarget) {
  MemoryReport r = sample();
  r.launches = 3;
  r.target = "sm_90a";
  r.tensorMapBytes = 0;
  EXPECT_EQ(parsed(toJson(r))["tensor_map_bytes"], 0);
  EXPECT_EQ(toText(r).find("tensor maps"), std::string::npos);
  r.tensorMapBytes = 1280;
  EXPECT_EQ(parsed(toJson(r))["tensor_map_bytes"], 1280);
  EXPECT_NE(toText(r).find("tensor maps of the launches take 1.25 KiB (1,280 "
                           "bytes) on the host"),
            std::string::npos);
}

TEST(Json, EmptyAndHostileReports) {
  json j = parsed(toJson(MemoryReport()));
  EXPECT_TRUE(j["timeline"].is_array());
  EXPECT_TRUE(j["peak"].is_null());
  MemoryReport r = sample();
  r.model = hostile;
  r.timeline[0].op = "bad utf-8 \xff\xfe";
  j = parsed(toJson(r));
  EXPECT_EQ(j["model"], hostile);
  EXPECT_EQ(j["timeline"][0]["op"], "bad utf-8 \xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Html, NamesCannotEscapeTheirPlace) {
  MemoryReport r = sample();
  r.model = r.function = r.timeline[0].op = r.timeline[0].loc = hostile;
  r.buffers[0].name = r.buffers[0].dtype = hostile;
  r.saved[0].name = r.saved[0].formula = r.layers[0].name = hostile;
  r.layers[0].variant = r.graphs[0].nodes[0].label = hostile;
  r.graphs[0].edges[0].label = hostile;
  r.letters[hostile] = 1;
  r.notes = {hostile};
  std::string html = toHtml(r), plain = toHtml(sample());
  for (const char *mark : {"<script", "</script", "<!--", "<style", "<div"})
    EXPECT_EQ(occurrences(html, mark), occurrences(plain, mark)) << mark;
  EXPECT_EQ(occurrences(html, "<script"), 2u);
  json data = pageData(html);
  EXPECT_EQ(data["model"], hostile);
  EXPECT_EQ(data["strings"][data["points"][0][0].get<size_t>()], hostile);
  EXPECT_NE(html.find("<title>&lt;/script&gt;&lt;script&gt;"),
            std::string::npos);
}

TEST(Html, IsSelfContainedAndNeverParsesNames) {
  std::string html = toHtml(sample());
  for (const char *outside :
       {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest",
        "innerHTML", "outerHTML", "document.write", "insertAdjacentHTML",
        "eval(", "https://"})
    EXPECT_EQ(occurrences(html, outside), 0u) << outside;
  // The one address is the name of SVG.
  EXPECT_EQ(occurrences(html, "http://"),
            occurrences(html, "http://www.w3.org/2000/svg"));
  EXPECT_EQ(html.find("{{"), html.find("{{nothing"));
}

TEST(Html, HoldsTheWholeReportAndIsMadeQuickly) {
  MemoryReport r = sample(126, 1);
  while (r.timeline.size() < 20000)
    r.timeline.push_back(r.timeline[r.timeline.size() % 700]);
  for (TimelinePoint &p : r.timeline)
    p.liveBytes = 0;
  ASSERT_TRUE(bool(complete(r)));
  std::clock_t start = std::clock();
  std::string html = toHtml(r);
  EXPECT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, 2.0);
  EXPECT_LT(html.size(), size_t(8) << 20);
  json data = pageData(html);
  EXPECT_EQ(data["points"].size(), r.timeline.size());
  EXPECT_EQ(data["buffers"].size(), r.buffers.size());
  EXPECT_EQ(data["peak_index"], r.peakAt.index);
}

// What the page draws below the activations, to the byte.
TEST(Html, HoldsThePartsOfTheTotalPeak) {
  std::string html = toHtml(sample(32));
  json data = pageData(html);
  int64_t sum = data["peak_bytes"].get<int64_t>();
  for (const char *part :
       {"parameters_bytes", "gradients_bytes", "optimizer_bytes",
        "inputs_bytes", "outputs_bytes"}) {
    EXPECT_GT(occurrences(html, std::string("data.") + part), 0u) << part;
    sum += data[part].get<int64_t>();
  }
  EXPECT_EQ(data["total_peak_bytes"], sum);
  EXPECT_EQ(occurrences(html, "id=\"whole\""), 1u);
}

TEST(Text, TellsTheMainFigures) {
  MemoryReport r = sample(32);
  auto parse = [](const char *t) { return *symbolic::Expr::parse(t); };
  r.retained = {parse("b*s*L*(34*h + 4*a + 8)"), 512, true};
  r.peak = {parse("max(L*b*s*h, b*s*V)"), 0, true};
  std::string text = toText(r);
  for (const char *part :
       {"llama @step, view act", "retained for backward", "above the bound",
        "model.layers 0..31", "Saved for backward in layer 0",
        "b*s*L*(34*h + 4*a + 8) + 512 (alignment)", "b = 1 s = 4096 h = 4096",
        "b*s*h*L  <- here", "Peak: ", "x 32"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  // Exact bytes stand beside the rounded ones.
  std::string digits;
  for (char c : text.substr(0, text.find("FLOPs")))
    digits += c == ',' ? "" : std::string(1, c);
  EXPECT_NE(digits.find(std::to_string(r.retainedBytes)), std::string::npos);
  EXPECT_NE(digits.find(std::to_string(r.totalPeakBytes)), std::string::npos);
  // A layer that differs is not collapsed into its neighbours.
  r.layers[5].variant = "other";
  text = toText(r);
  for (const char *part : {"0..4", " 5 ", "6..31"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
}

/// Each point takes 100 MiB more than is live, and the peak 50 MiB beside it.
MemoryReport replayed() {
  MemoryReport r = sample();
  AllocatorReplay a;
  a.allocator = "cuda-caching";
  for (const TimelinePoint &p : r.timeline) {
    a.allocated.push_back(p.liveBytes + (100 << 20));
    a.reserved.push_back(p.liveBytes + (150 << 20));
  }
  a.allocatedPeakAt = a.reservedPeakAt = r.peakAt.index;
  a.allocatedPeakBytes = a.allocated[r.peakAt.index];
  a.reservedPeakBytes = a.reserved[r.peakAt.index];
  a.requestedBytes = a.allocatedPeakBytes - 512;
  r.replay = a;
  return r;
}

TEST(Report, TellsWhatAnAllocatorTakes) {
  MemoryReport r = replayed();
  EXPECT_TRUE(check(r)) << check(r).error().str();
  json j = parsed(toJson(r));
  EXPECT_EQ(j["allocated_peak_bytes"], r.replay->allocatedPeakBytes);
  EXPECT_EQ(j["reserved_peak_bytes"], r.replay->reservedPeakBytes);
  EXPECT_EQ(j["timeline"][3]["allocated_bytes"], r.replay->allocated[3]);
  EXPECT_EQ(j["timeline"][3]["reserved_bytes"], r.replay->reserved[3]);
  EXPECT_EQ(j["allocator"]["rounding_bytes"], 512);
  EXPECT_TRUE(j["allocator"]["fits"].is_null());
  EXPECT_EQ(toText(r).find("a card of"), std::string::npos);
  EXPECT_EQ(pageData(toHtml(r))["reserved"].size(), r.timeline.size());

  r.replay->deviceBytes = 24'000'000'000;
  EXPECT_NE(toText(r).find("(22.35 GiB) is enough\n"), std::string::npos);
  r.replay->retries = 1;
  EXPECT_NE(toText(r).find("given back once\n"), std::string::npos);
  r.replay->exceeded = AllocatorReplay::Exceeded{7, 4096, 5000, 6000};
  EXPECT_TRUE(check(r));
  j = parsed(toJson(r));
  EXPECT_EQ(j["allocator"]["fits"], false);
  EXPECT_EQ(j["allocator"]["exceeded"]["op"], r.timeline[7].op);
  EXPECT_EQ(j["allocator"]["exceeded"]["reserved_bytes"], 6000);
  EXPECT_NE(toText(r).find("is exceeded\n    at point 7 of"),
            std::string::npos);
  r.replay->exceeded->index = -1;
  EXPECT_TRUE(check(r));
  EXPECT_TRUE(parsed(toJson(r))["allocator"]["exceeded"]["op"].is_null());
  EXPECT_NE(toText(r).find("before the step"), std::string::npos);
  EXPECT_FALSE(toText(MemoryReport()).empty());
}

/// A file that comes with act and cannot be read would just be missing.
TEST(Paper, KnownSelectionsAreRead) {
  ASSERT_EQ(knownSelections().size(), 3u);
  for (const Selection &s : knownSelections())
    EXPECT_FALSE(s.figures.empty()) << s.name;
}

TEST(Paper, ErrorsNameThePlace) {
  auto error = [](const char *text) {
    auto s = parseSelection(text, "x.json");
    return s ? std::string() : s.error().str();
  };
  EXPECT_EQ(error(R"({"publication": "p"})"), "");
  EXPECT_NE(error("{"), "");
  EXPECT_NE(error("[]"), "");
  EXPECT_NE(error("{}").find("publication: expected text"), std::string::npos);
  EXPECT_NE(error(R"({"publication": "p", "x": 1})").find("unknown field 'x'"),
            std::string::npos);
  EXPECT_NE(error(R"({"publication": "p", "equal": {"a+d": "h"}})")
                .find("products of letters"),
            std::string::npos);
  EXPECT_NE(
      error(
          R"({"publication": "p", "figures": [{"name": "f", "published": "2*("}]})")
          .find("x.json: figures[0]"),
      std::string::npos);
  const char *rule =
      R"({"publication": "p", "figures": [{"name": "f", "counts": [%s]}]})";
  for (const char *broken :
       {"3", "{}", R"({"op": "linear", "result": 0})",
        R"({"op": "linear", "result": -1, "bytes": 2})",
        R"({"result": 0, "bytes": 2})",
        R"({"op": "linear", "input": true, "bytes": 2})"}) {
    std::string text = rule;
    text.replace(text.find("%s"), 2, broken);
    EXPECT_NE(error(text.c_str()).find("figures[0]: counts[0]"),
              std::string::npos)
        << broken;
  }
}

/// a*d is h, also squared; what is left stays.
TEST(Paper, LettersThatAreEqual) {
  auto s = parseSelection(
      R"({"publication": "p", "equal": {"a*d": "h", "f": "4*h"}})", "x");
  ASSERT_TRUE(s);
  auto p = symbolic::Polynomial::parse("3*a^2*d*s + f*f + a^2*d^2");
  EXPECT_EQ(s->inItsLetters(*p).str(),
            symbolic::Polynomial::parse("3*a*h*s + 17*h^2")->str());
}

TEST(Report, CheckFindsABrokenReplay) {
  const std::function<void(AllocatorReplay &)> breakages[] = {
      [](auto &a) { a.allocated.pop_back(); },
      [](auto &a) { a.allocatedPeakBytes += 512; },
      [](auto &a) { a.reservedPeakAt = 0; },
      [](auto &a) { a.reservedPeakAt = 1 << 20; },
      [](auto &a) { a.reserved[5] = a.allocated[5] - 512; },
      [](auto &a) { a.exceeded = AllocatorReplay::Exceeded{1 << 20}; },
  };
  for (const auto &breakage : breakages) {
    MemoryReport r = replayed();
    breakage(*r.replay);
    EXPECT_FALSE(check(r));
  }
}

TEST(Text, NamesCannotControlTheTerminal) {
  MemoryReport r = sample();
  r.model = r.layers[0].name = r.saved[0].name = "x\x1b[2J\ny";
  r.saved[0].layer = 0;
  std::string text = toText(r);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("x?[2J?y"), std::string::npos);
  EXPECT_FALSE(toText(MemoryReport()).empty());
}

TEST(Text, HumanUnits) {
  EXPECT_EQ(humanBytes(0), "0 B");
  EXPECT_EQ(humanBytes(1023), "1023 B");
  EXPECT_EQ(humanBytes(1536), "1.50 KiB");
  EXPECT_EQ(humanBytes(18874368), "18.00 MiB");
  EXPECT_EQ(humanBytes(-2048), "-2.00 KiB");
  EXPECT_EQ(humanBytes(INT64_MAX), "8.00 EiB");
  EXPECT_EQ(humanBytes(INT64_MIN), "-8.00 EiB");
  EXPECT_EQ(humanCount(1000), "1000");
  EXPECT_EQ(humanCount(12'300'000'000'000'000), "1.23e+16");
}

} // namespace
