"""The loop IR as text, for people: ``polytune inspect --show loops``, and the texts that tests keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from polytune.codegen.loops import Block, Compute, For, If, Let, Node, Prefetch, Program, RegionCall, RegionCode, Store
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.vectors.expressions import VectorExpression
from polytune.codegen.vectors.source import vector_text
from polytune.frontend.expression import (
    ArrayPart,
    Assign,
    Branch,
    Break,
    Checked,
    Continue,
    Element,
    Expression,
    LibraryCall,
    Loop,
    Operation,
    While,
)
from polytune.frontend.generated_names import without_marks


def programs_text(programs: Sequence[Program]) -> str:
    """Every version: the skeleton, then the regions."""
    writer = SourceWriter()
    for program in programs:
        _write_program(writer, program)
    return without_marks(writer.text()).rstrip("\n")


def _write_program(writer: SourceWriter, program: Program) -> None:
    if program.outer:
        factors = " x ".join(map(str, program.outer))
        writer.line(f"version {program.name}: {program.shares} in outer tiles of {factors} tiles")
        return
    with writer.indented(f"version {program.name}:"):
        writer.line(f"recipe: {program.recipe}")
        if program.tiles:
            writer.line(f"tiles to start from: {' x '.join(map(str, program.tiles))}")
        with writer.indented("skeleton:"):
            _write_node(writer, program.skeleton)
        for region in program.regions:
            _write_region(writer, region)


def _write_region(writer: SourceWriter, region: RegionCode) -> None:
    window = ", ".join(f"{low} <= . < {high}" for low, high in region.windows)
    with writer.indented(f"region {region.index}, {region.kind}, tile {window or 'none'}:"):
        for number, member in enumerate(region.members):
            how = "shared out" if number < region.shared else "inside a tile"
            writer.line(f"member {number}: {_text(member.lower)} <= . < {_text(member.upper)}, {how}")
        for what, arrays in (
            ("a copy for each worker", region.private - region.local - region.expanded),
            ("a copy for each point", region.expanded),
            ("variables of a tile", region.local),
        ):
            if arrays:
                writer.line(f"{what}: {', '.join(sorted(arrays))}")
        for own in region.sums:
            bounds = own.elements
            which = "" if bounds is None else f"[{_text(bounds.lower)} <= . < {_text(bounds.upper)}]"
            writer.line(f"a copy for each worker to add up in: {own.array}{which}, by {own.operator}")
        for buffer in region.buffers:
            tile = " x ".join(f"tile {member}" for member in buffer.members)
            writer.line(f"buffer {buffer.name}: {buffer.dtype}, {tile}")
        for strip in region.strips:
            writer.line(f"strip {strip.name}: {strip.dtype}, {' x '.join(map(_text, strip.shape))}")
        if region.descends:
            writer.line("tiles from the last to the first")
        _write_node(writer, region.body)


def _write_node(writer: SourceWriter, node: Node) -> None:
    match node:
        case Block(children):
            for child in children:
                _write_node(writer, child)
        case For(variable, start, stop, step, body, ending):
            by = f" by {step}" if step != 1 else ""
            with writer.indented(f"for {variable} from {_text(start)} to {_text(stop)}{by}:"):
                if ending is not None:
                    writer.line(f"end if {_text(ending.condition)}")
                _write_node(writer, body)
        case If(condition, then, otherwise):
            with writer.indented(f"if {_text(condition)}:"):
                _write_node(writer, then)
            if otherwise is not None:
                with writer.indented("else:"):
                    _write_node(writer, otherwise)
        case Compute(statement, operations):
            for operation in operations:
                _write_operation(writer, f"{statement}: ", operation)
        case Let(name, value):
            writer.line(f"{name} = {_text(value)}")
        case Store(element, value, mask, apart):
            far = f" by {apart.step} along axis {apart.axis}" if apart else ""
            writer.line(f"{_text(element)}{far} = {_text(value)}{f' where {mask}' if mask else ''}")
        case Prefetch(element):
            writer.line(f"prefetch {_text(element)}")
        case RegionCall(region, prefix):
            writer.line(f"region {region} ({', '.join(map(_text, prefix))})")
        case _:
            assert_never(node)


def _write_operation(writer: SourceWriter, about: str, operation: Operation) -> None:
    match operation:
        case Assign(target, value):
            writer.line(f"{about}{_text(target)} = {_text(value)}")
        case Branch(condition, then, otherwise):
            _write_body(writer, f"{about}if {_text(condition)}:", then)
            if otherwise:
                _write_body(writer, "else:", otherwise)
        case While(condition, body):
            _write_body(writer, f"{about}while {_text(condition)}:", body)
        case Loop(counter, start, stop, step, body):
            by = f" by {step}" if step != 1 else ""
            _write_body(writer, f"{about}for {counter} from {_text(start)} to {_text(stop)}{by}:", body)
        case Break():
            writer.line(f"{about}break")
        case Continue():
            writer.line(f"{about}continue")
        case Checked(violation, report, site, body):
            with writer.indented(f"{about}if {_text(violation)}:"):
                writer.line(f"{_text(report)} = {site}")
            if body:
                _write_body(writer, "else:", body)
        case LibraryCall(function, results, arguments):
            sides = [", ".join(map(_part_text, parts)) for parts in (results, arguments)]
            if function.startswith("def "):  # the whole text of a loop, which is in the source
                function = function[len("def ") : function.index("(")]
            writer.line(f"{about}{sides[0]} = {function}({sides[1]})")
        case _:
            assert_never(operation)


def _write_body(writer: SourceWriter, heading: str, body: Sequence[Operation]) -> None:
    with writer.indented(heading):
        for operation in body:
            _write_operation(writer, "", operation)


def _part_text(part: ArrayPart) -> str:
    ranges = (f"{c.name} < {_text(extent)}" for c, extent in zip(part.counters, part.extents, strict=True))
    return f"{_text(part.element)} ({', '.join(ranges)})"


def _text(node: Expression | VectorExpression) -> str:
    return expression_text(node, _AsInTheSource().text)


class _AsInTheSource:
    """Elements as the source has them."""

    def text(self, node: Element | VectorExpression) -> str:
        if not isinstance(node, Element):
            return vector_text(node, self)
        return f"{node.array}[{', '.join(self.subscripts(node))}]" if node.subscripts else node.array

    def array(self, element: Element) -> str:
        return element.array

    def subscripts(self, element: Element) -> list[str]:
        return [_text(subscript) for subscript in element.subscripts]
