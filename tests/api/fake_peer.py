"""Stands in for peer.py of ir-bench: an engine whose only operation changes the sign of float32 inputs.

FAKE_PEER in the environment: "wrong" leaves the sign; "fails" refuses the model; "ends" stops at the first run.
"""

import array
import json
import os
import socket
import struct
import sys

_, _, engine, model, folder, threads, device = sys.argv
stream = socket.socket(fileno=3)
requests = stream.makefile('r', encoding='utf-8')
behaviour = os.environ.get('FAKE_PEER', '')


def reply(**fields):
  stream.sendall((json.dumps(fields) + '\n').encode())


def negate(source, target):
  with open(source, 'rb') as file:
    data = file.read()
  start = 10 + struct.unpack('<H', data[8:10])[0]
  values = array.array('f', data[start:])
  if behaviour != 'wrong':
    values = array.array('f', [-value for value in values])
  with open(target, 'wb') as file:
    file.write(data[:start] + values.tobytes())


if behaviour == 'fails':
  reply(error='this model is not to its taste')
  sys.exit()
with open(os.path.join(folder, 'inputs.json'), encoding='utf-8') as file:
  inputs = json.load(file)
reply(ready=True, version=f'{engine}-{threads}', load_ms=1.5)
for line in requests:
  request = json.loads(line)
  if behaviour == 'ends':
    sys.exit()
  if 'run' in request:
    reply(ms=[0.25] * request['run'], memory_mb=7)
    continue
  files = []
  for index, entry in enumerate(inputs):
    files.append(os.path.join(folder, f'out{index}.npy'))
    negate(entry['file'], files[-1])
  reply(files=files)
