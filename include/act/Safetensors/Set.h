// SPDX-License-Identifier: Apache-2.0
//
// Weights in one safetensors file or in several with an index, as models above
// some gigabytes are published:
//
//   model.safetensors.index.json         {"metadata": {"total_size": 22},
//   model-00001-of-00002.safetensors      "weight_map": {"w": "model-00001-…",
//   model-00002-of-00002.safetensors                     "b": "model-00002-…"}}
//
// A set is written atomically, as a file is. Shards are written under names
// that the current index does not use. Then the index is replaced, which
// switches to the new set, and files that only the old set used are removed. A
// process killed at any instant leaves the old or the new set, and perhaps
// shards that no index names.
#ifndef ACT_SAFETENSORS_SET_H
#define ACT_SAFETENSORS_SET_H
#include "act/Safetensors/Safetensors.h"

namespace act::safetensors {

class Set {
public:
  /// `path` is a file, an index, a folder (with model.safetensors or its index,
  /// or adapter_model.safetensors, or one other file or index), or the name of
  /// a file that has an index in its place.
  static Result<Set> open(const std::string &path);

  struct Entry {
    const File *file;
    const Tensor *tensor;
    const uint8_t *data() const { return file->data(*tensor); }
  };
  /// In the order of the files and of their data; only what the index names, if
  /// there is one.
  const std::vector<Entry> &tensors() const { return entries; }
  const Tensor *find(const std::string &name) const;
  /// The file's, or the index's strings.
  const Metadata &metadata() const { return meta; }
  /// The file or index that was opened.
  const std::string &path() const { return opened; }
  /// How many files hold the tensors.
  size_t files() const { return shards.size(); }

private:
  std::string opened;
  std::vector<std::unique_ptr<File>> shards;
  std::vector<Entry> entries;
  Metadata meta;
  Status openIndex(const std::string &index);
};

/// PATH.index.json
std::string indexOf(const std::string &path);
/// The name under which a file or an index was written: without .index.json.
std::string writtenAs(const std::string &path);
/// Location of a set that was written as `path`: the file or the index,
/// whichever exists, or `path` itself if neither does. A folder stands for its
/// contents.
Result<std::string> locate(const std::string &path);
/// The file to write for `path`: for a folder, its model.safetensors.
std::string fileToWrite(const std::string &path);

/// Writes one file if the tensors have at most `maxShardBytes`. Otherwise
/// writes an index and shards of at most that size (a larger tensor gets its
/// own), in the given order. `path` is NAME.safetensors or any other name;
/// shards are NAME-00001-of-00003.safetensors, or NAME-b-… while those names
/// are in use. Each file and the index carry `metadata`. Replaces an earlier
/// set of that name.
Status writeSet(const std::string &path, std::vector<Source> tensors,
                const Metadata &metadata, uint64_t maxShardBytes);

} // namespace act::safetensors
#endif
