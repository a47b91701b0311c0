#include "ir/serialize/body_reader.h"

#include "fmt/format.h"

namespace tenon::binary {

bool BodyReader::Read(const ByteReader& body) {
  in_ = body;
  values_.resize(in_.Count());
  if (!in_.ok()) return Damaged("more values than bytes");
  if (!ReadOp(nullptr, 0)) return false;
  if (!in_.AtEnd()) return Damaged("bytes behind the program");
  if (next_value_ != values_.size()) return Damaged("fewer values than the program says");
  for (const Forward& use : forward_) use.op->set_operand(use.operand, values_[use.value]);
  return true;
}

bool BodyReader::ReadNames(const ByteReader& names) {
  in_ = names;
  if (in_.AtEnd()) return true;  // a file without the section
  uint64_t number = 0;
  const uint64_t count = in_.Count(2);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t distance = in_.Varint();
    if (number >= values_.size() || distance >= values_.size() - number)
      return Damaged("a name of a value that is not there");
    number += distance;
    std::string_view name;
    if (!tables_.String(in_, name)) return false;
    values_[number].set_name(name);
  }
  return (in_.ok() && in_.AtEnd()) || Damaged("the names do not fill their section");
}

bool BodyReader::Define(Value value) {
  if (next_value_ == values_.size()) return Damaged("more values than the program says");
  values_[next_value_++] = value;
  return true;
}

bool BodyReader::AttributeAt(Attribute& attribute) {
  const uint64_t index = in_.Varint();
  if (index >= tables_.attributes.size()) return Damaged("there is no attribute of this number");
  attribute = tables_.attributes[index];
  return index == 0 || failure_.Spend(tables_.attribute_extents[index].parts);
}

bool BodyReader::ReadTypesOf(const OpForm& form) {
  types_.resize(form.results);
  for (Type& type : types_) {
    const uint64_t index = in_.Varint();
    if (index >= tables_.types.size()) return Damaged("there is no type of this number");
    type = tables_.types[index];
    if (!failure_.Spend(tables_.type_extents[index].parts)) return false;
  }
  return true;
}

bool BodyReader::ReadOperands(const OpForm& form) {
  operands_.resize(form.operands);
  forward_operands_.clear();
  for (uint32_t i = 0; i < form.operands; ++i) {
    const auto number = next_value_ - static_cast<uint64_t>(in_.Signed());
    if (number >= values_.size()) return Damaged("there is no value of this number");
    operands_[i] = values_[number];  // null if it is not defined yet
    if (number >= next_value_) [[unlikely]]
      forward_operands_.emplace_back(i, number);
  }
  return true;
}

bool BodyReader::ReadSuccessors(const OpForm& form, Block* into) {
  successors_.clear();
  if (form.successors == 0) return true;
  for (uint32_t i = 0; i < form.successors; ++i) {
    const uint64_t number = in_.Varint();
    if (into == nullptr || number >= region_blocks_.size())
      return Damaged("there is no block of this number");
    successors_.push_back(region_blocks_[number]);
  }
  return true;
}

bool BodyReader::ReadSlots(const OpForm& form, Location location) {
  const OpName& name = tables_.names[form.name];
  if (!name.same) {
    if (!ReadOtherSlots(name, location)) return false;
  } else {
    slots_.resize(name.file_slots());
    for (Attribute& slot : slots_) {
      if (!AttributeAt(slot)) return false;
    }
    if (!name.has_slots && slots_[0] && slots_[0].kind() != Attribute::Kind::kDictionary)
      return Damaged("properties that are no dictionary");
  }
  discardable_ = Attribute();
  if (!form.has_discardable) return true;
  if (!AttributeAt(discardable_)) return false;
  if (!discardable_ || discardable_.kind() != Attribute::Kind::kDictionary)
    return Damaged("attributes that are no dictionary");
  return !name.info->is_registered() || MoveToSlots(name);
}

