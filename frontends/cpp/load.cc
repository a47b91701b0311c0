// Loading models: ONNX, IR text and binary modules, told apart by name and content.
#include <algorithm>

#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/looks_like_text.h"
#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/parameters/weight_axes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/importer.h"
#include "ir/base/check.h"
#include "ir/base/check_limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/base/shown_text.h"
#include "ir/core/builder.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/text/parse_mapped.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "ir/serialize/binary_module.h"

namespace tenon {

absl::StatusOr<std::shared_ptr<Context>> MakeContext(const LoadOptions& options) {
  TENON_RETURN_IF_ERROR(CheckLimits(options.limits));
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  context->set_allow_unregistered_dialects(options.allow_unregistered_dialects);
  // What the importer made of a model reads back as text.
  context->AllowUnregisteredDialect(onnx::kOpaqueDialect);
  SetLimits(*context, options.limits);
  if (options.on_diagnostic) {
    Context* raw = context.get();
    context->diagnostics().SetHandler(
        [raw, f = options.on_diagnostic](const Diagnostic& d) { f(*raw, d); });
  }
  if (options.extension != nullptr) {
    TENON_RETURN_IF_ERROR(RegisterExtension(*options.extension, *context));
  }
  return context;
}

namespace {

absl::StatusOr<std::shared_ptr<Context>> ContextFor(const LoadOptions& options) {
  return options.context != nullptr ? options.context : MakeContext(options);
}

absl::Status CheckNoEdit(const LoadOptions& options, const std::string& name,
                         std::string_view format) {
  if (options.edit.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: only an ONNX model has parts and sizes to choose, and this is {}", name, format));
}

// `mapped`: the text is a read-only mapping of a file.
absl::StatusOr<Model> LoadText(std::string_view text, const std::string& name,
                               const LoadOptions& options, bool mapped) {
  TENON_RETURN_IF_ERROR(CheckNoEdit(options, name, "IR text"));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  ParseOptions parse;
  parse.file_name = name;
  parse.keep_names = options.keep_names;
  TENON_ASSIGN_OR_RETURN(OwnedOp module, mapped ? ParseMappedModule(*context, text, parse)
                                                : ParseModule(*context, text, parse));
  return Model(std::move(context), std::move(module), {}, options.extension);
}

// `file` keeps the bytes; null: large constants are copied.
absl::StatusOr<Model> LoadBinary(std::string_view bytes, const std::string& name,
                                 const LoadOptions& options, const onnx::FileBytes* file) {
  TENON_RETURN_IF_ERROR(CheckNoEdit(options, name, "a binary module"));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  ReadBinaryOptions read;
  read.file_name = name;
  std::vector<SourceFile> files;
  if (file != nullptr) {
    read.owner = file->owner;
    read.mapped = !file->source.bytes.empty();
    if (!file->source.path.empty()) files.push_back(file->source);
  }
  TENON_ASSIGN_OR_RETURN(OwnedOp module, ReadBinaryModule(*context, bytes, read));
  return Model(std::move(context), std::move(module), std::move(files), options.extension);
}

onnx::ImportOptions ImportOptionsOf(const LoadOptions& options) {
  onnx::ImportOptions import;
  import.external_data_root = options.external_data_root;
  import.allow_external_data_links = options.allow_external_data_links;
  import.edit = options.edit;
  return import;
}

bool HasModelExtension(std::string_view name) {
  return name.ends_with(".onnx") || name.ends_with(".pb");
}

// White space aside, what text does not have: control characters, bytes that are never UTF-8.
bool IsBinary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20) return c != '\n' && c != '\r' && c != '\t' && c != '\f';
  return byte == 0x7f || byte == 0xc0 || byte == 0xc1 || byte > 0xf4;
}

// The encoding of text that begins with this byte-order mark; empty for UTF-8 and without a mark.
// No ONNX model begins so: the first byte would be a field of a type that does not exist.
std::string_view EncodingOfMark(std::string_view bytes) {
  constexpr std::string_view kBig32("\0\0\xFE\xFF", 4), kLittle32("\xFF\xFE\0\0", 4);
  if (bytes.starts_with(kBig32) || bytes.starts_with(kLittle32)) return "UTF-32";
  if (bytes.starts_with("\xFE\xFF") || bytes.starts_with("\xFF\xFE")) return "UTF-16";
  return "";
}

// A file that is named as a model and is not one, such as a page that a server sent in its place;
// and text in another encoding.
absl::Status CheckIsModel(std::string_view bytes, const std::string& name) {
  constexpr size_t kProbe = 512, kShown = 60;
  if (const std::string_view encoding = EncodingOfMark(bytes); !encoding.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: the byte-order mark at its beginning says that this is text in {} (expected "
        "UTF-8: 'iconv -f {} -t UTF-8' converts it)",
        name, encoding, encoding));
  }
  const std::string_view probe = bytes.substr(0, kProbe);
  if (!HasModelExtension(name) || std::any_of(probe.begin(), probe.end(), IsBinary))
    return absl::OkStatus();
  if (bytes.starts_with("version https://git-lfs")) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a pointer of Git LFS, not an ONNX model ('git lfs pull' fetches the model)", name));
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}: text, not an ONNX model; it begins with '{}' (IR text has names like m.mlir)", name,
      ShownName(bytes.substr(0, std::min(bytes.find('\n'), kShown)))));
}

}  // namespace

