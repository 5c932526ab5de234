"""``python -m polytune.runtime.background.worker``: the process that compiles for an application.

It reads a `Request` a line from standard input, compiles the function and keeps its machine code on disk, where
the application finds it, and writes an `Answer` a line to standard output.  It ends when its input does, and when
the application is gone.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from polytune.errors import CompilationError
from polytune.runtime.background.protocol import READY, Answer, Request
from polytune.runtime.background.serving import end_with, only_answers
from polytune.runtime.modules.cache import MODULE_NAMES
from polytune.runtime.modules.trust import read_trusted
from polytune.runtime.teams.entries import entry_of, is_kept


def main() -> None:
    """Answer requests until there are no more."""
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    warnings.simplefilter("ignore")  # nobody would read them
    sys.dont_write_bytecode = True
    answers = only_answers()
    print(READY, file=answers, flush=True)
    modules: dict[tuple[str, str], ModuleType] = {}
    for line in sys.stdin:
        request = Request.read(line)
        answers.write(_answer(request, modules).line())
        answers.flush()


def _answer(request: Request, modules: dict[tuple[str, str], ModuleType]) -> Answer:
    """Compile what is asked for."""
    place = request.module, request.file
    try:
        if place not in modules:
            modules[place] = _load(*place)
        function: Any = getattr(modules[place], request.function)
        entry_of(function, request.words)
    except CompilationError as error:
        return Answer(str(error), False)
    except Exception:  # the module is not there any more, or not as it was: the application will find out
        return Answer("", False)
    return Answer("", is_kept(function))


def _load(name: str, file: str) -> ModuleType:
    """Import a generated module from its file under its name, as machine code is kept under both.

    Packages around it, which may be the application's own, are not imported: generated modules need none.
    """
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise ImportError(f"{file} is no Python module")
    module = importlib.util.module_from_spec(specification)
    # Numba finds the globals of cached functions by their module's name.
    sys.modules[name] = module
    if name.startswith(MODULE_NAMES):
        # Of the cache: the text itself, as the application has read it, and no bytecode that lies beside it.
        exec(compile(read_trusted(Path(file)).decode(), file, "exec"), module.__dict__)
    else:
        specification.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
