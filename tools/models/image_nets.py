#!/usr/bin/env python3
"""Writes image networks with random weights as ONNX models, without PyTorch.

  image_nets.py resnet50|mobilenet_v2|mobilenet_v3_large OUT_DIR [SIZE]

OUT_DIR gets model.onnx and test_data_set_0 with one image of SIZE x SIZE pixels (224). The layers are those of torchvision after
batch normalization has been folded into the convolutions. quantize.py makes models of bytes from the result.
Needs onnx and numpy.
"""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Kernel, expanded channels, channels, squeeze-and-excitation, hard-swish, stride.
V3_LARGE = [
    (3, 16, 16, False, False, 1), (3, 64, 24, False, False, 2), (3, 72, 24, False, False, 1), (5, 72, 40, True, False, 2),
    (5, 120, 40, True, False, 1), (5, 120, 40, True, False, 1), (3, 240, 80, False, True, 2), (3, 200, 80, False, True, 1),
    (3, 184, 80, False, True, 1), (3, 184, 80, False, True, 1), (3, 480, 112, True, True, 1), (3, 672, 112, True, True, 1),
    (5, 672, 160, True, True, 2), (5, 960, 160, True, True, 1), (5, 960, 160, True, True, 1),
]
# Expansion, channels, blocks, stride of the first.
V2 = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class Net:
    """A graph under construction; values are names."""

    def __init__(self):
        self.random = np.random.default_rng(0)
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op, *inputs, **attrs):
        name = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(op, list(inputs), [name], name=f'{op}_{len(self.nodes)}', **attrs))
        return name

    def conv(self, x, channels, filters, kernel=1, stride=1, group=1):
        fan = channels // group * kernel * kernel
        w = self.random.normal(0, (2 / fan) ** 0.5, (filters, channels // group, kernel, kernel)).astype(np.float32)
        b = self.random.normal(0, 0.1, filters).astype(np.float32)
        return self.add('Conv', x, self.constant(w), self.constant(b), kernel_shape=[kernel] * 2, strides=[stride] * 2,
                        pads=[kernel // 2] * 4, group=group)

    def clip(self, x, low, high):
        return self.add('Clip', x, self.constant(np.float32(low)), self.constant(np.float32(high)))

    def relu(self, x):
        return self.add('Relu', x)

    def head(self, x, channels):
        x = self.add('Flatten', self.add('GlobalAveragePool', x))
        w = self.random.normal(0, channels ** -0.5, (1000, channels)).astype(np.float32)
        return self.add('Gemm', x, self.constant(w), self.constant(np.zeros(1000, np.float32)), transB=1)

    def save(self, out, size, result):
        images = helper.make_tensor_value_info('image', TensorProto.FLOAT, [1, 3, size, size])
        scores = helper.make_tensor_value_info(result, TensorProto.FLOAT, [1, 1000])
        graph = helper.make_graph(self.nodes, 'net', [images], [scores], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
        data = out / 'test_data_set_0'
        data.mkdir(parents=True, exist_ok=True)
        onnx.save(onnx.shape_inference.infer_shapes(model), out / 'model.onnx')
        image = self.random.normal(0, 1, (1, 3, size, size)).astype(np.float32)
        (data / 'input_0.pb').write_bytes(numpy_helper.from_array(image, 'image').SerializeToString())


def resnet50(net):
    x = net.add('MaxPool', net.relu(net.conv('image', 3, 64, 7, 2)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            stride = 2 if block == 0 and stage > 0 else 1
            y = net.relu(net.conv(x, channels, width))
            y = net.relu(net.conv(y, width, width, 3, stride))
            y = net.conv(y, width, 4 * width)
            if block == 0:
                x = net.conv(x, channels, 4 * width, 1, stride)
            x = net.relu(net.add('Add', y, x))
            channels = 4 * width
    return net.head(x, channels)


def mobilenet_v2(net):
    x = net.clip(net.conv('image', 3, 32, 3, 2), 0, 6)
    channels = 32
    for expansion, filters, blocks, first in V2:
        for block in range(blocks):
            stride, y, wide = first if block == 0 else 1, x, channels * expansion
            if expansion > 1:
                y = net.clip(net.conv(y, channels, wide), 0, 6)
            y = net.clip(net.conv(y, wide, wide, 3, stride, wide), 0, 6)
            y = net.conv(y, wide, filters)
            x = net.add('Add', x, y) if stride == 1 and channels == filters else y
            channels = filters
    return net.head(net.clip(net.conv(x, channels, 1280), 0, 6), 1280)


def mobilenet_v3_large(net):
    x = net.add('HardSwish', net.conv('image', 3, 16, 3, 2))
    channels = 16
    for kernel, wide, filters, squeeze, hard_swish, stride in V3_LARGE:
        def activate(value, hard_swish=hard_swish):
            return net.add('HardSwish', value) if hard_swish else net.relu(value)
        y = activate(net.conv(x, channels, wide)) if wide != channels else x
        y = activate(net.conv(y, wide, wide, kernel, stride, wide))
        if squeeze:
            few = (wide // 4 + 4) // 8 * 8
            gate = net.relu(net.conv(net.add('GlobalAveragePool', y), wide, few))
            y = net.add('Mul', net.add('HardSigmoid', net.conv(gate, few, wide), alpha=1 / 6, beta=0.5), y)
        y = net.conv(y, wide, filters)
        x = net.add('Add', x, y) if stride == 1 and channels == filters else y
        channels = filters
    x = net.add('HardSwish', net.conv(x, channels, 960))
    return net.head(x, 960)


NETS = {net.__name__: net for net in (resnet50, mobilenet_v2, mobilenet_v3_large)}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in NETS:
        sys.exit(__doc__)
    size = int(sys.argv[3]) if len(sys.argv) == 4 else 224
    net = Net()
    net.save(pathlib.Path(sys.argv[2]), size, NETS[sys.argv[1]](net))


if __name__ == '__main__':
    main()
