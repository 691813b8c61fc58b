"""Runs rows of the benchmark and prints one table; see Benchmarks/run."""

import argparse
import inspect
import json
import os
import pathlib
import platform
import subprocess
import sys
import time

import plot
import rows_footprint
import rows_hits
import rows_origin
import rows_writes
from harness import Workspace

ROWS = {
    "hit": rows_hits.hit,
    "hit-304": rows_hits.hit_304,
    "hit-large": rows_hits.hit_large,
    "pass-through": rows_origin.pass_through,
    "queued-put": rows_writes.queued_put,
    "delivery": rows_origin.delivery,
    "shared-miss": rows_origin.shared_miss,
    "memory": rows_footprint.memory,
    "hit-sizes": rows_hits.hit_sizes,
    "hit-threads": rows_hits.hit_threads,
    "hit-pipelined": rows_hits.hit_pipelined,
    "hit-private": rows_hits.hit_private,
    "queued-sizes": rows_writes.queued_sizes,
    "tail": rows_footprint.tail,
    "hit-many": rows_hits.hit_many,
    "hit-disk": rows_hits.hit_disk,
    "start": rows_footprint.start,
}


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"


def table(figures):
    """Markdown, one line a figure."""
    lines = ["| work | Holdfast | peer | peer's | ratio or size | target | met |", "|---|--:|---|--:|--:|--:|---|"]
    for f in figures:
        bound = "" if f.target is None else f"{'≤' if f.at_most else '≥'} {f.target:g}"
        met = {None: "", True: "yes", False: "**no**"}[f.met]
        lines.append(f"| {f.work} | {f.ours} | {f.peer} | {f.theirs} | {f.value:.2f} {f.unit} | {bound} | {met} |")
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(prog="Benchmarks/run", description="Measures Holdfast beside its peers.")
    arguments.add_argument("rows", nargs="*", metavar="ROW", help=f"one of: {', '.join(ROWS)} (default: all)")
    arguments.add_argument("--rounds", type=int, default=5, help="rounds, interleaved; medians are shown")
    arguments.add_argument("--seconds", type=float, default=2, help="length of one run of a load generator")
    arguments.add_argument("--binary", help="another holdfast to measure, of an older commit for instance")
    arguments.add_argument("--json", type=pathlib.Path, help="write the figures to this file")
    arguments.add_argument("--plot", type=pathlib.Path, help="write a plot (SVG) of the ratios to this file")
    arguments.add_argument("--folder", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    unknown = [row for row in options.rows if row not in ROWS]
    if unknown:
        arguments.error(f"no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    figures, failed = [], False
    for row in options.rows or ROWS:
        print(f"== {row}: {inspect.getdoc(ROWS[row])}", file=sys.stderr, flush=True)
        begun = time.monotonic()
        space = Workspace(options.folder / row, options.rounds, max(1, round(options.seconds)),
                          pathlib.Path(options.binary).resolve(), options.folder)
        try:
            for figure in ROWS[row](space):
                figures.append(figure)
                print(table([figure]).splitlines()[-1], file=sys.stderr, flush=True)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            failed = True
            print(f"== {row} failed: {error}", file=sys.stderr)
        finally:
            space.close()
        print(f"== {row}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    print(f"{machine()}; {options.rounds} rounds of {options.seconds:g} s, medians\n\n{table(figures)}")
    if options.json:
        options.json.write_text(json.dumps(
            {"machine": machine(), "figures": [figure.as_json() for figure in figures]}, indent=1, ensure_ascii=False))
    if options.plot:
        options.plot.write_text(plot.svg(figures, machine()))
    return 1 if failed or any(figure.met is False for figure in figures) else 0


sys.exit(main())
