#include "kernels/gpu/emulator/emulator.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/gpu/emulator/memory_check.h"

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace tenon::kernels::gpu::emulator {
namespace {

constexpr unsigned kLanes = 32;
constexpr size_t kStackBytes = 64 << 10;
// Of compute capability 8.0 and later.
constexpr int64_t kMostBlocks = 0x7fffffff, kMostThreads = 1024;
constexpr size_t kUsualShared = 48 << 10, kMostShared = 99 << 10;
constexpr size_t kMostParams = 4096;  // of every driver

#if defined(__x86_64__)

// Saves what a call must preserve on the old stack, and returns on the new one.
extern "C" void TenonSwitchStack(void** save, void* load);
asm(R"(
  .text
  .globl TenonSwitchStack
  .type TenonSwitchStack, @function
TenonSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size TenonSwitchStack, . - TenonSwitchStack
)");

class Stack {
 public:
  // The next switch to it enters `entry`, which must not return.
  void Start(void (*entry)()) {
    if (bytes_ == nullptr) bytes_ = std::make_unique<std::byte[]>(kStackBytes);
    auto top = reinterpret_cast<uintptr_t>(bytes_.get() + kStackBytes) & ~uintptr_t{15};
    auto* slots = reinterpret_cast<void**>(top);
    slots[-2] = reinterpret_cast<void*>(entry);  // aligned as after a call
    at_ = slots - 8;                             // six registers below the entry
  }
  static void Switch(Stack& from, Stack& to) { TenonSwitchStack(&from.at_, to.at_); }
  Range range() const { return RangeOf(bytes_.get(), kStackBytes); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  void* at_ = nullptr;
};

#else

class Stack {
 public:
  void Start(void (*entry)()) {
    if (bytes_ == nullptr) bytes_ = std::make_unique<std::byte[]>(kStackBytes);
    getcontext(&context_);
    context_.uc_stack.ss_sp = bytes_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  static void Switch(Stack& from, Stack& to) { swapcontext(&from.context_, &to.context_); }
  Range range() const { return RangeOf(bytes_.get(), kStackBytes); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  ucontext_t context_ = {};
};

#endif

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s\n", what);
  std::abort();
}

struct Barrier {
  unsigned arrived = 0;
  unsigned finished = 0;  // threads that have left the kernel
  uint64_t generation = 0;
};

struct Warp {
  Barrier barrier;
  uint64_t words[2][kLanes] =
      {};  // by the generation's parity: the last exchange may still be read
};

// The copies of a thread that it has not waited for, by their groups.
struct Copies {
  std::deque<std::pair<unsigned, Copy>> waiting;
  unsigned ended = 0;  // groups
};

// The block that runs. Threads take turns; a turn ends at a barrier that is not complete.
class Block {
 public:
  void RunAll(unsigned blocks, unsigned threads, size_t shared_bytes,
              const std::function<void()>& thread) {
    size_ = threads;
    grid_ = blocks;
    body_ = &thread;
    if (fibres_.size() < threads) fibres_.resize(threads);
    warps_.assign(threads / kLanes, Warp());
    ++launches_;
    for (unsigned b = 0; b < blocks; ++b) {
      block_ = launches_ % 2 == 0 ? blocks - 1 - b : b;
      shared_.assign((shared_bytes + 3) / 4, std::numeric_limits<float>::quiet_NaN());
      BeginBlock(block_, RangeOf(shared_.data(), shared_bytes));
      barrier_ = Barrier();
      for (Warp& warp : warps_) warp.barrier = Barrier();
      done_.assign(threads, false);
      copies_.assign(threads, Copies());
      for (unsigned t = 0; t < threads; ++t) fibres_[t].Start(&Entry);
      idle_ = 0;
      ChooseOrder(launches_ + b);
      EnterTurn(0);
      Stack::Switch(main_, fibres_[current_]);
    }
  }

  void Wait(Barrier& barrier, unsigned all) {
    if (barrier.finished > 0) Fail("a barrier that a finished thread does not reach");
    const uint64_t generation = barrier.generation;
    idle_ = 0;
    if (++barrier.arrived == all) {
      barrier.arrived = 0;
      ++barrier.generation;
      if (&barrier == &barrier_) NextPhase();
      return;
    }
    while (barrier.generation == generation) {
      if (++idle_ > 2 * size_) Fail("a barrier that not all threads reach");
      Yield();
    }
  }
  const uint64_t* Exchange(uint64_t word) {
    Warp& warp = warps_[current_ / kLanes];
    uint64_t* words = warp.words[warp.barrier.generation % 2];
    words[current_ % kLanes] = word;
    Wait(warp.barrier, kLanes);
    return words;
  }
  void BlockBarrier() { Wait(barrier_, size_); }

  void CopyLater(Copy copy) {
    Copies& own = copies_[current_];
    own.waiting.emplace_back(own.ended, copy);
  }
  void EndCopies() { ++copies_[current_].ended; }
  bool TakeCopy(unsigned pending, Copy& copy) {
    Copies& own = copies_[current_];
    if (own.waiting.empty() || own.waiting.front().first + pending >= own.ended) return false;
    copy = own.waiting.front().second;
    own.waiting.pop_front();
    return true;
  }

  unsigned size() const { return size_; }
  unsigned grid() const { return grid_; }
  unsigned block() const { return block_; }
  unsigned current() const { return current_; }
  float* shared() { return shared_.data(); }

  static Block& Get() {
    static thread_local Block block;
    return block;
  }

 private:
  static void Entry() {
    Block& block = Get();
    (*block.body_)();
    block.done_[block.current_] = true;
    block.idle_ = 0;
    ++block.warps_[block.current_ / kLanes].barrier.finished;
    if (++block.barrier_.finished == block.size_) {
      LeaveThread();
      Stack::Switch(block.fibres_[block.current_], block.main_);
    }
    for (;;) {
      if (++block.idle_ > 2 * block.size_) Fail("threads wait for one that has finished");
      block.Yield();
    }
  }

  // Forwards, backwards, or anyhow.
  void ChooseOrder(unsigned number) {
    order_.resize(size_);
    std::iota(order_.begin(), order_.end(), 0u);
    if (number % 3 == 1) std::reverse(order_.begin(), order_.end());
    if (number % 3 == 2) std::shuffle(order_.begin(), order_.end(), std::minstd_rand(number));
  }
  void EnterTurn(unsigned turn) {
    turn_ = turn;
    current_ = order_[turn];
    EnterThread(current_, fibres_[current_].range());
  }

  void Yield() {
    const unsigned from = current_;
    do {
      EnterTurn((turn_ + 1) % size_);
    } while (done_[current_] && current_ != from);
    if (current_ != from) Stack::Switch(fibres_[from], fibres_[current_]);
  }

  std::vector<Stack> fibres_;
  Stack main_;
  std::vector<Warp> warps_;
  Barrier barrier_;
  std::vector<bool> done_;
  std::vector<Copies> copies_;
  std::vector<unsigned> order_;  // in which threads take turns
  unsigned turn_ = 0, launches_ = 0;
  std::vector<float> shared_;
  const std::function<void()>* body_ = nullptr;
  unsigned size_ = 0, grid_ = 0, block_ = 0, current_ = 0, idle_ = 0;
};

std::map<const void*, size_t>& AllowedShared() {
  static thread_local std::map<const void*, size_t> allowed;
  return allowed;
}

}  // namespace

Index ThreadIndex() { return {Block::Get().current()}; }
Index BlockIndex() { return {Block::Get().block()}; }
Index BlockSize() { return {Block::Get().size()}; }
Index GridSize() { return {Block::Get().grid()}; }
unsigned Lane() { return Block::Get().current() % kLanes; }
float* DynamicShared() { return Block::Get().shared(); }
void BlockBarrier() { Block::Get().BlockBarrier(); }
uint64_t PickWord(uint64_t word, unsigned lane) {
  return Block::Get().Exchange(word)[lane % kLanes];
}
bool AnyOf(bool value) {
  const uint64_t* all = Block::Get().Exchange(value ? 1 : 0);
  return std::any_of(all, all + kLanes, [](uint64_t word) { return word != 0; });
}

void CopyLater(void* to, const void* from) { Block::Get().CopyLater({to, from}); }
void EndCopies() { Block::Get().EndCopies(); }
bool TakeCopy(unsigned pending, Copy& copy) { return Block::Get().TakeCopy(pending, copy); }

int CompareAndSwap(int* at, int expected, int value) {
  const int old = *at;
  if (old == expected) *at = value;
  return old;
}

void AllowShared(const void* kernel, size_t bytes) {
  if (bytes > kMostShared) Fail("more shared memory than a block may have");
  AllowedShared()[kernel] = bytes;
}

void Run(const char* name, const void* kernel, int64_t blocks, int64_t threads, size_t shared_bytes,
         const void* params, size_t params_bytes, const std::function<void()>& thread) {
  if (params_bytes > kMostParams) Fail("more bytes of parameters than a launch may have");
  if (blocks < 1 || blocks > kMostBlocks) Fail("a bad number of blocks");
  if (threads < 1 || threads % kLanes != 0 || threads > kMostThreads) {
    Fail("a bad number of threads");
  }
  if (shared_bytes > kUsualShared) {
    const auto allowed = AllowedShared().find(kernel);
    if (allowed == AllowedShared().end() || allowed->second < shared_bytes) {
      Fail("more shared memory than the kernel has been allowed");
    }
  }
  BeginLaunch(name, RangeOf(params, params_bytes));
  Block::Get().RunAll(static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes,
                      thread);
}

}  // namespace tenon::kernels::gpu::emulator
