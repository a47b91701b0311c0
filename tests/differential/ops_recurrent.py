"""Recurrent layers."""

import numpy as np

from case import make


def recurrent(op, gates):
    def generate(r):
        steps, batch, width, hidden = r.int(1, 6), r.int(1, 4), r.int(1, 8), r.int(1, 20)
        direction = r.pick(("forward", "reverse", "bidirectional"))
        ways = 2 if direction == "bidirectional" else 1
        attributes = {"hidden_size": hidden, **r.subset(direction=direction)}
        if "direction" not in attributes:
            ways = 1
        if op == "GRU":
            attributes.update(r.subset(linear_before_reset=r.int(0, 1)))
        if op == "RNN" and r.chance(0.5):
            attributes["activations"] = [r.pick(("Tanh", "Relu", "Sigmoid")) for _ in range(ways)]
        lengths = r.array([batch], np.int32, 0, steps + 1) if r.chance(0.4) else None
        inputs = [
            r.array([steps, batch, width]),
            r.array([ways, gates * hidden, width]),
            r.array([ways, gates * hidden, hidden]) * np.float32(0.3),
            r.array([ways, 2 * gates * hidden]) if r.chance(0.7) else None,
            lengths,
            r.array([ways, batch, hidden]) if r.chance(0.5) else None,
        ]
        if op == "LSTM":
            inputs.append(r.array([ways, batch, hidden]) if r.chance(0.5) else None)
            inputs.append(r.array([ways, 3 * hidden]) if r.chance(0.3) else None)
        outputs = ["y0", "y1", "y2"] if op == "LSTM" else ["y0", "y1"]
        return make(r, op, inputs, attributes, outputs=outputs, opset=r.pick((14, 22)), constants=(1, 2, 3, 7))

    return generate


GENERATORS = {"LSTM": recurrent("LSTM", 4), "GRU": recurrent("GRU", 3), "RNN": recurrent("RNN", 1)}
