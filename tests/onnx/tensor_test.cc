// Encodings of tensors, external data, test-data files, .npy files, and the schema.
#include "frontends/onnx/file/tensor.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "frontends/cpp/files/npy.h"
#include "frontends/onnx/file/test_data.h"
#include "frontends/onnx/file/wire.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "tenon_onnx_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TensorProto Typed(TensorProto::DataType type, std::vector<int64_t> dims) {
  TensorProto tensor;
  tensor.set_name("t");
  tensor.set_data_type(type);
  tensor.mutable_dims()->Assign(dims.begin(), dims.end());
  return tensor;
}

std::vector<double> Values(const TensorProto& tensor) {
  const absl::StatusOr<TensorData> data = DecodeTensor(tensor, {});
  EXPECT_TRUE(data.ok()) << data.status();
  std::vector<double> values;
  if (!data.ok()) return values;
  for (size_t i = 0; i < data->blob->size() / SizeOf(data->dtype); ++i) {
    values.push_back(
        LoadAsDouble(data->dtype, data->blob->bytes().data() + i * SizeOf(data->dtype)));
  }
  return values;
}

TEST(Tensor, TypedFields) {
  TensorProto f32 = Typed(TensorProto::FLOAT, {2});
  f32.add_float_data(1.5f);
  f32.add_float_data(-2);
  EXPECT_EQ(Values(f32), (std::vector<double>{1.5, -2}));
  TensorProto f64 = Typed(TensorProto::DOUBLE, {1});
  f64.add_double_data(0.1);
  EXPECT_EQ(Values(f64), std::vector<double>{0.1});
  TensorProto i64 = Typed(TensorProto::INT64, {});
  i64.add_int64_data(-5);
  EXPECT_EQ(Values(i64), std::vector<double>{-5});
  TensorProto u32 = Typed(TensorProto::UINT32, {1});
  u32.add_uint64_data(4000000000u);
  EXPECT_EQ(Values(u32), std::vector<double>{4e9});
  // int32_data carries every smaller type.
  for (TensorProto::DataType type : {TensorProto::INT32, TensorProto::INT16, TensorProto::INT8}) {
    TensorProto tensor = Typed(type, {2});
    tensor.add_int32_data(7);
    tensor.add_int32_data(-7);
    EXPECT_EQ(Values(tensor), (std::vector<double>{7, -7}));
  }
  TensorProto u8 = Typed(TensorProto::UINT8, {1});
  u8.add_int32_data(200);
  EXPECT_EQ(Values(u8), std::vector<double>{200});
  TensorProto half = Typed(TensorProto::FLOAT16, {1});
  half.add_int32_data(0x3e00);
  EXPECT_EQ(Values(half), std::vector<double>{1.5});
  TensorProto bfloat = Typed(TensorProto::BFLOAT16, {1});
  bfloat.add_int32_data(0xbfc0);
  EXPECT_EQ(Values(bfloat), std::vector<double>{-1.5});
  TensorProto boolean = Typed(TensorProto::BOOL, {3});
  for (int v : {0, 1, 256}) boolean.add_int32_data(v);
  EXPECT_EQ(Values(boolean), (std::vector<double>{0, 1, 1}));
}

TEST(Tensor, PackedElements) {
  TensorProto numbers = Typed(TensorProto::INT4, {3});
  for (int v : {0x8f, 0x07}) numbers.add_int32_data(v);
  EXPECT_EQ(Values(numbers), (std::vector<double>{-1, -8, 7}));
  EXPECT_EQ(DecodeTensor(numbers, {})->dtype, DType::kI4);
  EXPECT_EQ(DecodeTensor(numbers, {})->blob->bytes()[0], std::byte{0xff});
  numbers.set_data_type(TensorProto::UINT4);
  EXPECT_EQ(Values(numbers), (std::vector<double>{15, 8, 7}));
  EXPECT_EQ(DecodeTensor(numbers, {})->dtype, DType::kU4);
  numbers.set_data_type(TensorProto::FLOAT4E2M1);
  EXPECT_EQ(Values(numbers), (std::vector<double>{-6, -0.0, 6}));
  numbers.add_int32_data(0);
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeTensor(numbers, {}).status()));
  TensorProto quarters = Typed(TensorProto::INT2, {5});
  for (int v : {0b11100100, 0b10}) quarters.add_int32_data(v);
  EXPECT_EQ(Values(quarters), (std::vector<double>{0, 1, -2, -1, -2}));
  quarters.set_data_type(TensorProto::UINT2);
  EXPECT_EQ(Values(quarters), (std::vector<double>{0, 1, 2, 3, 2}));
}

