"""Random programs against plain Python, for as long as wanted: ``python -m tests.fuzz --seconds 600``.

Programs have numbers; a campaign takes them in order from a number that it prints, so that the same ones can be had
again.  The exit status is 1 where something failed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import secrets
import signal
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fuzz.checking import Failure
    from tests.fuzz.samples import Sample
    from tests.fuzz.workers import Worker

IN_THE_FUZZER = "in the fuzzer"
"""The last words of the kinds of failures that are the fuzzer's own."""

GENERATORS = ("affine", "seeded", "arrays", "data extents", "early ends", "flags", "number types")
"""The names of the generators, those of ``tests.fuzz.numbered``."""

REASONS = 25
"""The most reasons that are printed for which programs are not supported."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, help="begin no program after so many (600 where neither is given)")
    parser.add_argument("--programs", type=int, help="end after so many programs")
    parser.add_argument("--start", type=int, help="the number of the first program; else one is drawn")
    parser.add_argument("--generator", choices=GENERATORS, help="only programs of this generator")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="how many work side by side")
    parser.add_argument("--compiled", type=float, default=0.05, help="the share of programs that are compiled")
    parser.add_argument("--limit", type=float, default=20.0, help="the processor seconds that a program may take")
    parser.add_argument("--minimise", type=float, default=120.0, help="seconds for making each failure small")
    parser.add_argument("--folder", type=Path, default=Path("fuzz-failures"), help="where failing programs are written")
    parser.add_argument("--json", action="store_true", help="print the summary for machines, and nothing else")
    parser.add_argument("--show", action="store_true", help="only print the programs")
    options = parser.parse_args()
    if options.seconds is None and options.programs is None:
        options.seconds = 600.0
    # What is asked to end still says what it has found.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    start = secrets.randbelow(10**9) if options.start is None else options.start
    with tempfile.TemporaryDirectory(prefix="fuzz-cache-") as cache:
        os.environ.update(
            POLYTUNE_CACHE_DIR=cache,
            POLYTUNE_DEVICES="none",
            POLYTUNE_RHO="0",
            POLYTUNE_ALPHA="0",
            POLYTUNE_BACKGROUND="0",
        )
        return _run(options, start)


def _run(options: argparse.Namespace, start: int) -> int:
    from tests.fuzz.campaign import Campaign, from_generator, run_campaign, warm_up
    from tests.fuzz.numbered import numbered

    numbers = itertools.islice(from_generator(start, options.generator), options.programs)
    if options.show:
        for number in numbers:
            print(f"# {number}\n{numbered(number).text}")
        return 0
    quiet = options.json
    live = sys.stderr.isatty() and not quiet
    printed = 0.0

    def report(campaign: Campaign, new: int | None) -> None:
        nonlocal printed
        if new is not None:
            found = next(found for found in campaign.found.values() if found.number == new)
            if not found.failure.kind.endswith(IN_THE_FUZZER):
                _write(options.folder, found.number, numbered(found.number), found.failure)
            if not quiet:
                print(f"{chr(13) * live}{new}: {found.failure.kind}", file=sys.stderr, flush=True)
        if not quiet and time.monotonic() - printed > (1 if live else 30):
            printed = time.monotonic()
            failed = campaign.outcomes["failed"]
            longest = campaign.longest[0][0] if campaign.longest else 0.0
            line = (
                f"{campaign.seconds:6.0f} s  {campaign.programs} programs, {campaign.executions} calls, "
                f"{failed} failed in {len(campaign.found)} ways, at most {longest:.1f} s"
            )
            print(f"\r{line} " if live else line, end="" if live else "\n", file=sys.stderr, flush=True)

    if not quiet:
        print(f"programs from number {start} on (--start {start})", file=sys.stderr, flush=True)
    warm_up()
    campaign = run_campaign(
        numbers,
        start,
        options.processes,
        seconds=options.seconds,
        compiled_share=options.compiled,
        limit=options.limit,
        report=report,
    )
    files = _minimise(campaign, options)
    summary = _summary(campaign, files)
    if options.json:
        print(json.dumps(summary, indent=2))
    else:
        print(_text(summary))
    return 1 if campaign.found else 0


def _minimise(campaign: Any, options: argparse.Namespace) -> dict[str, Path]:
    """Write each kind of failure as a script, as small as it gets in the time there is; where they are."""
    from tests.fuzz.campaign import check_sample
    from tests.fuzz.numbered import numbered
    from tests.fuzz.workers import Worker

    files: dict[str, Path] = {}
    worker = Worker(check_sample, options.limit)
    seconds = options.minimise
    try:
        for kind, found in campaign.found.items():
            if kind.endswith(IN_THE_FUZZER):
                continue
            sample, failure = numbered(found.number), found.failure
            try:
                if seconds:
                    sample, failure = _smallest(worker, found.number, sample, failure, seconds)
            except KeyboardInterrupt:
                seconds = 0.0
                worker.close()
            files[kind] = _write(options.folder, found.number, sample, replace(failure, kind=kind))
    finally:
        worker.close()
    return files


def _smallest(worker: Worker, number: int, sample: Sample, failure: Failure, seconds: float) -> tuple[Sample, Failure]:
    """A smaller program with such a failure, and that failure; compiled, where it can be seen so."""
    from tests.fuzz.minimising import minimised
    from tests.fuzz.workers import judge

    last = failure

    def fails(smaller: Sample) -> bool:
        nonlocal last
        found = judge(worker, (smaller, number, not failure.interpreted, None)).failure
        if found is None or family(found.kind) != family(failure.kind):
            return False
        last = found
        return True

    if fails(sample):
        sample = minimised(sample, fails, seconds)
        # What was tried last need not be what was kept.
        fails(sample)
    if last.interpreted:
        found = judge(worker, (sample, number, True, last.configuration)).failure
        if found is not None and family(found.kind) == family(failure.kind):
            last = found
    return sample, last


def family(kind: str) -> str:
    """The part of a kind of failure that smaller programs have to share: wrong results may be another version's."""
    for start in ("wrong result", "ran where", "more than", "RaceError", "IndexError in", "ended by"):
        if kind.startswith(start):
            return start
    return kind


