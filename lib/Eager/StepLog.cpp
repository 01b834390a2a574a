// SPDX-License-Identifier: Apache-2.0
#include "act/Eager/StepLog.h"
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

using nlohmann::json;

namespace act::eager {
namespace {

/// Reads fields; the first that is missing or wrong is kept.
class Reader {
public:
  explicit Reader(const json &root) : root(root) {}

  std::string text(const char *name) {
    auto at = root.find(name);
    if (at == root.end() || !at->is_string())
      return wrong(std::string(name) + " is missing, expected a text"), "";
    return at->get<std::string>();
  }
  int64_t number(const char *name) {
    auto at = root.find(name);
    return count(at == root.end() ? json() : *at, name);
  }
  /// From 0 to what a card can have.
  int64_t count(const json &value, const std::string &name) {
    if (!value.is_number_integer() || value.get<double>() < 0 ||
        value.get<double>() > 0x1p50)
      return wrong(name + " is " + value.dump() + ", expected 0 to 2^50"), 0;
    return value.get<int64_t>();
  }
  const json &list(const char *name) {
    static const json none = json::array();
    auto at = root.find(name);
    if (at == root.end() || !at->is_array())
      return wrong(std::string(name) + " is missing, expected a list"), none;
    return *at;
  }
  StepLog::Phase phase(const json &value, const std::string &name) {
    for (auto [word, phase] :
         {std::pair("forward", StepLog::Phase::Forward),
          std::pair("backward", StepLog::Phase::Backward),
          std::pair("optimizer", StepLog::Phase::Optimizer)})
      if (value == word)
        return phase;
    wrong(name + " is in phase " + value.dump() +
          ", expected forward, backward or optimizer");
    return StepLog::Phase::Forward;
  }
  /// Whether an entry of a list is a list of this length.
  bool isRow(const json &value, size_t length, const std::string &name) {
    if (value.is_array() && value.size() == length)
      return true;
    wrong(name + " is " + value.dump() + ", expected " +
          std::to_string(length) + " values");
    return false;
  }
  bool flag(const json &value, const std::string &name) {
    if (!value.is_boolean())
      return wrong(name + " has " + value.dump() + ", expected true or false"),
             false;
    return value.get<bool>();
  }
  void wrong(std::string what) {
    if (error.empty())
      error = std::move(what);
  }

  const json &root;
  std::string error;
};

} // namespace

Result<StepLog> readStepLog(std::string_view text) {
  json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    return Error{"it is no JSON object", ""};
  Reader read(root);
  if (read.text("format") != "act-torch-log" || read.number("version") != 1)
    return Error{"it is no log of act.torch_memory of version 1", ""};
  StepLog log;
  log.model = read.text("model");
  log.attention = read.text("attention");
  log.parameterBytes = read.number("parameter_bytes");
  log.bufferBytes = read.number("buffer_bytes");
  log.inputBytes = read.number("input_bytes");
  log.gradientBytes = read.number("gradient_bytes");
  log.optimizerBytes = read.number("optimizer_bytes");
  log.retainedBytes = read.number("retained_bytes");
  log.totalPeakBytes = read.number("total_peak_bytes");
  log.moments = read.number("moments");
  log.backward = read.number("backward");
  for (const json &bytes : read.list("residents"))
    log.residents.push_back(read.count(bytes, "a resident"));
  for (const json &row : read.list("storages")) {
    const std::string name = "storage " + std::to_string(log.storages.size());
    if (!read.isRow(row, 6, name) || !row[1].is_string()) {
      read.wrong(name + " has no operator");
      break;
    }
    StepLog::Storage s;
    s.bytes = read.count(row[0], name);
    s.op = row[1].get<std::string>();
    s.born = read.count(row[2], name);
    s.died = read.count(row[3], name);
    s.phase = read.phase(row[4], name);
    s.apart = read.flag(row[5], name);
    if (s.died < s.born || s.died > log.moments ||
        (!log.storages.empty() && s.born < log.storages.back().born))
      read.wrong(name + " lives from " + row[2].dump() + " to " +
                 row[3].dump() + ", of " + std::to_string(log.moments) +
                 " moments in order");
    log.storages.push_back(std::move(s));
  }
  int64_t kept = 0;
  for (const json &number : read.list("saved")) {
    int64_t n = read.count(number, "a saved storage's number");
    if (n >= int64_t(log.storages.size())) {
      read.wrong("saved storage " + std::to_string(n) + " is none of " +
                 std::to_string(log.storages.size()));
      break;
    }
    log.saved.push_back(size_t(n));
    kept += log.storages[size_t(n)].bytes;
  }
  if (kept != log.retainedBytes)
    read.wrong("retained_bytes is " + std::to_string(log.retainedBytes) +
               ", and the saved storages are " + std::to_string(kept));
  for (const json &row : read.list("products")) {
    if (!read.isRow(row, 3, "a product"))
      break;
    StepLog::Product p;
    p.moment = read.count(row[0], "a product");
    p.phase = read.phase(row[1], "a product");
    p.biased = read.flag(row[2], "a product");
    if (!log.products.empty() && p.moment < log.products.back().moment)
      read.wrong("the products are not in order");
    log.products.push_back(p);
  }
  for (const json &note : read.list("notes"))
    if (note.is_string())
      log.notes.push_back(note.get<std::string>());
  if (!read.error.empty())
    return Error{read.error, ""};
  return log;
}

cuda_caching::Trace allocatorTrace(const StepLog &log,
                                   std::vector<int64_t> &moments) {
  using To = cuda_caching::Event;
  cuda_caching::Trace trace;
  auto add = [&](To event, int64_t moment) {
    trace.events.push_back(event);
    moments.push_back(moment);
  };
  for (int64_t bytes : log.residents)
    add(To::allocate(trace.add(bytes)), -1);
  // At a moment: what has died before, then what is made, then its product.
  std::vector<std::pair<int64_t, size_t>> deaths;
  const size_t first = log.residents.size();
  for (size_t i = 0; i < log.storages.size(); ++i) {
    trace.add(log.storages[i].bytes);
    deaths.push_back({log.storages[i].died, i});
  }
  std::sort(deaths.begin(), deaths.end());
  auto death = deaths.begin();
  auto product = log.products.begin();
  size_t birth = 0;
  std::set<int64_t> all; // at which something happens
  for (const StepLog::Storage &s : log.storages)
    all.insert({s.born, s.died});
  for (const StepLog::Product &p : log.products)
    all.insert(p.moment);
  for (int64_t moment : all) {
    std::vector<size_t> brief; // dies at the moment at which it is born
    for (; death != deaths.end() && death->first <= moment; ++death)
      if (log.storages[death->second].born < moment)
        add(To::free(first + death->second), moment);
      else
        brief.push_back(death->second);
    for (; birth < log.storages.size() && log.storages[birth].born <= moment;
         ++birth)
      add(To::allocate(first + birth), moment);
    for (; product != log.products.end() && product->moment <= moment;
         ++product) {
      const int64_t thread = product->phase == StepLog::Phase::Backward;
      add(product->biased ? To::biased(thread) : To::product(thread), moment);
    }
    for (size_t i : brief)
      add(To::free(first + i), moment);
  }
  return trace;
}

} // namespace act::eager
