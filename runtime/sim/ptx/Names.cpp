// SPDX-License-Identifier: Apache-2.0
//
// Scopes and ranges of registers. A range makes no entries, so clashes between
// ranges and single names are found by arithmetic on the numbers behind the
// names.
#include "runtime/sim/ptx/Names.h"
#include <algorithm>

namespace act::runtime::ptx {
namespace {

/// Calls `visit(prefix, number)` for each way to split the name into a prefix
/// and a number as in ranges (no leading zeros); stops when it returns true.
template <typename Visit>
bool eachNumber(std::string_view name, const Visit &visit) {
  constexpr size_t mostDigits = 9;
  uint64_t number = 0, power = 1;
  for (size_t digits = 1; digits <= mostDigits && digits < name.size();
       ++digits, power *= 10) {
    char c = name[name.size() - digits];
    if (c < '0' || c > '9')
      return false;
    number += power * static_cast<uint64_t>(c - '0');
    bool canonical = c != '0' || digits == 1;
    if (canonical && visit(name.substr(0, name.size() - digits),
                           static_cast<uint32_t>(number)))
      return true;
  }
  return false;
}

} // namespace

uint32_t addRegisters(std::vector<Register> &registers, std::string_view name,
                      Type type, unsigned width) {
  auto first = static_cast<uint32_t>(registers.size());
  if (width == 1)
    registers.push_back({std::string(name), type});
  else
    for (unsigned i = 0; i < width; ++i)
      registers.push_back({std::string(name) + "." + "xyzwabcd"[i], type});
  return first;
}

void Scope::noteNumbers(std::string_view name, bool firstOfRange,
                        uint32_t line) {
  // In a range %r1<5> the least number after "%r" is that of %r10.
  uint32_t times = firstOfRange ? 10 : 1;
  eachNumber(name, [&](std::string_view prefix, uint32_t number) {
    if (firstOfRange && number == 0)
      return false; // %r0<5> makes "%r00", which is in no other range
    uint64_t n = uint64_t(number) * times;
    Numbered note{static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)),
                  line};
    auto [place, isNew] = numbered.try_emplace(prefix, note);
    if (!isNew && note.least < place->second.least)
      place->second = note;
    return false;
  });
}

uint32_t Scope::declare(std::string_view name, const Meaning &meaning) {
  uint32_t clash = 0;
  if (auto other = names.find(name); other != names.end())
    return other->second.line;
  if (!ranges.empty() &&
      eachNumber(name, [&](std::string_view prefix, uint32_t number) {
        auto range = ranges.find(prefix);
        if (range == ranges.end() || number >= range->second.count)
          return false;
        clash = range->second.meaning.line;
        return true;
      }))
    return clash;
  names.emplace(name, meaning);
  noteNumbers(name, false, meaning.line);
  return 0;
}

uint32_t Scope::declareRange(std::string_view prefix, uint32_t count,
                             const Meaning &meaning) {
  if (auto other = ranges.find(prefix); other != ranges.end())
    return other->second.meaning.line;
  if (auto other = numbered.find(prefix);
      other != numbered.end() && other->second.least < count)
    return other->second.line;
  uint32_t clash = 0;
  // If %r<20> exists and this is %r1<5>, its first register, %r10, is in both.
  if (eachNumber(prefix, [&](std::string_view shorter, uint32_t number) {
        auto range = ranges.find(shorter);
        if (number == 0 || range == ranges.end() ||
            uint64_t(number) * 10 >= range->second.count)
          return false;
        clash = range->second.meaning.line;
        return true;
      }))
    return clash;
  ranges.emplace(prefix, Range{count, meaning});
  noteNumbers(prefix, true, meaning.line);
  return 0;
}

const Meaning *Scope::findExact(std::string_view name) const {
  auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}

/// The first use of a register of a range makes its entry.
const Meaning *Scope::find(std::string_view name,
                           std::vector<Register> &registers) {
  if (auto found = names.find(name); found != names.end())
    return &found->second;
  if (ranges.empty())
    return nullptr;
  const Meaning *result = nullptr;
  eachNumber(name, [&](std::string_view prefix, uint32_t number) {
    auto range = ranges.find(prefix);
    if (range == ranges.end() || number >= range->second.count)
      return false;
    Meaning meaning = range->second.meaning;
    meaning.first = addRegisters(registers, name, meaning.type, meaning.width);
    result = &names.emplace(name, meaning).first->second;
    return true;
  });
  return result;
}

} // namespace act::runtime::ptx
