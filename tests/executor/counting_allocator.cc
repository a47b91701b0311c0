#include "tests/executor/counting_allocator.h"

#ifdef TENON_COUNTS_ALLOCATIONS
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

extern "C" {  // glibc's own
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t n, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

std::atomic<bool> counting{false};
std::atomic<int> ours{0}, vendor{0};

void Note(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  Dl_info info;
  const bool in_vendor = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                         (std::strstr(info.dli_fname, "libdnnl") != nullptr ||
                          std::strstr(info.dli_fname, "libgomp") != nullptr ||
                          std::strstr(info.dli_fname, "libomp") != nullptr);
  ++(in_vendor ? vendor : ours);
}

void* New(size_t size, size_t alignment, const void* caller) {
  Note(caller);
  void* memory = alignment <= alignof(std::max_align_t) ? __libc_malloc(size == 0 ? 1 : size)
                                                        : __libc_memalign(alignment, size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

extern "C" {
[[gnu::noinline]] void* malloc(size_t size) {
  Note(__builtin_return_address(0));
  return __libc_malloc(size);
}
[[gnu::noinline]] void* calloc(size_t n, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_calloc(n, size);
}
[[gnu::noinline]] void* realloc(void* p, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_realloc(p, size);
}
[[gnu::noinline]] void* aligned_alloc(size_t alignment, size_t size) {
  Note(__builtin_return_address(0));
  return __libc_memalign(alignment, size);
}
[[gnu::noinline]] int posix_memalign(void** out, size_t alignment, size_t size) {
  Note(__builtin_return_address(0));
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}
[[gnu::noinline]] void* operator new(size_t size) {
  return New(size, 0, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](size_t size) {
  return New(size, 0, __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  return New(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](size_t size, std::align_val_t alignment) {
  return New(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  return New(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace tenon::allocations {

Count::Count() {
  ::ours = ::vendor = 0;
  ::counting = true;
}
Count::~Count() { Stop(); }
void Count::Stop() { ::counting = false; }
int Count::ours() const { return ::ours; }
int Count::vendors() const { return ::vendor; }

Pause::Pause() : counted_(::counting.exchange(false)) {}
Pause::~Pause() { ::counting = counted_; }

}  // namespace tenon::allocations

#endif  // TENON_COUNTS_ALLOCATIONS
