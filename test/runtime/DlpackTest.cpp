// SPDX-License-Identifier: Apache-2.0
//
// Tensors in and out as DLPack, on the host: who owns what, and when.
#include "act-c/DLPack.h"
#include "act-c/Runtime.h"
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

// A tensor as another library would hand it over.
struct Foreign {
  DLManagedTensor tensor{};
  std::vector<int64_t> shape, strides;
  std::vector<float> data;
  int deleted = 0;

  Foreign(std::vector<int64_t> s, std::vector<int64_t> st = {})
      : shape(std::move(s)), strides(std::move(st)), data(24) {
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = float(i);
    DLTensor &t = tensor.dl_tensor;
    t.data = data.data();
    t.device = {kDLCPU, 0};
    t.ndim = int32_t(shape.size());
    t.dtype = {kDLFloat, 32, 1};
    t.shape = shape.data();
    t.strides = strides.empty() ? nullptr : strides.data();
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensor *self) {
      ++static_cast<Foreign *>(self->manager_ctx)->deleted;
    };
  }
};

class Dlpack : public testing::Test {
protected:
  actrt_device device = nullptr;
  void *address = nullptr;
  actrt_type type{};
  void SetUp() override {
    ASSERT_EQ(actrt_device_open("host", nullptr, &device), ACTRT_SUCCESS);
  }
  void TearDown() override { actrt_device_release(device); }
  /// An allocation of 64 bytes.
  void *allocated() {
    void *mine = nullptr;
    EXPECT_EQ(actrt_allocate(device, 64, &mine), ACTRT_SUCCESS);
    return mine;
  }
  static actrt_type floats(int64_t count) {
    actrt_type t{};
    t.dtype = ACTRT_DTYPE_F32;
    t.rank = 1;
    t.shape[0] = count;
    return t;
  }
};

} // namespace

