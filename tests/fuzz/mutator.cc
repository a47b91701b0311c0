#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tenon::fuzz {

std::vector<std::string> GoldenCorpus(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::string(TENON_SOURCE_DIR "/tests/golden/") + folder)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> cases;
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    std::string paragraph;
    for (std::string line; std::getline(in, line);) {
      if (!line.empty()) {
        if (line.substr(0, 2) != "//") paragraph += line + "\n";
        continue;
      }
      if (!paragraph.empty() && paragraph.size() < 4000) cases.push_back(paragraph);
      paragraph.clear();
    }
    if (!paragraph.empty() && paragraph.size() < 4000) cases.push_back(paragraph);
  }
  return cases;
}

int Rounds(int otherwise) {
  const char* text = std::getenv("TENON_FUZZ_ROUNDS");
  return text != nullptr ? std::atoi(text) : otherwise;
}

unsigned Seed() {
  const char* text = std::getenv("TENON_FUZZ_SEED");
  return text != nullptr ? static_cast<unsigned>(std::atoi(text)) : 1;
}

std::string Mutator::Next() {
  std::string text = corpus_[Below(corpus_.size())];
  for (size_t n = 1 + Below(3); n > 0; --n) Mutate(text);
  return text;
}

// The begin of a token, mostly.
size_t Mutator::Place(const std::string& text) {
  size_t at = Below(text.size() + 1);
  if (Below(4) != 0) {
    while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0) ++at;
  }
  return at;
}

void Mutator::Mutate(std::string& text) {
  size_t at = Place(text);
  switch (Below(7)) {
    case 0:
      text.erase(at, 1 + Below(8));
      break;
    case 1:
      text.insert(at, pieces_[Below(pieces_.size())]);
      break;
    case 2:
      text.replace(at, std::min<size_t>(1 + Below(4), text.size() - at),
                   pieces_[Below(pieces_.size())]);
      break;
    case 3:
      if (!text.empty()) text[Below(text.size())] = static_cast<char>(random_());
      break;
    case 4: {  // a part elsewhere
      size_t from = Place(text);
      text.insert(at, text.substr(from, 1 + Below(60)));
      break;
    }
    case 5: {  // a part of another
      const std::string& other = corpus_[Below(corpus_.size())];
      text.insert(at, other.substr(Place(other), 1 + Below(100)));
      break;
    }
    default: {  // another name or number
      size_t digit = text.find_first_of("0123456789", at);
      if (digit != std::string::npos) text[digit] = static_cast<char>('0' + Below(10));
    }
  }
}

}  // namespace tenon::fuzz
