#!/usr/bin/env python3
"""The layering lint must be able to fail: each rule on a line that breaks it and one that does not."""

import unittest

import check_layers


def findings(path, text):
    return [message for _, message in check_layers.check_file(path, text)]


class CheckLayersTest(unittest.TestCase):
    def test_edges(self):
        for path, include, good in [
            ("ir/core/a.cc", "ir/core/b.h", True),
            ("ir/core/a.cc", "ir/dialect/b.h", False),
            ("ir/dialect/a.cc", "ir/core/b.h", True),
            ("pass/a.cc", "ir/dialect/b.h", False),
            ("drr/a.cc", "ir/dialect/b.h", False),
            ("patterns/a.cc", "ir/dialect/b.h", True),
            ("patterns/a.cc", "executor/b.h", False),
            ("kernels/cpu/a.cc", "ir/base/dtype.h", True),
            ("kernels/cpu/a.cc", "ir/core/type.h", False),
            ("kernels/cpu/a.cc", "kernels/op_attrs.h", True),
            ("executor/a.cc", "drr/b.h", False),
            ("executor/a.cc", "transforms/b.h", False),
            ("frontends/onnx/a.cc", "executor/b.h", False),
            ("frontends/cpp/a.cc", "executor/b.h", True),
            ("tools/ir-opt/main.cc", "transforms/b.h", True),
        ]:
            with self.subTest(path=path, include=include):
                self.assertEqual(findings(path, f'#include "{include}"\n') == [], good)

    def test_vendor_libraries(self):
        self.assertTrue(findings("ir/core/a.cc", '#include "google/protobuf/message.h"'))
        self.assertTrue(findings("executor/a.cc", '#include "frontends/onnx/onnx.pb.h"'))
        self.assertTrue(findings("transforms/a.cc", "#include <dnnl.hpp>"))
        self.assertFalse(findings("kernels/cpu/a.cc", "#include <dnnl.hpp>"))
        self.assertTrue(findings("tests/ir/a_test.cc", '#include "mlir/IR/Operation.h"'))
        self.assertFalse(findings("tests/bench/mlir_bench.cc", '#include "mlir/IR/Operation.h"'))
        self.assertFalse(findings("ir/core/a.cc", '#include "absl/status/status.h"\n#include <vector>'))

    def test_bans(self):
        for line in [
            "auto* x = dynamic_cast<Foo*>(y);",
            "if (typeid(x) == typeid(y)) {}",
            "#pragma once",
            "static int counter = 0;",
            "static std::map<std::string, int> registry;",
            "thread_local bool busy = false;",
            "inline std::vector<int> all{};",
        ]:
            with self.subTest(line=line):
                self.assertTrue(findings("ir/core/a.cc", line + "\n"))
        for line in [
            "static constexpr int kLimit = 3;",
            "static const char* const kNames[] = {};",
            "static int Count(int x);",
            "static bool Less(const A& a, const B& b) {",
            "inline bool IsSmall(int x) { return x < 3; }",
            "inline T Get() { return T(); }",
            "// dynamic_cast<Foo*> is not used here",
            'fmt::format("#pragma once");',
            "  static const Foo* foo = nullptr;",
        ]:
            with self.subTest(line=line):
                self.assertFalse(findings("ir/core/a.cc", line + "\n"))

    def test_comments_and_strings_do_not_count(self):
        self.assertFalse(findings("ir/core/a.cc", '/*\n#include "drr/rule/rule.h"\n*/\n'))
        self.assertFalse(findings("ir/core/a.cc", 'auto s = R"(\n#include "drr/rule/rule.h"\n)";\n'))
        self.assertTrue(findings("ir/core/a.cc", '// "\n#include "drr/rule/rule.h"\n// "\n'))


if __name__ == "__main__":
    unittest.main()
