// Shapes of an instance: dimensions are unknowns that unify until each has a number.
#ifndef TENON_DRR_CHECK_PLANNER_H_
#define TENON_DRR_CHECK_PLANNER_H_

#include <array>
#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "drr/check/instance.h"
#include "ir/core/context/op_info.h"

namespace tenon::drr {

// An unknown extent, by number.
using Unknown = int;
using Shape = absl::InlinedVector<Unknown, 6>;

bool IsReduction(std::string_view op);
std::vector<double> AsNumbers(const I64s& integers);
I64s AsIntegers(const std::vector<double>& numbers);

class Planner {
 public:
  Planner(const PlanFacts& facts, Context& context, std::mt19937_64& random);
  bool Plan(uint16_t forced_node, int forced_alternative, InstancePlan& plan, std::string* why);

 private:
  // ---- unknowns
  Unknown Fresh();
  // A number that cannot be an extent makes the plan impossible.
  Unknown Number(int64_t value);
  Unknown Find(Unknown u);
  bool Unify(Unknown a, Unknown b);
  bool UnifyAll(const Shape& a, const Shape& b);
  bool Known(Unknown u) { return values_[Find(u)] >= 0; }
  int64_t Value(Unknown u);  // decides if still open
  std::vector<int64_t> Values(const Shape& shape);
  // The product of the extents; kMaxElements + 1 if it exceeds kMaxElements.
  int64_t Elements(const Shape& shape);
  Shape FreshShape(int rank);

  // ---- random choices
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }
  int64_t Extent();
  double Real();
  double RealOf(DType dtype);
  // Gives two variables shapes that broadcast both ways.
  bool BroadcastBothWays(const std::vector<const Edge*>& operands, const Shape& shape);

