// SPDX-License-Identifier: Apache-2.0
#include "passes/act-to-tile/ScheduleTable.h"
#include "passes/act-to-tile/Schedules.inc"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>
#include <mutex>

using namespace act;
using namespace act::tile;
namespace json = llvm::json;

// Found by its argument.
namespace act::tile {
/// An entry's "a", if it has one. Whether that is a place to read from.
static bool readFirstOperand(const json::Value &value, FirstOperand &to,
                             json::Path path) {
  const json::Value *a = value.getAsObject()->get("a");
  if (!a)
    return true;
  auto text = a->getAsString();
  auto known = text ? symbolizeFirstOperand(*text) : std::nullopt;
  if (!known || *known == FirstOperand::WhereItIs) {
    path.field("a").report("expected registers or shared");
    return false;
  }
  to = *known;
  return true;
}

static bool fromJSON(const json::Value &value, ProductSchedule &to,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::vector<int64_t> block;
  if (!map || !map.map("rows", to.size.rows) ||
      !map.map("columns", to.size.columns) || !map.map("sum", to.size.sum) ||
      !map.map("beside", to.size.beside) || !map.map("block", block) ||
      !map.map("groups", to.groups) || !map.map("together", to.together) ||
      !map.mapOptional("cluster", to.cluster) ||
      !readFirstOperand(value, to.a, path))
    return false;
  auto refuse = [&](llvm::StringLiteral key, llvm::StringLiteral why) {
    path.field(key).report(why);
    return false;
  };
  if (std::min({to.size.rows, to.size.columns, to.size.sum}) < 1)
    return refuse("rows", "expected sizes of 1 or more");
  if (to.groups < 1 || to.groups > 3)
    return refuse("groups", "expected 1 to 3");
  if (to.together < 1 || to.together > 64)
    return refuse("together", "expected 1 to 64");
  if (to.cluster != 1 && to.cluster != 2 && to.cluster != 4 && to.cluster != 8)
    return refuse("cluster", "expected 1, 2, 4 or 8");
  if (block.size() != 2 || block[0] < 1 || block[0] % (64 * to.groups) ||
      block[1] < 16 || block[1] % 16 || block[1] > 256 ||
      !ScheduleTable::hasRegisters(block[0], block[1], to.groups))
    return refuse("block", "expected rows, 64 for each group or a multiple, "
                           "and up to 256 columns, a multiple of 16, that its "
                           "threads have registers for");
  to.blockRows = block[0];
  to.blockColumns = block[1];
  return true;
}

static bool fromJSON(const json::Value &value, AttentionSchedule &to,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  std::string kind;
  AttentionSize &size = to.size;
  if (!map || !map.map("kind", kind) || !map.map("width", size.width) ||
      !map.map("values", size.values) || !map.map("causal", size.causal) ||
      !map.map("queries", size.queries) || !map.map("keys", size.keys) ||
      !map.map("heads", size.heads) || !map.map("stages", to.stages) ||
      !map.mapOptional("rotated", to.rotated) ||
      !map.mapOptional("turns", to.turns) ||
      !map.mapOptional("persistent", to.persistent) ||
      !map.mapOptional("stores", to.stores) ||
      !map.mapOptional("warps", to.warps) ||
      !map.mapOptional("rows", to.rows) ||
      !map.mapOptional("early", to.early) ||
      !map.mapOptional("ahead", to.ahead) ||
      !readFirstOperand(value, to.a, path))
    return false;
  auto refuse = [&](llvm::StringRef key, llvm::StringLiteral why) {
    path.field(key).report(why);
    return false;
  };
  if (kind != "forward" && kind != "backward")
    return refuse("kind", "expected forward or backward");
  size.backward = kind == "backward";
  if (std::min({size.width, size.values, size.queries, size.keys, size.heads}) <
      1)
    return refuse("width", "expected sizes of 1 or more");
  if (to.stages < 1 || to.stages > 4)
    return refuse("stages", "expected 1 to 4");
  const json::Object &object = *value.getAsObject();
  if (object.get("warps")) {
    for (llvm::StringRef key :
         {"groups", "rotated", "turns", "persistent", "stores", "a"})
      if (object.get(key))
        return refuse(key, "expected where warps work in groups");
    if (to.warps != 1 && to.warps != 2 && to.warps != 4 && to.warps != 8)
      return refuse("warps", "expected 1, 2, 4 or 8");
    if (to.early && to.stages != 1)
      return refuse("early", "expected beside one stage");
    if (size.backward ? to.rows != 0 : to.rows < 16 || to.rows % 16)
      return refuse("rows", "expected queries in forward entries, a multiple "
                            "of 16");
    return true;
  }
  for (llvm::StringRef key : {"rows", "early", "ahead"})
    if (object.get(key))
      return refuse(key, "expected beside warps");
  if (size.backward) {
    for (llvm::StringRef key : {"groups", "rotated", "turns", "persistent"})
      if (object.get(key))
        return refuse(key, "expected in forward entries only");
    return true;
  }
  if (object.get("stores"))
    return refuse("stores", "expected in backward entries only");
  if (!map.map("groups", to.groups))
    return false;
  if (to.groups < 1 || to.groups > 3)
    return refuse("groups", "expected 1 to 3");
  if (to.turns && (to.groups < 2 || !to.rotated))
    return refuse("turns", "expected beside 2 groups or 3, and rotated");
  if (to.rotated && to.a == FirstOperand::Shared)
    return refuse("a", "expected registers where it is rotated: the next "
                       "iteration takes a computed operand from there");
  return true;
}
} // namespace act::tile

