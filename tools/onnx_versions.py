#!/usr/bin/env python3
"""Writes frontends/onnx/export/schema_versions.inc: the versions of ONNX's operators, from the package `onnx`.

    onnx_versions.py [--check]

--check compares instead of writing. Exit status: 0 written or equal; 1 different; 77 the package is not the version below.

A version means the same as the one before if names, defaults and types of all inputs, outputs and attributes are those of before, types
may be more, and the text is the same or REVIEWED names it.
"""

import os
import sys

PACKAGE = "1.23"  # the minor version of `onnx` that the table is from
PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "frontends/onnx/export/schema_versions.inc")

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


def table():
    import onnx.defs
    schemas = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.ml"):
            schemas.setdefault(f"{schema.domain}.{schema.name}".lstrip("."), []).append(schema)
    rows = dict(OF_ONNX_RUNTIME)
    lines = ["// Written by tools/onnx_versions.py. Versions of each operator; \"=\": as the one before, \"!\": deprecated."]
    for name, versions in schemas.items():
        versions.sort(key=lambda schema: schema.since_version)
        marks = []
        for i, schema in enumerate(versions):
            same = i > 0 and means_the_same(versions[i - 1], schema)
            marks.append(f"{schema.since_version}{'!' if schema.deprecated else '=' if same else ''}")
        rows[name] = " ".join(marks)
    lines += [f'{{"{name}", "{versions}"}},' for name, versions in sorted(rows.items())]
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
    if not options:
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(table())
        return 0
    with open(PATH, encoding="utf-8") as file:
        if file.read() == table():
            return 0
    print("frontends/onnx/export/schema_versions.inc differs from the package onnx; run tools/onnx_versions.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
