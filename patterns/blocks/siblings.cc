// Linear layers and convolutions of one tensor, with constant weights, as one product whose columns
// or channels are split. Two become one, and more join them. Copies of the parts cost what the
// product saves, so the pipelines leave this family out; `fuse{rules=siblings}` applies it.
#include <string>

#include "patterns/activations/activations.h"

namespace tenon::pattern {
namespace {

// An activation of products.
struct Activated {
  AttrArg<std::string> name = Attr<std::string>("activation");
  AttrArg<float> alpha = Attr<float>("alpha"), beta = Attr<float>("beta");
};

// Linear layers of one tensor with one activation.
struct Linears {
  bool transposed = false, biased = false;
  Val x{"x"};
  Activated activated{};
  Attr<bool> first_stored{"transpose"}, second_stored{"other_transpose"};

  const char* op() const { return "fused.linear"; }
  int64_t weight_axis() const { return transposed ? 0 : 1; }
  AttrArg<int64_t> part_axis() const { return RankOf(x) - 1; }
  Val Of(const Val& w, const OptVal& b) const { return Stored(transposed, w, b, activated); }
  // With another activation, and a matrix that is stored in its own way.
  Val First(const Val& w, const OptVal& b, const Activated& by) const {
    return Stored(first_stored, w, b, by);
  }
  Val Second(const Val& w, const OptVal& b, const Activated& by) const {
    return Stored(second_stored, w, b, by);
  }
  Val Stored(const AttrArg<bool>& transpose, const Val& w, const OptVal& b,
             const Activated& by) const {
    return fused::Linear(
        x, w, b, {},
        {.transpose_w = transpose, .activation = by.name, .alpha = by.alpha, .beta = by.beta});
  }
  // Weights whose columns may stand side by side.
  Condition Fit(const Val& w, const Val& v) const {
    return FollowsFromConstants(w) && FollowsFromConstants(v);
  }
};

// Convolutions of one tensor with one geometry, and with one activation if they are of `fused`.
struct Convs {
  bool fused = false, biased = false;
  Val x{"x"};
  Attr<I64s> strides{"strides"}, pads{"pads"}, dilations{"dilations"};
  Attr<std::string> auto_pad{"auto_pad"}, layout{"layout"};
  Activated activated{};

  const char* op() const { return fused ? "fused.conv" : "nn.conv"; }
  int64_t weight_axis() const { return 0; }
  AttrArg<int64_t> part_axis() const {
    return Choose(Compare(layout, "==", "nhwc"), RankOf(x) - 1, 1);
  }
  Val Of(const Val& w, const OptVal& b) const {
    return fused ? First(w, b, activated)
                 : nn::Conv(x, w, b,
                            {.strides = strides,
                             .pads = pads,
                             .dilations = dilations,
                             .auto_pad = auto_pad,
                             .layout = layout});
  }
  // With another activation.
  Val First(const Val& w, const OptVal& b, const Activated& by) const {
    return fused::Conv(x, w, b, {},
                       {.strides = strides,
                        .pads = pads,
                        .dilations = dilations,
                        .auto_pad = auto_pad,
                        .activation = by.name,
                        .alpha = by.alpha,
                        .beta = by.beta,
                        .layout = layout});
  }
  Val Second(const Val& w, const OptVal& b, const Activated& by) const { return First(w, b, by); }
  Condition Fit(const Val& w, const Val& v) const {
    return FollowsFromConstants(w) && FollowsFromConstants(v) &&
           If("the filters have one size", Drop(ShapeOf(w), 1) == Drop(ShapeOf(v), 1));
  }
};

// Two products of one tensor, or groups of them, and the one that they become.
template <typename Kind>
struct Pair {
  Kind kind;
  Val w{"w"}, v{"v"}, b{"b"}, c{"c"};

