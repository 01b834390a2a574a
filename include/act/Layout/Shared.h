// SPDX-License-Identifier: Apache-2.0
//
// The layout of a block in shared memory: a function from coordinates to byte
// offsets.
//
// The last two dimensions are rows and columns. Leading ones are slots (the
// stages of a ring), stored one after the other. Columns are cut into panels. A
// panel stores all rows one after the other:
//
//   64 rows of 80 columns of bf16 as panels of 128 and 32 bytes
//
//        columns 0..63       64..79
//      +------------------+ +-----+      panel 0 from byte 0, a row each 128
//      | row 0            | |     |      panel 1 from byte 64 * 128, a row
//      | row 1            | |     |      each 32 bytes
//      | ..               | |     |
//
// Shared memory has 32 banks of 4 bytes, so a wavefront serves 128 bytes: eight
// chunks of 16 bytes in different banks. In a panel of 128 bytes, one chunk of
// eight rows, as ldmatrix reads it, would be in the same banks. So chunks are
// permuted inside a row, by exclusive or with bits of the row:
//
//   panel bytes   chunk ^=         8 chunks that fill all banks
//   128           row & 7          a row; a column of 8 rows
//   64            row >> 1 & 3     2 rows; a column of 8 rows
//   32            row >> 2 & 1     4 rows; a column of 8 rows
//   16            0                8 rows, a column as it is
//
// (The swizzles of TMA and wgmma.) Rows here are aligned groups. In a panel of
// 128, 64, 32 bytes, row * bytes leaves the bits of the chunk free, so
//
//   offset(row, chunk) = (row * bytes + 16 * f(row)) ^ 16 * chunk
//
// A thread computes the parenthesis once. Each chunk is one exclusive or with a
// constant (chunkXor()), and a row 8 further down adds a constant.
//
// evenly() cuts all columns into panels of one width, the widest power of two
// that divides a row: 80 columns of bf16 are five panels of 32 bytes. A
// blocked() layout has as many lanes along a row as such a panel has chunks, so
// its 16-byte stores fill all banks too. Mixed widths are for TMA, which then
// needs fewer boxes.
//
// Two other ways to avoid conflicts are for conversions between layouts
// (choose()) and for elements of 4 bytes and more. Swizzle::pairs also keeps
// pairs of chunks apart, those of rows 0 to 3 and of rows 0, 2, 4, 6: four
// lanes of an f32 accumulator or operand access 32 bytes of a row, and 4 rows
// at once, or every other of 8. It permutes the chunks of the 128 bytes that
// the row is in. Each of three bits of the row moves them by (in parentheses:
// by the row's place alone)
//
//   panel bytes   row & 1   row & 2   row & 4
//   128           2         4         3
//   64            (4)       2         5
//   32            (2)       (4)       3
//
// The other way, padding, leaves unused bytes between rows.
#ifndef ACT_LAYOUT_SHARED_H
#define ACT_LAYOUT_SHARED_H
#include "act/Layout/Distributed.h"
#include <array>

namespace act::layout {

/// {row, column}
using Place = std::array<int64_t, 2>;

/// Wavefronts of one instruction in shared memory, as the hardware counts them:
/// lanes that access different words of one bank are serialised; accesses of 8
/// and of 16 bytes go in groups of 16 and of 8 lanes. One byte address per
/// lane, -1 for an inactive lane. ldmatrix is 8 addresses of 16 bytes per
/// matrix.
int64_t wavefronts(const std::vector<int64_t> &addresses, int64_t bytes);

struct Traffic {
  int64_t bytes = 0;        // of one access: 1 to 16
  int64_t instructions = 0; // of all warps
  int64_t wavefronts = 0;
  int64_t least = 0; // wavefronts without conflicts
  int64_t conflicts() const { return wavefronts - least; }
};

/// How chunks are permuted inside a row, in panels of 128, 64 and 32 bytes.
enum class Swizzle {
  none,
  chunks, // TMA's: the header's first table
  pairs,  // the same with other weights of the row's bits: the second table
};

class Shared {
public:
  /// Bytes of a row in each panel, left to right; the swizzle; unused bytes
  /// between rows.
  struct Form {
    std::vector<int64_t> panels;
    Swizzle swizzle = Swizzle::chunks;
    int64_t padding = 0;
    bool operator==(const Form &o) const {
      return panels == o.panels && swizzle == o.swizzle && padding == o.padding;
    }
    /// `panels = [128, 32], swizzle = chunks`, `panels = [256], padding = 16`
    std::string str() const;
  };

  struct Panel {
    int64_t start = 0; // bytes from the slot's start: a multiple of 128
    int64_t firstByte = 0, bytes = 0; // which bytes of a row it holds
    int64_t pitch = 0;                // from row to row
    int64_t shift = 0, mask = 0;      // chunk ^= row >> shift & mask
    Swizzle swizzle = Swizzle::none;

