#!/usr/bin/env python3
"""Quantises a model by the tools of ONNX Runtime.

  quantize.py dynamic|qdq|qoperator MODEL_DIR OUT_DIR

MODEL_DIR has model.onnx and test_data_set_M, as export.py writes them; OUT_DIR gets model.onnx, of which weights are signed bytes,
and copies of the inputs, without expected outputs: what bytes make of random weights is compared with ONNX Runtime in the run.
  dynamic    what is multiplied is quantised in the run (DynamicQuantizeLinear, MatMulInteger)
  qdq        by ranges that the inputs gave, with a scale for each column: pairs of QuantizeLinear and DequantizeLinear
  qoperator  by such ranges: QLinearMatMul, QLinearConv and the like
Needs onnx and onnxruntime.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import onnx
from onnx import numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process


class Inputs(quantization.CalibrationDataReader):
    """The data sets beside the model."""

    def __init__(self, model, folder):
        names = [value.name for value in onnx.load(model, load_external_data=False).graph.input]
        self.sets = iter([
            {name: numpy_helper.to_array(onnx.load_tensor(data / f'input_{i}.pb')) for i, name in enumerate(names)}
            for data in sorted(folder.glob('test_data_set_*'))
        ])

    def get_next(self):
        return next(self.sets, None)


def quantize(kind, source, folder, target):
    with tempfile.TemporaryDirectory() as scratch:
        prepared = os.path.join(scratch, 'prepared.onnx')
        quant_pre_process(source, prepared, skip_symbolic_shape=True)
        if kind == 'dynamic':
            return quantization.quantize_dynamic(prepared, target, weight_type=quantization.QuantType.QInt8)
        form = quantization.QuantFormat.QDQ if kind == 'qdq' else quantization.QuantFormat.QOperator
        quantization.quantize_static(
            prepared, target, Inputs(source, folder), quant_format=form, per_channel=kind == 'qdq',
            activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ('dynamic', 'qdq', 'qoperator'):
        sys.exit(__doc__)
    kind, folder, out = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    quantize(kind, str(folder / 'model.onnx'), folder, str(out / 'model.onnx'))
    for data in sorted(folder.glob('test_data_set_*')):
        (out / data.name).mkdir(exist_ok=True)
        for file in data.glob('input_*.pb'):
            shutil.copy(file, out / data.name / file.name)


if __name__ == '__main__':
    main()
