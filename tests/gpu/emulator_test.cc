// That the emulator finds the faults it is there for.
#include "kernels/gpu/emulator/emulator.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/gpu/emulator/memory_check.h"
#include "tests/gpu/faulty_kernel.h"

namespace tenon::kernels::gpu::emulator {
namespace {

class EmulatorTest : public ::testing::Test {
 protected:
  static constexpr int64_t kBlocks = 3, kElements = kBlocks * kThreads;
  EmulatorTest() : in_(kElements), out_(kElements), host_(kElements) {
    for (size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<float>(i);
    AddMemory(in_.data(), in_.size() * sizeof(float));
    AddMemory(out_.data(), out_.size() * sizeof(float));
  }
  ~EmulatorTest() override {
    RemoveMemory(in_.data());
    RemoveMemory(out_.data());
  }
  void Launch(Fault fault, size_t shared_bytes = 0) {
    const FaultyParams p = {fault, in_.data(), out_.data(), kElements, host_.data()};
    TENON_LAUNCH(Reverse, kBlocks, kThreads, shared_bytes, nullptr, p);
  }
  void LaunchCopied(Fault fault) {
    const FaultyParams p = {fault, in_.data(), out_.data(), kElements, host_.data()};
    TENON_LAUNCH(ReverseCopied, kBlocks, kThreads, 0, nullptr, p);
  }
  std::vector<float> in_, out_, host_;
};

TEST_F(EmulatorTest, RunsWhatIsRight) {
  // In each order of blocks and threads.
  for (int launch = 0; launch < 6; ++launch) {
    out_.assign(out_.size(), -1);
    Launch(Fault::kNone);
    for (int i = 0; i < kElements; ++i) {
      EXPECT_EQ(out_[static_cast<size_t>(i)],
                i / kThreads * kThreads + kThreads - 1 - i % kThreads);
    }
  }
}

// A copy for which nobody waits has not arrived.
TEST_F(EmulatorTest, CopiesArriveWhenWaitedFor) {
  LaunchCopied(Fault::kNone);
  EXPECT_EQ(out_[0], kThreads - 1);
  LaunchCopied(Fault::kNoWaitForCopies);
  EXPECT_TRUE(std::isnan(out_[0]));
}

using EmulatorDeathTest = EmulatorTest;

TEST_F(EmulatorDeathTest, FindsRacesOfThreads) {
  EXPECT_DEATH(Launch(Fault::kNoBarrierAfterWriting),
               "emulated kernel Reverse: thread .*before the next barrier|has not written");
  EXPECT_DEATH(Launch(Fault::kNoBarrierAfterReading),
               "emulated kernel Reverse: thread .* before the next barrier");
  EXPECT_DEATH(Launch(Fault::kDivergentBarrier), "barrier");
}

TEST_F(EmulatorDeathTest, FindsCopiesToWhatIsRead) {
  EXPECT_DEATH(LaunchCopied(Fault::kNoBarrierAfterReading),
               "emulated kernel ReverseCopied: thread .* before the next barrier");
}

TEST_F(EmulatorDeathTest, FindsRacesOfBlocks) {
  EXPECT_DEATH(Launch(Fault::kBlocksMeet), "writes .*which another block writes");
}

TEST_F(EmulatorDeathTest, FindsAddressesThatAreNotTheDevices) {
  EXPECT_DEATH(Launch(Fault::kUnwrittenShared), "shared memory that its block has not written");
  EXPECT_DEATH(Launch(Fault::kBeyondTheEnd), "which is not the device's");
  EXPECT_DEATH(Launch(Fault::kHostMemory), "which is not the device's");
  RemoveMemory(in_.data());
  EXPECT_DEATH(Launch(Fault::kNone), "reads .*which is not the device's");
}

TEST_F(EmulatorDeathTest, RefusesWhatADeviceRefuses) {
  EXPECT_DEATH(Launch(Fault::kNone, 50 << 10), "more shared memory than the kernel has been");
  EXPECT_DEATH(AllowShared(reinterpret_cast<const void*>(&Reverse), 100 << 10),
               "more shared memory than a block may have");
  const FaultyParams p = {};
  EXPECT_DEATH(TENON_LAUNCH(Reverse, 0, kThreads, 0, nullptr, p), "a bad number of blocks");
  EXPECT_DEATH(TENON_LAUNCH(Reverse, 1, 2048, 0, nullptr, p), "a bad number of threads");
}

}  // namespace
}  // namespace tenon::kernels::gpu::emulator
