"""Calls of a kernel: the types decide the generated module, the sizes decide the tuner, the tuner decides the
configuration.

What compiled and embedded kernels have in common.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from typing import Any

from polytune.errors import ArgumentError, CompilationError, SpaceError
from polytune.history.machine import machine_key
from polytune.history.store import Store, default_store
from polytune.runtime.arguments import signature_of
from polytune.runtime.generated import GeneratedKernel, Invocation
from polytune.signature import Signature
from polytune.tuner import OnlineTuner, Space

__all__ = ["CallableKernel", "Provider"]

Provider = Callable[[Signature], tuple[str, GeneratedKernel]]
"""Gives for a type signature a name that is the same in every process, and the generated kernel."""


class CallableKernel:
    """A kernel that can be called.

    Every call is checked first, then runs the kernel exactly once, in the configuration that the tuner of these
    types and sizes chooses; the time of the run is what the tuner learns from.
    """

    def __init__(self, name: str, signature: inspect.Signature, provider: Provider, store: Store | None = None):
        self.__name__ = name
        self._names = tuple(signature.parameters)
        self._python_signature = signature
        self._provider = provider
        self._store = store
        self._generated: dict[Signature, tuple[str, GeneratedKernel]] = {}
        self._tuners: dict[tuple[Signature, tuple[int, ...]], OnlineTuner] = {}
        self._lock = threading.RLock()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once, tuned.

        Raises:
            ArgumentError: the arguments do not fit; nothing has been written.
            UnsupportedSourceError: the kernel's source cannot be compiled for arguments of these types.
        """
        values = self._bind(arguments, keywords)
        signature = signature_of(self._names, values)
        name, generated = self._generated.get(signature) or self._generate(signature)
        invocation = generated.prepare(values)
        tuner = self._tuners.get((signature, invocation.parameters)) or self._tuner(
            signature, name, generated, invocation
        )
        failure: CompilationError | None = None
        while True:
            try:
                configuration = tuner.choose()
            except SpaceError:
                raise failure or CompilationError(f"no version of {name} could be compiled before") from None
            try:
                outcome = generated.run(configuration, invocation)
            except CompilationError as error:
                # Nothing has been written: another configuration serves the call, unless none is left.
                tuner.fail(configuration, str(error))
                failure = error
                continue
            except BaseException:
                tuner.abandon(configuration)
                raise
            if outcome.failure is None:
                tuner.report(configuration, outcome.seconds, compile_seconds=outcome.compile_seconds)
            else:
                tuner.fail(configuration, outcome.failure)
            return outcome.result

    def run(self, configuration: Mapping[str, Any], /, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel once in exactly one configuration; nothing is tuned or remembered.

        Raises:
            SpaceError: the configuration is not in the space of these arguments.
            ArgumentError: the arguments do not fit; nothing has been written.
        """
        values = self._bind(arguments, keywords)
        signature = signature_of(self._names, values)
        _, generated = self._generated.get(signature) or self._generate(signature)
        generated.space.validate(configuration)
        return generated.run(configuration, generated.prepare(values)).result

    def space(self, *arguments: Any, **keywords: Any) -> Space:
        """Every tunable choice for arguments of these types."""
        return self.generated(*arguments, **keywords).space

    def generated(self, *arguments: Any, **keywords: Any) -> GeneratedKernel:
        """The generated kernel that arguments of these types lead to."""
        signature = signature_of(self._names, self._bind(arguments, keywords))
        return (self._generated.get(signature) or self._generate(signature))[1]

    def tuner(self, *arguments: Any, **keywords: Any) -> OnlineTuner:
        """The tuner that a call with such arguments would ask."""
        values = self._bind(arguments, keywords)
        signature = signature_of(self._names, values)
        name, generated = self._generated.get(signature) or self._generate(signature)
        return self._tuner(signature, name, generated, generated.prepare(values))

    @property
    def tuners(self) -> dict[tuple[Signature, tuple[int, ...]], OnlineTuner]:
        """The tuners so far, by types and sizes."""
        with self._lock:
            return dict(self._tuners)

    def _bind(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        if not keywords and len(arguments) == len(self._names):
            return arguments
        try:
            bound = self._python_signature.bind(*arguments, **keywords)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}{self._python_signature}: {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self._names)

    def _generate(self, signature: Signature) -> tuple[str, GeneratedKernel]:
        with self._lock:
            found = self._generated.get(signature)
            if found is None:
                found = self._generated[signature] = self._provider(signature)
            return found

    def _tuner(
        self, signature: Signature, name: str, generated: GeneratedKernel, invocation: Invocation
    ) -> OnlineTuner:
        with self._lock:
            key = (signature, invocation.parameters)
            tuner = self._tuners.get(key)
            if tuner is None:
                sizes = ", ".join(
                    f"{parameter}={value}"
                    for parameter, value in zip(generated.module.PARAMETERS, invocation.parameters, strict=True)
                )
                store = self._store or default_store()
                key_in_history = (name, sizes, machine_key())
                tuner = OnlineTuner(generated.space, key=key_in_history, store=store, starts=generated.starts)
                self._tuners[key] = tuner
            return tuner