TEST_F(Dlpack, MemoryOfTheCpuIsUsedInPlace) {
  Foreign f({2, 3, 4});
  f.tensor.dl_tensor.byte_offset = 0;
  ASSERT_EQ(actrt_from_dlpack(device, &f.tensor, &address, &type),
            ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(address, f.data.data());
  EXPECT_EQ(type.dtype, ACTRT_DTYPE_F32);
  EXPECT_EQ(type.rank, 3u);
  EXPECT_EQ(type.shape[2], 4);
  EXPECT_EQ(f.deleted, 0);
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_fill(s, address, 0, 24 * 4), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_fill(s, address, 0, 24 * 4 + 1), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(f.data[5], 0);
  EXPECT_EQ(actrt_free(device, address), ACTRT_SUCCESS);
  EXPECT_EQ(f.deleted, 1);
  EXPECT_EQ(actrt_free(device, address), ACTRT_INVALID_ARGUMENT);
}

// The whole array, the array once more, its beginning, and a part.
TEST_F(Dlpack, TheSameMemoryMayComeSeveralTimes) {
  Foreign whole({24}), again({24}), first({4}), part({4});
  for (Foreign *f : {&again, &first, &part})
    f->tensor.dl_tensor.data = whole.data.data();
  part.tensor.dl_tensor.byte_offset = 16;
  for (Foreign *f : {&whole, &again, &first, &part})
    ASSERT_EQ(actrt_from_dlpack(device, &f->tensor, &address, &type),
              ACTRT_SUCCESS)
        << actrt_last_error();
  EXPECT_EQ(address, whole.data.data() + 4);
  void *start = whole.data.data();
  actrt_stream s = nullptr;
  ASSERT_EQ(actrt_stream_create(device, &s), ACTRT_SUCCESS);
  auto fits = [&](void *at, uint64_t bytes) {
    return actrt_fill(s, at, 0, bytes) == ACTRT_SUCCESS;
  };
  EXPECT_TRUE(fits(address, 80)) << "inside the whole";
  EXPECT_FALSE(fits(address, 81));
  // Two of the three that begin here are lent. The third is ours to free.
  actrt_type t = floats(24);
  DLManagedTensor *out[3] = {};
  for (int i : {0, 1})
    ASSERT_EQ(actrt_to_dlpack(device, start, &t, &out[i]), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_free(device, start), ACTRT_SUCCESS);
  EXPECT_EQ(first.deleted, 1) << "what is left covers all";
  EXPECT_EQ(actrt_free(device, start), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_to_dlpack(device, start, &t, &out[2]),
            ACTRT_INVALID_ARGUMENT);
  EXPECT_TRUE(fits(start, 96));
  out[0]->deleter(out[0]);
  EXPECT_TRUE(fits(start, 96));
  out[1]->deleter(out[1]);
  EXPECT_EQ(whole.deleted + again.deleted, 2);
  EXPECT_FALSE(fits(start, 96));
  EXPECT_TRUE(fits(address, 16));
  EXPECT_FALSE(fits(address, 17));
  EXPECT_EQ(actrt_free(device, address), ACTRT_SUCCESS);
  EXPECT_EQ(part.deleted, 1);
}

TEST_F(Dlpack, GapsAreClosedByACopy) {
  Foreign f({4, 3}, {1, 4}); // the transpose of [3, 4]
  f.tensor.dl_tensor.byte_offset = 8;
  ASSERT_EQ(actrt_from_dlpack(device, &f.tensor, &address, &type),
            ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(f.deleted, 1) << "the copy needs it no more";
  auto *x = static_cast<float *>(address);
  EXPECT_EQ(std::vector<float>(x, x + 12),
            (std::vector<float>{2, 6, 10, 3, 7, 11, 4, 8, 12, 5, 9, 13}));
}

TEST_F(Dlpack, ReleasingTheDeviceGivesBackWhatItHolds) {
  Foreign f({24});
  ASSERT_EQ(actrt_from_dlpack(device, &f.tensor, &address, &type),
            ACTRT_SUCCESS);
  EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
  EXPECT_EQ(f.deleted, 1);
  device = nullptr;
}

TEST_F(Dlpack, WhatCannotBeTakenIsDeleted) {
  struct {
    void (*spoil)(Foreign &);
    const char *word;
  } mistakes[] = {
      {[](Foreign &f) { f.tensor.dl_tensor.dtype.code = 5; }, "code 5"},
      {[](Foreign &f) { f.tensor.dl_tensor.dtype.lanes = 4; }, "4 lanes"},
      {[](Foreign &f) { f.tensor.dl_tensor.device.device_type = kDLCUDA; },
       "type 2"},
      {[](Foreign &f) { f.tensor.dl_tensor.ndim = 17; }, "rank 17"},
      {[](Foreign &f) { f.shape[0] = -1; }, "negative"},
      {[](Foreign &f) { f.tensor.dl_tensor.data = nullptr; }, "no memory"},
  };
  for (auto &m : mistakes) {
    Foreign f({2, 3});
    m.spoil(f);
    EXPECT_NE(actrt_from_dlpack(device, &f.tensor, &address, &type),
              ACTRT_SUCCESS);
    EXPECT_NE(std::string(actrt_last_error()).find(m.word), std::string::npos)
        << actrt_last_error();
    EXPECT_EQ(f.deleted, 1) << m.word;
  }
  Foreign f({2});
  EXPECT_EQ(actrt_from_dlpack(nullptr, &f.tensor, &address, &type),
            ACTRT_INVALID_HANDLE);
  EXPECT_EQ(f.deleted, 1);
}

TEST_F(Dlpack, AnAllocationLeavesAndComesHome) {
  void *mine = allocated();
  actrt_type t{};
  t.dtype = ACTRT_DTYPE_BF16;
  t.rank = 2;
  t.shape[0] = 4, t.shape[1] = 8;
  DLManagedTensor *out = nullptr;
  ASSERT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_SUCCESS)
      << actrt_last_error();
  EXPECT_EQ(out->dl_tensor.data, mine);
  EXPECT_EQ(out->dl_tensor.dtype.code, kDLBfloat);
  EXPECT_EQ(out->dl_tensor.dtype.bits, 16);
  EXPECT_EQ(out->dl_tensor.shape[1], 8);
  EXPECT_EQ(out->dl_tensor.device.device_type, kDLCPU);
  ASSERT_EQ(actrt_from_dlpack(device, out, &address, &type), ACTRT_SUCCESS);
  EXPECT_EQ(address, mine);
  EXPECT_EQ(type.dtype, ACTRT_DTYPE_BF16);
  // Once more, and this time the consumer lets it go after the device.
  ASSERT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_device_release(device), ACTRT_SUCCESS);
  device = nullptr;
  std::memset(out->dl_tensor.data, 1, 64);
  out->deleter(out);
}

TEST_F(Dlpack, WhatHasLeftIsNotOursToFree) {
  void *mine = allocated();
  actrt_type t = floats(16);
  DLManagedTensor *out = nullptr, *again = nullptr;
  ASSERT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_SUCCESS);
  EXPECT_EQ(actrt_free(device, mine), ACTRT_INVALID_ARGUMENT);
  EXPECT_EQ(actrt_to_dlpack(device, mine, &t, &again), ACTRT_INVALID_ARGUMENT);
  ASSERT_EQ(actrt_from_dlpack(device, out, &address, &type), ACTRT_SUCCESS);
  ASSERT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_SUCCESS)
      << actrt_last_error();
  out->deleter(out);
  EXPECT_EQ(actrt_free(device, mine), ACTRT_INVALID_ARGUMENT); // gone
}

TEST_F(Dlpack, OnlyWholeAllocationsLeave) {
  void *mine = allocated();
  actrt_type t = floats(17);
  DLManagedTensor *out = nullptr;
  EXPECT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_INVALID_ARGUMENT);
  t.shape[0] = 4;
  EXPECT_EQ(actrt_to_dlpack(device, static_cast<char *>(mine) + 4, &t, &out),
            ACTRT_INVALID_ARGUMENT);
  t.dtype = ACTRT_DTYPE_NF4;
  EXPECT_EQ(actrt_to_dlpack(device, mine, &t, &out), ACTRT_INVALID_ARGUMENT);
}
