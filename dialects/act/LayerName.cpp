// SPDX-License-Identifier: Apache-2.0
#include "dialects/act/LayerName.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

static bool match(StringRef name, SmallVectorImpl<StringRef> &parts) {
  return Regex("^([^{]*)[{]([0-9]{0,6})l([+]([0-9]{1,6}))?[}]([^{]*)$")
      .match(name, &parts);
}

bool act::isLayerName(StringRef name) {
  SmallVector<StringRef> parts;
  return match(name, parts);
}

std::string act::layerName(StringRef name, int64_t repetition) {
  SmallVector<StringRef> parts;
  if (!match(name, parts))
    return name.str();
  int64_t step = 1, first = 0;
  if (!parts[2].empty())
    parts[2].getAsInteger(10, step);
  if (!parts[4].empty())
    parts[4].getAsInteger(10, first);
  return (parts[1] + Twine(step * repetition + first) + parts[5]).str();
}
