#include "kernels/gpu/emulator/memory_check.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon::kernels::gpu::emulator {
namespace {

// Phases are numbered over all launches.
using Phase = uint32_t;
constexpr uint16_t kSeveral = 0xffff;

// The last accesses to a byte.
struct Byte {
  Phase written = 0, read = 0;
  Phase read_elsewhere = 0;  // the launch, by its first phase, in which another block has read it
  uint16_t writer = 0, reader = 0;
};

constexpr size_t kPageBytes = 4096;
using Page = std::unique_ptr<Byte[]>;

constexpr size_t kMostPages = 1024;  // kept from launch to launch

struct Segment {
  Range range;
  bool writable = false;
};

// The device's memory, which any thread of the host may allocate and launch kernels on.
class Memory {
 public:
  void Add(const void* begin, size_t bytes) {
    const Range range = RangeOf(begin, bytes);
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_[range.begin] = range.end;
  }
  void Remove(const void* begin) {
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.erase(reinterpret_cast<uintptr_t>(begin));
    ++removals_;
  }
  // What holds the address, or nothing.
  Range Find(uintptr_t at) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto found = blocks_.upper_bound(at);
    if (found == blocks_.begin()) return {};
    --found;
    return {found->first, found->second};
  }
  uint64_t removals() const { return removals_; }

  static Memory& Get() {
    static Memory memory;
    return memory;
  }

 private:
  std::mutex mutex_;
  std::map<uintptr_t, uintptr_t> blocks_;  // begin and end
  std::atomic<uint64_t> removals_ = 0;
};

class Checker {
 public:
  void BeginLaunch(const char* kernel, Range params, const void* frame) {
    if (segments_.empty()) FindSegments();
    // What a launch before has touched does not matter.
    if (pages_.size() > kMostPages) {
      pages_.clear();
      bytes_ = nullptr;
    }
    constexpr size_t kCallersStack = 64 << 10;  // how a launch hands over its parameters
    kernel_ = kernel;
    params_ = params;
    callers_ = RangeOf(frame, kCallersStack);
    launch_ = ++phase_;
  }
  void BeginBlock(unsigned block, Range shared) {
    number_ = block;
    shared_ = shared;
    block_ = ++phase_;
  }
  void NextPhase() { ++phase_; }
  void Enter(unsigned thread, Range stack) {
    thread_ = static_cast<uint16_t>(thread);
    stack_ = stack;
    running_ = true;
  }
  void Leave() { running_ = false; }

  void Access(const void* address, size_t bytes, bool write) {
    if (!running_) return;
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (stack_.Has(at, bytes)) return;
    const bool shared = IsShared(at, bytes);
    if (!shared && !IsDevice(at, bytes)) {
      if (!write && IsReadable(at, bytes)) return;
      Fail(at, write, "which is not the device's");
    }
    for (size_t i = 0; i < bytes; ++i) {
      if (write) {
        Write(At(at + i), at + i, shared);
      } else {
        Read(At(at + i), at + i, shared);
      }
    }
  }

 private:
  void Write(Byte& byte, uintptr_t at, bool shared) {
    if (byte.written == phase_ && byte.writer != thread_) {
      Fail(at, true, "which another thread writes before the next barrier");
    }
    if (byte.read == phase_ && byte.reader != thread_) {
      Fail(at, true, "which another thread reads before the next barrier");
    }
    if (!shared && (byte.read_elsewhere == launch_ || OfOtherBlock(byte.read))) {
      Fail(at, true, "which another block reads");
    }
    if (!shared && OfOtherBlock(byte.written)) Fail(at, true, "which another block writes");
    byte.written = phase_;
    byte.writer = thread_;
  }

  void Read(Byte& byte, uintptr_t at, bool shared) {
    if (byte.written == phase_ && byte.writer != thread_) {
      Fail(at, false, "which another thread writes before the next barrier");
    }
    if (shared) {
      if (byte.written < block_) Fail(at, false, "shared memory that its block has not written");
    } else {
      if (OfOtherBlock(byte.written)) Fail(at, false, "which another block writes");
      if (OfOtherBlock(byte.read)) byte.read_elsewhere = launch_;
    }
    byte.reader = byte.read == phase_ && byte.reader != thread_ ? kSeveral : thread_;
    byte.read = phase_;
  }

  bool OfOtherBlock(Phase phase) const { return phase >= launch_ && phase < block_; }