llvm::Expected<ScheduleTable> ScheduleTable::parse(llvm::StringRef text) {
  auto value = json::parse(text);
  if (!value)
    return value.takeError();
  ScheduleTable table;
  json::Path::Root root("schedules");
  json::ObjectMapper map(*value, root);
  if (!map || !map.mapOptional("products", table.products) ||
      !map.mapOptional("attention", table.attention))
    return root.getError();
  if (const json::Object &object = *value->getAsObject();
      !object.get("products") && !object.get("attention")) {
    json::Path(root).report("expected products or attention");
    return root.getError();
  }
  return table;
}

/// The binary logarithm of the factor by which two sizes differ.
static double apart(int64_t x, int64_t y) {
  return std::abs(std::log2(double(x) / double(y)));
}

const AttentionSchedule *ScheduleTable::nearest(const AttentionSize &size,
                                                bool inGroups) const {
  const AttentionSchedule *best = nullptr;
  std::pair<double, double> least;
  for (const AttentionSchedule &s : attention) {
    const std::pair<double, double> own{
        apart(s.size.width, size.width) + apart(s.size.values, size.values),
        apart(s.size.queries, size.queries) + apart(s.size.keys, size.keys) +
            apart(s.size.heads, size.heads)};
    if (s.size.backward != size.backward || s.size.causal != size.causal ||
        (s.warps == 0) != inGroups || own.first > 1)
      continue;
    // Of warps on their own, registers are enough for narrower heads.
    if (s.warps && (s.size.width < size.width || s.size.values < size.values))
      continue;
    if (!best || own < least) {
      best = &s;
      least = own;
    }
  }
  return best;
}

const ProductSchedule *ScheduleTable::nearest(const ProductSize &size) const {
  const ProductSchedule *best = nullptr;
  std::pair<int64_t, double> least;
  for (const ProductSchedule &s : products) {
    const double factor = apart(s.size.rows, size.rows) +
                          apart(s.size.columns, size.columns) +
                          apart(s.size.sum, size.sum);
    if (s.size.beside < size.beside || factor > 3)
      continue;
    const std::pair<int64_t, double> own{s.size.beside, factor};
    if (!best || own < least) {
      best = &s;
      least = own;
    }
  }
  return best;
}

llvm::Expected<const ScheduleTable *>
act::tile::schedulesFor(const Target &target, llvm::StringRef file) {
  static std::mutex mutex;
  static llvm::StringMap<ScheduleTable> tables; // by file, or by target
  std::lock_guard<std::mutex> lock(mutex);
  const std::string name = (file.empty() ? "target " + std::string(target.name)
                                         : "file " + file.str());
  if (auto known = tables.find(name); known != tables.end())
    return &known->second;
  std::unique_ptr<llvm::MemoryBuffer> read;
  llvm::StringRef text;
  if (file.empty()) {
    for (const auto &[of, own] : builtInSchedules)
      if (of == target.name)
        text = own;
    if (text.empty())
      return nullptr;
  } else {
    auto buffer = llvm::MemoryBuffer::getFile(file);
    if (!buffer)
      return llvm::createStringError(buffer.getError(), "cannot read %s",
                                     file.str().c_str());
    read = std::move(*buffer);
    text = read->getBuffer();
  }
  auto table = ScheduleTable::parse(text);
  if (!table)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s: %s",
                                   file.empty() ? "the table"
                                                : file.str().c_str(),
                                   llvm::toString(table.takeError()).c_str());
  return &tables.try_emplace(name, std::move(*table)).first->second;
}
