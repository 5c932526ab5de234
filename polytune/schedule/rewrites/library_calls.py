"""Statements that are products of matrices by the library, and what is left of those that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from itertools import count
from typing import Any

import islpy as isl

from polytune.frontend.expression import (
    MATRIX_PRODUCT,
    ArrayPart,
    Assign,
    Binary,
    Constant,
    Counter,
    Element,
    Expression,
    Iterator,
    LibraryCall,
    Unary,
    map_children,
)
from polytune.frontend.generated_names import REPORT, generated
from polytune.frontend.polyhedral.boxes import box_of, hull_of
from polytune.frontend.scop import Access, AccessKind, Array, ArrayRole, Scop, Statement
from polytune.records import dataclass
from polytune.schedule.candidate import Origin
from polytune.schedule.rewrites.matrix_products import AxisRange, MatrixProduct
from polytune.schedule.unions import joined
from polytune.signature import ArrayType


@dataclass(frozen=True)
class Nest:
    """A product, and the statement that fills its target with zeros right before, with the ranges of its iterators;
    None where there is none."""

    product: MatrixProduct
    zeros: Statement | None
    zeros_ranges: tuple[AxisRange, AxisRange] | None

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements that are in one piece, in order."""
        return (*([] if self.zeros is None else [self.zeros]), self.product.statement)


