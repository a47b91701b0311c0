"""The checks. Each takes a Subject and fills in a CheckResult."""

from __future__ import annotations

import numbers
from typing import Any, Callable, Mapping, Sequence

from .. import _core
from ..arrays import adapt
from ..errors import Error
from ..programs import Program, TensorSpec
from . import engines
from .results import CheckResult, Finding, finite, position_of, split_type
from .subject import Case, Skip, Subject, Worst, relative, run, shape_of


def run_check(name: str, subject: Subject) -> CheckResult:
    """Makes one check. Errors of Tenon and of other engines are part of the result."""
    result = CheckResult(name)
    try:
        _CHECKS[name](subject, result)
    except Skip as reason:
        result.status, result.reason = "skipped", str(reason)
    except Error as error:
        result.status, result.reason, result.node = "error", error.message, error.node or ""
    except MemoryError:
        result.status, result.reason = "error", "out of memory"
    except Exception as error:  # of the user's script, or of another engine
        result.status, result.reason = "error", f"{type(error).__name__}: {error}"
    if result.findings:
        result.status = "failed"
    return result


def _check_import(subject: Subject, result: CheckResult) -> None:
    samples = subject.samples
    result.compared = f"the model runs on {_count(len(samples), 'sample')}"
    result.skipped += subject.refused


def _check_data(subject: Subject, result: CheckResult) -> None:
    cases = subject.data_sets
    if subject.draws:
        raise Skip("the model draws random numbers, and its data sets have other ones")
    _compare_with(subject, cases, "the data set", result, f"--check={subject.data_folder}")


def _check_optimize(subject: Subject, result: CheckResult) -> None:
    _compare_with(subject, subject.samples, "the unoptimized program", result)


def _check_onnxruntime(subject: Subject, result: CheckResult) -> None:
    version = engines.onnxruntime_version()
    if version is None:
        raise Skip("ONNX Runtime is not installed")
    if not subject.path.endswith(".onnx"):
        raise Skip("the model is no ONNX file")
    subject.refuse_odd_ports("ONNX Runtime")
    engine = engines.OnnxRuntime(subject.path)
    cases: list[Case] = []
    refusal: Exception | None = None
    for case in subject.samples:
        try:
            cases.append(Case(case.name, case.inputs, engine.run(case.inputs)))
        except Skip:
            raise
        except Exception as error:  # a class of ONNX Runtime
            refusal = error
            result.skipped.append(f"{case.name}: {error}")
    if not cases and refusal is not None:
        raise refusal
    against = f"ONNX Runtime {version}"
    _compare_with(subject, cases, against, result)
    if result.findings and result.findings[0].kind == "import or kernel":
        _name_first_node(subject, engine, result)


def _check_script(subject: Subject, result: CheckResult) -> None:
    if not subject.settings.script:
        raise Skip("no script is given")
    subject.refuse_odd_ports("a script")
    inputs, expected = engines.run_script(subject.settings.script, [spec.name for spec in subject.plain_program.inputs])
    if len(expected) != len(subject.plain_program.outputs):
        raise ValueError(f"the script returns {_count(len(expected), 'output')} (expected "
                         f"{len(subject.plain_program.outputs)}, as the model has)")
    case = Case("the script", inputs, expected)
    _compare_with(subject, [case], subject.settings.script.rpartition("/")[2], result)


def _check_kernels(subject: Subject, result: CheckResult) -> None:
    worst, ops, compared = Worst(), 0, 0
    for state, model in (("as it is", subject.plain), (f"at {_level(subject)}", subject.optimized)):
        report = _core.testing_check_kernels(model._handle, tolerances=subject.tolerances)
        ops += report["ops"]
        compared += report["compared"]
        result.skipped += [f"{_count(count, 'operation')} of the model {state}: {why}"
                           for why, count in report["skipped"].items()]
        for found in report["findings"]:
            finding = _finding("the reference kernel", f"result {found['result']}", found["type"], found["difference"])
            finding.kind, finding.kernel, finding.op = "kernel", found["kernel"], found["op"]
            finding.nodes = list(found["nodes"])
            finding.example, finding.before = found["inputs"], found["program"]
            finding.repeat = subject.repeat_check("kernels")
            result.findings.append(finding)
            worst.add_type(finding.output, found["type"], found["difference"])
    result.findings = _without_repeats(result.findings)
    result.compared = f"{compared} of {_count(ops, 'operation')}"
    result.largest = worst.largest


