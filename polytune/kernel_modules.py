"""The generated modules of a function, one for the types of arguments: from the disk cache, else compiled."""

from __future__ import annotations

import inspect
import logging
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING

from polytune.argument_types import note_guesses, types_of_source
from polytune.compiler import compiler_stages, import_whole, written_module
from polytune.defects import defects_named
from polytune.environment import devices_are_ruled_out
from polytune.errors import SourceLocation, UnsupportedSourceError
from polytune.forking import renew_lock_at_fork
from polytune.identity import KernelIdentity
from polytune.module_cache import DecidingExtents, Place, compiler_digest, deciding_extents, module_cache
from polytune.normal_form import NormalForm, normal_location, original_location
from polytune.runtime.background.compiler import background, is_enabled
from polytune.runtime.background.versions import DeferredVersions, version_maker
from polytune.runtime.calls.collector import collector_paused
from polytune.runtime.devices.discovery import devices
from polytune.runtime.machine import machine, vector_registers
from polytune.runtime.modules.cache import key_of
from polytune.runtime.modules.generated import GeneratedKernel
from polytune.runtime.modules.outside import OutsideValues
from polytune.signature import Signature
from polytune.structures import misplaced

if TYPE_CHECKING:
    from polytune.codegen.transform import Target
    from polytune.frontend.lowering.lower import Lowered
    from polytune.pipeline import Stages
    from polytune.shards.call import ShardedKernel

__all__ = ["KernelModules"]

_LOGGER = logging.getLogger(__name__)

_MOST_KNOWN = 2
"""The number of sets of short extents for which code is made, for arguments of the same types otherwise; calls with
others have code for any."""