// Attributes by name: the file and the Context know different ones, or only one of them knows any.
bool BodyReader::ReadOtherSlots(const OpName& name, Location location) {
  const OpInfo& info = *name.info;
  std::vector<NamedAttribute> entries;
  for (unsigned i = 0; i < name.file_slots(); ++i) {
    Attribute value;
    if (!AttributeAt(value)) return false;
    if (!value) continue;
    if (name.has_slots) {
      entries.push_back({failure_.context().Intern(name.slot_names[i]), value});
    } else if (value.kind() == Attribute::Kind::kDictionary) {
      entries.assign(value.entries().begin(), value.entries().end());
    } else {
      return Damaged("properties that are no dictionary");
    }
  }
  if (!info.is_registered()) {
    slots_ = {entries.empty() ? Attribute() : Attribute::Dictionary(failure_.context(), entries)};
    return true;
  }
  slots_.assign(static_cast<size_t>(info.num_slots()), Attribute());
  for (const NamedAttribute& entry : entries) {
    const int slot = info.FindSlot(entry.name);
    if (slot < 0) {
      return failure_.TellAt(location, fmt::format("op '{}' has no attribute '{}', which the file "
                                                   "gives it",
                                                   info.name(), entry.name.str()));
    }
    slots_[static_cast<size_t>(slot)] = entry.value;
  }
  return true;
}

// An attribute that belongs to the definition by now.
bool BodyReader::MoveToSlots(const OpName& name) {
  std::vector<NamedAttribute> kept;
  for (const NamedAttribute& entry : discardable_.entries()) {
    const int slot = name.info->FindSlot(entry.name);
    if (slot < 0) {
      kept.push_back(entry);
    } else if (slots_[static_cast<size_t>(slot)]) {
      return Damaged("an attribute that is given twice");
    } else {
      slots_[static_cast<size_t>(slot)] = entry.value;
    }
  }
  if (kept.size() == discardable_.entries().size()) return true;
  discardable_ = Attribute::Dictionary(failure_.context(), kept);
  return true;
}

bool BodyReader::ReadOp(Block* into, int64_t depth) {
  const uint64_t number = in_.Varint();
  if (number >= tables_.forms.size()) return Damaged("there is no form of an op of this number");
  const OpForm& form = tables_.forms[number];
  if (form.least_bytes > in_.left()) return Damaged("an op is cut off");
  const uint64_t at = in_.Varint();
  if (at >= tables_.locations.size()) return Damaged("there is no location of this number");
  const Location location = tables_.locations[at];
  if (!failure_.Spend(tables_.location_extents[at].parts)) return false;
  if (!ReadTypesOf(form) || !ReadOperands(form) || !ReadSuccessors(form, into) ||
      !ReadSlots(form, location))
    return false;
  if (!in_.ok()) return Damaged("an op is cut off");
  const OpInfo& info = *tables_.names[form.name].info;
  Operation* const op =
      Operation::Create(info, location, types_, operands_, slots_, successors_, form.regions);
  if (into != nullptr) {
    into->Append(op);
  } else {
    module_.reset(op);
    if (op->name() != "builtin.module" || form.operands + form.successors > 0)
      return Damaged("a program that is no module");
  }
  if (discardable_) op->SetDiscardableAttrs(discardable_);
  for (const auto& [operand, value] : forward_operands_) forward_.push_back({op, operand, value});
  for (unsigned i = 0; i < form.results; ++i) {
    if (!Define(op->result(i))) return false;
  }
  for (unsigned i = 0; i < form.regions; ++i) {
    if (!ReadRegion(op->region(i), depth + 1)) return false;
  }
  return true;
}

bool BodyReader::ReadRegion(Region& region, int64_t depth) {
  if (!failure_.CheckDepth(depth)) return false;
  std::vector<Block*> blocks(in_.Count(2));
  if (!in_.ok()) return Damaged("a region is cut off");
  for (Block*& block : blocks) block = region.AddBlock();
  std::vector<Block*> outer = std::exchange(region_blocks_, blocks);
  for (Block* const block : blocks) {
    if (!ReadBlock(*block, depth)) return false;
  }
  region_blocks_ = std::move(outer);
  return true;
}

bool BodyReader::ReadBlock(Block& block, int64_t depth) {
  const uint64_t arguments = in_.Count(2);
  for (uint64_t i = 0; i < arguments; ++i) {
    const uint64_t type = in_.Varint(), at = in_.Varint();
    if (type >= tables_.types.size() || at >= tables_.locations.size())
      return Damaged("there is no type or location of this number");
    if (!failure_.Spend(tables_.type_extents[type].parts) ||
        !Define(block.AddArgument(tables_.types[type], tables_.locations[at])))
      return false;
  }
  const uint64_t ops = in_.Count(2);
  if (!in_.ok()) return Damaged("a block is cut off");
  for (uint64_t i = 0; i < ops; ++i) {
    if (!ReadOp(&block, depth)) return false;
  }
  return true;
}

}  // namespace tenon::binary