  // Static arrays are the module's writable data.
  bool IsShared(uintptr_t at, size_t bytes) {
    if (shared_.Has(at, bytes)) return true;
    for (const Segment& segment : segments_) {
      if (segment.writable && segment.range.Has(at, bytes)) return true;
    }
    return false;
  }
  bool IsDevice(uintptr_t at, size_t bytes) {
    if (removals_ == Memory::Get().removals() && last_.Has(at, bytes)) return true;
    removals_ = Memory::Get().removals();
    last_ = Memory::Get().Find(at);
    return last_.Has(at, bytes);
  }
  bool IsReadable(uintptr_t at, size_t bytes) const {
    if (params_.Has(at, bytes) || callers_.Has(at, bytes)) return true;
    for (const Segment& segment : segments_) {
      if (segment.range.Has(at, bytes)) return true;
    }
    return false;
  }

  // Of the program or library that this code is in, and device code with it.
  void FindSegments() {
    Dl_info own;
    if (dladdr(reinterpret_cast<const void*>(&RemoveMemory), &own) == 0) return;
    struct Search {
      uintptr_t base;
      std::vector<Segment>* segments;
    } search = {reinterpret_cast<uintptr_t>(own.dli_fbase), &segments_};
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* data) {
          auto& search = *static_cast<Search*>(data);
          std::vector<Segment> found;
          bool own = false;
          for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            if (header.p_type != PT_LOAD) continue;
            const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
            own |= search.base >= begin && search.base < begin + header.p_memsz;
            found.push_back({{begin, begin + header.p_memsz}, (header.p_flags & PF_W) != 0});
          }
          if (own) *search.segments = std::move(found);
          return own ? 1 : 0;
        },
        &search);
  }

  Byte& At(uintptr_t at) {
    const uintptr_t page = at / kPageBytes;
    if (page != last_page_ || bytes_ == nullptr) {
      Page& found = pages_[page];
      if (found == nullptr) found = std::make_unique<Byte[]>(kPageBytes);
      bytes_ = found.get();
      last_page_ = page;
    }
    return bytes_[at % kPageBytes];
  }

  [[noreturn]] void Fail(uintptr_t at, bool write, const char* what) const {
    std::fprintf(stderr, "emulated kernel %s: thread %u of block %u %s %#zx, %s\n", kernel_,
                 thread_, number_, write ? "writes" : "reads", static_cast<size_t>(at), what);
    std::abort();
  }

  Range last_;  // of the device's memory
  uint64_t removals_ = 0;
  std::vector<Segment> segments_;
  std::unordered_map<uintptr_t, Page> pages_;
  uintptr_t last_page_ = 0;
  Byte* bytes_ = nullptr;
  const char* kernel_ = "";
  Range params_, callers_, shared_, stack_;
  Phase phase_ = 0, launch_ = 0, block_ = 0;
  unsigned number_ = 0;
  uint16_t thread_ = 0;
  bool running_ = false;
};

Checker& Get() {
  static thread_local Checker checker;
  return checker;
}

}  // namespace

void AddMemory(const void* begin, size_t bytes) { Memory::Get().Add(begin, bytes); }
void RemoveMemory(const void* begin) { Memory::Get().Remove(begin); }
void BeginLaunch(const char* kernel, Range params) {
  Get().BeginLaunch(kernel, params, __builtin_frame_address(0));
}
void BeginBlock(unsigned block, Range dynamic_shared) { Get().BeginBlock(block, dynamic_shared); }
void NextPhase() { Get().NextPhase(); }
void EnterThread(unsigned thread, Range stack) { Get().Enter(thread, stack); }
void LeaveThread() { Get().Leave(); }

}  // namespace tenon::kernels::gpu::emulator

// What compilers call.
extern "C" {
using tenon::kernels::gpu::emulator::Get;
#define TENON_ACCESS(bytes)                                                             \
  void __tsan_read##bytes(const void* at) { Get().Access(at, bytes, false); }           \
  void __tsan_write##bytes(const void* at) { Get().Access(at, bytes, true); }           \
  void __tsan_unaligned_read##bytes(const void* at) { Get().Access(at, bytes, false); } \
  void __tsan_unaligned_write##bytes(const void* at) { Get().Access(at, bytes, true); }
TENON_ACCESS(1)
TENON_ACCESS(2)
TENON_ACCESS(4)
TENON_ACCESS(8)
TENON_ACCESS(16)
#undef TENON_ACCESS
void __tsan_read_range(const void* at, size_t bytes) { Get().Access(at, bytes, false); }
void __tsan_write_range(const void* at, size_t bytes) { Get().Access(at, bytes, true); }
void __tsan_vptr_read(const void*) {}
void __tsan_vptr_update(const void*, const void*) {}
void __tsan_func_entry(const void*) {}
void __tsan_func_exit() {}
void __tsan_init() {}
}