    int64_t chunkXor(int64_t row) const {
      int64_t bits = row >> shift & mask;
      if (!inLines())
        return bits;
      return (bits << 1 & mask & 6) ^ (row >> 2 & 1) * weightOf4();
    }
    /// The weight of row & 4 in Swizzle::pairs.
    int64_t weightOf4() const { return bytes == 64 ? 5 : 3; }
    /// Bytes from the slot's start; `chunk` counts from the panel's first.
    int64_t offset(int64_t row, int64_t chunk) const {
      int64_t at = (chunk ^ chunkXor(row)) * 16;
      return start + (inLines() ? row * pitch ^ at : row * pitch + at);
    }
    /// Whether chunks are permuted in the 128 bytes that their row is in.
    bool inLines() const { return swizzle == Swizzle::pairs && mask; }
  };

  /// Fails unless the panels add up to a row, all panels but the last are
  /// multiples of 16 bytes, a swizzled form has no padding, and the size is
  /// below 2^31.
  static Result<Shared> get(std::vector<int64_t> shape, int64_t elementBytes,
                            Form form);
  /// Panels of one width, the widest of 128, 64, 32, 16 that divides a row. A
  /// row that is not a multiple of 16 bytes, or the only row, is one panel.
  static Result<Shared> evenly(std::vector<int64_t> shape, int64_t elementBytes,
                               Swizzle swizzle = Swizzle::chunks);
  /// Panels of `widest` bytes (128, 64, 32 or 16), the remainder in panels of
  /// half of that, and so on: `#tile.shared<swizzle = widest>`. 0 is one panel
  /// without swizzle.
  static Result<Shared> cut(std::vector<int64_t> shape, int64_t elementBytes,
                            int64_t widest, Swizzle swizzle = Swizzle::chunks);
  /// As few panels as possible: cut() from 128.
  static Result<Shared> fewest(std::vector<int64_t> shape,
                               int64_t elementBytes);
  /// The panel width of evenly(): the widest of 128, 64, 32, 16 that divides a
  /// row, or 0.
  static int64_t evenWidth(int64_t rowBytes);

  const std::vector<int64_t> &shape() const { return extents; }
  int64_t elementBytes() const { return width; }
  const Form &form() const { return made; }
  const std::vector<Panel> &panels() const { return parts; }
  int64_t rows() const { return rowCount; }
  int64_t columns() const { return columnCount; }
  int64_t slots() const { return slotCount; }
  int64_t slotBytes() const { return bytesOfSlot; }
  int64_t size() const { return bytesOfSlot * slotCount; }

  /// In bytes from the start.
  int64_t offset(const Coordinates &coordinates) const;
  int64_t offset(int64_t slot, int64_t row, int64_t column) const;
  /// What a constant distance does to an address that a thread has computed:
  /// offset(thread + constant) == (offset(thread) ^ flip) + add.
  struct Delta {
    int64_t flip = 0, add = 0;
  };
  /// The delta of each constant distance, in rows and columns from the threads'
  /// places; nothing if a distance has no delta that holds for all threads. A
  /// delta exists if panels have one width and threads and constants add up
  /// without carry in the rows and in the chunks of a panel. This holds for the
  /// places of a layout's lanes and warps, and the distances of its registers.
  std::optional<std::vector<Delta>>
  deltas(const std::vector<Place> &threads,
         const std::vector<Place> &constants) const;
  /// The panel that holds this byte of a row.
  const Panel &panelOf(int64_t byteOfRow) const;
  bool operator==(const Shared &o) const {
    return extents == o.extents && width == o.width && made == o.made;
  }

  /// Elements of one access by a thread of this layout: those contiguous both
  /// in its registers and here, at most 16 bytes.
  int64_t vectorFor(const Distributed &layout) const;
  /// Traffic when every thread of the layout stores or loads its registers.
  /// Lanes and warps that hold copies load too. The layout's shape is this
  /// one's or one slot's.
  Traffic stores(const Distributed &layout) const;
  Traffic loads(const Distributed &layout) const;
  /// Traffic of loads by ldmatrix, .trans if that fits (Ldmatrix.h); nothing if
  /// ldmatrix does not fit the layout or rows are not at multiples of 16 bytes.
  std::optional<Traffic> matrixLoads(const Distributed &layout) const;
  /// Whether `ldmatrix` can read it: each 16 bytes of a row are contiguous and
  /// aligned.
  bool hasMatrixRows() const;

private:
  Shared() = default;
  Traffic traffic(const Distributed &layout, bool store, int64_t warps,
                  size_t mostPerWarp) const;
  std::optional<Traffic> matrixTraffic(const Distributed &layout, int64_t warps,
                                       size_t mostPerWarp) const;
  friend struct Chooser;

  std::vector<int64_t> extents;
  int64_t width = 1;
  Form made;
  std::vector<Panel> parts;
  int64_t rowCount = 1, columnCount = 1, slotCount = 1, bytesOfSlot = 0;
};

/// A way through shared memory from one layout to another.
struct Passage {
  Shared shared;
  bool transposed; // stored as {column, row}
  bool byLdmatrix; // reads are Shared::matrixLoads
  Traffic writes, reads;
};

/// The passage with the fewest wavefronts, then the fewest instructions, then
/// the fewest bytes, among swizzled and padded forms, stored by rows or by
/// columns. The layouts must have the same shape.
Result<Passage> choose(const Distributed &from, const Distributed &to,
                       int64_t elementBytes);

} // namespace act::layout
#endif
