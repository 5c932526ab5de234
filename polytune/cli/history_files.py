"""``polytune history export | import | merge``: histories as files that people can give to one another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.text import Text

from polytune.cli.console import print_json, results
from polytune.history import default_store
from polytune.history.exchange import merged, read_measurements, write_measurements

ACTIONS = ("export", "import", "merge")


def exchange(action: str, files: Sequence[Path], output: Path | None, *, as_json: bool) -> None:
    """Do one of the ``ACTIONS``, and say what was done.

    Raises:
        typer.BadParameter: the files do not go with it.
        HistoryError: a file cannot be read or written.
    """
    if (output is not None) != (action == "merge"):
        raise typer.BadParameter(
            "merge needs -o FILE, the file to write" if action == "merge" else "-o goes with merge"
        )
    if not files or (action == "export" and len(files) > 1):
        raise typer.BadParameter(f"{action} needs {'one FILE' if action == 'export' else 'FILE...'}")
    store = default_store()
    if action == "export":
        count = write_measurements(files[0], store.all())
        said = f"{files[0]}: {_counted(count)} written"
    elif action == "import":
        found = merged(each for file in files for each in read_measurements(file))
        count = sum(store.add(each) for each in found)
        known = "" if count == len(found) else f"; of {len(found) - count} something as new is known"
        said = f"{store.path}: {_counted(count)} added{known}"
    else:
        assert output is not None
        count = write_measurements(output, merged(each for file in files for each in read_measurements(file)))
        said = f"{output}: {_counted(count)} written"
    if as_json:
        print_json(
            {"action": action, "path": str(output or (store.path if action == "import" else files[0])), "count": count}
        )
    else:
        results.print(Text(said), soft_wrap=True)


def _counted(count: int) -> str:
    return f"{count} measured configuration{'' if count == 1 else 's'}"
