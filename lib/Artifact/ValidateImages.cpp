// SPDX-License-Identifier: Apache-2.0
//
// The images of kernels. A driver is given an image without its size and
// follows the offsets in it, so they must not lead out of it.
#include "lib/Artifact/ValidateImages.h"
#include "act/Artifact/Format.h"
#include <cstring>
#include <elf.h>

using namespace act;
using namespace act::artifact;

namespace {

constexpr uint16_t machineOfCuda = 190; // EM_CUDA

struct Image {
  const uint8_t *data;
  uint64_t bytes;

  bool holds(uint64_t offset, uint64_t size) const {
    return size <= bytes && offset <= bytes - size;
  }
  /// What stands at `offset`, which holds() allows; it need not be aligned.
  template <typename T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, data + offset, sizeof value);
    return value;
  }
};

/// What is wrong with an image; null if nothing is.
const char *problemOf(const Image &image) {
  if (image.bytes < sizeof(Elf64_Ehdr) ||
      std::memcmp(image.data, ELFMAG, SELFMAG) != 0)
    return "is not an ELF file";
  const auto header = image.at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != machineOfCuda)
    return "is not code of a GPU";
  if ((header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) ||
      (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)))
    return "has tables of unknown entries";
  if (!image.holds(header.e_shoff,
                   uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)) ||
      !image.holds(header.e_phoff,
                   uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)))
    return "has a table outside itself";
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section =
        image.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS &&
        !image.holds(section.sh_offset, section.sh_size))
      return "has a section outside itself";
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    const auto segment =
        image.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!image.holds(segment.p_offset, segment.p_filesz))
      return "has a segment outside itself";
  }
  return nullptr;
}

} // namespace

Status artifact::validateImages(const Step &step) {
  uint64_t end = 0; // of the images so far
  for (const Kernel &k : step.kernels) {
    auto fail = [&](const std::string &what) {
      return Error{"kernel '" + k.symbol + "' has an image " + what, ""};
    };
    if (k.imageBytes == 0)
      continue;
    if (step.device != "cuda")
      return fail("of a GPU, but the step is for device " + step.device);
    if (step.code.empty())
      return fail("without PTX beside it");
    const uint64_t size = step.images.size();
    if (k.imageBytes > size || k.imageOffset > size - k.imageBytes)
      return fail("of " + std::to_string(k.imageBytes) + " bytes at offset " +
                  std::to_string(k.imageOffset) + " of " +
                  std::to_string(size));
    if (k.imageOffset < end || k.imageOffset % imageAlignment != 0)
      return fail("at offset " + std::to_string(k.imageOffset) +
                  ", expected a multiple of " + std::to_string(imageAlignment) +
                  " from " + std::to_string(end) + " on");
    if (auto *problem =
            problemOf({step.images.data() + k.imageOffset, k.imageBytes}))
      return fail(std::string("that ") + problem);
    end = k.imageOffset + k.imageBytes;
  }
  return ok();
}