TEST(Tensor, FloatsOfEightBits) {
  TensorProto numbers = Typed(TensorProto::FLOAT8E4M3FN, {2});
  for (int v : {0x38, 0xfe}) numbers.add_int32_data(v);
  EXPECT_EQ(Values(numbers), (std::vector<double>{1, -448}));
  numbers.set_data_type(TensorProto::FLOAT8E5M2FNUZ);
  EXPECT_EQ(Values(numbers), (std::vector<double>{0.25, -49152}));
  numbers.set_data_type(TensorProto::FLOAT8E8M0);
  EXPECT_EQ(Values(numbers), (std::vector<double>{0x1p-71, 0x1p127}));
}

TEST(Tensor, TypesWithoutCounterpart) {
  for (TensorProto::DataType type :
       {TensorProto::STRING, TensorProto::COMPLEX64, TensorProto::COMPLEX128}) {
    const absl::StatusOr<TensorData> data = DecodeTensor(Typed(type, {1}), {});
    EXPECT_TRUE(absl::IsUnimplemented(data.status()));
    EXPECT_NE(data.status().message().find(OnnxTypeName(type)), std::string::npos) << data.status();
  }
  EXPECT_NE(DecodeTensor(Typed(TensorProto::UNDEFINED, {1}), {}).status().message().find("\"t\""),
            std::string::npos);
}

TEST(Tensor, RawDataIsNotCopied) {
  ModelBuilder model(17);
  std::vector<float> values(1000);
  for (int i = 0; i < 1000; ++i) values[i] = static_cast<float>(i);
  model.Floats("w", {1000}, values).Node("Identity", {"w"}, {"out"}).Output("out");
  const std::string bytes = model.Serialize();
  Context context;
  Imported result = ImportBytes(bytes);
  auto owner = std::make_shared<int>(0);
  onnxpb::ModelProto parsed;
  ASSERT_TRUE(ParseModel(std::as_bytes(std::span(bytes)), parsed).ok());
  EXPECT_FALSE(parsed.graph().initializer(0).has_raw_data());
  const TensorSource source{.file = {std::as_bytes(std::span(bytes)), owner}};
  const absl::StatusOr<TensorData> data = DecodeTensor(parsed.graph().initializer(0), source);
  ASSERT_TRUE(data.ok());
  const char* at = reinterpret_cast<const char*>(data->blob->bytes().data());
  EXPECT_GE(at, bytes.data());
  EXPECT_LT(at, bytes.data() + bytes.size());
  EXPECT_EQ(LoadAsDouble(DType::kF32, data->blob->bytes().data() + 4 * 999), 999);
}

TEST(Tensor, RawBooleansAreNormalised) {
  ModelBuilder model(17);
  TensorProto tensor = Typed(TensorProto::BOOL, {2});
  tensor.set_raw_data("\x02\x00", 2);
  *model.graph().add_initializer() = tensor;
  model.Node("Identity", {"t"}, {"out"}).Output("out");
  const Imported result = ImportModel(model);
  EXPECT_NE(result.Text().find("dense<[true, false]>"), std::string::npos) << result.Text();
}

