// SPDX-License-Identifier: Apache-2.0
//
// Names and sizes of types and state spaces.
#include "runtime/sim/ptx/Ast.h"

namespace act::runtime::ptx {
namespace {

struct TypeFacts {
  Type type;
  const char *name;
  unsigned bytes;
};
constexpr TypeFacts types[] = {
    {Type::None, "none", 0},       {Type::B8, "b8", 1},
    {Type::B16, "b16", 2},         {Type::B32, "b32", 4},
    {Type::B64, "b64", 8},         {Type::B128, "b128", 16},
    {Type::U8, "u8", 1},           {Type::U16, "u16", 2},
    {Type::U32, "u32", 4},         {Type::U64, "u64", 8},
    {Type::S8, "s8", 1},           {Type::S16, "s16", 2},
    {Type::S32, "s32", 4},         {Type::S64, "s64", 8},
    {Type::F16, "f16", 2},         {Type::BF16, "bf16", 2},
    {Type::F32, "f32", 4},         {Type::F64, "f64", 8},
    {Type::F16x2, "f16x2", 4},     {Type::BF16x2, "bf16x2", 4},
    {Type::E4M3, "e4m3", 1},       {Type::E5M2, "e5m2", 1},
    {Type::E4M3x2, "e4m3x2", 2},   {Type::E5M2x2, "e5m2x2", 2},
    {Type::TF32, "tf32", 4},       {Type::Pred, "pred", 0},
    {Type::TexRef, "texref", 0},   {Type::SamplerRef, "samplerref", 0},
    {Type::SurfRef, "surfref", 0},
};
constexpr size_t typeCount = sizeof types / sizeof *types;
static_assert(typeCount == static_cast<size_t>(Type::SurfRef) + 1,
              "one row per type, in the order of the enumeration");

} // namespace

unsigned bytesOf(Type type) { return types[static_cast<size_t>(type)].bytes; }
const char *nameOf(Type type) { return types[static_cast<size_t>(type)].name; }

Type typeNamed(const std::string &word) {
  for (const TypeFacts &facts : types)
    if (facts.type != Type::None && word == facts.name)
      return facts.type;
  return Type::None;
}

const char *nameOf(Space space) {
  switch (space) {
  case Space::Generic:
    return "generic";
  case Space::Reg:
    return "reg";
  case Space::Const:
    return "const";
  case Space::Global:
    return "global";
  case Space::Local:
    return "local";
  case Space::Param:
    return "param";
  case Space::Shared:
    return "shared";
  }
  return "";
}

std::string Instruction::spelling() const {
  std::string s = root;
  for (const std::string &modifier : modifiers)
    s += "." + modifier;
  return s;
}

const Function *Module::find(const std::string &name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

} // namespace act::runtime::ptx
