// SPDX-License-Identifier: Apache-2.0
//
// Places of elements in shared memory. Traffic.cpp counts what an access costs.
#include "act/Layout/Shared.h"
#include <algorithm>
#include <cassert>
#include <tuple>

namespace act::layout {

static std::string name(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return "";
  case Swizzle::chunks:
    return ", swizzle = chunks";
  case Swizzle::pairs:
    return ", swizzle = pairs";
  }
  return "";
}

std::string Shared::Form::str() const {
  std::string text;
  for (int64_t bytes : panels)
    text += (text.empty() ? "" : ", ") + std::to_string(bytes);
  return "panels = [" + text + "]" + name(swizzle) +
         (padding ? ", padding = " + std::to_string(padding) : "");
}

/// TMA aligns swizzled panels of 8 rows; 128 is what bank arithmetic needs.
static constexpr int64_t panelAlignment = 128;
static constexpr int64_t lineBytes = 128; // all banks

static int64_t roundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static Error wrong(const std::string &what, int64_t actual,
                   const std::string &expected) {
  return Error{
      what + " is " + std::to_string(actual) + ", expected " + expected, ""};
}

/// Shift and mask of the row, which give the chunk's exclusive or, for a panel
/// width in bytes.
static std::pair<int64_t, int64_t> swizzleOf(int64_t bytes) {
  switch (bytes) {
  case 128:
    return {0, 7};
  case 64:
    return {1, 3};
  case 32:
    return {2, 1};
  default:
    return {0, 0};
  }
}

/// Fails unless extents are positive and the block fits in 2^31 bytes.
static Status checkExtents(const std::vector<int64_t> &shape, int64_t width) {
  if (shape.empty())
    return Error{"a block in shared memory has a dimension at least", ""};
  if (width != 1 && width != 2 && width != 4 && width != 8 && width != 16)
    return wrong("an element's size", width, "1, 2, 4, 8 or 16 bytes");
  int64_t bytes = width;
  for (int64_t extent : shape) {
    if (extent < 1)
      return wrong("an extent", extent, "1 or more");
    if (extent > INT32_MAX / bytes)
      return Error{"a block in shared memory has less than 2^31 bytes", ""};
    bytes *= extent;
  }
  return ok();
}

/// Fails unless panels add up to a row and all but the last are multiples of 16
/// bytes.
static Status checkForm(const Shared::Form &form, int64_t rowBytes,
                        int64_t width) {
  int64_t sum = 0;
  for (size_t i = 0; i < form.panels.size(); ++i) {
    int64_t bytes = form.panels[i];
    if (bytes < 1 || bytes > rowBytes - sum)
      return Error{"panel " + std::to_string(i) + " has " +
                       std::to_string(bytes) + " bytes, but " +
                       std::to_string(rowBytes - sum) +
                       " are left of a row of " + std::to_string(rowBytes),
                   ""};
    sum += bytes;
    bool last = i + 1 == form.panels.size();
    int64_t unit = last ? width : 16;
    if (bytes % unit)
      return wrong("the width of panel " + std::to_string(i), bytes,
                   "a multiple of " + std::to_string(unit) + " bytes");
  }
  if (sum != rowBytes)
    return wrong("the sum of panels", sum,
                 std::to_string(rowBytes) + ", the bytes of a row");
  if (form.padding < 0 || form.padding > 1024 || form.padding % width)
    return wrong("the padding", form.padding,
                 "0 to 1024 bytes, a multiple of the element's " +
                     std::to_string(width));
  if (form.padding && form.swizzle != Swizzle::none)
    return Error{"rows are padded or swizzled, not both", ""};
  return ok();
}

/// A slot is a matrix of rows; leading dimensions count slots. A row is cut
/// into panels, and all rows of a panel lie together, each panel at an aligned
/// start.
Result<Shared> Shared::get(std::vector<int64_t> shape, int64_t elementBytes,
                           Form form) {
  if (Status s = checkExtents(shape, elementBytes); !s)
    return s.error();
  Shared r;
  r.width = elementBytes;
  r.columnCount = shape.back();
  r.rowCount = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  for (size_t d = 0; d + 2 < shape.size(); ++d)
    r.slotCount *= shape[d];
  if (Status s = checkForm(form, r.columnCount * elementBytes, elementBytes);
      !s)
    return s.error();

  int64_t firstByte = 0;
  for (int64_t bytes : form.panels) {
    Panel panel;
    panel.start = roundUp(r.bytesOfSlot, panelAlignment);
    panel.firstByte = firstByte;
    panel.bytes = bytes;
    panel.pitch = bytes + form.padding;
    panel.swizzle = form.swizzle;
    if (form.swizzle != Swizzle::none)
      std::tie(panel.shift, panel.mask) = swizzleOf(bytes);
    firstByte += bytes;
    r.bytesOfSlot = panel.start + roundUp(r.rowCount * panel.pitch,
                                          panel.inLines() ? lineBytes : 1);
    r.parts.push_back(panel);
  }
  if (r.slotCount > 1)
    r.bytesOfSlot = roundUp(r.bytesOfSlot, panelAlignment);
  if (r.bytesOfSlot > INT32_MAX / r.slotCount)
    return Error{"a block in shared memory has less than 2^31 bytes", ""};
  r.extents = std::move(shape);
  r.made = std::move(form);
  return r;
}

