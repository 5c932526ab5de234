"""``python -m polytune.lab papers``: the tables and figures of the papers, as one page.

Exit code 0: done; 1: the work failed, or was interrupted; 2: the command line makes no sense.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polytune.cores import count_of_cores
from polytune.errors import PolytuneError
from polytune.files import failure_of
from polytune.lab.papers.item import Effort
from polytune.lab.papers.report import ITEMS, write_report

_REPEATS, _QUICK_REPEATS = 200, 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: the command line without the program's name; ``sys.argv[1:]`` if None.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="python -m polytune.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    papers = commands.add_parser("papers", help="make the tables and figures of the papers again, as one HTML page")
    papers.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="where the page goes")
    papers.add_argument("--data", type=Path, metavar="FOLDER", help="recorded spaces; the examples are always there")
    papers.add_argument("--repeats", type=int, metavar="N", help=f"runs where a paper has 200; {_REPEATS}")
    papers.add_argument("--quick", action="store_true", help=f"{_QUICK_REPEATS} runs, in minutes")
    papers.add_argument("--seed", type=int, default=0, help="what the random choices come from")
    papers.add_argument("--jobs", type=int, metavar="N", help="in how many processes; one for each core")
    names = [item.name for item in ITEMS]
    papers.add_argument("--only", nargs="+", default=[], metavar="ITEM", help=f"of {', '.join(names)}")
    parsed = parser.parse_args(arguments)
    repeats = parsed.repeats or (_QUICK_REPEATS if parsed.quick else _REPEATS)
    jobs = count_of_cores() if parsed.jobs is None else parsed.jobs
    if repeats < 1 or parsed.seed < 0 or jobs < 1:
        parser.error("--repeats and --jobs are at least 1, and --seed at least 0")

    def say(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    try:
        print(write_report(parsed.output, parsed.data, Effort(repeats, parsed.seed, jobs), say, parsed.only))
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
        return 1
    except (PolytuneError, OSError) as error:
        say(f"error: {failure_of(error) if isinstance(error, OSError) else error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
