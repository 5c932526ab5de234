"""Scale: ``python -m benchmarks.scale kills | simulate | history | wire``, each of them with ``--help``.

Exit code 0: done; 1: something was lost or doubled, or the work failed; 2: the command line makes no sense.
"""

from __future__ import annotations

import random
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Column, Table

from benchmarks import program

app = program.application("scale", "Measure campaigns and histories with many workers, and kill them.")


@app.command()
def kills(
    count: Annotated[int, typer.Option(min=1, help="How many processes are killed.")] = 50,
    workers: Annotated[int, typer.Option(min=1, help="How many workers a campaign has.")] = 2,
    trials: Annotated[int, typer.Option(min=1, help="Configurations of each kernel and shape.")] = 20,
    longest: Annotated[float, typer.Option(min=0.0, help="Seconds between two kills at most.")] = 2.0,
    seed: Annotated[int, typer.Option(help="What victims and moments come from.")] = 0,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Kill workers, schedulers and clients of campaigns, and see that no trial is lost or doubled."""
    from benchmarks.scale.kills import PARTS, run_kills

    parts = random.Random(seed).choices(PARTS, k=count)
    found = run_kills(parts, workers=workers, trials=trials, longest=longest, seed=seed, tell=program.live.print)
    if as_json:
        program.print_json({**program.surroundings(), **asdict(found)})
    else:
        times = ", ".join(f"{number} of the {part}" for part, number in sorted(found.kills.items()))
        program.results.print(f"{sum(found.kills.values())} kills ({times}) in {program.duration(found.seconds)}")
        program.results.print(
            f"{found.campaigns} campaigns finished, by {found.clients} clients; {found.trials} trials acknowledged, "
            f"{found.unfinished} measurements that no client knew the end of"
        )
        for fault in found.faults:
            program.results.print(fault)
        program.results.print("no trial lost, none doubled" if not found.faults else f"{len(found.faults)} faults")
    if found.faults:
        raise typer.Exit(1)


@app.command()
def simulate(
    workers: Annotated[list[int] | None, typer.Option(min=1, help="How many workers; may be given again.")] = None,
    searches: Annotated[int, typer.Option(min=1, help="How many kernels and shapes there are.")] = 60,
    trials: Annotated[int, typer.Option(min=1, help="Configurations of each.")] = 100,
    pace: Annotated[float, typer.Option(min=0.01, help="How many times shorter than recorded all is.")] = 1.0,
    through_dask: Annotated[bool, typer.Option("--dask", help="Send all through a scheduler of Dask.")] = False,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Replay campaigns with simulated workers, whose times come from recordings."""
    from benchmarks.scale.simulation import replay_campaign

    found = [
        replay_campaign(number, searches, trials, pace=pace, through_dask=through_dask)
        for number in workers or [10, 100, 1000]
    ]
    if as_json:
        program.print_json({**program.surroundings(), "campaigns": [asdict(each) for each in found]})
        return
    titles = ("workers", "trials", "time", "trials/s", "busy", "client, a trial", "of it history", "of it submitting")
    table = Table(*(Column(title, justify="right") for title in titles))
    for each in found:
        table.add_row(
            *(str(each.workers), str(each.trials), program.duration(each.seconds)),
            *(f"{each.trials / each.seconds:.0f}", f"{each.busy:.0%}", program.duration(each.client)),
            *(program.duration(each.history), program.duration(each.submitted)),
        )
    program.results.print(table)


@app.command()
def history(
    clients: Annotated[int, typer.Option(min=1, help="How many processes write.")] = 16,
    measurements: Annotated[int, typer.Option(min=1, help="How many each of them makes.")] = 2000,
    repeats: Annotated[int, typer.Option(min=1, help="How many times that is done.")] = 3,
    rounds: Annotated[int, typer.Option(min=0, help="Processes that measure calls; 0 leaves that out.")] = 5,
    calls: Annotated[int, typer.Option(min=50, help="How many calls each of these measures.")] = 20_000,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Measure a history on a PostgreSQL of this program's own: measurements a second, and what calls cost."""
    from benchmarks.scale.inserts import call_cost, insert
    from benchmarks.scale.postgres import running_server

    with running_server() as server:
        inserted = []
        for number in range(repeats):
            server.execute(f"create database inserts_{number}")
            inserted.append(insert(server.address(f"inserts_{number}"), clients, measurements))
        cost = call_cost(server.address(), rounds, calls) if rounds else None
    if as_json:
        costs = None if cost is None else {**asdict(cost), "growth": cost.growth}
        program.print_json({**program.surroundings(), "inserted": [asdict(each) for each in inserted], "calls": costs})
    else:
        for each in inserted:
            program.results.print(
                f"{each.clients} clients, {each.measurements} measurements: {each.per_second:.0f} a second"
            )
        if cost is not None:
            texts = [", ".join(map(program.duration, each)) for each in (cost.file, cost.server)]
            program.results.print(f"overhead of a call, history in a file:   {texts[0]}")
            program.results.print(f"overhead of a call, history on a server: {texts[1]}")
            program.results.print(f"growth: {program.duration(cost.growth)}")
    if any(each.kept != each.measurements for each in inserted):
        program.fail("measurements were lost or doubled", 1)


@app.command()
def wire(
    extent: Annotated[int, typer.Option(min=10, help="Of the arrays, along both axes.")] = 2000,
    chunk: Annotated[list[int] | None, typer.Option(min=1, help="Of their chunks; may be given again.")] = None,
    steps: Annotated[list[int] | None, typer.Option(min=1, help="Steps for an exchange; may be given again.")] = None,
    as_json: program.Json = False,
    debug: program.Debug = False,
) -> None:
    """Count what calls with arrays in chunks send between workers, beside the exact volume of the halos."""
    from benchmarks.scale.wire import traffic_of
    from benchmarks.scale.wire_kernels import problems

    found = []
    for each in chunk or [250, 500]:
        for name, (kernel, arguments) in problems(extent, each).items():
            for count in (steps or [1]) if "steps" in arguments else [1]:
                traffic = traffic_of(kernel, arguments, count)
                found.append({"kernel": name, "chunk": each, "steps": count, **asdict(traffic)})
    if as_json:
        program.print_json({**program.surroundings(), "extent": extent, "traffic": found})
        return
    titles = ("chunk", "steps", "workers", "shards", "tasks", "bytes sent", "at least", "ratio")
    table = Table(Column("kernel"), *(Column(title, justify="right") for title in titles))
    for row in found:
        ratio = f"{row['sent'] / row['least']:.2f}" if row["least"] else "-"
        table.add_row(*(str(row[name]) for name in ("kernel", *titles[:5], "sent", "least")), ratio)
    program.results.print(table)


if __name__ == "__main__":
    program.run(app, "python -m benchmarks.scale")