class KernelModules:
    """The modules that a function is compiled to, for as long as nothing changes that it uses from outside.

    Args:
        function: the kernel's function.
        strict: whether sums keep their source order.
        fastmath: the flags that ``fastmath`` gives.
        on_description: is given what calls have to look at, to see whether the modules still hold, each time that the
            kernel and what it uses from outside are described.

    Attributes:
        identity: what the modules are found again by.
    """

    def __init__(
        self,
        function: FunctionType,
        *,
        strict: bool,
        fastmath: Collection[str],
        on_description: Callable[[OutsideValues | None], None],
    ):
        self.identity = KernelIdentity(function, strict=strict, fastmath=fastmath)
        self._function, self._strict, self._on_description = function, strict, on_description
        self._fastmath = frozenset(fastmath)
        self._mode = f"strict={strict}" + (f" fastmath={','.join(sorted(fastmath))}" if fastmath else "")
        self._types_of_source: Signature | None = None
        self._sharded: dict[str, ShardedKernel] = {}
        self._deciding: dict[Signature, DecidingExtents] = {}
        self._known: dict[Signature, dict[tuple[tuple[Place, int], ...], Signature]] = {}
        self._general: dict[Signature, Signature] = {}
        # The function as it was last lowered, for what types and with what from outside; used up by who goes on.
        self._lowered: tuple[Signature, tuple[str, ...], Lowered] | None = None
        self._lock = threading.RLock()
        renew_lock_at_fork(self)

    def stages(self, signature: Signature | None = None) -> Stages:
        """Return the compiler's stages for argument types, or for those that the source gives.

        Raises:
            MissingLibraryError: the libraries of the compiler are not installed.
        """
        return compiler_stages(
            self._function, lambda: signature or self._types(), strict=self._strict, fastmath=self._fastmath
        )

    def _types(self) -> Signature:
        """Return the types of arguments that the source gives."""
        if self._types_of_source is None:
            self._types_of_source = types_of_source(self._function, strict=self._strict)
        return self._types_of_source

    def text(
        self,
        signature: Signature | None,
        *,
        devices: bool,
        places: Callable[[SourceLocation], SourceLocation] | None = None,
        target: Target | None = None,
        lowered: Lowered | None = None,
    ) -> str:
        """Return the text of the generated module for argument types, or for those that the source gives.

        Args:
            signature: the types.
            devices: whether it is to have a version for devices too.
            places: under what name it is to know a place of the source; as it is where not given.
            target: the processor that it is for; this machine's where not given.
            lowered: the function as it is lowered for these types, where it has been.

        Raises:
            UnsupportedSourceError: the source cannot be compiled.
            DefectError: the compiler failed.
        """
        with defects_named(self._function), collector_paused():
            places = places or (lambda place: place)
            stages = replace(self.stages(signature), devices=devices, places=places, lowered=lowered)
            try:
                return written_module(stages if target is None else replace(stages, target=target))
            except UnsupportedSourceError as error:
                if signature is None:
                    note_guesses(error, self._function, stages.signature)
                raise

    def provide(
        self, signature: Signature, *, in_background: bool, may_defer: bool = False
    ) -> tuple[str, GeneratedKernel]:
        """Return the generated kernel for argument types, and its name in the history.

        Where short extents are known and the source is refused for these, it is the kernel for any, whose calls say
        what is wrong with them.

        Args:
            signature: the types.
            in_background: whether versions are going to be compiled in the background.
            may_defer: whether versions that take long to look for may be made there, too, while calls run others.
        """
        general = self._general.get(replace(signature, any_subscripts=False))
        may_defer = may_defer and in_background and is_enabled() and machine().cores > 1
        try:
            return self._provide(signature, in_background=in_background, may_defer=may_defer)
        except UnsupportedSourceError:
            if general is None:
                raise
        general = replace(general, any_subscripts=signature.any_subscripts)
        return self._provide(general, in_background=in_background, may_defer=may_defer)

    def _provide(self, signature: Signature, *, in_background: bool, may_defer: bool) -> tuple[str, GeneratedKernel]:
        with self._lock, defects_named(self._function):
            while True:
                described = self._described(signature)
                with_devices = bool(devices())
                options = f"{self._mode} devices={with_devices} vectors={vector_registers()}"
                identity = key_of("kernel", *described, str(signature), options, compiler_digest())
                module = module_cache().load(identity)
                forms = [
                    NormalForm(function, k) for k, function in enumerate(self.identity.source_functions(signature))
                ]
                original = partial(original_location, forms)
                later: Future[str] | None = None
                may_defer = may_defer and not with_devices
                if module is None and may_defer:
                    module, later = self._begun_before(identity)
                if module is None:
                    if in_background and machine().cores > 1:
                        background.expect()  # while the source is analysed
                    places = partial(normal_location, forms)
                    try:
                        lowered = self._taken(signature, described)
                        if may_defer:
                            source, later = self._begun(signature, places, lowered)
                        else:
                            source = self.text(signature, devices=with_devices, places=places, lowered=lowered)
                    except UnsupportedSourceError as refusal:
                        raise misplaced(signature, refusal) or refusal from None
                    if self.identity.values is not None and self.identity.values.changed():  # while it was compiled
                        self.identity.forget()
                        continue
                    module = module_cache().store(identity if later is None else _key_at_once(identity), source)
                else:
                    _LOGGER.info("%s(%s): its versions are in the disk cache", self._function.__name__, signature)
                name = self.identity.name_in_history(self._function.__name__, signature)
                whole = partial(_kernel_of_text, identity, original)
                deferred = None if later is None else DeferredVersions(later, whole)
                return name, GeneratedKernel(module, original, identity[:16], deferred)

    def _begun_before(self, identity: str) -> tuple[ModuleType | None, Future[str] | None]:
        """The module for a first call that an earlier process has left, and the text of the one with all versions,
        which is going to be made; nothing where there is none.

        Args:
            identity: the key of the module with all versions.
        """
        module = module_cache().load(_key_at_once(identity))
        return module, None if module is None else version_maker.make(b64decode(module.DEFERRED))

    def _begun(
        self, signature: Signature, places: Callable[[SourceLocation], SourceLocation], lowered: Lowered | None
    ) -> tuple[str, Future[str] | None]:
        """The text of a module for a first call, and that of the module with all versions, which is going to be made
        beside the application; None where the first one has all, as they do not take long.

        Args:
            signature: the types of the arguments.
            places: under what name they are to know a place of the source.
            lowered: the function as it is lowered for these types, where it has been.
        """
        import_whole("polytune.deferred.packing")
        from polytune.deferred.packing import pack
        from polytune.frontend.analyse import lower_function

        with collector_paused():
            if lowered is None:
                lowered = lower_function(self._function, signature, strict=self._strict)
            stages = replace(self.stages(signature), places=places, lowered=lowered)
            packed = pack(stages, lowered)  # before the frontend goes on with it
            stages = replace(stages, may_defer=packed is not None, on_long=version_maker.expect)
            if packed is None or not stages.defers:
                return written_module(stages), None
            later = version_maker.make(packed)
            return f'{written_module(stages)}\n\nDEFERRED = "{b64encode(packed).decode()}"\n', later

    def _taken(self, signature: Signature, described: tuple[str, ...]) -> Lowered | None:
        """Return the function as it has just been lowered for the same types and the same things from outside.

        None where it has not.  Only one can go on with it.
        """
        last, self._lowered = self._lowered, None
        return last[2] if last is not None and last[:2] == (signature, described) else None

    def sharded(self, signature: Signature) -> ShardedKernel:
        """Return the kernel with regions that can be cut, for argument types."""
        from polytune.shards.call import ShardedKernel

        with self._lock, defects_named(self._function):
            described = self._described()
            options = f"{self._mode} vectors={vector_registers()} devices={not devices_are_ruled_out()}"
            identity = key_of("shards", *described, str(signature), options, compiler_digest())
            found = self._sharded.get(identity)
            if found is None:
                forms = [NormalForm(function, k) for k, function in enumerate(self.identity.source_functions())]
                module = module_cache().load(identity)
                if module is None:
                    places = partial(normal_location, forms)
                    with collector_paused():
                        text = replace(self.stages(signature), places=places, may_end=False).shard_source
                    module = module_cache().store(identity, text)
                found = ShardedKernel(module, inspect.getsource(module), partial(original_location, forms))
                self._sharded[identity] = found
            return found

    def deciding(self, signature: Signature) -> DecidingExtents:
        """Return the extents that decide what code calls with such arguments need."""
        with self._lock, defects_named(self._function):
            found = self._deciding.get(signature)
            if found is None:
                try:
                    described = self._described(signature)
                    found, lowered = deciding_extents(self._function, signature, described, strict=self._strict)
                    self._lowered = None if lowered is None else (signature, described, lowered)
                except (UnsupportedSourceError, ImportError):
                    return DecidingExtents()  # what is wrong is told where the kernel is compiled
                self._deciding[signature] = found
            return found

    def with_short_extents(self, signature: Signature, extents: Mapping[Place, int]) -> Signature:
        """Return the types with extents known that are short, while code has not been made for many others: then the
        types as they are, so that a program which comes with ever other extents does not compile for each of them.

        Args:
            signature: the types.
            extents: the extents of a call.
        """
        with self._lock:
            known = self._known.setdefault(signature, {})
            key = tuple(extents.items())
            if key not in known and len(known) < _MOST_KNOWN:
                known[key] = signature.with_extents(extents)
                self._general[known[key]] = signature
            return known.get(key, signature)

    def name_in_history(self, signature: Signature | None) -> str:
        """Return what the kernel is called in the history, for argument types, or for those that the source gives."""
        self._described()
        return self.identity.name_in_history(self._function.__name__, signature or self.stages().signature)

    def _described(self, signature: Signature | None = None) -> tuple[str, ...]:
        """The kernel and what it uses from outside, and the functions among the arguments of a call, as text."""
        described = self.identity.described(signature)
        self._on_description(self.identity.values)
        return described

    def are_outdated(self) -> bool:
        """Describe the kernel and what it uses from outside anew; return whether other modules are needed."""
        with self._lock:
            is_changed = self.identity.is_changed()
            self._on_description(self.identity.values)
            if is_changed:
                self._deciding.clear()
                self._types_of_source = None
            return is_changed


def _key_at_once(identity: str) -> str:
    """The key of the module for a first call, whose other versions are made later."""
    return key_of("versions at once", identity)


def _kernel_of_text(
    identity: str, original: Callable[[SourceLocation], SourceLocation], source: str
) -> GeneratedKernel:
    """The kernel with all versions, whose text has been made beside the application."""
    return GeneratedKernel(module_cache().store(identity, source), original, identity[:16])
