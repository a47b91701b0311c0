// Scan: a loop over slices of its inputs.
#include <fmt/format.h>

#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;

struct ScanInput {
  Value value;
  int64_t axis = 0;
  bool reverse = false;
};

// A list attribute of Scan with one entry for each of `count` inputs or outputs; zeros if absent.
absl::StatusOr<std::vector<int64_t>> ScanList(const Node& node, std::string_view name,
                                              size_t count) {
  TENON_ASSIGN_OR_RETURN(auto list, node.Ints(name));
  if (!list) return std::vector<int64_t>(count, 0);
  if (list->size() == count) return *std::move(list);
  return node.Error(fmt::format("{} has {} entries, expected {}", name, list->size(), count));
}

absl::StatusOr<std::vector<bool>> ScanDirections(const Node& node, std::string_view name,
                                                 size_t count) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> list, ScanList(node, name, count));
  std::vector<bool> reverse;
  for (int64_t direction : list) {
    if (direction != 0 && direction != 1) {
      return node.Error(fmt::format("{} must hold 0 or 1, got {}", name, direction));
    }
    reverse.push_back(direction == 1);
  }
  return reverse;
}

// The slice at an index along an axis, which goes.
absl::StatusOr<Value> SliceAt(Node& node, OpBuilder& builder, Value x, int64_t axis, Value index) {
  TENON_ASSIGN_OR_RETURN(const ten::GatherOp slice,
                         ten::GatherOp::Create(builder, node.location(), x, index, {.axis = axis}));
  node.importer().Register(slice.op());
  return slice.out();
}

// The extent of an axis as a scalar.
absl::StatusOr<Value> ExtentOf(Node& node, Value x, int64_t axis) {
  TENON_ASSIGN_OR_RETURN(
      const Value extent,
      node.Make<ten::ShapeOp>(x, ten::ShapeOp::Attrs{.start = axis, .end = axis + 1}));
  return ToScalar(node, extent);
}

// Fills in what `spec` has not said yet: the body is run on its carried values and slices of
// `scanned`, from the first to the last. `last`: the last index.
void RunOnSlices(Node& node, const GraphProto& body, std::vector<ScanInput> scanned, Value last,
                 LoopSpec& spec) {
  spec.body_nodes = body.node_size();
  spec.run = [&node, &body, scanned = std::move(scanned), last](
                 OpBuilder& builder, Value counter,
                 std::span<const Value> carried) -> absl::StatusOr<std::vector<Value>> {
    std::vector<Value> inputs(carried.begin(), carried.end());
    for (const ScanInput& input : scanned) {
      Value index = counter;
      if (input.reverse) {
        TENON_ASSIGN_OR_RETURN(const ten::SubOp back,
                               ten::SubOp::Create(builder, node.location(), last, counter));
        index = back.out();
      }
      TENON_ASSIGN_OR_RETURN(inputs.emplace_back(),
                             SliceAt(node, builder, input.value, input.axis, index));
    }
    return node.ImportGraph(body, inputs, builder);
  };
}

// Counts from 0 to the extent of an axis; gives the last index.
absl::StatusOr<Value> CountAlong(Node& node, Value x, int64_t axis, LoopSpec& spec) {
  TENON_ASSIGN_OR_RETURN(spec.lower, node.MakeScalar(DType::kI64, 0));
  TENON_ASSIGN_OR_RETURN(spec.step, node.MakeScalar(DType::kI64, 1));
  TENON_ASSIGN_OR_RETURN(spec.upper, ExtentOf(node, x, axis));
  return node.Make<ten::SubOp>(spec.upper, spec.step);
}

