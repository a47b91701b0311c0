#!/usr/bin/env python3
"""Stale and hostile caches of packed weights: weight_cache_test.py IR_RUN.

A model multiplies by a matrix whose elements are all the same number. Each case changes what lies on the disk, and the
result must be that of the files as they are now.
"""

import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from onnx_wire import F32, model, node, tensor, value

IR_RUN = os.path.abspath(sys.argv[1])
SIZE, OLD = 64, 1_000_000_000


def floats(number, count):
    return struct.pack("<f", number) * count


def write(path, content, when=OLD):
    path.write_bytes(content)
    os.utime(path, (when, when))


class WeightCache(unittest.TestCase):
    external = False

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.model, self.data, self.cache = (self.folder / name for name in ("model.onnx", "model.data", "cache"))
        self.check = self.folder / "check"
        self.check.mkdir()
        (self.check / "input_0.pb").write_bytes(tensor("x", F32, (2, SIZE), floats(1, 2 * SIZE)))
        self.write_model(1)
        self.settle()

    @property
    def weights(self):
        return self.data if self.external else self.model

    def write_model(self, number, folder=None):
        raw = floats(number, SIZE * SIZE)
        matrix = (tensor("w", F32, (SIZE, SIZE), external={"location": "model.data"}) if self.external
                  else tensor("w", F32, (SIZE, SIZE), raw))
        content = model([node("MatMul", ["x", "w"], ["y"])], [value("x", F32, (2, SIZE))], [value("y", F32, (2, SIZE))],
                        [matrix])
        write((folder or self.folder) / "model.onnx", content)
        if self.external:
            write((folder or self.folder) / "model.data", raw)

    def settle(self):
        time.sleep(2.1)

    def run_model(self, number, *options, warns=None):
        (self.check / "output_0.pb").write_bytes(tensor("y", F32, (2, SIZE), floats(number * SIZE, 2 * SIZE)))
        result = subprocess.run([IR_RUN, self.model, f"--weight-cache={self.cache}", f"--check={self.check}", *options],
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        if warns is None:
            self.assertNotIn("warning", result.stderr)
        else:
            self.assertIn(warns, result.stderr)

    def files(self, suffix=""):
        return [path for path in self.cache.iterdir() if path.name.endswith(suffix)]

    def warm(self):
        for _ in range(2):
            self.run_model(1)
        self.assertEqual({path.stat().st_mode & 0o777 for path in self.files()}, {0o600})
        self.assertTrue(self.files(".id"))

    def edit(self, number):
        """In place: the same file, of the same size and time."""
        before = self.weights.stat()
        content = self.weights.read_bytes()
        with open(self.weights, "r+b") as file:
            file.write(content.replace(floats(1, SIZE * SIZE), floats(number, SIZE * SIZE)))
        os.utime(self.weights, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = self.weights.stat()
        self.assertEqual((before.st_ino, before.st_size, before.st_mtime_ns),
                         (after.st_ino, after.st_size, after.st_mtime_ns))

    def test_another_file_of_the_same_time(self):
        self.warm()
        other = self.folder / "other"
        other.mkdir()
        self.write_model(2, other)
        os.replace(other / self.weights.name, self.weights)
        self.run_model(2)
        self.settle()
        self.run_model(2)
        self.run_model(2)

    def test_edited_in_place_with_its_time_restored(self):
        self.warm()
        self.edit(3)
        self.run_model(3)
        self.settle()
        self.run_model(3)
        self.run_model(3, "--verify-weights")

    def test_edited_while_young(self):
        self.run_model(1)
        self.edit(4)
        self.run_model(4)

    def test_bits_of_the_cache(self):
        self.warm()
        (path,) = self.files(".weights")
        before, content = path.stat(), bytearray(path.read_bytes())
        for at in (40, 70, 300, len(content) // 2, len(content) - 1000):
            changed = bytearray(content)
            changed[at] ^= 64
            with open(path, "r+b") as file:
                file.write(changed)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
            self.run_model(1, warns="is ignored and replaced")
            self.run_model(1)

    def test_truncated(self):
        self.warm()
        for suffix in (".weights", ".id", ".seal"):
            for length in (0, 1, 50, 95):
                path = min(self.files(suffix))
                os.truncate(path, length)
                self.run_model(1, warns=None if suffix == ".seal" else "is ignored and replaced")

    def test_links_and_fifos(self):
        self.warm()
        for suffix in (".weights", ".id", ".seal"):
            path = min(self.files(suffix))
            moved = self.folder / "moved"
            os.replace(path, moved)
            path.symlink_to(moved)
            self.run_model(1, warns=None if suffix == ".seal" else "is a symbolic link")
            self.assertFalse(path.is_symlink())
            path.unlink()
            os.mkfifo(path)
            self.run_model(1, warns=None if suffix == ".seal" else "is not a regular file")
            self.assertTrue(path.is_file())

    def test_what_others_can_write(self):
        self.warm()
        for mode in (0o620, 0o602, 0o666):
            (path,) = self.files(".weights")
            path.chmod(mode)
            self.run_model(1, warns="can be written by other users")
            self.run_model(1)
        for mode in (0o770, 0o707, 0o777, 0o1777):
            self.cache.chmod(mode)
            self.run_model(1, warns="can be written by other users")
        if os.geteuid() == 0:
            self.cache.chmod(0o700)
            os.chown(self.cache, 12345, 12345)
            self.run_model(1, warns="belongs to another user")


class WeightCacheOfExternalData(WeightCache):
    external = True


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
