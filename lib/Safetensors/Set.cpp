// SPDX-License-Identifier: Apache-2.0
//
// A model's weights in one file or in several with an index, as Hugging Face
// writes them.
#include "act/Safetensors/Set.h"
#include "act/File/AtomicFile.h"
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace act;
using namespace act::safetensors;
namespace fs = std::filesystem;

static bool endsWith(const std::string &s, std::string_view end) {
  return s.size() >= end.size() &&
         std::string_view(s).substr(s.size() - end.size()) == end;
}

static bool isFolder(const std::string &path) {
  std::error_code e;
  return fs::is_directory(path, e);
}

static bool exists(const std::string &path) {
  std::error_code e;
  return fs::exists(path, e);
}

constexpr std::string_view indexEnd = ".index.json", fileEnd = ".safetensors";

std::string safetensors::indexOf(const std::string &path) {
  return path + std::string(indexEnd);
}

std::string safetensors::writtenAs(const std::string &path) {
  return endsWith(path, indexEnd)
             ? path.substr(0, path.size() - indexEnd.size())
             : path;
}

std::string safetensors::fileToWrite(const std::string &path) {
  if (endsWith(path, "/") || isFolder(path))
    return (fs::path(path) / "model.safetensors").string();
  return path;
}

// The only file or the only index in a folder.
static Result<std::string> onlyOneIn(const std::string &folder) {
  std::vector<std::string> files, indexes;
  std::error_code e;
  for (fs::directory_iterator it(folder, e), end; !e && it != end;
       it.increment(e)) {
    std::string name = it->path().string();
    if (it->path().filename().string()[0] == '.')
      continue;
    if (endsWith(name, std::string(fileEnd) + std::string(indexEnd)))
      indexes.push_back(name);
    else if (endsWith(name, fileEnd))
      files.push_back(name);
  }
  if (e)
    return Error{"cannot read: " + e.message(), folder};
  if (indexes.size() == 1)
    return indexes[0];
  if (indexes.empty() && files.size() == 1)
    return files[0];
  std::string expected = "expected model.safetensors, or one other, or its "
                         "index";
  if (files.empty() && indexes.empty())
    return Error{"the folder holds no .safetensors file (" + expected + ")",
                 folder};
  return Error{"the folder holds " + std::to_string(files.size()) +
                   " .safetensors files and " + std::to_string(indexes.size()) +
                   " indexes (" + expected + "); name the one that is meant",
               folder};
}

Result<std::string> safetensors::locate(const std::string &path) {
  if (!isFolder(path))
    return exists(path) || !exists(indexOf(path)) ? path : indexOf(path);
  for (const char *name : {"model.safetensors", "adapter_model.safetensors"}) {
    std::string file = (fs::path(path) / name).string();
    for (const std::string &candidate : {file, indexOf(file)})
      if (exists(candidate))
        return candidate;
  }
  return onlyOneIn(path);
}

// ---- Reading

namespace {
struct Index {
  std::vector<std::string> files; // each once, in order of their names
  std::map<std::string, std::string> where;
  Metadata metadata;
};
} // namespace

static Result<Index> readIndex(const std::string &path) {
  auto file = file::MappedFile::open(path);
  if (!file)
    return file.error();
  auto json = nlohmann::json::parse(file->text(), nullptr, false);
  auto fail = [&](const std::string &m) { return Error{m, path}; };
  if (!json.is_object() || !json.contains("weight_map") ||
      !json["weight_map"].is_object())
    return fail("expected the index of a sharded model: a JSON object with "
                "'weight_map'");
  Index index;
  std::map<std::string, bool> seen;
  for (auto &[name, value] : json["weight_map"].items()) {
    if (!value.is_string())
      return fail("weight_map names no file for '" + name + "'");
    auto shard = value.get<std::string>();
    // An index may name only files in its own folder.
    if (shard.empty() || shard[0] == '.' ||
        shard.find('/') != std::string::npos)
      return fail("weight_map puts '" + name + "' in '" + shard +
                  "', expected the name of a file beside the index");
    index.where[name] = shard;
    seen[shard] = true;
  }
  for (auto &[shard, unused] : seen)
    index.files.push_back(shard);
  if (json.contains("metadata") && json["metadata"].is_object())
    for (auto &[key, value] : json["metadata"].items())
      if (value.is_string())
        index.metadata[key] = value.get<std::string>();
  return index;
}

Status Set::openIndex(const std::string &path) {
  auto index = readIndex(path);
  if (!index)
    return index.error();
  meta = index->metadata;
  size_t found = 0;
  for (const std::string &name : index->files) {
    std::string shard = (fs::path(path).parent_path() / name).string();
    if (!exists(shard))
      return Error{"the index names the shard " + name + ", which is not there",
                   path};
    auto file = File::open(shard);
    if (!file)
      return file.error();
    shards.push_back(std::make_unique<File>(std::move(*file)));
    for (const Tensor &t : shards.back()->tensors())
      if (auto it = index->where.find(t.name);
          it != index->where.end() && it->second == name) {
        entries.push_back({shards.back().get(), &t});
        ++found;
      }
  }
  if (found == index->where.size())
    return ok();
  for (auto &[tensor, shard] : index->where)
    if (!find(tensor))
      return Error{"the index puts '" + tensor + "' in " + shard +
                       ", which does not hold it",
                   path};
  return ok();
}