def _check_passes(subject: Subject, result: CheckResult) -> None:
    if subject.has_text:
        raise Skip("an output is text, which is compared for the whole optimization only")
    cases = subject.few_samples()
    report = _core.testing_check_passes(
        subject.plain._handle, optimize=subject.optimize_options, reference=subject.settings.reference,
        inputs=[case.inputs for case in cases], tolerances=subject.tolerances)
    result.compared = (f"{report['compared']} of {_count(report['changed'], 'pass')} that changed the model, on "
                       f"{_count(len(cases), 'sample')}")
    result.skipped += report["skipped"]
    worst, seen = Worst(), set()
    for found in report["findings"]:
        output = subject.plain_program.outputs[found["output"]].name
        worst.add_type(output, found["type"], found["difference"])
        if (found["pass_entry"], found["output"]) in seen:
            continue
        seen.add((found["pass_entry"], found["output"]))
        finding = _finding("the program before the pass", f"output '{output}'", found["type"], found["difference"])
        finding.case, finding.kind, finding.pass_entry = cases[found["case"]].name, "pass", found["pass_entry"]
        finding.repeat = (subject.command("ir-opt", "--verify-semantics", "-o", "/dev/null")
                          or subject.repeat_check("passes"))
        result.findings.append(finding)
    result.largest = worst.largest
    if result.findings:
        step = _bisect(subject, cases, subject.settings.reference, [])
        for finding in result.findings:
            if step is not None and step["pass_entry"] == finding.pass_entry:
                _take_step(finding, step)


def _check_rules(subject: Subject, result: CheckResult) -> None:
    report = _core.testing_check_steps(
        subject.plain._handle, optimize=subject.optimize_options, reference=subject.settings.reference,
        tolerances=subject.tolerances, programs_per_rule=subject.settings.programs_per_rule)
    programs = sum(report["run"].values())
    result.compared = (f"{_count(len(report['run']), 'rule')} in {_count(programs, 'program')}; the optimization has "
                       f"{_count(report['steps'], 'step')}")
    result.skipped += [f"{name}: no program could be run" for name in report["not_run"]]
    worst = Worst()
    for found in report["findings"]:
        finding = _finding("the operations that the rule replaces", f"result {found['result']}", found["type"],
                           found["difference"])
        _take_step(finding, found)
        finding.repeat = subject.command("ir-bisect", *_reference(subject)) or subject.repeat_check("rules")
        result.findings.append(finding)
        worst.add_type(finding.output, found["type"], found["difference"])
    result.largest = worst.largest


_CHECKS: Mapping[str, Callable[[Subject, CheckResult], None]] = {
    "import": _check_import,
    "data": _check_data,
    "optimize": _check_optimize,
    "onnxruntime": _check_onnxruntime,
    "script": _check_script,
    "kernels": _check_kernels,
    "passes": _check_passes,
    "rules": _check_rules,
}


# ---- comparing programs with right outputs ----------------------------------------------------------------------------

def _compare_with(subject: Subject, cases: Sequence[Case], against: str, result: CheckResult,
                  *repeat_options: str) -> None:
    """Compares the model as it is and the optimized one with the right outputs of the cases, and finds what differs."""
    worst = Worst()
    wrong = _differing(subject, subject.plain_program, cases, against, worst)
    if wrong:
        _blame_unoptimized(subject, cases, wrong)
    else:
        wrong = _differing(subject, subject.optimized_program, cases, against, worst)
        if wrong:
            _blame_optimized(subject, cases, wrong, repeat_options)
    result.findings += wrong
    result.compared = f"{_count(len(subject.plain_program.outputs), 'output')} on {_count(len(cases), 'case')}"
    result.largest = worst.largest


def _differing(subject: Subject, program: Program, cases: Sequence[Case], against: str, worst: Worst) -> list[Finding]:
    """One finding for each output that differs, for the case with the largest difference."""
    found: dict[str, Finding] = {}
    for case in cases:
        outputs = run(program, case.inputs)
        for spec, actual, difference in zip(program.outputs, outputs, subject.compare(outputs, case.expected)):
            worst.add(spec.name, actual.dtype, difference)
            if difference["passed"]:
                continue
            finding = _finding(against, f"output '{spec.name}'", "", difference)
            finding.case, finding.dtype, finding.shape = case.name, actual.dtype, shape_of(actual)
            finding.position = position_of(difference["element"], finding.shape)
            known = found.get(spec.name)
            if known is None or _size(finding) > _size(known):
                found[spec.name] = finding
    return list(found.values())


def _blame_unoptimized(subject: Subject, cases: Sequence[Case], wrong: list[Finding]) -> None:
    """The unoptimized program is wrong: a kernel is if the reference kernels are right."""
    reference = subject.plain.compile(threads=1, reference=True)
    kernel = None
    if not _differing(subject, reference, cases, "", Worst()):
        kernel = _wrong_kernel(subject, optimized=False)
        for finding in wrong:
            finding.kind = "kernel"
    for finding in wrong:
        finding.kind = finding.kind or "import or kernel"
        finding.repeat = subject.repeat_check("kernels")
        if kernel is not None:
            _take_kernel(finding, kernel)


