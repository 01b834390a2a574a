// SPDX-License-Identifier: Apache-2.0
#include "test/passes/groups-to-host/Operands.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace act::test;

static int64_t widthOf(const std::string &type) {
  if (type == "f64" || type == "i64")
    return 8;
  if (type == "f32" || type == "i32")
    return 4;
  return type == "i1" ? 1 : 2;
}

Operand::Operand(std::string type, int64_t count)
    : type(type), count(count), width(widthOf(type)),
      bytes(count * width, 0xff) {}

Operand Operand::random(const std::string &type, int64_t count, unsigned seed,
                        int64_t bound) {
  Operand operand(type, count);
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int64_t> uniform(0, bound - 1);
  for (int64_t i = 0; i < count; ++i)
    operand.set(i, type[0] != 'i' ? normal(engine)
                   : type == "i1" ? double(uniform(engine) & 1)
                                  : double(uniform(engine)));
  return operand;
}

static const llvm::fltSemantics &semantics(const std::string &type) {
  return type == "bf16" ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf();
}

double Operand::get(int64_t i) const {
  const uint8_t *at = bytes.data() + i * width;
  auto as = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (type == "f64")
    return as(double());
  if (type == "f32")
    return as(float());
  if (type == "i64")
    return as(int64_t());
  if (type == "i32")
    return as(int32_t());
  if (type == "i1")
    return *at;
  llvm::APFloat value(semantics(type), llvm::APInt(16, as(uint16_t())));
  return value.convertToDouble();
}

void Operand::set(int64_t i, double value) {
  uint8_t *at = bytes.data() + i * width;
  auto put = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  if (type == "f64")
    return put(value);
  if (type == "f32")
    return put(float(value));
  if (type == "i64")
    return put(int64_t(value));
  if (type == "i32")
    return put(int32_t(value));
  if (type == "i1")
    return put(uint8_t(value != 0));
  llvm::APFloat rounded(value);
  bool lost;
  rounded.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &lost);
  put(uint16_t(rounded.bitcastToAPInt().getZExtValue()));
}

std::string act::test::format(
    std::string text,
    const std::vector<std::pair<std::string, std::string>> &with) {
  for (const auto &[name, value] : with)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;
         at += value.size())
      text.replace(at, name.size(), value);
  return text;
}
