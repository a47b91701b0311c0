#!/usr/bin/env python3
"""Writes tables of ONNX's operators from the package `onnx`, into frontends/onnx/export.

    onnx_versions.py [--check]

--check compares instead of writing. Exit status: 0 written or equal; 1 different; 77 the package is not the version below.

schema_versions.inc: which versions mean the same. A version means the same as the one before if names, defaults and types of all inputs,
outputs and attributes are those of before, types may be more, and the text is the same or REVIEWED names it.

node_forms.inc: what a node of each version may have, from the oldest opset that export-onnx writes: attributes, inputs, element types.
"""

import os
import sys

PACKAGE = "1.23"  # the minor version of `onnx` that the table is from
FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "frontends/onnx/export")
OLDEST = 13  # kOldestOpset (export_onnx.h)

# Versions whose text differs from the one before, but says the same or allows more: spelling, format, negative axes, more types.
REVIEWED = {
    "Abs": [13], "Add": [14], "ArgMax": [11, 13], "ArgMin": [11, 13], "BatchNormalization": [15], "Ceil": [13], "Clip": [13],
    "Compress": [11], "Concat": [11], "DepthToSpace": [13], "Div": [14], "Dropout": [22], "Flatten": [11], "Floor": [13],
    "Gather": [11, 13], "GatherElements": [13], "GatherND": [13], "Gemm": [13], "If": [11], "LRN": [13], "LSTM": [22],
    "Loop": [13, 16], "MeanVarianceNormalization": [13], "Mul": [14], "NegativeLogLikelihoodLoss": [13],
    "NonMaxSuppression": [11], "OneHot": [11], "OptionalGetElement": [18], "Pad": [13, 19], "Pow": [13],
    "QuantizeLinear": [24, 25], "ReduceL1": [11, 13], "ReduceL2": [11, 13], "ReduceLogSum": [11, 13],
    "ReduceLogSumExp": [11, 13], "ReduceMax": [11, 12, 13, 20], "ReduceMean": [11, 13], "ReduceMin": [11, 12, 13, 20],
    "ReduceProd": [11, 13], "ReduceSum": [11], "ReduceSumSquare": [11, 13], "Scan": [11], "ScatterElements": [18],
    "ScatterND": [18], "Slice": [11, 13], "SoftmaxCrossEntropyLoss": [13], "Split": [11], "Squeeze": [11, 23], "Sub": [14],
    "Transpose": [21, 25], "Unsqueeze": [11, 23],
}

# Operators that ONNX Runtime has in ONNX's domain, and ONNX has not.
OF_ONNX_RUNTIME = {"SimplifiedLayerNormalization": "1"}


def words(text):
    return " ".join((text or "").split())


def form(schema):
    """What a node of the operator may be, but for types."""
    formals = [(x.name, str(x.option), x.is_homogeneous, x.min_arity) for x in (*schema.inputs, *schema.outputs)]
    attributes = [(name, str(a.type), a.required, a.default_value.SerializeToString())
                  for name, a in sorted(schema.attributes.items())]
    return (len(schema.inputs), schema.min_input, schema.max_input, schema.min_output, schema.max_output, formals, attributes)


def text(schema):
    return [words(schema.doc), *(words(a.description) for _, a in sorted(schema.attributes.items())),
            *(words(x.description) for x in (*schema.inputs, *schema.outputs))]


def means_the_same(before, after):
    if form(before) != form(after):
        return False
    types = [(set(x.types), set(y.types)) for x, y in zip((*before.inputs, *before.outputs), (*after.inputs, *after.outputs))]
    if not all(x <= y for x, y in types):
        return False
    return text(before) == text(after) or after.since_version in REVIEWED.get(after.name, [])


def histories():
    """The versions of each operator, oldest first."""
    import onnx.defs
    schemas = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            schemas.setdefault(f"{schema.domain}.{schema.name}".lstrip("."), []).append(schema)
    for versions in schemas.values():
        versions.sort(key=lambda schema: schema.since_version)
    return schemas


def versions_table(schemas):
    rows = dict(OF_ONNX_RUNTIME)
    lines = ["// Written by tools/onnx_versions.py. Versions of each operator; \"=\": as the one before, \"!\": deprecated."]
    for name, versions in schemas.items():
        marks = []
        for i, schema in enumerate(versions):
            same = i > 0 and means_the_same(versions[i - 1], schema)
            marks.append(f"{schema.since_version}{'!' if schema.deprecated else '=' if same else ''}")
        rows[name] = " ".join(marks)
    lines += [f'{{"{name}", "{versions}"}},' for name, versions in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def formal_of(formal, variables):
    """Variable and element types of an input or output, such as "B3f0e": a letter for each variable, bits of TensorProto's types."""
    import onnx
    bits = 0
    for name in formal.types:
        if name.startswith("tensor("):
            inner = name[len("tensor("):-1].upper()
            bits |= 1 << onnx.TensorProto.DataType.Value({"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE"}.get(inner, inner))
    letter = variables.setdefault(formal.type_str, chr(ord("A") + len(variables))) if formal.is_homogeneous else "_"
    variadic = "*" if formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic else ""
    return f"{letter}{bits:x}{variadic}"


def form_row(name, schema):
    variables = {}
    inputs = " ".join(formal_of(x, variables) for x in schema.inputs)
    outputs = " ".join(formal_of(x, variables) for x in schema.outputs)
    return f'"{" ".join(sorted(schema.attributes))}", "{inputs}", "{outputs}"'


def forms_table(schemas):
    lines = ["// Written by tools/onnx_versions.py. An operator, its version, its attributes, inputs and outputs (node_forms.cc)."]
    for name, versions in sorted(schemas.items()):
        if "." in name:
            continue
        before = ""
        for schema, after in zip(versions, (*versions[1:], None)):
            if after is not None and after.since_version <= OLDEST:
                continue
            row = '"!", "", ""' if schema.deprecated else form_row(name, schema)
            if row != before:
                lines.append(f'{{"{name}", {schema.since_version}, {row}}},')
            before = row
    return "\n".join(lines) + "\n"


def main(options):
    if options not in ([], ["--check"]):
        sys.exit(__doc__)
    try:
        import onnx
        found = getattr(onnx, "__version__", "absent")  # a folder of that name is a package without one
    except ImportError:
        found = "absent"
    if not found.startswith(PACKAGE + "."):
        print(f"the package onnx is {found} (expected {PACKAGE})")
        return 77
    schemas, status = histories(), 0
    for name, text_of in (("schema_versions.inc", versions_table), ("node_forms.inc", forms_table)):
        path = os.path.join(FOLDER, name)
        if not options:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text_of(schemas))
            continue
        with open(path, encoding="utf-8") as file:
            if file.read() != text_of(schemas):
                print(f"frontends/onnx/export/{name} differs from the package onnx; run tools/onnx_versions.py")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
