// SPDX-License-Identifier: Apache-2.0
//
// A complete search for a plan within a capacity. Buffers are stacked from the
// bottom up, and dead ends are detected early.
//
// State. The skyline: a section is settled below its floor.
//
//   units |          ____
//    6    |    2    |    |      placed: two buffers; the skyline is 2 in
//    4    |   ______|    |      section 0, 4 in 1, 6 in 2 and 2 in 3
//    2    |__|  4      6 |__2
//    0    |____________________ sections
//
// Choice. A valley is a stretch of sections with one floor between higher ones.
// A buffer that starts at its floor lies within the valley. So a section of a
// valley has these choices: one of the buffers within the valley comes next,
// exactly at the floor, or nothing starts at the floor and it rises to the next
// height at which something can. Such choices reach every plan that is pushed
// down as far as it goes, and no others are searched. A fixed buffer can start
// only at its own height. The search takes the section with the fewest choices
// for its weight (sections in which searches failed weigh more).
//
// Refutation.
// - A floor rises to the lowest place of any buffer of its section. All units
//   of the section that are still to be placed have to fit above it.
// - If no unplaced buffer crosses from a section to the next, the two sides are
//   searched separately. If one side fails, both fail, without trying the
//   other's remaining choices.
// - Sets that were refuted above a skyline are remembered (Nogoods.h).
// - Equal buffers are placed in their order.
//
// Restarts. After some hundred nodes without success, the search restarts with
// another order of the buffers; refuted sets and weights are kept. The lengths
// follow Luby's sequence (Luby, Sinclair, Zuckerman 1993). Only nodes are
// counted, so the result is the same on every machine.
//
// "Canonical" stacking, floors and cuts follow Moffitt, MiniMalloc (ASPLOS
// 2023), which chooses the next buffer among all of them. Valleys, weights,
// remembered sets and restarts are additions.
#ifndef ACT_LIB_PLAN_SKYLINESEARCH_H
#define ACT_LIB_PLAN_SKYLINESEARCH_H
#include "lib/Plan/Nogoods.h"
#include "lib/Plan/Outcome.h"
#include "lib/Plan/Sections.h"

namespace act::plan {

class SkylineSearch {
public:
  /// No item may have a window.
  explicit SkylineSearch(const Sections &sections, uint64_t seed = 3);
  /// Searches for a plan in `capacity` bytes, with at most `maxNodes` nodes.
  Outcome run(int64_t capacity, uint64_t maxNodes);

  /// One greedy descent without backtracking: fast, Found or GaveUp.
  Outcome dive(int64_t capacity);

  const std::vector<int64_t> &offsets() const { return offset; } // when Found
  uint64_t nodes() const { return visited; }                     // of all runs

private:
  struct Range {
    uint32_t first, last;
  };
  struct Block {              // an item, flattened
    uint32_t first, last;     // from its first to its last section
    uint32_t parts, partsEnd; // in `ranges`
    int64_t size, alignment;
    int64_t least, highest; // offset
    int32_t twin;           // an equal item before it, or -1
    uint64_t hash;
  };
  /// Sections between which unplaced items cross, and those items.
  struct Component {
    uint32_t first, last;
    uint32_t list, listEnd; // in `lists`; some may be placed already
  };
  /// A component for which choices are tried.
  struct Frame {
    Component component;
    uint64_t set;                 // hash of its unplaced items
    uint32_t section;             // where the choice is
    uint32_t next, choices;       // in `choiceList`
    bool mayRise;                 // the floor, after all choices
    uint32_t pending, pendingEnd; // in `components`: to be solved one by one
    // To return to.
    size_t trail, lists, components;
  };
  /// Undo record: unplaces an item (section = placedItem), or lowers a floor
  /// again.
  struct Change {
    uint32_t section, item;
    int64_t floor;
  };

  bool start(int64_t capacityBytes);
  void reset();
  void order(uint64_t round);
  Outcome restart(uint64_t limit);
  /// Opens a component: false if it is refuted, else pushes a frame for it.
  bool open(Component component);
  /// Calls f(section, score, slack) for sections where a choice can be made;
  /// the lowest score is the best.
  template <typename F> void eachRipe(const Component &c, F f);
  void findRuns(const Component &c);
  bool findLowest(Component &c, uint64_t &set);
  bool raiseFloors(const Component &c);
  uint32_t chooseSection(const Component &c, bool &mayRise);
  void listChoices(const Component &c, uint32_t section);
  /// Takes the next choice of the topmost frame; false if there is none left.
  bool advance();
  bool place(uint32_t item, uint32_t section);
  bool rise(const Frame &frame);
  void split(Frame &frame);
  void undo(size_t mark);
  /// Raises the weight of a section where a search failed. Returns false.
  bool blame(uint32_t section, double much);
  void setFloor(uint32_t section, int64_t floor);
  bool covers(const Block &b, uint32_t section) const;
  /// Whether an equal item has to be placed first.
  bool mustWait(const Block &b) const { return b.twin >= 0 && !placed[b.twin]; }
  template <typename F> void eachPart(const Block &b, F f) const {
    for (uint32_t p = b.parts; p < b.partsEnd; ++p)
      f(ranges[p]);
  }

  const Sections &problem;
  uint64_t seed;
  int64_t capacity = 0; // units
  std::vector<Block> blocks;
  std::vector<Range> ranges;
  std::vector<double> area, width, crowd; // of each item
  std::vector<double> rank;               // of each item: larger ones first
  std::vector<double> weight, ease;       // of each section; 1 / (1 + weight)
  bool hasParts = false;                  // some item has gaps

  // The state, and its undo trail.
  std::vector<int64_t> floors, rest; // rest: unplaced units of each section
  std::vector<uint32_t> crossing;    // unplaced items from section s to s + 1
  std::vector<char> placed;
  std::vector<int64_t> offset;
  std::vector<int64_t> lowest; // of the items of the component just opened
  std::vector<Change> trail;
  std::vector<Frame> frames;
  std::vector<uint32_t> lists, choiceList;
  std::vector<Component> components;
  Nogoods nogoods;
  uint64_t visited = 0;

  // Of the component that is being opened.
  std::vector<int64_t> runs;         // floors, each as often as it changes
  std::vector<uint32_t> runOf;       // of each section
  std::vector<int32_t> flat;         // flat items minus the last section's
  std::vector<uint32_t> steep;       // items that are not flat
  std::vector<uint32_t> loose;       // sections with nothing flat on them
  std::vector<uint32_t> looseBefore; // of each section
  std::vector<int64_t> maxima, minima;
  std::vector<char> blocked; // of each section: not ripe
};

} // namespace act::plan
#endif
