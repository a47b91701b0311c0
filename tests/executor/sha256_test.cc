#include "executor/weights/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace tenon {
namespace {

std::string HashInParts(const std::string& text, size_t part, bool portable) {
  Sha256 hash;
  if (portable) hash.set_portable();
  for (size_t at = 0; at < text.size(); at += part)
    hash.Update(std::as_bytes(std::span(text).subspan(at, std::min(part, text.size() - at))));
  return Hex(hash.Finish());
}

// The examples of FIPS 180-4 and of NIST's list.
TEST(Sha256, KnownMessages) {
  const std::pair<std::string, std::string> known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {std::string(1'000'000, 'a'),
       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"}};
  for (const auto& [text, digest] : known) {
    for (const bool portable : {false, true}) {
      EXPECT_EQ(HashInParts(text, 1 << 20, portable), digest) << text.substr(0, 60) << portable;
      EXPECT_EQ(HashInParts(text, 7, portable), digest) << text.substr(0, 60) << portable;
    }
  }
}

TEST(Sha256, PartsAndInstructionsDoNotMatter) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    const std::string expected = HashInParts(text, 300, true);
    for (const size_t part :
         {size_t{1}, size_t{3}, size_t{63}, size_t{64}, size_t{65}, size_t{300}})
      ASSERT_EQ(HashInParts(text, part, false), expected) << i << " " << part;
    text += static_cast<char>(i * 37);
  }
}

}  // namespace
}  // namespace tenon