// The schema has every field that real files use: protoc prints fields that it does not know by
// number.
TEST(Schema, RealFilesHaveNoUnknownFields) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TENON_SOURCE_DIR "/tests/models")) {
    const std::filesystem::path path = entry.path() / "model.onnx";
    if (!std::filesystem::exists(path)) continue;
    ++files;
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    onnxpb::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(bytes)) << path;
    EXPECT_EQ(model.SerializeAsString().size(), bytes.size()) << path;
    const std::string text = testing::TempDir() + "tenon_schema_test.txt";
    const std::string decode = "protoc --proto_path='" TENON_SOURCE_DIR
                               "' --decode=tenon.onnxpb.ModelProto "
                               "'" TENON_SOURCE_DIR "/frontends/onnx/onnx.proto' < '" +
                               path.string() + "' > '" + text + "'";
    ASSERT_EQ(std::system(decode.c_str()), 0) << path;
    // grep's status: 1 means that there is no such line.
    const std::string search = "grep -m1 -E '^ *[0-9]+(:| \\{)' '" + text + "'";
    EXPECT_EQ(WEXITSTATUS(std::system(search.c_str())), 1) << path;
    std::filesystem::remove(text);
  }
  EXPECT_GE(files, 8);
}

TEST(Schema, UnknownFieldsAreKept) {
  // Field 1000, a string, behind a model without anything.
  const std::string bytes("\x08\x08\xc2\x3e\x03xyz", 8);
  onnxpb::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(bytes));
  EXPECT_EQ(model.ir_version(), 8);
  EXPECT_EQ(model.SerializeAsString(), bytes);
}

ModelBuilder ExternalModel(const std::map<std::string, std::string>& entries) {
  ModelBuilder model(17);
  TensorProto tensor = Typed(TensorProto::FLOAT, {2});
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  *model.graph().add_initializer() = tensor;
  model.Input("x", {2}).Node("Add", {"x", "t"}, {"out"}).Output("out");
  return model;
}

class External : public testing::Test {
 protected:
  External() {
    std::filesystem::create_directory(folder_ / "model");
    std::filesystem::create_directory(folder_ / "model/sub");
    const float values[4] = {0, 1.5f, 2.5f, 0};
    const std::string bytes(reinterpret_cast<const char*>(values), sizeof(values));
    Write(folder_ / "model/w.bin", bytes);
    Write(folder_ / "model/sub/w.bin", bytes);
    Write(folder_ / "outside.bin", bytes);
    std::filesystem::create_symlink(folder_ / "outside.bin", folder_ / "model/link.bin");
    std::filesystem::create_directory_symlink(folder_ / "model", folder_ / "model/folder_link");
    Write(folder_ / "model/hard.bin", bytes);
    std::filesystem::create_hard_link(folder_ / "model/hard.bin", folder_ / "hard2.bin");
  }

  Imported Import(const std::map<std::string, std::string>& entries,
                  const ImportOptions& options = {}) {
    Write(folder_ / "model/m.onnx", ExternalModel(entries).Serialize());
    return ImportFile(folder_ / "model/m.onnx", options);
  }
  std::string Error(const std::map<std::string, std::string>& entries) {
    const Imported result = Import(entries);
    return result.status.ok() ? "no error" : std::string(result.status.message());
  }

  Folder folder_;
};

TEST_F(External, IsRead) {
  const Imported result = Import({{"location", "w.bin"}, {"offset", "4"}, {"length", "8"}});
  ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_NE(result.Text().find("1.500000e+00, 2.500000e+00"), std::string::npos) << result.Text();
  EXPECT_TRUE(Import({{"location", "./sub//w.bin"}, {"offset", "8"}}).status.ok());
}

TEST_F(External, RefusesPathsOutOfTheFolder) {
  for (const char* location :
       {"../outside.bin", "sub/../../outside.bin", "/etc/passwd", "", ".", "sub"}) {
    const std::string error = Error({{"location", location}, {"length", "8"}});
    EXPECT_NE(error.find("external data file"), std::string::npos) << location << ": " << error;
  }
  EXPECT_NE(Error({{"location", "missing.bin"}}).find("missing.bin"), std::string::npos);
}

TEST_F(External, RefusesLinksUnlessAllowed) {
  for (const char* location : {"link.bin", "folder_link/w.bin", "hard.bin"}) {
    EXPECT_NE(Error({{"location", location}}).find("link"), std::string::npos) << location;
    EXPECT_TRUE(Import({{"location", location}}, {.allow_external_data_links = true}).status.ok())
        << location;
  }
}

