#include "frontends/cpp/parameters/safetensors.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "fmt/format.h"
#include "frontends/cpp/files/json_text.h"
#include "frontends/onnx/file/mapped_file.h"
#include "ir/base/ceil_div.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"

namespace tenon {
namespace {

using nlohmann::json;

constexpr size_t kSizeBytes = 8;
constexpr uint64_t kMostHeader = 100'000'000;  // as the library of the format has it
constexpr size_t kDataAlignment = 64;
constexpr std::string_view kMetadata = "__metadata__";

struct FileType {
  DType dtype;
  std::string_view name;
};
constexpr FileType kFileTypes[] = {
    {DType::kBool, "BOOL"},      {DType::kI8, "I8"},
    {DType::kI16, "I16"},        {DType::kI32, "I32"},
    {DType::kI64, "I64"},        {DType::kU8, "U8"},
    {DType::kU16, "U16"},        {DType::kU32, "U32"},
    {DType::kU64, "U64"},        {DType::kF16, "F16"},
    {DType::kBF16, "BF16"},      {DType::kF32, "F32"},
    {DType::kF64, "F64"},        {DType::kF8E4M3FN, "F8_E4M3"},
    {DType::kF8E5M2, "F8_E5M2"}, {DType::kF8E8M0FNU, "F8_E8M0"},
};

DType FileTypeNamed(std::string_view name) {
  for (const FileType& type : kFileTypes) {
    if (type.name == name) return type.dtype;
  }
  return DType::kInvalid;
}

std::string_view FileTypeOf(DType dtype) {
  for (const FileType& type : kFileTypes) {
    if (type.dtype == dtype) return type.name;
  }
  return "";
}

// Reads the header, and makes messages that name the file.
class HeaderText {
 public:
  explicit HeaderText(const std::string& file) : file_(file) {}

  absl::StatusOr<json> Read(std::string_view text) {
    constexpr int kDeepest = 3;  // the lists of a tensor
    JsonMistake mistake;
    json header = ReadJsonText(text, kDeepest, mistake);
    using Kind = JsonMistake::Kind;
    if (mistake.kind == Kind::kDepth)
      return Bad("its header is nested deeper than the format has it");
    if (mistake.kind == Kind::kTwice)
      return Bad(fmt::format("its header has the name '{}' twice", ShownName(mistake.key)));
    if (mistake.kind != Kind::kNone || !header.is_object())
      return Bad("its header is not an object of JSON");
    return header;
  }

  absl::Status Bad(std::string_view what) const {
    return absl::InvalidArgumentError(fmt::format("{}: {}", ShownName(file_), what));
  }

 private:
  const std::string& file_;
};

// A size of the file: an integer that is not negative.
bool IsSize(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{1} << 60;
}

struct TensorPlace {
  SafeTensor tensor;
  uint64_t begin = 0, end = 0;
};

absl::StatusOr<TensorPlace> ReadEntry(const HeaderText& header, const std::string& name,
                                      const json& entry) {
  const auto bad = [&](std::string_view what) {
    return header.Bad(fmt::format("tensor '{}' {}", ShownName(name), what));
  };
  if (!entry.is_object()) return bad("is not described by an object");
  const auto type = entry.find("dtype"), shape = entry.find("shape"),
             offsets = entry.find("data_offsets");
  if (type == entry.end() || !type->is_string()) return bad("has no dtype");
  if (shape == entry.end() || !shape->is_array()) return bad("has no shape");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2 ||
      !IsSize((*offsets)[0]) || !IsSize((*offsets)[1])) {
    return bad("has no data_offsets (expected a list of two numbers)");
  }
  TensorPlace place;
  place.tensor.name = name;
  const auto& type_name = type->get_ref<const std::string&>();
  place.tensor.dtype = FileTypeNamed(type_name);
  if (place.tensor.dtype == DType::kInvalid)
    return bad(fmt::format("has elements of type {}, which Tenon lacks", ShownName(type_name)));
  uint64_t bytes = SizeOf(place.tensor.dtype);
  for (const json& dim : *shape) {
    if (!IsSize(dim)) return bad("has a dimension that is not a size");
    const auto size = dim.get<uint64_t>();
    if (size != 0 && bytes > (uint64_t{1} << 60) / size) return bad("has too many elements");
    bytes *= size;
    place.tensor.dims.push_back(static_cast<int64_t>(size));
  }
  place.begin = (*offsets)[0].get<uint64_t>();
  place.end = (*offsets)[1].get<uint64_t>();
  if (place.begin > place.end || place.end - place.begin != bytes) {
    return bad(fmt::format("has {} bytes in the file, and its shape needs {}",
                           place.end < place.begin ? 0 : place.end - place.begin, bytes));
  }
  return place;
}

}  // namespace