  // ---- the graph
  int KnownRank(const Edge& edge);
  // What is drawn only for rules that it matters for leaves the programs of others alone.
  bool OpenRanks() {
    if (open_ranks_ < 0) open_ranks_ = Chance(0.4) ? 1 : 0;
    return open_ranks_ > 0;
  }
  // Draws the rank of a root of which none is known.
  int DrawRank(const Edge& root);
  // Visits each node once; `found` has the visited ones.
  using Ranks = absl::InlinedVector<std::pair<uint16_t, int>, 16>;
  int KnownRank(const Edge& edge, Ranks& found);
  int FindRank(const Edge& edge, Ranks& found);
  // Gives a value exactly this shape.
  bool Demand(const Edge& edge, const Shape& shape);
  // Gives a value a shape that broadcasts to this one; `actual` receives it.
  bool DemandBroadcast(const Edge& edge, const Shape& shape, Shape& actual);
  // Returns the types of an op's results, or nothing if it refuses the operands. `segments` has the
  // number of operands of each group; attributes about axes are drawn for `rank` axes.
  std::optional<ResultTypes> InferOp(uint16_t n, std::span<const Type> operands,
                                     const std::vector<int64_t>& segments, int rank);
  // Draws shapes for the operands until the op has a result of this shape.
  bool GuessOperands(uint16_t n, const Shape& shape);
  // Demands on the operands of an op for a result of this shape; planner_*ops.cc.
  struct OpDemand;
  bool DemandOp(uint16_t n, const Shape& shape);
  bool Elementwise(uint16_t n, const Shape& shape);
  bool SameOperand(uint16_t n, const Shape& shape);
  bool ReshapeOperand(uint16_t n, const Shape& shape);
  bool TransposeOperand(uint16_t n, const Shape& shape);
  bool ExpandOperand(uint16_t n, const Shape& shape);
  bool PadOperands(uint16_t n, const Shape& shape);
  bool SliceOperand(uint16_t n, const Shape& shape);
  void DrawBounds(uint16_t n, size_t axes);  // starts and ends of a slice that are variables
  bool HalfOperand(uint16_t n, const Shape& shape);
  bool ConcatOperands(uint16_t n, const Shape& shape);
  bool JoinedResults(const Edge& rest, const Shape& shape, size_t axis, int64_t& sum);
  std::optional<size_t> ResultsOf(uint16_t n);
  const Dims* PartsOf(uint16_t n, const AttrCode& sizes);
  bool SplitOperand(uint16_t n, int result, const Shape& shape);
  bool SplitInParts(uint16_t n, const AttrCode& sizes, size_t axis, int result, const Shape& shape);
  std::optional<int64_t> SlicedExtent(uint16_t n, int rank, int64_t axis, Unknown out);
  bool GatherOperands(uint16_t n, const Shape& shape);
  bool LookupOperands(uint16_t n, const Shape& shape);
  int VectorFactor(uint16_t n, const Shape& shape);
  bool MatmulOperands(uint16_t n, const Shape& shape);
  bool LinearOperands(uint16_t n, const Shape& shape);
  bool LinearChainOperands(uint16_t n, const Shape& shape);
  // An operand of a layer of a transformer, which may be absent: an edge, or one more value of an
  // Each, by its id.
  struct LayerPart {
    const Edge* edge = nullptr;
    uint16_t id = kNone;
    bool present() const { return edge != nullptr || id != kNone; }
  };
  using LayerParts = std::vector<LayerPart>;
  // The operands of these groups of an op; planner_layer_ops.cc.
  LayerParts PartsOf(uint16_t n, size_t groups);
  bool DemandPart(const LayerPart& part, const Shape& shape);
  // The part broadcasts to the shape.
  bool DemandNarrow(const LayerPart& part, const Shape& shape);
  void MakeBoolean(const LayerPart& part);
  // A matrix and its bias.
  bool DemandMatrix(uint16_t n, const LayerPart& w, const LayerPart& bias, Unknown rows,
                    Unknown columns);
  // The scale and the bias of a norm that has this shape.
  bool DemandNorm(uint16_t n, const LayerPart& scale, const LayerPart& bias, const Shape& shape);
  // The operands of a fused.attention_block, or of a fused.feed_forward, whose attributes op `n`
  // has. Rows and residual are demanded if they are present. The rows have `depth` columns, and
  // `before` keys come from earlier steps.
  bool DemandBlock(uint16_t n, const LayerParts& parts, const Shape& shape, Unknown depth,
                   Unknown before);
  bool DemandForward(uint16_t n, const LayerParts& parts, const Shape& shape, Unknown depth);
  // Those of a fused.transformer_layer.
  bool DemandLayer(uint16_t n, const LayerParts& parts, const Shape& shape, Unknown depth,
                   Unknown before);
  // A value of the attribute `has` of a stack; what op `n` has decides what is possible.
  std::vector<int64_t> RandomPresence(uint16_t n);
  bool AttentionBlockOperands(uint16_t n, const Shape& shape);
  bool FeedForwardOperands(uint16_t n, const Shape& shape);
  bool TransformerLayerOperands(uint16_t n, const Shape& shape);
  bool TransformerStackOperands(uint16_t n, const Shape& shape);
  bool QuantizedLinearOperands(uint16_t n, const Shape& shape);
  bool QuantizedConvOperands(uint16_t n, const Shape& shape);
  // Zero points (operands 2 and 3) have the types of what they belong to (operands 0 and 1).
  void HintZeroPoints(uint16_t n);
  bool ReduceOperand(uint16_t n, const Shape& shape);
  bool AxisOperand(uint16_t n, const Shape& shape);
  bool NormOperands(uint16_t n, const Shape& shape);
  bool GroupNormOperands(uint16_t n, const Shape& shape);
  bool BatchNormOperands(uint16_t n, const Shape& shape);
  bool GatedOperands(uint16_t n, const Shape& shape);
  bool PoolOperand(uint16_t n, const Shape& shape);
  bool ArgReduceOperand(uint16_t n, const Shape& shape);
  bool TopKOperand(uint16_t n, const Shape& shape);
  bool TriangleOperand(uint16_t n, const Shape& shape);
  bool EinsumOperands(uint16_t n, const Shape& shape);
  bool ConvOperands(uint16_t n, const Shape& shape);
  bool ConvImages(uint16_t n, const Shape& shape);  // the images and the filters
  bool ConvTransposeOperands(uint16_t n, const Shape& shape);
  bool RotaryOperands(uint16_t n, const Shape& shape);
  bool AttentionOperands(uint16_t n, const Shape& shape);
  bool RecurrenceOperands(uint16_t n, const Shape& shape);
  bool ReverseSequenceOperands(uint16_t n, const Shape& shape);
  bool RotaryEmbeddingOperands(uint16_t n, const Shape& shape);
  // Operands whose numbers say extents, axes or counts; planner_run_time_ops.cc.
  // Gives a list, or one number, as an operand. False if it has other numbers already, or if the
  // rule computes it.
  bool Give(const Edge& edge, const std::vector<double>& numbers, DType dtype = DType::kI64,
            bool scalar = false);
  // The numbers that the operand has been given; null if it has none yet.
  const std::vector<double>* GivenTo(const Edge* edge) const;
  // Axes of `rank` for an operand that may be absent (all axes) and that this gives its numbers.
  std::optional<I64s> GiveAxes(const Edge* edge, int rank);
  bool DynamicPadOperands(uint16_t n, const Shape& shape);
  bool DynamicSliceOperands(uint16_t n, const Shape& shape);
  bool DynamicReshapeOperands(uint16_t n, const Shape& shape);
  bool DynamicExpandOperands(uint16_t n, const Shape& shape);
  bool DynamicTileOperands(uint16_t n, const Shape& shape);
  bool DynamicSqueezeOperands(uint16_t n, const Shape& shape);
  bool DynamicUnsqueezeOperands(uint16_t n, const Shape& shape);
  bool DynamicReduceOperands(uint16_t n, const Shape& shape);
  bool DynamicTopKOperands(uint16_t n, const Shape& shape);
  bool DynamicResizeOperands(uint16_t n, const Shape& shape);
  bool CumulateOperands(uint16_t n, const Shape& shape);
  bool RangeOperands(uint16_t n, const Shape& shape);
  bool NonZeroOperand(uint16_t n, const Shape& shape);
  bool UniqueOperand(uint16_t n, int result, const Shape& shape);
  // Gives the variables that a condition wants to be like this one its shape.
  bool ShareShape(uint16_t variable);
  bool CanShrink(const Edge& edge);
  Shape Broadcastable(const Shape& shape, int rank);
  const Edge* Operand(uint16_t n, size_t group) const;
  Edge Through(Edge edge) const;  // past AnyOf, Let, and Each to the operation of its pattern

