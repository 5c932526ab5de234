"""Views: array accesses in compiled code without index checks, with alias information.

Inside Numba code ``C = view(array, "C", "C A B")`` makes a view of an array argument: a data pointer and the strides
that are not known at compile time.  ``C[i, j]`` loads and ``C[i, j] = x`` stores an element.

Compared with a plain NumPy array in Numba code, an access through a view

- has no wrap-around test (``A[-1]`` is outside the array, not its last element) and never a bounds check: whoever
  generates the code has proved every subscript to lie inside its array, or checked it before the call;
- carries LLVM's scoped alias metadata: accesses through views of different names are known not to overlap, so that
  loops over several arrays are vectorised without tests at run time;
- needs no reference counting, and only as many registers as there are unknown strides.

The metadata scheme is that of LLVM's "noalias and alias.scope Metadata" (Language Reference).
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = ["View", "keep_alive", "one_by_one", "view"]

_BYTE = ir.IntType(8)


class View(types.Type):
    """The Numba type of a view.

    Attributes:
        dtype: Numba type of an element.
        ndim: number of subscripts.
        layout: "C" (last axis contiguous), "F" (first axis contiguous) or "A" (every stride is dynamic).
        mutable: False forbids stores.
        aligned: False makes every access tolerate any address.
        scope: the name of the array within ``scopes``.
        scopes: the names of all arrays that do not overlap with one another.
        in_order: True keeps loads under conditions before stores behind them (``polytune.codegen.load_order``).
    """

    def __init__(
        self,
        dtype: types.Type,
        ndim: int,
        layout: str,
        mutable: bool,
        aligned: bool,
        scope: str,
        scopes: tuple[str, ...],
        in_order: bool = False,
    ):
        self.dtype, self.ndim, self.layout = dtype, ndim, layout
        self.mutable, self.aligned = mutable, aligned
        self.scope, self.scopes, self.in_order = scope, scopes, in_order
        flags = ("" if mutable else ", readonly") + ("" if aligned else ", unaligned") + (", in order" * in_order)
        super().__init__(name=f"View({dtype}, {ndim}, {layout}{flags}, {scope} of {' '.join(scopes)})")

    @property
    def dynamic_axes(self) -> tuple[int, ...]:
        """The axes whose stride is known only at run time."""
        contiguous = {"C": self.ndim - 1, "F": 0}.get(self.layout)
        return tuple(axis for axis in range(self.ndim) if axis != contiguous)


@register_model(View)
class _ViewModel(models.StructModel):
    """Data pointer, then the dynamic strides in bytes."""

    def __init__(self, manager: Any, view_type: View):
        strides = [(f"stride_{axis}", types.intp) for axis in view_type.dynamic_axes]
        super().__init__(manager, view_type, [("data", types.CPointer(view_type.dtype)), *strides])


@intrinsic(prefer_literal=True)
def view(typing_context, array, name, names, order=None):
    """A view of an array, for use in compiled code only.

    Args:
        array: a NumPy array of numbers or truth values.  It must outlive the view, which holds no reference: an
            argument of the function does so by itself, an array made in the function needs ``keep_alive`` after the
            last access.
        name: literal string; which of ``names`` this array is.
        names: literal string; the names, separated by blanks, of all arrays that do not overlap with one another.
            Functions that may be inlined into one another must mean the same arrays by the same ``names``.
        order: the literal string "in order" where loads under conditions have to stay before the stores behind them.

    Raises:
        TypingError: at compile time, when the types or literals are not as described.
    """
    if not isinstance(array, types.Array) or array.ndim == 0:
        raise TypingError(f"view() takes an array of one or more dimensions, not {array}")
    if not isinstance(array.dtype, types.Number | types.Boolean):
        raise TypingError(f"view() takes an array of numbers, not of {array.dtype}")
    if not (isinstance(name, types.StringLiteral) and isinstance(names, types.StringLiteral)):
        raise TypingError("view() takes its array's name and the names of all arrays as literal strings")
    scope, scopes = name.literal_value, tuple(names.literal_value.split())
    if scope not in scopes:
        raise TypingError(f"view(): {scope!r} is not one of the names {names.literal_value!r}")
    view_type = View(
        array.dtype, array.ndim, array.layout, array.mutable, array.aligned, scope, scopes, in_order=order is not None
    )

    def emit(context, builder, sig, args):
        source = context.make_array(sig.args[0])(context, builder, args[0])
        result = context.make_helper(builder, view_type)
        result.data = source.data
        for axis in view_type.dynamic_axes:
            setattr(result, f"stride_{axis}", builder.extract_value(source.strides, axis))
        return result._getvalue()

    return view_type(array, name, names, order or types.Omitted(None)), emit


@intrinsic
def keep_alive(typing_context, array):
    """Hold an array made in compiled code until here, so that views of it stay valid."""
    return types.void(array), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic
def one_by_one(typing_context):
    """Keep the loop around this from being vectorised; for loops that would have to scatter what they store.

    Processors scatter no faster than they store one by one, and compilers believe otherwise.
    """

    def emit(context, builder, sig, args):
        # An empty piece of assembler is no instruction, but a vectoriser cannot see that.
        builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
        return context.get_dummy_value()

    return types.void(), emit


def _subscripts(view_type: types.Type, index: types.Type) -> tuple[types.Type, ...] | None:
    """The types of the subscripts, or None where this is no access through a view."""
    if not isinstance(view_type, View):
        return None
    kinds = tuple(index.types) if isinstance(index, types.BaseTuple) else (index,)
    if len(kinds) != view_type.ndim or not all(isinstance(kind, types.Integer) for kind in kinds):
        raise TypingError(f"a {view_type} takes {view_type.ndim} integer subscripts, not {index}")
    return kinds


@infer_global(operator.getitem)
class _TypeLoad(AbstractTemplate):
    def generic(self, args, kws):
        if _subscripts(*args) is not None:
            return signature(args[0].dtype, *args)


@infer_global(operator.setitem)
class _TypeStore(AbstractTemplate):
    def generic(self, args, kws):
        view_type, index, value = args
        if _subscripts(view_type, index) is None:
            return None
        if not view_type.mutable:
            raise TypingError(f"cannot store through {view_type}: its array is read-only")
        loses_part = isinstance(value, types.Complex) and not isinstance(view_type.dtype, types.Complex)
        if not isinstance(value, types.Number | types.Boolean) or loses_part:
            raise TypingError(f"cannot store {value} through {view_type}")
        return signature(types.none, view_type, index, view_type.dtype)


def element_address(
    context, builder, view_type: View, index_type: types.Type, value, index, *, inside: bool = True
) -> ir.Value:
    """The address of an element: one step per dynamic axis in bytes, then one along the contiguous axis.

    Args:
        context, builder: Numba's target context, and where the code goes.
        view_type: the view's type.
        index_type: of the subscripts, an integer or a tuple of as many as the view has axes.
        value: the view.
        index: the subscripts, none counted from the end.
        inside: whether the element is one of the array, and not just a place from which others are counted.
    """
    kinds = _subscripts(view_type, index_type) or ()
    if isinstance(index_type, types.BaseTuple):
        indices = [builder.extract_value(index, position) for position in range(len(kinds))]
    else:
        indices = [index]
    intp = context.get_value_type(types.intp)
    for axis, kind in enumerate(kinds):
        if kind.bitwidth < types.intp.bitwidth:
            extend = builder.sext if kind.signed else builder.zext
            indices[axis] = extend(indices[axis], intp)
    source = context.make_helper(builder, view_type, value=value)
    address = source.data
    for axis in view_type.dynamic_axes:
        offset = builder.mul(indices[axis], getattr(source, f"stride_{axis}"), flags=("nsw",))
        address = builder.gep(address, [offset], inbounds=inside, source_etype=_BYTE)
    element = context.get_data_type(view_type.dtype)
    for axis in set(range(view_type.ndim)) - set(view_type.dynamic_axes):
        address = builder.gep(address, [indices[axis]], inbounds=inside, source_etype=element)
    return address


def annotate(module: ir.Module, instruction: ir.Instruction, view_type: View) -> None:
    """Say that an access lies in its view's scope and overlaps with nothing in the other scopes.

    Domain and scopes are identified by strings, so that they stay the same when LLVM modules are linked.

    Args:
        module: where the instruction stands.
        instruction: a load, a store, or a call of an intrinsic that is one.
        view_type: the type of the view that it goes through, which knows its scope and all others.
    """
    # llvmlite takes long to find the nodes that it has, and code has many accesses; these refer to the module.
    known = vars(module).setdefault("polytune scopes", {})
    key = view_type.scopes, view_type.scope
    if key not in known:
        known[key] = _annotation(module, *key)
    own, others = known[key]
    instruction.set_metadata("alias.scope", own)
    if others is not None:
        instruction.set_metadata("noalias", others)


def _annotation(module: ir.Module, names: tuple[str, ...], name: str) -> tuple[ir.MDValue, ir.MDValue | None]:
    """The nodes of a module that stand for one of several scopes, and for all others, if there are any."""
    domain = module.add_metadata([f"polytune arrays {' '.join(names)}"])
    scopes = {each: module.add_metadata([f"polytune array {each}", domain]) for each in names}
    own = scopes.pop(name)
    return module.add_metadata([own]), module.add_metadata(list(scopes.values())) if scopes else None


def alignment_of(context, view_type: View) -> int:
    """The alignment in bytes that an access through a view may rely on."""
    return context.get_abi_sizeof(context.get_data_type(view_type.dtype)) if view_type.aligned else 1


def load_element(context, builder, view_type: View, address: ir.Value) -> ir.Value:
    """The element at an address, as it lies in memory.

    Args:
        context, builder: Numba's target context, and where the code goes.
        view_type: the type of the view that the element is reached through.
        address: where it is, from ``element_address``.
    """
    loaded = builder.load(address, align=alignment_of(context, view_type), typ=context.get_data_type(view_type.dtype))
    annotate(builder.module, loaded, view_type)
    if not view_type.in_order:
        return loaded
    frozen = ir.Instruction(builder.block, loaded.type, "freeze", [loaded])
    builder._insert(frozen)  # llvmlite has no method for this instruction
    return frozen


@lower_builtin(operator.getitem, View, types.Integer)
@lower_builtin(operator.getitem, View, types.BaseTuple)
def _lower_load(context, builder, sig, args):
    view_type, index_type = sig.args
    address = element_address(context, builder, view_type, index_type, *args)
    loaded = load_element(context, builder, view_type, address)
    return context.data_model_manager[view_type.dtype].from_data(builder, loaded)


@lower_builtin(operator.setitem, View, types.Integer, types.Any)
@lower_builtin(operator.setitem, View, types.BaseTuple, types.Any)
def _lower_store(context, builder, sig, args):
    view_type, index_type, _ = sig.args
    address = element_address(context, builder, view_type, index_type, *args[:2])
    data = context.data_model_manager[view_type.dtype].as_data(builder, args[2])
    stored = builder.store(data, address, align=alignment_of(context, view_type))
    annotate(builder.module, stored, view_type)
    return context.get_dummy_value()