bool LooksLikeText(std::string_view bytes, std::string_view name) {
  if (HasModelExtension(name) || LooksLikeBinaryModule(bytes)) return false;
  constexpr size_t kProbe = size_t{1} << 16;
  const size_t probe = name.ends_with(".mlir") ? 1 : kProbe;
  return std::none_of(bytes.begin(), bytes.begin() + std::min(probe, bytes.size()), IsBinary);
}

namespace {

absl::StatusOr<Model> LoadBytes(std::string_view bytes, const std::string& name,
                                const LoadOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError(fmt::format("{}: the file is empty", name));
  if (LooksLikeBinaryModule(bytes)) return LoadBinary(bytes, name, options, nullptr);
  if (LooksLikeText(bytes, name)) return LoadText(bytes, name, options, false);
  TENON_RETURN_IF_ERROR(CheckIsModel(bytes, name));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  onnx::ImportOptions import = ImportOptionsOf(options);
  import.name = name;
  const auto info = std::make_shared<onnx::ModelInfo>();
  import.info = info.get();
  TENON_ASSIGN_OR_RETURN(
      OwnedOp module,
      onnx::ImportOnnxFromBytes(*context, std::as_bytes(std::span(bytes)), nullptr, import));
  return Model(std::move(context), std::move(module), {}, options.extension, info);
}

absl::StatusOr<Model> LoadPath(const std::string& path, const LoadOptions& options) {
  // Opened once: what comes through a pipe cannot be read again.
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file,
                         onnx::MapFile(path, options.limits.stream_bytes));
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  if (path == "-") return LoadBytes(bytes, "<stdin>", options);
  if (bytes.empty()) return absl::InvalidArgumentError(fmt::format("{}: the file is empty", path));
  if (LooksLikeBinaryModule(bytes)) return LoadBinary(bytes, path, options, &file);
  if (LooksLikeText(bytes, path)) return LoadText(bytes, path, options, !file.source.bytes.empty());
  TENON_RETURN_IF_ERROR(CheckIsModel(bytes, path));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  std::vector<SourceFile> files;
  onnx::ImportOptions import = ImportOptionsOf(options);
  import.files = &files;
  const auto info = std::make_shared<onnx::ModelInfo>();
  import.info = info.get();
  TENON_ASSIGN_OR_RETURN(OwnedOp module, onnx::ImportOnnxFromFile(*context, file, path, import));
  return Model(std::move(context), std::move(module), std::move(files), options.extension, info);
}

// The model with the values of LoadOptions::parameter_files, and with LoadOptions::replaceable.
absl::StatusOr<Model> WithParameters(absl::StatusOr<Model> loaded, const LoadOptions& options) {
  if (!loaded.ok()) return loaded;
  if (options.parameter_files.empty() && options.replaceable.empty()) {
    NoteWeightAxes(*loaded->module());
    return loaded;
  }
  const ConstantNames* const read =
      loaded->info() == nullptr ? nullptr : &loaded->info()->read_constants;
  std::vector<SourceFile> files = loaded->files();
  for (const std::string& file : options.parameter_files) {
    SourceFile source;
    TENON_RETURN_IF_ERROR(LoadParameters(*loaded->module(), file, options.limits, &source, read));
    if (!source.path.empty()) files.push_back(std::move(source));
  }
  TENON_RETURN_IF_ERROR(MarkReplaceable(*loaded->module(), options.replaceable, read));
  NoteWeightAxes(*loaded->module());
  // Values that decide shapes may not fit.
  TENON_RETURN_IF_ERROR(Verify(loaded->module()));
  OwnedOp module(tenon::Clone(*loaded->module()));
  return Model(loaded->shared_context(), std::move(module), std::move(files), loaded->extension(),
               loaded->info());
}

}  // namespace

absl::StatusOr<Model> LoadFromBytes(std::string_view bytes, const std::string& name,
                                    const LoadOptions& options) {
  return WithoutBadAlloc(name,
                         [&] { return WithParameters(LoadBytes(bytes, name, options), options); });
}

absl::StatusOr<Model> Load(const std::string& path, const LoadOptions& options) {
  return WithoutBadAlloc(path, [&] { return WithParameters(LoadPath(path, options), options); });
}

}  // namespace tenon
