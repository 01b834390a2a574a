// SPDX-License-Identifier: Apache-2.0
//
// How a block lies in shared memory: a function from coordinates to byte
// offsets.
//
// The last two dimensions are rows and columns, leading ones are slots (the
// stages of a ring), one after the other. Columns are cut into panels, each of
// which stores all rows one after the other:
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
// chunks of 16 bytes in different columns of banks. Eight rows of one chunk, as
// ldmatrix reads, would be in the same banks in a panel of 128 bytes. So chunks
// trade places inside a row, by exclusive or with bits of the row:
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
// : a thread computes the parenthesis once, and each chunk is one exclusive or
// with a constant (chunkXor()); a row 8 further down adds a constant.
//
// evenly() cuts all columns into panels of one width, the widest power of two
// that divides a row: 80 columns of bf16 are five panels of 32 bytes. A
// blocked() layout has as many lanes along a row as such a panel has chunks,
// so its 16-byte stores fill all banks too; mixed widths are for TMA, whose
// boxes are few that way.
//
// Two other ways out of conflicts are for values on their way from one layout
// to another (choose()), and for elements of 4 bytes and more. Swizzle::pairs
// keeps also pairs of chunks apart, of rows 0 to 3 and of rows 0, 2, 4, 6: four
// lanes of an f32 accumulator, or operand, reach for 32 bytes of a row, and 4
// rows at once, or every other of 8. It counts chunks in the 128 bytes that the
// row is in, and by which number each of three bits of the row moves them (with
// what the row's place is anyway) is
//
//   panel bytes   row & 1   row & 2   row & 4
//   128           2         4         3
//   64            (4)       2         5
//   32            (2)       (4)       3
//
// Padding makes rows longer than what they hold.
#ifndef ACT_LAYOUT_SHARED_H
#define ACT_LAYOUT_SHARED_H
#include "act/Layout/Distributed.h"
#include <array>

namespace act::layout {

/// {row, column}
using Place = std::array<int64_t, 2>;

/// Wavefronts of one instruction in shared memory, by which hardware counts:
/// lanes that want different words of one bank take turns; accesses of 8 and of
/// 16 bytes go in groups of 16 and of 8 lanes. One address per lane, -1 for a
/// lane that takes no part. ldmatrix is 8 addresses of 16 bytes per matrix.
int64_t wavefronts(const std::vector<int64_t> &addresses, int64_t bytes);

struct Traffic {
  int64_t bytes = 0;        // of one access: 1 to 16
  int64_t instructions = 0; // of all warps
  int64_t wavefronts = 0;
  int64_t least = 0; // wavefronts if nothing conflicted
  int64_t conflicts() const { return wavefronts - least; }
};

/// How chunks trade places inside a row, in panels of 128, 64 and 32 bytes.
enum class Swizzle {
  none,
  chunks, // the header's table: TMA's
  pairs,  // the same with other weights of the bits of the row
};

class Shared {
public:
  /// Bytes of each panel, left to right; the swizzle; bytes between rows that
  /// hold nothing.
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
    int64_t start = 0; // of the slot, in bytes: a multiple of 128
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
    /// Of pairs, the weight of row & 4.
    int64_t weightOf4() const { return bytes == 64 ? 5 : 3; }
    /// From the start of the slot, chunk counted from the panel's first.
    int64_t offset(int64_t row, int64_t chunk) const {
      int64_t at = (chunk ^ chunkXor(row)) * 16;
      return start + (inLines() ? row * pitch ^ at : row * pitch + at);
    }
    /// Whether chunks trade places in the 128 bytes that their row is in.
    bool inLines() const { return swizzle == Swizzle::pairs && mask; }
  };

  /// Fails unless the panels add up to a row, panels but the last are multiples
  /// of 16 bytes, a swizzled form is not padded, and the size is below 2^31.
  static Result<Shared> get(std::vector<int64_t> shape, int64_t elementBytes,
                            Form form);
  /// Panels of one width, the widest of 128, 64, 32, 16 that divides a row;
  /// a row that is no multiple of 16 bytes, or the only one, is one panel.
  static Result<Shared> evenly(std::vector<int64_t> shape, int64_t elementBytes,
                               Swizzle swizzle = Swizzle::chunks);
  /// Panels of `widest` bytes (128, 64, 32 or 16), what remains in panels of
  /// half of that, and so on: `#tile.shared<swizzle = widest>`. 0 is one panel
  /// that is not swizzled.
  static Result<Shared> cut(std::vector<int64_t> shape, int64_t elementBytes,
                            int64_t widest, Swizzle swizzle = Swizzle::chunks);
  /// As few panels as there can be: cut() from 128.
  static Result<Shared> fewest(std::vector<int64_t> shape,
                               int64_t elementBytes);
  /// The widest of 128, 64, 32, 16 that divides a row, or 0: what evenly() cuts
  /// by.
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
  /// For each constant distance, in rows and columns from each thread's place,
  /// its delta; nothing if one of them has none that holds for all threads.
  /// (It has where threads and constants add up without carry among the rows
  /// and the chunks of a panel, and panels are of one width: so the places that
  /// lanes and warps of a layout add, and those that its registers add.)
  std::optional<std::vector<Delta>>
  deltas(const std::vector<Place> &threads,
         const std::vector<Place> &constants) const;
  /// The panel that holds this byte of a row.
  const Panel &panelOf(int64_t byteOfRow) const;
  bool operator==(const Shared &o) const {
    return extents == o.extents && width == o.width && made == o.made;
  }

  /// The elements of one access of a thread that holds this layout: what lies
  /// side by side both in its registers and here, 16 bytes at most.
  int64_t vectorFor(const Distributed &layout) const;
  /// Every thread of the layout stores its registers here, or loads them
  /// (copies of lanes and warps then load too). The layout's shape is this one
  /// or one slot's.
  Traffic stores(const Distributed &layout) const;
  Traffic loads(const Distributed &layout) const;
  /// Or loads them by ldmatrix, .trans where that is what fits (Ldmatrix.h);
  /// nothing if it does not fit the layout or rows do not lie at multiples of
  /// 16 bytes.
  std::optional<Traffic> matrixLoads(const Distributed &layout) const;
  /// Whether an `ldmatrix` can read it: its rows are 16 bytes side by side, and
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
  bool transposed; // dimensions are stored in reverse: {column, row}
  bool byLdmatrix; // reads are Shared::matrixLoads
  Traffic writes, reads;
};

/// Stores from `from` and loads to `to` with the fewest wavefronts, then the
/// fewest instructions, then the fewest bytes: swizzled and padded forms, row
/// by row and column by column. The layouts have one shape.
Result<Passage> choose(const Distributed &from, const Distributed &to,
                       int64_t elementBytes);

} // namespace act::layout
#endif