  Val first() const { return kind.Of(w, kind.biased ? OptVal(b) : OptVal()); }
  Val second() const { return kind.Of(v, kind.biased ? OptVal(c) : OptVal()); }
  Val Joined(const AttrArg<Dims>& sizes) const {
    const OptVal bias = kind.biased ? OptVal(Concat({b, c}, {.axis = 0})) : OptVal();
    return Parts(kind.Of(Concat({w, v}, {.axis = kind.weight_axis()}), bias), sizes);
  }
  Val Parts(const Val& product, const AttrArg<Dims>& sizes) const {
    return Split(product, {.axis = kind.part_axis(), .sizes = sizes});
  }
  Term WidthOf(const Val& weights) const { return ExtentOf(weights, kind.weight_axis()); }
  Rule Make(Rule rule, const char* summary) const {
    return std::move(rule)
        .Summary(summary)
        .Where(kind.Fit(w, v))
        .Where(kind.biased ? FollowsFromConstants(b) && FollowsFromConstants(c) : Condition())
        .Lowers(OpsOf({kind.op()}))
        .RequireKernel();
  }
};

template <typename Kind>
Rule Two(const std::string& name, const Kind& kind, const char* file = __builtin_FILE(),
         int line = __builtin_LINE()) {
  const Pair<Kind> p{.kind = kind};
  Val parts = p.Joined(Term(ListOf({p.WidthOf(p.w), p.WidthOf(p.v)})));
  return p.Make(
      Rule(name, file, line).Match({p.first(), p.second()}).Replace({parts, parts.result(1)}),
      "two products of one tensor as one");
}

template <typename Kind>
Rule More(const std::string& name, const Kind& kind, const char* file = __builtin_FILE(),
          int line = __builtin_LINE()) {
  const Pair<Kind> p{.kind = kind};
  Attr<Dims> sizes("sizes");
  Val before = p.Parts(p.second(), sizes);
  Val parts = p.Joined(Term(ListOf({p.WidthOf(p.w), Spread(sizes)})));
  return p.Make(Rule(name, file, line)
                    .Match({p.first(), before.Rest(0)})
                    .Replace({parts, parts.Rest(1)})
                    .Benefit(1),
                "one more product of a tensor joins others");
}

template <typename Kind>
Rule Groups(const std::string& name, const Kind& kind, const char* file = __builtin_FILE(),
            int line = __builtin_LINE()) {
  const Pair<Kind> p{.kind = kind};
  Attr<Dims> sizes("sizes"), others("others");
  Val first = p.Parts(p.first(), sizes), second = p.Parts(p.second(), others);
  Val parts = p.Joined(Term(ListOf({Spread(sizes), Spread(others)})));
  return p.Make(Rule(name, file, line)
                    .Match({first, first.Rest(1), second.Rest(0)})
                    .Replace({parts, parts.Rest(1), parts.Rest(1)})
                    .Benefit(1),
                "two groups of products of one tensor as one");
}

// A product without a bias gets zeros where its sibling has a bias.
template <typename Kind>
Rule WithZeros(const std::string& name, const Kind& kind, const char* file = __builtin_FILE(),
               int line = __builtin_LINE()) {
  const Pair<Kind> p{.kind = kind};
  // A negative zero and a number make that number.
  Val zeros = Expand(Splat(-0.0), {.shape = ListOf({p.WidthOf(p.w)})});
  return Rule(name, file, line)
      .Summary("a product without a bias beside one that has a bias")
      .Match({kind.Of(p.w, {}), kind.Of(p.v, p.c)})
      .Where(kind.Fit(p.w, p.v) && FollowsFromConstants(p.c))
      .Replace({kind.Of(p.w, zeros), kind.Of(p.v, p.c)})
      .Benefit(2)
      .Lowers(OpsOf({MeasuredOp(kind.op()).With("operands", 2)}))
      .RequireKernel();
}

Rule Untransposed(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Linears plain;
  Linears transposed = plain;
  transposed.transposed = true;
  Val w("w"), v("v"), b("b"), c("c");
  return Rule("siblings-transposed", file, line)
      .Summary("a matrix that is stored transposed beside one that is not")
      .Match({transposed.Of(w, Maybe(b)), plain.Of(v, Maybe(c))})
      .Where(plain.Fit(w, v))
      .Replace({plain.Of(Transpose(w, {.perm = {1, 0}}), b), plain.Of(v, c)})
      .Benefit(2)
      .Lowers(OpsOf({MeasuredOp("fused.linear").With("transpose_w", 1)}))
      .RequireKernel();
}

// An activation that a sibling does not have becomes an operation behind the product.
template <typename Kind>
Rule Bare(const std::string& name, const FusedActivation& activation, const Kind& kind,
          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Pair<Kind> p{.kind = kind};
  const Attr<float> alpha("alpha"), beta("beta");
  const Activated none{.name = "none", .alpha = 0, .beta = 0};
  // Parameters that the activation does not have may be anything.
  Activated own{.name = activation.name, .alpha = kAny, .beta = kAny};
  if (activation.parameters > 0) own.alpha = alpha;
  if (activation.parameters > 1) own.beta = beta;
  const Attr<std::string> other("other");
  const Activated others{
      .name = other, .alpha = Attr<float>("other_alpha"), .beta = Attr<float>("other_beta")};
  return Rule(name + activation.name, file, line)
      .Summary("a product beside one with another activation")
      .Match({kind.First(p.w, Maybe(p.b), own), kind.Second(p.v, Maybe(p.c), others)})
      .Where(kind.Fit(p.w, p.v) &&
             If("the activations differ", !(Term(other) == Term(activation.name))))
      .Replace(
          {activation.made(kind.First(p.w, p.b, none), alpha, beta), kind.Second(p.v, p.c, others)})
      .Benefit(2)
      .Lowers(OpsOf({MeasuredOp(kind.op()).With("activation", std::string(activation.name))}))
      .RequireKernel();
}

// A convolution without an activation gets the form of its sibling, which has one.
Rule PlainConv(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const Convs plain;
  Convs activated = plain;
  activated.fused = true;
  const Pair<Convs> p;
  const Activated none{.name = "none", .alpha = 0, .beta = 0};
  return Rule("siblings-conv-plain", file, line)
      .Summary("a convolution beside one with an activation")
      .Match({plain.Of(p.w, Maybe(p.b)), activated.Of(p.v, Maybe(p.c))})
      .Where(plain.Fit(p.w, p.v))
      .Replace({activated.First(p.w, p.b, none), activated.Of(p.v, p.c)})
      .Benefit(2)
      .Lowers(OpsOf({"nn.conv"}))
      .RequireKernel();
}

template <typename Kind>
void AddJoining(RuleSet& rules, std::string name, Kind kind) {
  rules.push_back(WithZeros(name + "-zeros", kind));
  for (const bool biased : {false, true}) {
    kind.biased = biased;
    if (biased) name += "-bias";
    rules.push_back(Two(name, kind));
    rules.push_back(More(name + "-more", kind));
    rules.push_back(Groups(name + "-groups", kind));
  }
}

}  // namespace

RuleSet SiblingsRules() {
  RuleSet rules;
  for (const FusedActivation& activation : FusedActivations()) {
    rules.push_back(Bare("siblings-bare-", activation, Linears{}));
    rules.push_back(Bare("siblings-bare-conv-", activation, Convs{.fused = true}));
  }
  rules.push_back(PlainConv());
  rules.push_back(Untransposed());
  AddJoining(rules, "siblings-linear", Linears{});
  AddJoining(rules, "siblings-linear-transposed", Linears{.transposed = true});
  AddJoining(rules, "siblings-conv", Convs{});
  AddJoining(rules, "siblings-conv-activation", Convs{.fused = true});
  return rules;
}

}  // namespace tenon::pattern
