#include "executor/weights/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tenon {
namespace {

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t BigEndian(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | uint32_t{at[3]};
}

void PortableBlock(std::array<uint32_t, 8>& state, const uint8_t* data) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = BigEndian(data + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                        ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += add[i];
}

#ifdef __x86_64__
bool HasInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0 &&
         __builtin_cpu_supports("sse4.1");
}

// The state is kept as the instructions want it: ABEF and CDGH.
[[gnu::target("sha,sse4.1")]] void InstructionBlocks(std::array<uint32_t, 8>& state,
                                                     const uint8_t* data, size_t count) {
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto* const words = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(words), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(words + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  for (; count > 0; --count, data += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i m[4];
    for (int i = 0; i < 16; ++i) {
      __m128i& w = m[i & 3];
      if (i < 4) {
        w = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(data) + i), swap);
      } else {
        const __m128i last = m[(i - 1) & 3];
        w = _mm_add_epi32(_mm_sha256msg1_epu32(w, m[(i - 3) & 3]),
                          _mm_alignr_epi8(last, m[(i - 2) & 3], 4));
        w = _mm_sha256msg2_epu32(w, last);
      }
      const __m128i sum =
          _mm_add_epi32(w, _mm_load_si128(reinterpret_cast<const __m128i*>(kRound) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(words, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(words + 1, _mm_alignr_epi8(dchg, feba, 8));
}
#else
bool HasInstructions() { return false; }
void InstructionBlocks(std::array<uint32_t, 8>&, const uint8_t*, size_t) {}
#endif

}  // namespace

Sha256::Sha256()
    : state_({0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
              0x5be0cd19}),
      use_instructions_([] {
        static const bool has = HasInstructions();
        return has;
      }()) {}

void Sha256::Blocks(const uint8_t* data, size_t count) {
  if (use_instructions_) return InstructionBlocks(state_, data, count);
  for (size_t i = 0; i < count; ++i) PortableBlock(state_, data + 64 * i);
}

void Sha256::Update(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  if (buffered_ > 0) {
    const size_t taken = std::min(buffer_.size() - buffered_, bytes.size());
    std::copy_n(bytes.begin(), taken, reinterpret_cast<std::byte*>(buffer_.data()) + buffered_);
    buffered_ += taken;
    bytes = bytes.subspan(taken);
    if (buffered_ < buffer_.size()) return;
    Blocks(buffer_.data(), 1);
    buffered_ = 0;
  }
  const size_t whole = bytes.size() / buffer_.size();
  Blocks(reinterpret_cast<const uint8_t*>(bytes.data()), whole);
  bytes = bytes.subspan(whole * buffer_.size());
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(buffer_.data()));
  buffered_ = bytes.size();
}

Digest Sha256::Finish() {
  const uint64_t bits = total_ * 8;
  std::array<std::byte, 72> end{};
  end[0] = std::byte{0x80};
  const size_t padding = 1 + (119 - buffered_) % 64;
  for (size_t i = 0; i < 8; ++i) end[padding + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  Update(std::span(end).first(padding + 8));
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest Sha256Of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

Digest Sha256Of(const std::string& text) { return Sha256Of(std::as_bytes(std::span(text))); }

std::string Hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace tenon
