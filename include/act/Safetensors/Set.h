// SPDX-License-Identifier: Apache-2.0
//
// Weights that are in one safetensors file or in several with an index, as
// everything above some gigabytes is published:
//
//   model.safetensors.index.json         {"metadata": {"total_size": 22},
//   model-00001-of-00002.safetensors      "weight_map": {"w": "model-00001-…",
//   model-00002-of-00002.safetensors                     "b": "model-00002-…"}}
//
// A set appears whole or not at all, as a file does. Shards are written under
// names that the index in place does not use, then the index is replaced, which
// is the moment when the new set is there; then files that only the old one
// used are removed. A process killed at any instant leaves a set, old or new,
// and perhaps shards that no index names.
#ifndef ACT_SAFETENSORS_SET_H
#define ACT_SAFETENSORS_SET_H
#include "act/Safetensors/Safetensors.h"

namespace act::safetensors {

class Set {
public:
  /// `path` is a file, an index, or what a set was written as: a folder (with
  /// model.safetensors or its index, or adapter_model.safetensors, or one other
  /// file or index) or the name of a file whose index is there instead.
  static Result<Set> open(const std::string &path);

  struct Entry {
    const File *file;
    const Tensor *tensor;
    const uint8_t *data() const { return file->data(*tensor); }
  };
  /// In the order of the files and of their data; of an index what it names.
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
/// The name that a file or an index was written as, without .index.json.
std::string writtenAs(const std::string &path);
/// Where a set is that was written as `path`: the file or the index, whichever
/// is there; `path` itself if neither is. A folder stands for what is in it.
Result<std::string> locate(const std::string &path);
/// What to write when somebody names `path`: of a folder, its
/// model.safetensors.
std::string fileToWrite(const std::string &path);

/// Writes one file while the tensors have no more than `maxShardBytes`, else
/// shards of so many at most (a larger tensor has one of its own), in the order
/// given, beside an index. `path` is NAME.safetensors or any other; shards are
/// NAME-00001-of-00003.safetensors, and NAME-b-… while the former are in use.
/// Each file carries `metadata`, the index too. An earlier set of that name is
/// gone afterwards.
Status writeSet(const std::string &path, std::vector<Source> tensors,
                const Metadata &metadata, uint64_t maxShardBytes);

} // namespace act::safetensors
#endif