  // ---- attributes
  AttrValue AttrOf(uint16_t n, std::string_view name, int rank);
  int64_t IntOf(uint16_t n, std::string_view name, int rank) {
    AttrValue value = AttrOf(n, name, rank);
    const int64_t* i = std::get_if<int64_t>(&value);
    return i != nullptr ? *i : 0;
  }
  // The same; `otherwise` where the rule does not mention it.
  int64_t IntOr(uint16_t n, std::string_view name, int64_t otherwise) {
    AttrValue value = AttrOf(n, name, 0);
    const int64_t* i = std::get_if<int64_t>(&value);
    return i != nullptr ? *i : otherwise;
  }
  // A list of integers; empty if the rule says none.
  I64s ListOf(uint16_t n, std::string_view name, int rank) {
    AttrValue value = AttrOf(n, name, rank);
    I64s* list = std::get_if<I64s>(&value);
    return list != nullptr ? std::move(*list) : I64s();
  }
  std::string TextOf(uint16_t n, std::string_view name) {
    AttrValue value = AttrOf(n, name, 0);
    const std::string* s = std::get_if<std::string>(&value);
    return s != nullptr ? *s : "";
  }
  bool FlagOf(uint16_t n, std::string_view name) {
    AttrValue value = AttrOf(n, name, 0);
    const bool* b = std::get_if<bool>(&value);
    return b != nullptr && *b;
  }
  double RandomNumber();                                         // for a constant
  double RandomReal(const OpInfo& info, std::string_view name);  // for an attribute
  void DrawEquation(uint16_t n, size_t rank);
  AttrValue RandomAttr(const OpInfo& info, const AttrDef& def, int rank);
  // The value of a variable; draws one as the first attribute that it stands for is drawn.
  AttrValue ValueOfVariable(uint16_t variable, int rank);
  // A drawn value that fulfils the conditions on this variable and on those drawn before it, or the
  // first one drawn if many tries find none; planner_conditions.cc.
  AttrValue Draw(uint16_t variable, const std::function<AttrValue()>& draw);
  bool FulfilsConditions(uint16_t variable, const AttrValue& value);
  // True for numbers that make sense above 0 only, such as epsilons.
  static bool IsPositiveName(std::string_view name) { return name == "epsilon" || name == "width"; }
  bool IsPositiveAttr(uint16_t variable) const;
  // Gives numbers and extents of the program values for which conditions hold, where drawing them
  // does not. Numbers that decide no shapes and extents only; the other ones are drawn beside them.
  bool SeekNumbers();
  // The same for one attribute variable beside those that are drawn already; `drawn` if there is no
  // such value.
  AttrValue Sought(uint16_t variable, const AttrValue& drawn);
  // What is known at the places of facts_.sought; the rest is drawn, and open.
  SoughtNumbers::Values ValuesOfPlaces(std::vector<bool>& open);
  // The extent of a place. Nothing if it is not planned yet, or not there.
  std::optional<Unknown> ExtentAt(const SoughtNumbers::Place& place);
  // A value of the variable as the first attribute that it stands for is drawn.
  AttrValue DrawOpen(uint16_t variable, int rank);
  // A value of the kind of `drawn` near those that conditions ask for.
  AttrValue NearConditions(const AttrValue& drawn);
  // Returns the value of a computed attribute. Draws variables that are still open, and notes why
  // if there is no value.
  AttrValue Compute(const AttrCode& code, int rank);
  // What is known of the type of a value. A value without a planned shape has `rank` axes, unless
  // its rank is known. `decides`: open extents of a planned shape are decided.
  Type KnownType(const Edge& edge, int rank, bool decides);
  AttrValue ReadCode(const AttrCode& code, const OpInfo& info, int slot, int rank);
  std::optional<int64_t> DimValue(uint16_t code);
  Unknown DimUnknown(uint16_t code);