absl::StatusOr<SafeTensors> ParseSafeTensors(std::span<const std::byte> file,
                                             std::shared_ptr<const void> owner,
                                             const std::string& name) {
  HeaderText header(name);
  if (file.size() < kSizeBytes) return header.Bad("is too short for a file of safetensors");
  uint64_t size = 0;
  for (size_t i = kSizeBytes; i-- > 0;) size = size << 8 | std::to_integer<uint64_t>(file[i]);
  if (size > kMostHeader) {
    return absl::ResourceExhaustedError(fmt::format(
        "{}: a header of {} bytes (at most {} are read)", ShownName(name), size, kMostHeader));
  }
  if (size > file.size() - kSizeBytes) {
    return header.Bad(fmt::format("its header has {} bytes, and only {} are there", size,
                                  file.size() - kSizeBytes));
  }
  TENON_ASSIGN_OR_RETURN(
      const json entries,
      header.Read({reinterpret_cast<const char*>(file.data()) + kSizeBytes, size}));
  std::vector<TensorPlace> places;
  for (const auto& [key, entry] : entries.items()) {
    if (key == kMetadata) continue;
    TENON_ASSIGN_OR_RETURN(TensorPlace place, ReadEntry(header, key, entry));
    places.push_back(std::move(place));
  }
  std::stable_sort(places.begin(), places.end(), [](const TensorPlace& a, const TensorPlace& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const std::span<const std::byte> data = file.subspan(kSizeBytes + size);
  uint64_t next = 0;
  SafeTensors result;
  for (TensorPlace& place : places) {
    if (place.begin != next || place.end > data.size()) {
      return header.Bad(fmt::format("the bytes of tensor '{}' {}", ShownName(place.tensor.name),
                                    place.end > data.size()
                                        ? "lie outside of the file"
                                        : "do not follow those of the tensor before"));
    }
    next = place.end;
    const auto bytes = data.subspan(place.begin, place.end - place.begin);
    if (place.tensor.dtype == DType::kBool &&
        std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; })) {
      return header.Bad(fmt::format("tensor '{}' has a bool that is neither 0 nor 1",
                                    ShownName(place.tensor.name)));
    }
    place.tensor.bytes = owner == nullptr ? Blob::Copy(bytes) : Blob::Borrow(bytes, owner);
    result.tensors.push_back(std::move(place.tensor));
  }
  if (next != data.size())
    return header.Bad(fmt::format("{} bytes at its end belong to no tensor", data.size() - next));
  std::sort(result.tensors.begin(), result.tensors.end(),
            [](const SafeTensor& a, const SafeTensor& b) { return a.name < b.name; });
  return result;
}

namespace {

// Files that somebody has mapped, so that all who read one share its bytes.
class MappedFiles {
 public:
  // Returns the mapping of the same contents that is still in use; `file` itself if there is none.
  onnx::FileBytes Shared(const onnx::FileBytes& file) {
    if (file.source.path.empty()) return file;
    const Key key = {file.source.device, file.source.inode, file.source.modified_ns,
                     file.source.changed_ns, file.bytes.size()};
    const std::lock_guard<std::mutex> lock(mutex_);
    std::erase_if(files_, [](const auto& entry) { return entry.second.owner.expired(); });
    const auto [found, is_new] = files_.try_emplace(key, Mapping{file.bytes, file.owner});
    const std::shared_ptr<const void> owner = found->second.owner.lock();
    if (is_new || owner == nullptr) {
      found->second = {file.bytes, file.owner};
      return file;
    }
    onnx::FileBytes shared = {found->second.bytes, owner, file.source};
    shared.source.bytes = shared.bytes;
    shared.source.owner = owner;
    return shared;
  }

 private:
  using Key = std::tuple<uint64_t, uint64_t, int64_t, int64_t, size_t>;
  struct Mapping {
    std::span<const std::byte> bytes;
    std::weak_ptr<const void> owner;
  };
  std::mutex mutex_;
  std::map<Key, Mapping> files_;
};

MappedFiles& AllMappedFiles() {
  static auto* const files = new MappedFiles();  // never destroyed: programs may outlive statics
  return *files;
}

}  // namespace

absl::StatusOr<SafeTensors> ReadSafeTensors(const std::string& path, const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes mapped, onnx::MapFile(path, limits.stream_bytes));
  const onnx::FileBytes file = AllMappedFiles().Shared(mapped);
  TENON_ASSIGN_OR_RETURN(SafeTensors result, ParseSafeTensors(file.bytes, file.owner, path));
  result.source = file.source;
  return result;
}

absl::Status WriteSafeTensors(const std::string& path, std::span<const SafeTensor> tensors) {
  std::vector<const SafeTensor*> order;
  for (const SafeTensor& tensor : tensors) {
    if (FileTypeOf(tensor.dtype).empty()) {
      return absl::UnimplementedError(
          fmt::format("{}: parameter '{}' has elements of {}, which the format safetensors lacks",
                      ShownName(path), ShownName(tensor.name), Name(tensor.dtype)));
    }
    order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(), [](const SafeTensor* a, const SafeTensor* b) {
    const size_t size_a = SizeOf(a->dtype), size_b = SizeOf(b->dtype);
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  std::set<std::string_view> names;
  std::string header = "{";
  uint64_t at = 0;
  for (const SafeTensor* tensor : order) {
    if (!names.insert(tensor->name).second || tensor->name == kMetadata) {
      return absl::InvalidArgumentError(
          fmt::format("{}: two tensors of name '{}'", ShownName(path), ShownName(tensor->name)));
    }
    const uint64_t end = at + tensor->bytes->size();
    json entry = {
        {"dtype", FileTypeOf(tensor->dtype)}, {"shape", tensor->dims}, {"data_offsets", {at, end}}};
    header += fmt::format("{}{}:{}", header.size() > 1 ? "," : "",
                          json(tensor->name).dump(-1, ' ', false, json::error_handler_t::replace),
                          entry.dump());
    at = end;
  }
  header += "}";
  header.resize(CeilDiv(header.size() + kSizeBytes, kDataAlignment) * kDataAlignment - kSizeBytes,
                ' ');
  return WriteFile(path, [&](TextSink sink) -> absl::Status {
    std::string size(kSizeBytes, '\0');
    for (size_t i = 0; i < kSizeBytes; ++i)
      size[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
    TENON_RETURN_IF_ERROR(sink(size));
    TENON_RETURN_IF_ERROR(sink(header));
    for (const SafeTensor* tensor : order) {
      const std::span<const std::byte> bytes = tensor->bytes->bytes();
      TENON_RETURN_IF_ERROR(sink({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    }
    return absl::OkStatus();
  });
}

}  // namespace tenon
