"""T1 descriptions: what parameters a kernel has, which values they may take, and which of these go together.

A parameter's values are given as the text of a Python list, in practice with ranges and comprehensions, such as
``[32 * i for i in range(1, 32)]``; it is evaluated by this file and not by Python, because files are not to be trusted.

Format: the autotuning community's "FAIR data" schemas, https://github.com/odgaard/TuningSchema.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from polytune.errors import RecordingError, SpaceError
from polytune.lab.files import TextFile
from polytune.lab.json_text import decode, why
from polytune.lab.place import FilePlace, Line, json_list, json_object, text
from polytune.records import dataclass
from polytune.tuner.spaces.condition import Value
from polytune.tuner.spaces.constraint import Constraint
from polytune.tuner.spaces.parameters import Nominal, Ordinal, Parameter, parameter_from_json
from polytune.tuner.spaces.space import Space

_MAX_VALUES = 1 << 16
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, exponent: operator.pow(base, exponent) if abs(exponent) <= 64 else _too_large(),
}


def read_description(file: TextFile) -> Space:
    """The space that a T1 file describes.

    Raises:
        RecordingError: it is no such file, or a value or a condition in it cannot be read.
    """
    try:
        document = decode(file.text)
    except json.JSONDecodeError as error:
        raise Line(file.name, error.lineno).error(why(error)) from None
    described = document.get("ConfigurationSpace") if isinstance(document, dict) else None
    if not isinstance(described, dict) or not isinstance(described.get("TuningParameters"), list):
        raise RecordingError(f"{file.name}: there are no 'TuningParameters', so that this is no T1 description")
    conditions = Field(file.name, "Conditions")
    try:
        parameters = [
            _parameter(entry, Field(file.name, f"TuningParameters.{number}"))
            for number, entry in enumerate(described["TuningParameters"])
        ]
        constraints = [
            _constraint(entry, conditions.at(str(number)))
            for number, entry in enumerate(json_list(described.get("Conditions", []), conditions))
        ]
        return Space(_with_valid_defaults(parameters, constraints), constraints)
    except SpaceError as error:
        raise RecordingError(f"{file.name}: {error}") from None


@dataclass(frozen=True)
class Field(FilePlace):
    """A field of a description, which is small enough to be found without its line."""

    file: str
    path: str

    def __str__(self) -> str:
        return f"{self.file}, field {self.path!r}"

    def at(self, field: str) -> Field:
        return Field(self.file, f"{self.path}.{field}")


def _with_valid_defaults(parameters: list[Parameter], constraints: list[Constraint]) -> list[Parameter]:
    """The parameters with the first defaults that go together, those given before others; files do not see to it.

    Where there are conditions, polytune has written the file, and the defaults are valid.
    """
    if any(parameter.when is not None or not parameter.discrete for parameter in parameters):
        return parameters
    chosen: dict[str, Value] = {}

    def extend(index: int) -> bool:
        if index == len(parameters):
            return True
        parameter = parameters[index]
        levels = parameter.levels  # type: ignore[union-attr]
        for value in (parameter.default, *(level for level in levels if level != parameter.default)):
            chosen[parameter.name] = value
            new = (c for c in constraints if parameter.name in c.names and c.names <= chosen.keys())
            if all(c.holds(chosen) for c in new) and extend(index + 1):
                return True
        del chosen[parameter.name]
        return False

    if not extend(0):
        return parameters
    return [replace(parameter, default=chosen[parameter.name]) for parameter in parameters]  # type: ignore[arg-type]


def _parameter(entry: Any, place: FilePlace) -> Parameter:
    fields = json_object(entry, place)
    if isinstance(fields.get("Parameter"), dict):  # with its kind, range and condition, see `polytune.tuner.spaces.t1`
        return parameter_from_json(fields["Parameter"])
    for name in ("Name", "Values"):
        if name not in fields:
            raise place.error(f"the parameter lacks the field {name!r}")
    name, values = text(fields["Name"], place.at("Name")), fields["Values"]
    values = evaluate_list(values) if isinstance(values, str) else json_list(values, place.at("Values"))
    for value in values:
        if not isinstance(value, (str, int, float)):
            raise place.at("Values").error(f"{value!r} is no value of a parameter; text, numbers, true and false are")
    distinct = tuple(dict.fromkeys(values))
    default: Any = fields.get("Default") if fields.get("Default") in distinct else None
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in distinct):
        return Ordinal(name, tuple(sorted(distinct)), default=default)
    return Nominal(name, distinct, default=default)


def _constraint(entry: Any, place: FilePlace) -> Constraint:
    fields = json_object(entry, place)
    if "Expression" not in fields:
        raise place.error("the condition lacks the field 'Expression'")
    return Constraint(text(fields["Expression"], place.at("Expression")), str(fields.get("Reason") or ""))


def evaluate_list(text: str) -> list[Any]:
    """The list that an expression of literals, arithmetic, ``range`` and comprehensions stands for.

    Raises:
        SpaceError: it is something else, or the list is very long.
    """
    try:
        value = _evaluate(ast.parse(text.strip(), mode="eval").body, {})
    except SyntaxError as error:
        raise SpaceError(f"the values {text!r} are no expression: {error.msg}") from None
    except (ArithmeticError, TypeError, ValueError) as error:
        raise SpaceError(f"the values {text!r} cannot be computed: {error}") from None
    if not isinstance(value, (list, tuple, range)):
        raise SpaceError(f"the values {text!r} are no list")
    return list(value)


def _evaluate(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name) if name in names:
            return names[name]
        case ast.List(elements) | ast.Tuple(elements):
            return [_evaluate(element, names) for element in elements]
        case ast.UnaryOp(ast.USub(), operand):
            return -_evaluate(operand, names)
        case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
            operands = _evaluate(left, names), _evaluate(right, names)
            is_arithmetic = all(isinstance(operand, (int, float)) for operand in operands)
            if is_arithmetic or (isinstance(kind, ast.Add) and all(isinstance(operand, list) for operand in operands)):
                return _limited(_OPERATORS[type(kind)](*operands))
        case ast.Call(ast.Name("range"), arguments, []):
            return _limited(range(*(_evaluate(argument, names) for argument in arguments)))
        case ast.ListComp(element, [ast.comprehension(ast.Name(name), iterated, [], 0)]):
            values = _evaluate(iterated, names)
            if isinstance(values, (list, range)):
                return [_evaluate(element, {**names, name: value}) for value in values]
    raise SpaceError(
        f"{ast.unparse(node)!r} is not allowed in a list of values; literals, arithmetic, range and for are"
    )


def _limited(value: Any) -> Any:
    if isinstance(value, (list, range)) and len(value) > _MAX_VALUES:
        _too_large()
    if isinstance(value, int) and abs(value) >= 1 << 63:
        _too_large()
    return value


def _too_large() -> Any:
    raise SpaceError(f"a parameter has at most {_MAX_VALUES} values, each below 2^63")