  void ChooseAlternatives(uint16_t forced_node, int forced_alternative);
  bool ApplyHints();
  // A value of at least `rank` axes gets some more in many programs.
  void HintLeastRank(uint16_t n, int rank);
  // The same for `shape(x) == {1..., N}`, which comes behind them.
  bool ApplyOnes();
  // Finds variables that a condition such as `x == y` wants to be one value.
  void ApplySameValues();
  // Gives attribute variables the literals that the chosen alternatives bind them to.
  bool ApplyLets();
  void HintOneOf(const ConditionCode& condition);
  bool FinishSplits();
  bool FitsMemory();
  bool FinishLeaves(InstancePlan& plan);
  bool FinishSlots(InstancePlan& plan);

  const PlanFacts& facts_;
  const CompiledRule& rule_;
  Context& context_;
  std::mt19937_64& random_;
  // The nodes of the maps live as long as the planner: most of its time would go to the heap.
  std::array<std::byte, 4096> buffer_;
  std::pmr::monotonic_buffer_resource memory_{buffer_.data(), buffer_.size()};
  std::vector<Unknown> parents_;
  std::vector<int64_t> values_;
  std::vector<Unknown> dim_unknowns_;                // by dimension variable
  std::pmr::map<uint16_t, Shape> shapes_{&memory_};  // by node
  struct Split {
    const AttrCode* sizes;
    Unknown whole;  // the extent that is split
  };
  std::pmr::map<uint16_t, Split> splits_{&memory_};  // by node
  std::pmr::map<uint16_t, int> rank_hints_{&memory_}, least_ranks_{&memory_};
  std::vector<std::vector<uint16_t>> alike_;           // variables that are to have one shape
  std::optional<std::pair<uint16_t, uint16_t>> same_;  // variables that are to be one value
  std::pmr::map<uint16_t, DType> dtype_hints_{&memory_};
  struct GivenNumbers {
    std::vector<double> values;
    DType dtype;
  };
  std::pmr::map<uint16_t, GivenNumbers> given_{&memory_};  // leaves that Give has given numbers
  std::pmr::map<uint16_t, int64_t> index_{&memory_};  // indices into a table: how many rows it has
  std::map<uint16_t, AttrValue> attrs_;               // by attribute variable
  std::map<std::pair<uint16_t, int>, AttrValue> any_attrs_;  // kAny: by node and slot
  std::pmr::map<uint16_t, bool> boolean_{&memory_}, positive_{&memory_}, constant_{&memory_};
  std::map<uint16_t, std::vector<uint16_t>> more_of_each_;  // ids of leaves, by Each node
  uint16_t next_id_ = 0;
  std::vector<int> alternatives_;
  AbsentOperands absent_;
  std::vector<uint16_t> live_ops_;  // op nodes in the chosen graph, as visited
  Shape root_shape_;
  std::string why_;
  std::string_view refused_;  // the last op that a demand on its operands failed for
  bool at_run_time_ = false;  // extents of a result follow from numbers of operands
  bool impossible_ = false;
  static constexpr int64_t kMaxElements = 1 << 18;  // of one tensor
  // How this instance is special; most are not.
  bool empty_ = false;    // some extents are 0
  bool sparse_ = false;   // many elements are 0
  bool spread_ = false;   // elements differ in exponents
  bool has_nan_ = false;  // some elements are NaN
  bool masked_ = false;   // some added elements are -inf
  // Operands whose ranks are not known may have more axes than others; -1: not drawn yet.
  int8_t open_ranks_ = -1;
  int more_axes_ = -1;  // than conditions on least ranks ask for; -1: not drawn yet
  double magnitude_ = 2;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_PLANNER_H_