Result<Set> Set::open(const std::string &path) {
  auto located = locate(path);
  if (!located)
    return located.error();
  Set set;
  set.opened = *located;
  if (endsWith(*located, ".json")) {
    if (auto s = set.openIndex(*located); !s)
      return s.error();
    return set;
  }
  auto file = File::open(*located);
  if (!file)
    return file.error();
  set.shards.push_back(std::make_unique<File>(std::move(*file)));
  set.meta = set.shards[0]->metadata();
  for (const Tensor &t : set.shards[0]->tensors())
    set.entries.push_back({set.shards[0].get(), &t});
  return set;
}

const Tensor *Set::find(const std::string &name) const {
  for (const Entry &e : entries)
    if (e.tensor->name == name)
      return e.tensor;
  return nullptr;
}

// ---- Writing

static std::string shardName(const std::string &stem, const char *mark,
                             size_t i, size_t n) {
  char number[64];
  snprintf(number, sizeof number, "-%05zu-of-%05zu", i + 1, n);
  return stem + mark + number + std::string(fileEnd);
}

static void removeFiles(const fs::path &folder,
                        const std::vector<std::string> &names) {
  std::error_code e;
  for (const std::string &name : names)
    fs::remove(folder / name, e);
}

// Shards that writeSet may remove: only names of its own form, because an index
// may name any files.
static std::vector<std::string> ownShards(const std::vector<std::string> &names,
                                          const std::string &stem) {
  std::vector<std::string> own;
  for (const std::string &name : names)
    if (name.rfind(stem + "-", 0) == 0 && endsWith(name, fileEnd))
      own.push_back(name);
  return own;
}

static Result<std::vector<std::vector<Source>>>
// Fills shards in the order of the tensors. A tensor larger than `most` gets a
// shard of its own.
intoShards(std::vector<Source> tensors, uint64_t most) {
  std::vector<std::vector<Source>> shards(1);
  uint64_t filled = 0;
  for (Source &t : tensors) {
    auto bytes = byteSize(t);
    if (!bytes)
      return bytes.error();
    if (filled > 0 && filled + *bytes > most) {
      shards.emplace_back();
      filled = 0;
    }
    filled += *bytes;
    shards.back().push_back(std::move(t));
  }
  return shards;
}

// The new shards get other names than those of the index that exists, and the
// index is replaced last. So the old set stays complete until the new one is.
static Status writeShards(const std::string &path,
                          std::vector<std::vector<Source>> shards,
                          const Metadata &metadata,
                          const std::vector<std::string> &before) {
  const fs::path folder = fs::path(path).parent_path();
  std::string stem = fs::path(path).filename().string();
  if (endsWith(stem, fileEnd))
    stem.resize(stem.size() - fileEnd.size());
  auto name = [&](const char *mark, size_t i) {
    return shardName(stem, mark, i, shards.size());
  };
  const char *mark = "";
  for (size_t i = 0; i < shards.size(); ++i)
    if (std::count(before.begin(), before.end(), name("", i)))
      mark = "-b";
  nlohmann::ordered_json index = nlohmann::ordered_json::object();
  index["metadata"] = metadata;
  std::map<std::string, std::string> where;
  std::vector<std::string> written;
  uint64_t total = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const Source &t : shards[i]) {
      total += *byteSize(t);
      if (!where.emplace(t.name, name(mark, i)).second) {
        removeFiles(folder, written);
        return Error{"two tensors have the name '" + t.name + "'", path};
      }
    }
    if (auto s = write((folder / name(mark, i)).string(), std::move(shards[i]),
                       metadata);
        !s) {
      removeFiles(folder, written);
      return s;
    }
    written.push_back(name(mark, i));
  }
  index["metadata"]["total_size"] = total;
  index["weight_map"] = where;
  std::string text = index.dump(
      2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (auto s = file::writeFile(indexOf(path), text + "\n"); !s) {
    removeFiles(folder, written);
    return s;
  }
  std::error_code e;
  // A single file from an earlier save would be found before the index
  // (locate).
  fs::remove(path, e);
  std::vector<std::string> old;
  for (const std::string &shard : ownShards(before, stem))
    if (!std::count(written.begin(), written.end(), shard))
      old.push_back(shard);
  removeFiles(folder, old);
  return ok();
}

Status safetensors::writeSet(const std::string &path,
                             std::vector<Source> tensors,
                             const Metadata &metadata, uint64_t maxShardBytes) {
  auto shards = intoShards(std::move(tensors), maxShardBytes);
  if (!shards)
    return Error{shards.error().message, path};
  std::error_code e;
  std::vector<std::string> before;
  if (fs::is_regular_file(indexOf(path), e))
    if (auto index = readIndex(indexOf(path)))
      before = index->files;
  // Devices and pipes take one file, however large.
  bool special = fs::is_other(fs::status(path, e));
  if (shards->size() > 1 && !special)
    return writeShards(path, std::move(*shards), metadata, before);
  std::vector<Source> all;
  for (auto &shard : *shards)
    for (Source &t : shard)
      all.push_back(std::move(t));
  if (auto s = write(path, std::move(all), metadata); !s)
    return s;
  if (special || !fs::is_regular_file(indexOf(path), e))
    return ok();
  std::string stem = fs::path(path).filename().string();
  if (endsWith(stem, fileEnd))
    stem.resize(stem.size() - fileEnd.size());
  // The single file replaces a set of shards, whose index would be wrong from
  // here on.
  fs::remove(indexOf(path), e);
  removeFiles(fs::path(path).parent_path(), ownShards(before, stem));
  return ok();
}
