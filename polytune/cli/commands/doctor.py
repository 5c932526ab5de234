"""``polytune doctor``: what polytune finds on this machine, and what to install for what it does not find."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from polytune.cli.console import print_json, print_table, progress
from polytune.cli.findings import Finding, State, examine
from polytune.cli.options import Debug, Json

_STYLES = {State.OK: "green", State.ABSENT: "yellow", State.WARNING: "bold yellow", State.BROKEN: "bold red"}


def doctor(
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Check Python, the packages, the processor, the cache and the devices; fails only if CPU code cannot run."""
    with progress.status("examining this machine"):
        findings = examine()
    if as_json:
        print_json({"healthy": is_healthy(findings), "findings": [finding.as_dict() for finding in findings]})
    else:
        print_table(_table(findings))
    if not is_healthy(findings):
        raise typer.Exit(1)


def is_healthy(findings: tuple[Finding, ...]) -> bool:
    """Return whether kernels can be compiled for the CPU and run."""
    return all(finding.state is not State.BROKEN for finding in findings)


def _table(findings: tuple[Finding, ...]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        detail = Text(finding.detail)
        if finding.remedy:
            detail.append(f"\n{finding.remedy}", style="dim")
        table.add_row(Text(finding.name), Text(finding.state.value, style=_STYLES[finding.state]), detail)
    return table