def _blame_optimized(subject: Subject, cases: Sequence[Case], wrong: list[Finding], options: Sequence[str]) -> None:
    """A kernel of the optimized program is wrong if the reference kernels are right; else a step is."""
    reference = subject.optimized.compile(threads=1, reference=True)
    if not _differing(subject, reference, cases, "", Worst()):
        kernel = _wrong_kernel(subject, optimized=True)
        for finding in wrong:
            finding.kind, finding.repeat = "kernel", subject.repeat_check("kernels")
            if kernel is not None:
                _take_kernel(finding, kernel)
        return
    if subject.has_text:
        return
    step = _bisect(subject, cases, False, [case.expected for case in cases])
    for finding in wrong:
        finding.repeat = subject.command("ir-bisect", *options) or subject.repeat_check("optimize")
        if step is not None:
            _take_step(finding, step)


def _wrong_kernel(subject: Subject, optimized: bool) -> dict[str, Any] | None:
    model = subject.optimized if optimized else subject.plain
    report = _core.testing_check_kernels(model._handle, tolerances=subject.tolerances)
    return next(iter(report["findings"]), None)


def _bisect(subject: Subject, cases: Sequence[Case], reference: bool,
            expected: list[list[Any]]) -> dict[str, Any] | None:
    """The step that changes the outputs; None if none is found."""
    try:
        step: dict[str, Any] = _core.testing_bisect(
            subject.plain._handle, optimize=subject.optimize_options, reference=reference,
            inputs=[_tensors(subject.plain_program.inputs, case.inputs) for case in cases],
            expected=[_tensors(subject.plain_program.outputs, outputs) for outputs in expected],
            tolerances=subject.tolerances, reduce=True)
    except Error:
        return None
    return step if step["outcome"] == "step" else None


def _tensors(specs: Sequence[TensorSpec], values: Sequence[Any]) -> list[_core.Tensor]:
    """Values of other engines and scripts as tensors. Lists and numbers get the element type of the port."""
    tensors = []
    for spec, value in zip(specs, values):
        if isinstance(value, (list, tuple, numbers.Number)):
            value = adapt(value, spec.dtype, spec.name)[0]
        tensors.append(value if isinstance(value, _core.Tensor) else _core.Tensor(value))
    return tensors


def _name_first_node(subject: Subject, engine: engines.OnnxRuntime, result: CheckResult) -> None:
    """Compares all values of the model, to find the first node that differs."""
    case = next(case for case in subject.samples if case.name == result.findings[0].case)
    first: Any = _core.testing_first_difference(subject.path, plugins=list(subject.settings.plugins),
                                           op_files=subject.op_files, inputs=case.inputs,
                                           elsewhere=lambda more: engine.run(case.inputs, more),
                                           tolerances=subject.tolerances)
    if first is None:
        return
    for finding in result.findings:
        finding.nodes = [first["node"]]
        finding.op = f"value '{first['value']}' of node '{first['node']}'"
        finding.repeat = subject.command("ir-run", "--compare=onnxruntime")


# ---- making findings --------------------------------------------------------------------------------------------------

def _finding(against: str, output: str, type_text: str, difference: Mapping[str, Any]) -> Finding:
    shape, dtype = split_type(type_text)
    return Finding(against, difference["problem"], output=output, dtype=dtype, shape=shape,
                   max_abs=finite(difference["max_abs"]), max_rel=finite(difference["max_rel"]),
                   position=position_of(difference["element"], shape) if type_text else None)


def _take_step(finding: Finding, step: Mapping[str, Any]) -> None:
    finding.kind, finding.pass_entry, finding.step = step["kind"], step["pass_entry"], step["step"]
    finding.rule = step["name"] if step["kind"] == "rule" else ""
    finding.place, finding.op, finding.nodes = relative(step["place"]), step["op"], list(step["nodes"])
    finding.example, finding.before, finding.after = step["example"], step["before"], step.get("after", "")


def _take_kernel(finding: Finding, kernel: Mapping[str, Any]) -> None:
    finding.kernel, finding.op, finding.example = kernel["kernel"], kernel["op"], kernel["inputs"]
    finding.nodes, finding.before = list(kernel["nodes"]), kernel["program"]


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """An operation that no pass changes is found twice."""
    kept: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.op, finding.kernel), finding)
    return list(kept.values())


def _size(finding: Finding) -> float:
    return float("inf") if finding.max_rel is None else finding.max_rel


def _reference(subject: Subject) -> list[str]:
    return ["--reference"] if subject.settings.reference else []


def _level(subject: Subject) -> str:
    return subject.settings.pipeline or f"-O{subject.settings.opt_level}"


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number} {noun if number == 1 else plural}"