TEST_F(External, ChecksSizes) {
  EXPECT_NE(Error({{"location", "w.bin"}, {"length", "12"}}).find("12 bytes"), std::string::npos);
  EXPECT_NE(Error({{"location", "w.bin"}, {"offset", "12"}}).find("has 16 bytes"),
            std::string::npos);
  EXPECT_NE(Error({{"location", "w.bin"}, {"offset", "18446744073709551615"}}).find("has 16 bytes"),
            std::string::npos);
  EXPECT_NE(Error({{"location", "w.bin"}, {"offset", "-4"}}).find("not a non-negative number"),
            std::string::npos);
  EXPECT_NE(Error({{"location", "w.bin"}, {"length", "8x"}}).find("not a non-negative number"),
            std::string::npos);
}

TEST_F(External, NeedsAFolder) {
  const Imported result = ImportModel(ExternalModel({{"location", "w.bin"}}));
  EXPECT_NE(result.status.message().find("no folder of external data"), std::string::npos);
  const Imported given = ImportBytes(ExternalModel({{"location", "w.bin"}}).Serialize(),
                                     {.external_data_root = folder_ / "model"});
  EXPECT_TRUE(given.status.ok()) << given.status;
}

TEST_F(External, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo((folder_ / "model/pipe").c_str(), 0600), 0);
  EXPECT_NE(Error({{"location", "pipe"}}).find("not a regular file"), std::string::npos);
}

NamedTensor Sample(DType dtype, std::vector<int64_t> dims) {
  NamedTensor tensor;
  tensor.name = "sample";
  tensor.dtype = dtype;
  tensor.dims = dims;
  const size_t size = *CheckedByteSize(dtype, dims);
  tensor.blob = Blob::Make(size, [&](std::byte* out) {
    for (size_t i = 0; i < size / SizeOf(dtype); ++i) {
      StoreFromDouble(dtype, dtype == DType::kBool ? i % 2 : static_cast<double>(i),
                      out + i * SizeOf(dtype));
    }
  });
  return tensor;
}

bool SameBytes(const TensorData& a, const TensorData& b) {
  return a.dtype == b.dtype && a.dims == b.dims && a.blob->content_hash() == b.blob->content_hash();
}

TEST(TestData, RoundTrip) {
  Folder folder;
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kBool, DType::kU8}) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 0}, {2, 3, 4}}) {
      const NamedTensor tensor = Sample(dtype, dims);
      ASSERT_TRUE(WriteTensorProto(folder / "t.pb", tensor).ok());
      const absl::StatusOr<NamedTensor> read = ReadTensorProto(folder / "t.pb");
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(SameBytes(*read, tensor));
      EXPECT_EQ(read->name, "sample");
    }
  }
  EXPECT_FALSE(ReadTensorProto(folder / "none.pb").ok());
  Write(folder / "bad.pb", "\xff\xff\xff");
  EXPECT_NE(ReadTensorProto(folder / "bad.pb").status().message().find("bad.pb"),
            std::string::npos);
}

TEST(TestData, NarrowTypes) {
  Folder folder;
  for (int d = static_cast<int>(DType::kF8E4M3FN); d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const int64_t count : {0, 1, 2, 3, 4, 5}) {
      const NamedTensor tensor = Sample(dtype, {count});
      ASSERT_TRUE(WriteTensorProto(folder / "t.pb", tensor).ok());
      const absl::StatusOr<NamedTensor> read = ReadTensorProto(folder / "t.pb");
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(SameBytes(*read, tensor)) << Name(dtype) << " " << count;
    }
  }
}

TEST(TestData, ReadsWhatPyTorchWrote) {
  const absl::StatusOr<NamedTensor> input =
      ReadTensorProto(TENON_SOURCE_DIR "/tests/models/bert.eager.ts17/test_data_set_0/input_0.pb");
  ASSERT_TRUE(input.ok()) << input.status();
  EXPECT_EQ(input->dtype, DType::kI64);
  EXPECT_EQ(input->dims.size(), 2u);
}

