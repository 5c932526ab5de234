"""Names: what generated text calls its own things, and kernels that call theirs the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from polytune.codegen import module
from polytune.codegen.names import Namespace, names_of
from polytune.errors import ArgumentError
from polytune.frontend.generated_names import MARK, REPORT, generated, plain, without_marks
from polytune.pipeline import Stages
from polytune.runtime.calls.arguments import signature_of
from polytune.runtime.devices import nvrtc
from polytune.runtime.devices.backends import PRELUDES
from polytune.schedule.rewrites import factoring
from tests.codegen.c_programs import compiled
from tests.codegen.names import (
    C_WORDS,
    ISL_WORDS,
    KERNEL,
    NUMBERS,
    ODD,
    ROLES,
    adversarial,
    arguments,
    function_of,
    may_be_a_name,
    wide_arguments,
    wide_kernel,
    words,
)
from tests.fuzz.interpreted import Interpreter
from tests.schedule.kernels import SMALL, Case, polybench_case
from tests.schedule.rewrites.test_factoring import FEW

PLAIN = dict(zip(ROLES, ("n", "s", "X", "Y", "v", "W", "t", "i", "j"), strict=True))

OF_MODULES = frozenset(
    words(
        """ArrayType ScalarType Signature
    Integer Is Nominal Space Version DeviceCode Part Partitioned current_threads keeps_code
    NAME STRICT LOOPS SIGNATURE ARGUMENTS ARRAYS MEMORY WRITTEN INDEXES SCALARS SCRATCH RETURNED RETURNS REPORT ZEROED
    KEPT PARAMETERS VERSIONS PARTITIONED parameters require check check_indexes scratch words result verify compute
    memory space __file__ dict True False None"""
    )
)
"""The words that every module has outside its functions, where no name of a kernel is: those that it is asked for, and
those that it takes to say that."""

OF_COUNTS = ("footprint_", "accesses_", "elements_")
"""The first letters of functions that count for one array each; they are used nowhere in the module."""


def small(name: str) -> Case:
    return SMALL.get(name) or polybench_case(name)


CASES = (*SMALL, "gemm", "lu", "jacobi-2d", "gramschmidt", "floyd-warshall")


@pytest.fixture
def namespaces(monkeypatch) -> list[Namespace]:
    """The namespaces of the modules that are written in a test."""
    made = []

    def recording(scop) -> Namespace:
        made.append(Namespace(names_of(scop)))
        return made[-1]

    monkeypatch.setattr(module, "module_namespace", recording)
    return made


def written(case: Case) -> tuple[str, frozenset[str]]:
    """The module of a case, written now, and the names of its kernel."""
    given = case.arguments()
    stages = Stages(case.function, signature_of(tuple(given), tuple(given.values())))
    text = stages.source
    named = eval(re.search(r"^ARGUMENTS = (.*)$", text, re.M)[1])
    others = [eval(re.search(rf"^{table} = (.*)$", text, re.M)[1]) for table in ("SCRATCH", "PARAMETERS")]
    locals_ = names_of(stages.scop)
    of_kernel = (*named, *others[0], *others[1], *locals_)
    return text, frozenset(of_kernel) - {plain(REPORT)}  # which has a spelling of its own


def names_in(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        match part:
            case ast.Name(name) | ast.arg(name):
                yield name


@pytest.mark.parametrize("name", CASES)
def test_every_name_of_a_module_was_given_out_or_is_the_kernels(name, namespaces):
    text, of_kernel = written(small(name))
    (namespace,) = namespaces
    own = frozenset(namespace.spellings.values())
    assert MARK not in text
    assert not own & of_kernel
    outside: set[str] = set()
    for part in ast.parse(text).body:
        if isinstance(part, ast.FunctionDef) and part.name != "space":
            assert part.name in own or part.name in OF_MODULES or part.name.startswith(OF_COUNTS)
            unknown = {used for inner in part.body for used in names_in(inner)} - own - of_kernel
            unknown |= set(names_in(part.args)) - own - of_kernel
            assert not unknown, f"{part.name} uses {unknown}"
        elif isinstance(part, ast.Import | ast.ImportFrom):
            outside |= {alias.asname or alias.name for alias in part.names}
        else:
            outside |= set(names_in(part)) - {"threads"}
    unknown = outside - own - OF_MODULES
    assert not unknown


def device_names(case: Case) -> Iterator[str]:
    partitioned = case.stages.partitioned
    for part in () if partitioned is None else partitioned.parts:
        text = re.sub(r"//.*|/\*.*?\*/", "", part.text)
        yield from re.findall(r"(?<![\w.])[^\W\d]\w*", text)


def test_no_name_of_device_text_begins_as_those_of_kernels_do():
    seen = 0
    for name in CASES:
        of_kernel = {f"v_{own}" for own in names_of(small(name).stages.scop)}
        for used in device_names(small(name)):
            seen += 1
            extent = re.fullmatch(r"e\d_(.*)", used)
            if used.startswith(("v_", "u_")) or extent:
                assert (extent[1] if extent else used) in of_kernel or re.search("_transposed|_saved|_partial", used)
    assert seen > 1000


def test_names_of_devices_differ_where_names_of_kernels_do():
    from polytune.codegen.device.c_expressions import c_name

    names = [*ODD, "é_", "_é", "e9", "u_e9", "__e9__", "é", "e\u0301x", "ñ", "n_303_", "n\u0303"]
    assert len({c_name(name) for name in names}) == len(set(names))
    assert all(re.fullmatch(r"[vu]_\w*", c_name(name), re.ASCII) for name in names)


def module_of(source: str, names: list[str], values: list[Any]) -> str:
    function = function_of(source)
    assert list(function.__code__.co_varnames[: len(names)]) == names
    return Stages(function, signature_of(tuple(names), tuple(values))).source


def check_versions(source: str, names: list[str], made) -> None:
    """Every version of a kernel against Python, its module interpreted."""
    interpreter = Interpreter(module_of(source, names, made()))
    wanted = made()
    result = function_of(source)(*wanted)
    for nominal in interpreter.space.enumerate_nominal():
        sizes = {name: 2 for name in nominal if name.startswith(("tile_", "outer_", "threads"))}
        got = made()
        found = interpreter.run({**nominal, **sizes}, got, seed=1)
        assert (found is None) == (result is None)
        assert result is None or np.allclose(found, result), nominal
        for value, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(value, other, err_msg=str(nominal))


@pytest.fixture(scope="module")
def awkward() -> list[str]:
    """The list of names: of all modules of the cases, of languages, and odd ones."""
    plain = module_of(KERNEL.format(**PLAIN), [PLAIN[role] for role in ROLES[:5]], arguments())
    return adversarial([plain, *(small(name).stages.source for name in CASES)])


PIECES = 6


@pytest.mark.parametrize("piece", range(PIECES))
def test_kernels_may_use_every_name_that_generated_code_has(piece, awkward):
    """As an array, a number, a loop variable or a variable."""
    assert len(awkward) > 300 and {"workers", "worker", "claim", "context", "np", "c0", "int", "ß"} <= set(awkward)
    ordered, size = sorted(awkward, key=lambda name: (hash_of(name), name)), 4 * NUMBERS
    for first in range(piece * size, len(ordered), PIECES * size):
        names = ordered[first : first + size]
        names += [f"spare_{number}" for number in range(size - len(names))]
        check_versions(wide_kernel(names), names[: size // 2], wide_arguments)


def hash_of(name: str) -> int:
    """A number that is the same in every process."""
    return sum(ord(letter) * 31**place % 9973 for place, letter in enumerate(name))


OF_VERSIONS = words("""
workers worker claim complete wait context base total task rest wave first claimed turn piece element enter leave
pieces complete_all tile_0 outer_0 lower_0 upper_0 count_0 step_0 begin_0 end_0 sum_from_0 c0 c1 l0 u0 t0 r0 m0 s0 a0 b0
view attach integer number local_array keep_alive one_by_one greatest least quotient remainder np math range abs max
njit OPTIONS CACHE ArgumentError boxes scratch_W W_private W_copy W_copies W_points t_shared t_sums v_added v_sums X_0
X_shape_1 parameters check words result compute memory space run_source packed_0_0 strip_0_0 row column load store
""")


@pytest.mark.parametrize("first", range(4))
def test_every_version_of_a_kernel_with_the_names_of_versions(first):
    """The same for a kernel with copies and sums of workers, register tiles and code for devices."""
    for number in range(first, len(OF_VERSIONS), 4 * len(ROLES)):
        chosen = [OF_VERSIONS[(number + 4 * k) % len(OF_VERSIONS)] for k in range(len(ROLES))]
        names = dict(zip(ROLES, chosen, strict=True))
        check_versions(KERNEL.format(**names), [names[role] for role in ROLES[:5]], arguments)


WORDS = [word for word in C_WORDS if may_be_a_name(word)]


@pytest.mark.parametrize(
    "chosen",
    [
        WORDS[:9],
        WORDS[20:29],
        ["变量", "ñ_é", "ß", "_", "__", "min", "max", "x·y", "λ"],
        ISL_WORDS[:9],
        [*ODD[:8], "PT_GLOBAL"],
    ],
    ids=["C", "more C", "letters", "isl", "underscores"],
)
def test_device_text_with_words_of_its_language_compiles(chosen, monkeypatch):
    monkeypatch.setattr(factoring, "COUNTS", FEW)  # shared memory has room for what so many partial sums read
    if nvrtc._library() is None:
        pytest.skip(f"there is no NVRTC: {nvrtc.INSTALL}")
    names = dict(zip(ROLES, chosen, strict=True))
    source = KERNEL.format(**names)
    given = [names[role] for role in ROLES[:5]]
    stages = Stages(function_of(source), signature_of(tuple(given), tuple(arguments())))
    macros = "".join(
        f"#define {name} {value}\n"
        for name, value in {
            **{f"BLOCK_{axis}": 8 for axis in "XYZ"},
            **{f"POINTS_{axis}": 2 for axis in "XYZ"},
            **{"DEPTH": 8, "SHARED": 1, "UNROLLED_TILE": "", "UNROLLED_COPY": ""},
        }.items()
    )
    partitioned = stages.partitioned
    assert partitioned is not None
    texts = [part.text for part in partitioned.parts if part.kernel is not None]
    assert texts
    for text in texts:
        nvrtc.compile(PRELUDES["cuda"] + macros + text, "sm_90", nvrtc.options(contract=False))


def test_c_text_with_words_of_its_language_compiles(tmp_path):
    words = [word for word in (*C_WORDS, *ODD[:-2]) if may_be_a_name(word)]
    half = 2 * NUMBERS
    for number in range(0, len(words) - 2 * half, half):
        names = words[number : number + 2 * half]
        function, wanted, got = function_of(wide_kernel(names)), wide_arguments(), wide_arguments()
        scop = Stages(function, signature_of(tuple(names[:half]), tuple(got))).scop
        folder = tmp_path / str(number)
        folder.mkdir()
        compiled({"a": scop}, {"a": names[:half]}, folder)["a"](*got)
        function(*wanted)
        for value, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(value, other)


def test_extent_in_an_error_is_the_arrays_and_not_an_argument_of_that_name():
    def kernel(A_shape_0, A, B):
        for i in range(A_shape_0):
            A[2 * i] = B[i]

    names, given = ("A_shape_0", "A", "B"), (3, np.zeros(5), np.zeros(3))
    interpreter = Interpreter(Stages(kernel, signature_of(names, given)).source)
    configuration = dict(next(iter(interpreter.space.enumerate_nominal())))
    interpreter.run(configuration, given, seed=0)
    with pytest.raises(ArgumentError, match=r"goes past the end of axis 0, for shape \(4,\), A_shape_0 = 3"):
        interpreter.run(configuration, (3, np.zeros(4), np.zeros(3)), seed=0)


def test_each_generated_name_has_one_spelling_of_its_own():
    namespace = Namespace({"worker", "A_copy"}, {"int"})
    text = "$worker = $A$copy + A_copy[worker] + $int + $A_copy + $worker"
    assert namespace.finish(text) == "worker_ = A_copy_ + A_copy[worker] + int_ + A_copy__ + worker_"
    assert generated("A", "copy") == "$A$copy"
    assert without_marks("x = $c0 + $é·$copy") == "x = c0 + é·_copy"
    assert set(namespace.spellings) == {"$worker", "$A$copy", "$int", "$A_copy"}


def test_place_of_a_kernel_may_have_any_name():
    """Braces and dollars in the path of a file are text, in a module's heading and in its messages."""
    folder = 'work {in} $progress "2\\'
    function = function_of("def kernel(A, n):\n    for i in LOOP(n):\n        A[i] = i\n", folder)
    text = Stages(function, signature_of(("A", "n"), (np.zeros(3), 2))).source
    interpreter = Interpreter(text)
    configuration = dict(next(iter(interpreter.space.enumerate_nominal())))
    with pytest.raises(ArgumentError) as caught:
        interpreter.run(configuration, (np.zeros(3), 4), seed=0)
    assert f"{folder}:3" in str(caught.value)
    assert "for shape (3,), n = 4" in str(caught.value)
    assert folder in str(ast.get_docstring(ast.parse(text)))
