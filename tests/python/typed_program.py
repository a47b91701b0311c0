"""A program that uses the types of the package: mypy --strict accepts it (stubs_test.py), and it runs (ops_test.py)."""

import numpy as np

import tenon
from tenon import ir, ops

extension = tenon.Extension()
double = extension.op("my.double(x: float) {times: i64 = 2} -> elementwise")


@double.kernel
def run_double(x: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]", *, times: int) -> object:
    return x * np.float32(times)


@tenon.register_pass("typed-neg-of-neg")
def neg_of_neg(root: ir.Operation, context: tenon.PassContext, *, limit: int = 10) -> None:
    """Removes pairs of negations."""
    for op in root.walk():
        if not isinstance(op, ops.ten.Neg) or limit == 0:
            continue
        inner = op.x.owner
        if isinstance(inner, ops.ten.Neg):
            op.replace_with([inner.x])
            context.count("pairs")
            limit -= 1


def build() -> ir.Module:
    module = ir.Module(extension)

    @ir.function(module, x=ir.tensor("f32", ("B", 8)))
    def main(x: ir.Value) -> dict[str, ir.Value]:
        first, second = ops.ten.topk(x, k=[2], axis=-1)
        y: ir.Value = ops.nn.softmax(ops.neg(ops.ten.neg(first)), axis=-1)
        axis: int | None = None
        match y.owner:
            case ops.nn.Softmax(axis=found):
                axis = found
        assert axis == 1
        scaled: ir.Value = double(y, times=3)
        return {"y": scaled, "at": second}

    return module


def main() -> None:
    module = build()
    report = tenon.run_pipeline(module, "typed-neg-of-neg{limit=3},canonicalize")
    counted: dict[str, int] = dict(report.statistics)["typed-neg-of-neg"]
    assert counted == {"pairs": 1}
    outputs = tenon.Model.from_module(module).compile(threads=1)(np.zeros((1, 8), np.float32))
    assert outputs["y"].tolist() == [[1.5, 1.5]]


if __name__ == "__main__":
    main()