def _write(folder: Path, number: int, sample: Any, failure: Any) -> Path:
    from tests.fuzz.scripts import script

    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "_", failure.kind)[:60].strip("_")
    path = folder / f"{number}_{name}.py"
    path.write_text(script(sample, failure))
    return path


def _summary(campaign: Any, files: dict[str, Path]) -> dict[str, Any]:
    from tests.fuzz.numbered import AFFINE, SEEDED

    return {
        "start": campaign.start,
        "seconds": round(campaign.seconds, 1),
        "programs": campaign.programs,
        "generators": dict(campaign.generators),
        "outcomes": dict(campaign.outcomes),
        "unsupported_share": round(
            sum(campaign.unsupported.values())
            / max(1, campaign.programs - campaign.generators[AFFINE] - campaign.generators[SEEDED]),
            3,
        ),
        "unsupported": dict(campaign.unsupported.most_common()),
        "compiled": campaign.compiled,
        "configurations": campaign.configurations,
        "executions": campaign.executions,
        "processor_seconds_of_first_calls": round(campaign.processor_seconds, 1),
        "longest_first_calls": [
            {"processor_seconds": round(seconds, 2), "program": number} for seconds, number in campaign.longest
        ],
        "failures": [
            {
                "kind": kind,
                "programs": len(found.numbers),
                "numbers": found.numbers[:20],
                "message": found.failure.message[-2000:],
                "file": str(files.get(kind, "")),
            }
            for kind, found in campaign.found.items()
        ],
    }


def _text(summary: dict[str, Any]) -> str:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(summary["outcomes"].items()))
    made = ", ".join(f"{count} {generator}" for generator, count in sorted(summary["generators"].items()))
    longest = ", ".join(f"{each['processor_seconds']} s ({each['program']})" for each in summary["longest_first_calls"])
    lines = [
        "",
        f"{summary['programs']} programs from number {summary['start']} on: {outcomes}",
        f"{made}; {summary['compiled']} compiled",
        f"{summary['configurations']} configurations, {summary['executions']} executions, {summary['seconds']} s",
        f"longest first calls, in processor time, and their programs: {longest}",
    ]
    if summary["unsupported"]:
        lines.append(
            f"{100 * summary['unsupported_share']:.0f} % of the programs of array expressions are not supported:"
        )
        lines += [f"  {count:4} x {reason}" for reason, count in list(summary["unsupported"].items())[:REASONS]]
    lines.append(f"{len(summary['failures'])} distinct failures")
    for failure in summary["failures"]:
        lines.append(f"  {failure['programs']:4} x {failure['kind']}: {failure['file']}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