// Opset 8: all inputs and outputs have a batch axis in front, and the axis that is scanned behind
// it. A loop over the batch stacks what a loop over the sequence gives.
absl::Status ImportScan8(Node& node, const GraphProto& body, int64_t num_scanned) {
  if (node.input(0))
    return node.Unsupported("Scan with the lengths of sequences",
                            "sequences of one length, or opset 9 or newer");
  const int num_states = node.num_inputs() - 1 - static_cast<int>(num_scanned);
  if (num_states < 0 || body.input_size() != num_states + num_scanned ||
      body.output_size() < num_states || node.num_outputs() > body.output_size()) {
    return node.Error("the inputs and outputs of Scan are not those of its body");
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<bool> reverse,
                         ScanDirections(node, "directions", static_cast<size_t>(num_scanned)));
  for (int i = 1; i < node.num_inputs(); ++i) {
    const int64_t axes = i <= num_states ? 1 : 2;
    if (!node.input(i)) return node.Error(fmt::format("input {} of Scan is missing", i));
    if (node.input(i).type().rank() < axes) {
      return node.Error(fmt::format("input {} of Scan is {}, expected {} axes or more", i,
                                    node.input(i).type().text(), axes));
    }
  }
  const Value sequence = node.input(1 + num_states);
  LoopSpec batch, steps;
  TENON_RETURN_IF_ERROR(CountAlong(node, sequence, 0, batch).status());
  TENON_ASSIGN_OR_RETURN(const Value last, CountAlong(node, sequence, 1, steps));
  batch.scans.resize(static_cast<size_t>(body.output_size()));
  batch.body_nodes = body.node_size();
  batch.run = [&](OpBuilder& builder, Value b,
                  std::span<const Value>) -> absl::StatusOr<std::vector<Value>> {
    LoopSpec inner = steps;
    std::vector<ScanInput> scanned;
    for (int i = 1; i < node.num_inputs(); ++i) {
      TENON_ASSIGN_OR_RETURN(const Value slice, SliceAt(node, builder, node.input(i), 0, b));
      if (i > num_states) {
        scanned.push_back({.value = slice, .reverse = reverse[scanned.size()]});
        continue;
      }
      inner.inits.push_back(slice);
      inner.names.push_back(body.input(i - 1).name());
    }
    inner.scans.resize(static_cast<size_t>(body.output_size() - num_states));
    RunOnSlices(node, body, std::move(scanned), last, inner);
    TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node, builder, inner));
    node.importer().Register(loop);
    return ctl::ForOp(loop).outs().vec();
  };
  TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node, node.builder(), batch));
  node.importer().Register(loop);
  for (int i = 0; i < node.num_outputs(); ++i) {
    node.SetOutput(i, loop->result(static_cast<unsigned>(i)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportScan(Node& node) {
  TENON_ASSIGN_OR_RETURN(const GraphProto* body, node.Graph("body"));
  TENON_ASSIGN_OR_RETURN(const int64_t num_scanned, node.Int("num_scan_inputs", 0));
  if (num_scanned < 1 || num_scanned > node.num_inputs()) {
    return node.Error(
        fmt::format("num_scan_inputs must be in [1, {}], got {}", node.num_inputs(), num_scanned));
  }
  if (node.version() < 9) return ImportScan8(node, *body, num_scanned);
  TENON_RETURN_IF_ERROR(node.CheckInputs(node.num_inputs(), node.num_inputs()));
  const int num_states = node.num_inputs() - static_cast<int>(num_scanned);
  if (body->input_size() != node.num_inputs() || body->output_size() < num_states ||
      node.num_outputs() > body->output_size()) {
    return node.Error(fmt::format(
        "the body of Scan has {} inputs and {} outputs, the node {} and {} with {} states",
        body->input_size(), body->output_size(), node.num_inputs(), node.num_outputs(),
        num_states));
  }
  const auto count = static_cast<size_t>(num_scanned);
  const auto num_stacked = static_cast<size_t>(body->output_size() - num_states);
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> in_axes,
                         ScanList(node, "scan_input_axes", count));
  TENON_ASSIGN_OR_RETURN(const std::vector<bool> in_reverse,
                         ScanDirections(node, "scan_input_directions", count));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> out_axes,
                         ScanList(node, "scan_output_axes", num_stacked));
  TENON_ASSIGN_OR_RETURN(const std::vector<bool> out_reverse,
                         ScanDirections(node, "scan_output_directions", num_stacked));

  LoopSpec spec;
  for (int i = 0; i < num_states; ++i) {
    spec.inits.push_back(node.input(i));
    spec.names.push_back(body->input(i).name());
  }
  std::vector<ScanInput> scanned;
  for (size_t i = 0; i < count; ++i) {
    ScanInput input{.value = node.input(num_states + static_cast<int>(i)),
                    .reverse = in_reverse[i]};
    TENON_ASSIGN_OR_RETURN(input.axis, node.Axis(in_axes[i], input.value.type().rank()));
    scanned.push_back(input);
  }
  // An axis that counts from the end of a result counts to the result's rank, which is declared.
  for (size_t i = 0; i < num_stacked; ++i) {
    int64_t axis = out_axes[i];
    if (axis < 0) {
      const auto& output = body->output(num_states + static_cast<int>(i));
      const Type type = node.importer().Convert(output.type(), /*binding=*/false);
      if (!type || !type.is_tensor()) {
        return node.Unsupported("a negative output axis and no declared rank of the output",
                                "an axis from 0 on, or a declared rank");
      }
      TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, type.rank() + 1));
    }
    spec.scans.push_back({.axis = axis, .reverse = out_reverse[i]});
  }
  TENON_ASSIGN_OR_RETURN(const Value last,
                         CountAlong(node, scanned[0].value, scanned[0].axis, spec));
  RunOnSlices(node, *body, std::move(scanned), last, spec);
  TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node, node.builder(), spec));
  node.importer().Register(loop);
  for (int i = 0; i < node.num_outputs(); ++i) {
    node.SetOutput(i, loop->result(static_cast<unsigned>(i)));
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