int64_t Shared::evenWidth(int64_t rowBytes) {
  for (int64_t bytes : {128, 64, 32, 16})
    if (rowBytes % bytes == 0)
      return bytes;
  return 0;
}

/// Panels of one width, the widest that divides a row. A single row is not
/// swizzled: a swizzle permutes chunks by the row's number, and row 0 stays as
/// it is.
Result<Shared> Shared::evenly(std::vector<int64_t> shape, int64_t elementBytes,
                              Swizzle swizzle) {
  if (Status s = checkExtents(shape, elementBytes); !s)
    return s.error();
  int64_t row = shape.back() * elementBytes, bytes = evenWidth(row);
  bool oneRow = shape.size() < 2 || shape[shape.size() - 2] == 1;
  if (!bytes || oneRow)
    return get(std::move(shape), elementBytes, {{row}, Swizzle::none, 0});
  return get(std::move(shape), elementBytes,
             {std::vector<int64_t>(row / bytes, bytes), swizzle, 0});
}

/// Takes the widest panels first: a row of 224 bytes becomes 128 + 64 + 32.
Result<Shared> Shared::cut(std::vector<int64_t> shape, int64_t elementBytes,
                           int64_t widest, Swizzle swizzle) {
  if (Status s = checkExtents(shape, elementBytes); !s)
    return s.error();
  int64_t row = shape.back() * elementBytes;
  if (widest == 0)
    return get(std::move(shape), elementBytes, {{row}, Swizzle::none, 0});
  if (widest != 128 && widest != 64 && widest != 32 && widest != 16)
    return wrong("the widest panel", widest, "128, 64, 32, 16 or 0 bytes");
  if (row % 16)
    return wrong("a row that is cut into panels", row,
                 "a multiple of 16 bytes");
  Form form;
  form.swizzle = swizzle;
  for (; row; widest /= 2)
    for (; row >= widest; row -= widest)
      form.panels.push_back(widest);
  return get(std::move(shape), elementBytes, form);
}

Result<Shared> Shared::fewest(std::vector<int64_t> shape,
                              int64_t elementBytes) {
  if (Status s = checkExtents(shape, elementBytes); !s)
    return s.error();
  bool whole = shape.back() * elementBytes % 16 == 0;
  return cut(std::move(shape), elementBytes, whole ? 128 : 0);
}

const Shared::Panel &Shared::panelOf(int64_t byteOfRow) const {
  // Usually all panels have one width, so this guess is right.
  size_t guess = std::min<size_t>(byteOfRow / parts[0].bytes, parts.size() - 1);
  const Panel &panel = parts[guess];
  if (byteOfRow >= panel.firstByte && byteOfRow < panel.firstByte + panel.bytes)
    return panel;
  auto after = std::upper_bound(
      parts.begin(), parts.end(), byteOfRow,
      [](int64_t byte, const Panel &p) { return byte < p.firstByte; });
  return *std::prev(after);
}

int64_t Shared::offset(int64_t slot, int64_t row, int64_t column) const {
  int64_t byte = column * width;
  const Panel &panel = panelOf(byte);
  byte -= panel.firstByte;
  return slot * bytesOfSlot + panel.offset(row, byte / 16) + byte % 16;
}

// A swizzle is linear over exclusive or. If sums of rows and of chunks have no
// carry, they are exclusive ors, and so are their swizzled offsets. Each delta
// is verified for all threads.
std::optional<std::vector<Shared::Delta>>
Shared::deltas(const std::vector<Place> &threads,
               const std::vector<Place> &constants) const {
  const Panel &panel = parts[0];
  int64_t fromPanelToPanel = parts.size() > 1 ? parts[1].start : 0;
  std::vector<Delta> result;
  for (auto [row, column] : constants) {
    int64_t byte = column * width, inPanel = byte % panel.bytes;
    Delta delta;
    delta.add = byte / panel.bytes * fromPanelToPanel + row * panel.pitch;
    if (panel.mask) {
      delta.flip = (inPanel / 16 ^ panel.chunkXor(row)) * 16;
      delta.add += inPanel % 16;
      if (panel.inLines()) {
        int64_t inLine = row * panel.pitch % lineBytes;
        delta.flip ^= inLine;
        delta.add -= inLine;
      }
    } else {
      delta.add += inPanel;
    }
    for (auto [threadRow, threadColumn] : threads)
      if (offset(0, threadRow + row, threadColumn + column) !=
          (offset(0, threadRow, threadColumn) ^ delta.flip) + delta.add)
        return std::nullopt;
    result.push_back(delta);
  }
  return result;
}

int64_t Shared::offset(const Coordinates &c) const {
  assert(c.size() <= extents.size() && "more coordinates than dimensions");
  size_t skipped = extents.size() - c.size(); // slot 0
  int64_t slot = 0;
  for (size_t d = 0; d + 2 < c.size(); ++d)
    slot = slot * extents[d + skipped] + c[d];
  int64_t row = c.size() > 1 ? c[c.size() - 2] : 0;
  return offset(slot, row, c.empty() ? 0 : c.back());
}

} // namespace act::layout