class Calls:
    """The statements in place of products: calls, and what adds to the target what those give."""

    def __init__(self, scop: Scop):
        self.scop = scop
        self.taken = {array.name for array in scop.arrays} | {name for name, _ in scop.signature.arguments}
        self.taken |= {parameter.name for parameter in scop.parameters}
        self.taken |= {statement.name for statement in scop.statements}
        self.replaced: set[str] = set()
        self.calls: list[Statement] = []
        self.after: list[Statement] = []
        self.arrays: list[Array] = []
        self.stands_for: list[isl.Map] = []

    def kernel(self, schedule: isl.Schedule) -> Scop:
        """The kernel with the calls, in an order."""
        kept = tuple(each for each in self.scop.statements if each.name not in self.replaced)
        arrays = (*self.scop.arrays, *self.arrays)
        if all(array.role is not ArrayRole.REPORT for array in arrays):
            arrays = (*arrays, Array(REPORT, "int64", ArrayRole.REPORT, zeroed=True))
        return replace(self.scop, statements=(*kept, *self.calls, *self.after), arrays=arrays, schedule=schedule)

    def origin(self) -> Origin:
        """``{ S[x] -> S[x] }`` for statements that are kept, ``{ P[] -> S[x] }`` for calls."""
        kept = (each.domain.identity() for each in self.scop.statements if each.name not in self.replaced)
        relation = joined(map(isl.UnionMap.from_map, (*kept, *self.stands_for)), self.scop)
        return Origin(
            self.scop,
            relation,
            copies=frozenset(each.name for each in self.after),
            whole=frozenset(each.name for each in self.calls),
        )

    def of(self, nest: Nest) -> list[Statement]:
        """The statements in place of a product."""
        product = nest.product
        self.replaced |= {each.name for each in nest.statements}
        if nest.zeros is not None and nest.zeros_ranges is not None:
            rows, columns = nest.zeros_ranges
            (target,) = (op.target for op in nest.zeros.operations if isinstance(op, Assign))
            call = self.call(nest, target, written_by(nest.zeros), rows, columns)
            scaled = self.scaled(product, product.target)
            after = [] if scaled == product.target else [self.update(product, scaled, ())]
        else:
            array, read = self.apart(product)
            whole = box_of(hull_of(read.relation.range())).set_tuple_name(array.array)
            call = self.call(nest, array, whole, product.rows, product.columns)
            operator = "-" if product.subtracts else "+"
            value = self.scaled(replace(product, subtracts=False), array)
            after = [self.update(product, Binary(operator, product.target, value, array.dtype), (read,))]
        self.calls.append(call)
        self.after += after
        return [call, *after]

    def call(self, nest: Nest, result: Element, written: isl.Set, rows: AxisRange, columns: AxisRange) -> Statement:
        """The statement ``P[]: result = A @ B``, which reads what the product does.

        Args:
            nest: the product.
            result: an element of where it goes, whose subscripts have the iterators of two ranges.
            written: ``[p] -> { C[a] }``, all of these elements.
            rows, columns: the ranges of its rows and columns.
        """
        product = nest.product
        statement = product.statement
        name = self.new_name("P")
        domain = _single(reduce(isl.Set.union, (each.domain.params() for each in nest.statements)), name)
        self.stands_for += [isl.Map.from_domain_and_range(domain, each.domain) for each in nest.statements]
        whole = isl.Map.from_domain_and_range(domain, written)
        accesses = [Access(f"{name}_0", name, result.array, AccessKind.MUST_WRITE, whole, statement.location)]
        instances = isl.Map.from_domain_and_range(statement.domain, domain)
        for access in statement.accesses:
            if access.array in (product.left.array, product.right.array):
                relation = access.relation.apply_domain(instances)
                reference = f"{name}_{len(accesses)}"
                accesses.append(Access(reference, name, access.array, AccessKind.READ, relation, access.location))
        parts = (
            self.part(result, rows, columns),
            self.part(product.left, product.rows, product.inner),
            self.part(product.right, product.inner, product.columns),
        )
        operation = LibraryCall(MATRIX_PRODUCT, parts[:1], parts[1:], Element(REPORT, (), "int64"))
        location, text = statement.location, f"all at once: {statement.text}"
        return Statement(name, (), domain, (operation,), tuple(accesses), None, location, text)

    def part(self, element: Element, *ranges: AxisRange) -> ArrayPart:
        """The elements of an array while the iterators in its subscripts go through their ranges."""
        counters = tuple(Counter(self.new_name(generated("counter", each.iterator))) for each in ranges)
        values: dict[str, Expression] = {}
        for each, counter in zip(ranges, counters, strict=True):
            is_zero = each.low == Constant(0, "int64")
            values[each.iterator] = counter if is_zero else Binary("+", each.low, counter, "int64")
        extents = [each.extent for each in ranges]
        for place, each in enumerate(ranges):
            if not each.has_extent:
                extents[place] = Binary("max", Constant(0, "int64"), each.extent, "int64")
        return ArrayPart(_with_values(element, values), counters, tuple(extents))

    def apart(self, product: MatrixProduct) -> tuple[Element, Access]:
        """An element of a new array for what a product gives, which lies as its target does, and the access to it by
        the statement that adds it to the target."""
        name = self.new_name(f"{product.target.array}_product")
        ranges = self.in_memory(product)
        shape = tuple(_end(each) for each in ranges)
        location = product.statement.location
        self.arrays.append(Array(name, product.target.dtype, ArrayRole.LOCAL, shape, location=location))
        element = Element(name, tuple(Iterator(each.iterator) for each in ranges), product.target.dtype)
        domain = self.elements(product).range()
        same = isl.Map.identity(domain.get_space().map_from_set()).intersect_domain(domain)
        relation = same.set_tuple_name(isl.dim_type.out, name)
        return element, Access("", "", name, AccessKind.READ, relation, location)

    def in_memory(self, product: MatrixProduct) -> tuple[AxisRange, AxisRange]:
        """The ranges of rows and columns, the one last along which elements of the target lie next to one another."""
        kind = dict(self.scop.signature.arguments).get(product.target.array)
        is_by_columns = isinstance(kind, ArrayType) and kind.layout == "F"
        return (product.columns, product.rows) if is_by_columns else (product.rows, product.columns)

    def elements(self, product: MatrixProduct) -> isl.Map:
        """``{ S[i, j, k] -> [i, j] }``, one instance of a statement after the product for each element."""
        statement = product.statement
        places = [statement.iterators.index(each.iterator) for each in self.in_memory(product)]
        text = f"{{ [x0, x1, x2] -> [x{places[0]}, x{places[1]}] }}"
        projection = isl.Map.read_from_str(statement.domain.get_ctx(), text)
        projection = projection.set_tuple_name(isl.dim_type.in_, statement.name)
        return projection.intersect_domain(statement.domain)

    def scaled(self, product: MatrixProduct, value: Expression) -> Expression:
        """A value times the factors of a product, less than zero where that is taken away."""
        factors = (*product.factors, value)
        found = reduce(lambda left, right: Binary("*", left, right, product.target.dtype), factors)
        return Unary("-", found, product.target.dtype) if product.subtracts else found

    def update(self, product: MatrixProduct, value: Expression, reads: tuple[Access, ...]) -> Statement:
        """The statement ``Q[i, j]`` that gives each element of the target a value.

        Args:
            product: the product, whose instances have updated it.
            value: of the target's element, of numbers and of what is read besides.
            reads: the accesses to that, of the statement's own instances.
        """
        statement, name = product.statement, self.new_name("Q")
        elements = self.elements(product).set_tuple_name(isl.dim_type.out, name)
        accesses: list[Access] = []
        for access in (*reads, *statement.accesses):
            if access.array in (product.left.array, product.right.array):
                continue
            if access in reads:
                relation = access.relation.set_tuple_name(isl.dim_type.in_, name)
            else:
                relation = access.relation.apply_domain(elements)
            reference = f"{name}_{len(accesses)}"
            accesses.append(replace(access, reference=reference, statement=name, relation=relation))
        iterators = tuple(each.iterator for each in self.in_memory(product))
        domain, location = elements.range(), statement.location
        operations = (Assign(product.target, value),)
        text = f"what is left of: {statement.text}"
        return Statement(name, iterators, domain, operations, tuple(accesses), None, location, text)

    def new_name(self, beginning: str) -> str:
        """A name that nothing has yet."""
        name = next(name for number in count() if (name := f"{beginning}{number}") not in self.taken)
        self.taken.add(name)
        return name


def _single(parameters: isl.Set, name: str) -> isl.Set:
    """``[p] -> { P[] }`` for some values of the parameters."""
    return isl.Set.from_params(parameters).set_tuple_name(name)


def _end(values: AxisRange) -> Expression:
    """The end of a range, which is behind its last value; none below zero."""
    is_zero = values.low == Constant(0, "int64")
    end = values.extent if is_zero else Binary("+", values.low, values.extent, "int64")
    return end if values.has_extent else Binary("max", Constant(0, "int64"), end, "int64")


def _with_values(node: Any, values: Mapping[str, Expression]) -> Any:
    """An expression with some of its iterators replaced."""
    if isinstance(node, Iterator):
        return values.get(node.name, node)
    return map_children(node, lambda child: _with_values(child, values))


def written_by(statement: Statement) -> isl.Set:
    """The elements that a statement with one write gives values."""
    (write,) = (access for access in statement.accesses if access.is_write)
    return write.relation.range()
