"""What the diagrams of the design pages read from the code. Each function fails loudly when the code says it in another way."""

import glob
import importlib.util
import pathlib
import re


class SourceError(Exception):
    """The code does not say what a picture shows."""


class Sources:
    def __init__(self, root):
        self.root = pathlib.Path(root)

    def text(self, path):
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except OSError as error:
            raise SourceError(f"{path}: {error.strerror} (a diagram names it)") from error

    def only(self, pattern):
        """The path of the one file that matches the pattern."""
        found = sorted(str(path.relative_to(self.root)) for path in self.root.glob(pattern))
        if len(found) != 1:
            raise SourceError(f"{pattern}: {len(found)} files match (a diagram needs one)")
        return found[0]

    def path(self, path, *needles):
        """The path, if it exists and its text has all of the needles, which begin and end at words of it."""
        if not needles:
            if not (self.root / path).exists():
                raise SourceError(f"{path}: does not exist (a diagram names it)")
            return path
        text = self.text(path)
        for needle in needles:
            pattern = (
                (r"(?<!\w)" if needle[0].isalnum() else "") + re.escape(needle) + (r"(?!\w)" if needle[-1].isalnum() else "")
            )
            if re.search(pattern, text) is None:
                raise SourceError(f"{path}: has no '{needle}' (a diagram names it)")
        return path

    def find(self, path, pattern, flags=re.S):
        found = re.search(pattern, self.text(path), flags)
        if found is None:
            raise SourceError(f"{path}: nothing matches {pattern} (a diagram reads it)")
        return found

    def constant(self, path, name):
        """The value of `constexpr … name = …`, for the forms that occur: numbers, shifts, braces and casts."""
        text = self.find(path, rf"\b{name} = ([^;,]+)[;,]").group(1)
        text = re.sub(r"\b(u?int64_t|size_t|int)\{([^}]*)\}", r"\2", text).replace("'", "")
        if not re.fullmatch(r"[\d\s<()*+-]+", text):
            raise SourceError(f"{path}: the value of {name} is '{text}' (expected a number)")
        return eval(text, {"__builtins__": {}})  # digits and operators only

    # ---- layers

    def layers(self):
        """ALLOWED of check_layers.py: layer -> what its files may include."""
        path = self.root / "tools/lint/check_layers.py"
        spec = importlib.util.spec_from_file_location("check_layers_of_root", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.ALLOWED, module.EVERYTHING

    # ---- ir

    def dialects(self):
        """(name, number of operations) of each dialect, by name."""
        result = []
        for path in sorted((self.root / "ir/dialect").glob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            result.append((path.stem, len(re.findall(r"^- (?:op:|\{op:)", text, re.M))))
        return result

    def operation_sizes(self):
        """Bytes of the parts of an operation's allocation, as the headers assert them."""
        value, operand = self.find(
            "ir/core/operation.h", r"sizeof\(ValueImpl\) == (\d+) && sizeof\(OpOperand\) == (\d+)"
        ).groups()
        one = {
            name: self.find("ir/core/operation.cc", rf"sizeof\({name}\) == (\d+)").group(1)
            for name in ("Operation", "BlockOperand", "Attribute")
        }
        region = self.find("ir/core/block.h", r"sizeof\(Region\) == (\d+)").group(1)
        sizes = {
            "result": value,
            "header": one["Operation"],
            "operand": operand,
            "attribute": one["Attribute"],
            "successor": one["BlockOperand"],
            "region": region,
        }
        return {name: int(size) for name, size in sizes.items()}

    def operation_fields(self):
        """The fields of the header: (name, bits), in the order of memory."""
        body = self.find(
            "ir/core/operation.h", r"\n( *const OpInfo\* info_;.*?)\n};\nstatic_assert\(sizeof\(ValueImpl\)"
        ).group(1)
        bits = {
            "const OpInfo*": 64,
            "Block*": 64,
            "Operation*": 64,
            "Location": 32,
            "std::atomic<uint32_t>": 32,
            "uint32_t": 32,
            "uint16_t": 16,
            "uint8_t": 8,
        }
        fields = []
        for line in body.splitlines():
            found = re.match(r"\s*(?:mutable )?((?:const )?[\w:<>]+\*?) (\w+?)_?(?: = [^;:]+)?(?: : (\d+))?;", line)
            if found is None or found.group(1) not in bits:
                raise SourceError(f"ir/core/operation.h: the field '{line.strip()}' is not understood")
            fields.append((found.group(2), int(found.group(3) or bits[found.group(1)])))
        return fields

    def enumerators(self, path, name):
        body = self.find(path, rf"enum class {name}[^{{]*\{{(.*?)\}};").group(1)
        return re.findall(r"\bk(\w+)", re.sub(r"//[^\n]*", "", body))

    # ---- passes and rules

    def pipelines(self):
        """Name -> text of the pipelines that frontends/cpp/pipelines.cc registers."""
        text = self.text("frontends/cpp/pipelines.cc")
        macros = {}

        def joined(pieces):
            """Literals and macros, one after the other, as the preprocessor joins them."""
            return "".join(macros[macro] if macro else piece for piece, macro in re.findall(r'"([^"]*)"|(TENON_\w+)', pieces))

        for name, pieces in re.findall(r"^#define (TENON_\w+) ((?:.*\\\n)*.*)", text, re.M):
            macros[name] = joined(pieces)
        body = self.find("frontends/cpp/pipelines.cc", r"kPipelines\[\] = \{(.*?)\n\};").group(1)
        result = {
            name: joined(pieces)
            for name, pieces in re.findall(r'\{"([\w-]+)",\s*"[^"]*",\s*((?:"[^"]*"|TENON_\w+|\s)+)\}', body)
        }
        if len(result) != len(re.findall(r"^    \{", text, re.M)):
            raise SourceError("frontends/cpp/pipelines.cc: not all pipelines are understood")
        return result

    @staticmethod
    def steps(pipeline):
        """The passes of a pipeline: (name, options)."""
        return re.findall(r"([\w-]+)(?:\{([^}]*)\})?(?:,|$)", pipeline)

    def pass_kind(self, name):
        """rule: applies rewrite rules; run: of the executor; ir: all others."""
        file = f"{name.replace('-', '_')}.cc"
        for path in glob.glob(f"transforms/**/{file}", root_dir=self.root, recursive=True):
            return "rule" if '"transforms/rules/rule_phase.h"' in self.text(path) else "ir"
        if glob.glob(f"executor/**/{file}", root_dir=self.root, recursive=True):
            return "run"
        raise SourceError(f"no file of transforms/ or executor/ is that of the pass '{name}'")

    def families(self):
        """(name, phase, when) in the order of families.def."""
        found = re.findall(
            r'^TENON_RULE_FAMILY\(\w+, "([^"]+)", "([^"]+)", k(\w+), "[^"]+"\)', self.text("patterns/families.def"), re.M
        )
        if len(found) != self.text("patterns/families.def").count("\nTENON_RULE_FAMILY("):
            raise SourceError("patterns/families.def: not all families are understood")
        return found

    def assumptions(self):
        """(enumerator, words) of what a rule may give up."""
        words = dict(re.findall(r'case Assumption::k(\w+):\s*return "([^"]+)"', self.text("drr/rule/condition.cc")))
        return [(name, words[name]) for name in self.enumerators("drr/rule/condition.h", "Assumption") if name != "None"]

    def headroom(self):
        """(dtype or "", exponent): the headroom that drr/check/edges.cc asks for; "" is every other type."""
        body = self.find("drr/check/edges.cc", r"Limits LimitsOf\(DType dtype\) \{(.*?)\n\}").group(1)
        return re.findall(r"(?:case DType::k(\w+)|default):\s*return \{-?\d+, \d+, (\d+), -?\d+\}", body)

    # ---- executor

    def lowered_plan(self, path):
        """The plan that the first case of a golden file records: (buffers, steps, arena bytes). A step is (number, kernel,
        inplace operand or -1, operands, result, bytes, offset or -1, joined operands)."""
        expected = [line[3:] for line in self.text(path).splitlines() if line.startswith("//   %")]
        steps = []
        for line in expected:
            found = re.match(
                r"  %(\w+) = kernel\.call\(([^)]*)\) <\{(?:inplace = (-?\d+) : i64, )?kernel = \"([\w.]+)\", "
                r"offsets = array<i64: (-?\d+)>.*\}>(.*) : \(.*\) -> tensor<([\dx]+)xf32>$",
                line,
            )
            if found is None:
                raise SourceError(f"{path}: '{line}' is not understood")
            result, operands, inplace, kernel, offset, tail, shape = found.groups()
            size = 4
            for extent in shape.split("x"):
                size *= int(extent)
            joined = re.search(r"kernel\.joined = array<i64: ([^>]*)>", tail)
            steps.append(
                {
                    "result": f"%{result}",
                    "operands": operands.split(", "),
                    "inplace": int(inplace or -1),
                    "kernel": kernel,
                    "offset": int(offset),
                    "bytes": size,
                    "joined": [int(i) for i in joined.group(1).split(", ")] if joined else [],
                }
            )
        arena = int(self.find(path, r"kernel\.arena_bytes = (\d+)").group(1))
        returned = self.find(path, r"\n//   func\.return\((%\w+)\)").group(1)
        return steps, returned, arena