TEST(Npy, RoundTrip) {
  Folder folder;
  for (DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kI64, DType::kBool, DType::kU8}) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{}, {3}, {2, 0}, {2, 3, 4}}) {
      const NamedTensor tensor = Sample(dtype, dims);
      ASSERT_TRUE(WriteNpy(folder / "t.npy", tensor).ok());
      const absl::StatusOr<NamedTensor> read = ReadNpy(folder / "t.npy");
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(SameBytes(*read, tensor)) << Name(dtype) << " rank " << dims.size();
      EXPECT_EQ(std::filesystem::file_size(folder / "t.npy") % 64, tensor.blob->size() % 64);
    }
  }
}

std::string NpyFile(const std::string& header, const std::string& data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  return file + header + data;
}

absl::StatusOr<NamedTensor> Parse(const std::string& file) {
  return ParseNpy(std::as_bytes(std::span(file)), nullptr);
}

// ml_dtypes writes bytes without a type, and integers of 4 bits without a sign above them.
TEST(Npy, TypesThatNumPyDoesNotHave) {
  const std::string file =
      NpyFile("{'descr': '<V1', 'fortran_order': False, 'shape': (2,), }\n", "\x0f\x07");
  EXPECT_FALSE(Parse(file).ok());
  const auto as = [&](DType dtype) {
    return ParseNpy(std::as_bytes(std::span(file)), nullptr, dtype);
  };
  const absl::StatusOr<NamedTensor> numbers = as(DType::kI4);
  ASSERT_TRUE(numbers.ok()) << numbers.status();
  EXPECT_EQ(numbers->dtype, DType::kI4);
  EXPECT_EQ(numbers->blob->bytes()[0], std::byte{0xff});
  EXPECT_EQ(as(DType::kF8E5M2)->blob->bytes()[0], std::byte{0x0f});
  EXPECT_FALSE(as(DType::kBF16).ok());
  EXPECT_FALSE(as(DType::kI8).ok());
  Folder folder;
  ASSERT_TRUE(WriteNpy(folder / "t.npy", *numbers).ok());
  EXPECT_EQ(ReadNpy(folder / "t.npy")->dtype, DType::kI8);
  ASSERT_TRUE(WriteNpy(folder / "t.npy", *as(DType::kF4E2M1FN)).ok());
  const absl::StatusOr<NamedTensor> floats = ReadNpy(folder / "t.npy");
  ASSERT_TRUE(floats.ok()) << floats.status();
  EXPECT_EQ(floats->dtype, DType::kF32);
  EXPECT_EQ(LoadAsDouble(DType::kF32, floats->blob->bytes().data()), -6);
}

TEST(Npy, OrdersOfBytesAndAxes) {
  const std::string data("\0\1\0\2\0\3\0\4\0\5\0\6", 12);
  const absl::StatusOr<NamedTensor> tensor =
      Parse(NpyFile("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", data));
  ASSERT_TRUE(tensor.ok()) << tensor.status();
  std::vector<double> values;
  for (int i = 0; i < 6; ++i)
    values.push_back(LoadAsDouble(DType::kI16, tensor->blob->bytes().data() + 2 * i));
  EXPECT_EQ(values, (std::vector<double>{1, 3, 5, 2, 4, 6}));
}

TEST(Npy, Malformed) {
  const std::string good = "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_TRUE(Parse(NpyFile(good, "abcd")).ok());
  EXPECT_FALSE(Parse(NpyFile(good, "abc")).ok());
  EXPECT_FALSE(Parse(NpyFile(good, "abcde")).ok());
  EXPECT_FALSE(Parse("").ok());
  EXPECT_FALSE(Parse("NUMPY").ok());
  EXPECT_FALSE(Parse(NpyFile("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", "")).ok());
  EXPECT_FALSE(Parse(NpyFile("{'descr': '<i2', 'fortran_order': False, 'shape': (-2,)}", "")).ok());
  EXPECT_FALSE(Parse(NpyFile("{'descr': '<i2', 'shape': (0,)}", "")).ok());
  EXPECT_FALSE(Parse(NpyFile("{'descr'", "")).ok());
  const std::string file = NpyFile(good, "abcd");
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(Parse(file.substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace tenon::onnx
