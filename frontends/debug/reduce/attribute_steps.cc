// Attributes and the elements of constants.
#include "frontends/debug/reduce/step.h"
#include "ir/core/context/context.h"

namespace tenon::reduce {
namespace {

// An attribute that may be left out: an entry of a dictionary, or a slot.
struct AttributePlace {
  Operation* op;
  int slot;          // -1: the discardable attributes
  Identifier entry;  // null: the slot as a whole
};

bool IsDictionary(Attribute value) { return value && value.kind() == Attribute::Kind::kDictionary; }

void AddEntries(Operation* op, int slot, Attribute dictionary,
                std::vector<AttributePlace>& places) {
  if (!IsDictionary(dictionary)) return;
  for (const NamedAttribute& entry : dictionary.entries()) places.push_back({op, slot, entry.name});
}

Attribute Without(Attribute dictionary, Identifier name) {
  std::vector<NamedAttribute> entries;
  for (const NamedAttribute& entry : dictionary.entries()) {
    if (entry.name != name) entries.push_back(entry);
  }
  return Attribute::Dictionary(dictionary.context(), entries);
}

class DropAttributes : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<AttributePlace> places = Places(edit);
    for (size_t i = first; i < first + count; ++i) {
      const auto [op, slot, entry] = places[i];
      if (slot < 0) {
        op->SetDiscardableAttrs(Without(op->discardable_attrs(), entry));
      } else {
        op->set_slot(slot, entry ? Without(op->slot(slot), entry) : Attribute());
      }
    }
    return true;
  }

 private:
  static std::vector<AttributePlace> Places(const ProgramEdit& edit) {
    std::vector<AttributePlace> places;
    std::vector<Operation*> ops = edit.ops();
    ops.insert(ops.begin(), &edit.module());
    for (Operation* op : ops) {
      AddEntries(op, -1, op->discardable_attrs(), places);
      const OpInfo& info = op->info();
      for (int i = 0; i < static_cast<int>(op->num_slots()); ++i) {
        const Attribute value = op->slot(i);
        if (!info.is_registered()) {
          AddEntries(op, i, value, places);
        } else if (value && value != info.default_value(i) &&
                   (!info.def().attrs[i].required || info.default_value(i))) {
          places.push_back({op, i, Identifier()});
        }
      }
    }
    return places;
  }
};

// Makes all elements of a constant equal to the first one.
class MakeSplats : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t count) const override {
    const std::vector<Operation*> places = Places(edit);
    for (size_t i = first; i < first + count; ++i) {
      const int slot = places[i]->info().constant_slot();
      const Attribute value = places[i]->slot(slot);
      const std::span<const std::byte> bytes = value.raw_bytes();
      places[i]->set_slot(slot, Attribute::Splat(value.context(), value.type(),
                                                 bytes.first(SizeOf(value.type().dtype()))));
    }
    return true;
  }

 private:
  static std::vector<Operation*> Places(const ProgramEdit& edit) {
    std::vector<Operation*> places;
    for (Operation* op : edit.ops()) {
      const int slot = op->info().constant_slot();
      if (slot < 0) continue;
      const Attribute value = op->slot(slot);
      if (value && value.kind() == Attribute::Kind::kElements && !value.is_splat() &&
          value.type().is_tensor() && value.type().num_elements() > 1 &&
          SizeOf(value.type().dtype()) > 0) {
        places.push_back(op);
      }
    }
    return places;
  }
};

}  // namespace

void AddAttributeSteps(Steps& steps) {
  steps.push_back(std::make_unique<DropAttributes>());
  steps.push_back(std::make_unique<MakeSplats>());
}

}  // namespace tenon::reduce
