"""A program as Numba source: per region a body, per version a worker and the function that runs a team of them."""

from __future__ import annotations

from polytune.codegen.loops import Block, Compute, For, If, Node, Program, RegionCall, RegionCode
from polytune.codegen.python_expressions import expression_text
from polytune.codegen.source_writer import SourceWriter
from polytune.codegen.storage import Storage, body_parameters, private_name, storage_of, used_in
from polytune.frontend.expression import Assign, Branch, Element, Operation, While
from polytune.frontend.scop import ArrayRole, Scop


def write_version(writer: SourceWriter, program: Program, scop: Scop) -> None:
    """Write all functions of one version; the last is ``run_<version>``, the only one that is called from Python.

    Its parameters: the number of workers, the team's state, then what ``Storage.everything`` lists, then one tile size per
    tiled member.
    """
    _VersionWriter(writer, program, scop).write()


class _VersionWriter:
    def __init__(self, writer: SourceWriter, program: Program, scop: Scop):
        self.writer, self.program, self.scop = writer, program, scop
        self.storage: Storage = storage_of(scop)
        self.sizes = tuple(f"$tile_{member}" for member in range(program.tile_depth))
        self.copies = frozenset().union(*(self.worker_copies(region) for region in program.regions))

    def worker_copies(self, region: RegionCode) -> frozenset[str]:
        """The arrays and scalars of which each worker needs a copy in memory for a region."""
        if region.kind == "serial":
            return frozenset()
        return (region.private - region.local) & used_in(region.body).elements

    def write(self) -> None:
        for region in self.program.regions:
            self.body(region)
        if self.program.team:
            self.worker()
        self.entry()

    # Bodies

    def body(self, region: RegionCode) -> None:
        parameters = [name for name, _ in body_parameters(region, self.storage, self.copies)]
        self.writer.line("@$njit(**$OPTIONS)")
        with self.writer.indented(f"def {self.body_name(region.index)}({', '.join(parameters)}):"):
            for name in sorted(region.local & used_in(region.body).elements):
                self.writer.line(f"{name} = $np.{self.scop.array(name).dtype}(0)")
            self.node(region.body, lambda element: self.element(element, region.local))
        self.writer.line()
        self.writer.line()

    def body_name(self, index: int) -> str:
        return f"${self.program.name}_{index}"

    def element(self, element: Element, local: frozenset[str]) -> str:
        if element.array in local:
            return element.array
        if not element.subscripts:
            return f"{element.array}[0]"
        subscripts = (expression_text(subscript, lambda e: self.element(e, local)) for subscript in element.subscripts)
        return f"{element.array}[{', '.join(subscripts)}]"

    def node(self, node: Node, element) -> None:
        writer = self.writer
        match node:
            case Block(children):
                for child in children:
                    self.node(child, element)
            case For(variable, start, stop, step, body):
                bounds = [expression_text(start, element), expression_text(stop, element)]
                if step != 1:
                    bounds.append(str(step))
                with writer.indented(f"for {variable} in $range({', '.join(bounds)}):"):
                    self.node(body, element)
            case If(condition, then, otherwise):
                with writer.indented(f"if {expression_text(condition, element)}:"):
                    self.node(then, element)
                if otherwise is not None:
                    with writer.indented("else:"):
                        self.node(otherwise, element)
            case Compute(operations=operations):
                for operation in operations:
                    self.operation(operation, element)
            case RegionCall():
                self.region(node)

    def operation(self, operation: Operation, element) -> None:
        match operation:
            case Assign(target, value):
                self.writer.line(f"{element(target)} = {expression_text(value, element)}")
            case Branch(condition, then, otherwise):
                with self.writer.indented(f"if {expression_text(condition, element)}:"):
                    for part in then:
                        self.operation(part, element)
                if otherwise:
                    with self.writer.indented("else:"):
                        for part in otherwise:
                            self.operation(part, element)
            case While(condition, body):
                with self.writer.indented(f"while {expression_text(condition, element)}:"):
                    for part in body:
                        self.operation(part, element)

    # The worker

    def worker(self) -> None:
        writer = self.writer
        writer.line("@$njit(**$OPTIONS)")
        parameters = ("$state", *self.storage.everything, *self.sizes)
        with writer.indented(f"def ${self.program.name}_worker({', '.join(parameters)}):"):
            self.views(self.storage.memory)
            for name in sorted(self.copies):
                copy, private = f"${name}_copy", private_name(name)
                writer.line(f"{copy} = $np.empty({self.shape(name)}, $np.{self.scop.array(name).dtype})")
                writer.line(f'{private} = $view({copy}, "{private}", "{self.scopes()}")')
            writer.line("$base = 0")
            writer.line("$ticket = $take($state)")
            self.node(self.program.skeleton, lambda element: self.element(element, frozenset()))
            for name in sorted(self.copies):
                writer.line(f"$keep_alive(${name}_copy)")
        writer.line()
        writer.line()

    def scopes(self) -> str:
        return " ".join((*self.storage.memory, *(private_name(name) for name in sorted(self.copies))))

    def views(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.writer.line(f'{name} = $view({name}, "{name}", "{self.scopes()}")')

    def shape(self, name: str) -> str:
        array = self.scop.array(name)
        if array.role is ArrayRole.SCALAR:
            return "1"
        extents = [expression_text(extent) for extent in array.shape]
        return f"({', '.join(extents)},)"

    def region(self, call: RegionCall) -> None:
        region = self.program.regions[call.region]
        writer = self.writer
        for name, value in zip(region.outer, call.prefix, strict=True):
            text = expression_text(value)
            if text != name:
                writer.line(f"{name} = {text}")
        if region.condition is None:
            self.shared_work(region)
            return
        with writer.indented(f"if {expression_text(region.condition)}:"):
            self.shared_work(region)

    def shared_work(self, region: RegionCode) -> None:
        writer = self.writer
        if region.kind == "serial":
            with writer.indented("if $ticket == $base:"):
                self.call_body(region)
                self.next_ticket()
            self.finish("1")
            return
        for number, member in enumerate(region.members):
            writer.line(f"$lower_{number} = {expression_text(member.lower)}")
            writer.line(f"$upper_{number} = {expression_text(member.upper)}")
        for number in range(region.shared):
            writer.line(f"$count_{number} = $quotient($upper_{number} - $lower_{number} + $tile_{number} - 1, $tile_{number})")
        if region.kind == "parallel":
            writer.line(f"$total = {' * '.join(f'$count_{number}' for number in range(region.shared))}")
            self.tickets(region, self.place_in_box)
        else:
            with writer.indented("for $wave in $range($count_0 + $count_1 - 1):"):
                writer.line("$first = $greatest(0, $wave - $count_0 + 1)")
                writer.line("$total = $least($count_1 - 1, $wave) - $first + 1")
                self.tickets(region, self.place_on_wave)

    def tickets(self, region: RegionCode, place) -> None:
        with self.writer.indented("while $ticket < $base + $total:"):
            place(region)
            for number in range(region.shared):
                low, high = region.windows[number]
                self.writer.line(f"{high} = $least({low} + $tile_{number}, $upper_{number})")
            self.inner_tiles(region, region.shared)
            self.next_ticket()
        self.finish("$total")

    def place_in_box(self, region: RegionCode) -> None:
        """The tile of a ticket: tile coordinates counted with the last shared member fastest."""
        if region.shared == 1:
            self.writer.line(f"{region.windows[0][0]} = $lower_0 + ($ticket - $base) * $tile_0")
            return
        self.writer.line("$rest = $ticket - $base")
        for number in reversed(range(region.shared)):
            low = region.windows[number][0]
            position = f"$remainder($rest, $count_{number})" if number else "$rest"
            self.writer.line(f"{low} = $lower_{number} + {position} * $tile_{number}")
            if number:
                self.writer.line(f"$rest = $quotient($rest, $count_{number})")

    def place_on_wave(self, region: RegionCode) -> None:
        self.writer.line("$step = $first + $ticket - $base")
        self.writer.line(f"{region.windows[0][0]} = $lower_0 + ($wave - $step) * $tile_0")
        self.writer.line(f"{region.windows[1][0]} = $lower_1 + $step * $tile_1")

    def inner_tiles(self, region: RegionCode, number: int) -> None:
        if number == len(region.members):
            self.call_body(region)
            return
        low, high = region.windows[number]
        with self.writer.indented(f"for {low} in $range($lower_{number}, $upper_{number}, $tile_{number}):"):
            self.writer.line(f"{high} = $least({low} + $tile_{number}, $upper_{number})")
            self.inner_tiles(region, number + 1)

    def call_body(self, region: RegionCode) -> None:
        values = [value for _, value in body_parameters(region, self.storage, self.copies)]
        self.writer.line(f"{self.body_name(region.index)}({', '.join(values)})")

    def next_ticket(self) -> None:
        self.writer.line("$complete($state)")
        self.writer.line("$ticket = $take($state)")

    def finish(self, total: str) -> None:
        self.writer.line(f"$base += {total}")
        self.writer.line("$wait($state, $base)")

    # The function that is called from Python

    def entry(self) -> None:
        writer = self.writer
        parameters = ("$workers", "$state", *self.storage.everything, *self.sizes)
        if not self.program.team:
            region = self.program.regions[0]
            writer.line("@$njit(cache=$CACHE, **$OPTIONS)")
            with writer.indented(f"def $run_{self.program.name}({', '.join(parameters)}):"):
                self.views(tuple(name for name in self.storage.memory if name not in region.local))
                self.call_body(region)
        else:
            arguments = ", ".join(("$state", *self.storage.everything, *self.sizes))
            writer.line("@$njit(parallel=True, cache=$CACHE, **$OPTIONS)")
            with writer.indented(f"def $run_{self.program.name}({', '.join(parameters)}):"):
                writer.line("$reset($state)")
                with writer.indented("for $_ in $prange($workers):"):
                    writer.line(f"${self.program.name}_worker({arguments})")
        writer.line()
        writer.line()
