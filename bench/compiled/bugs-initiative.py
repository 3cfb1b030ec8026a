#!/usr/bin/env python3
"""Checks the programs of the MPI Bugs Initiative: bugs-initiative.py SIMRUN PROGRAMS.

PROGRAMS is a folder with the C programs that the generators of teshsuite/smpi/MBI write (source
package of SimGrid 4.1, on PyPI). Writes results/bugs-initiative.md; the executions that differ from
their label go to standard error.
"""

import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Phrases of messages for the labels. A deadlock, and what is left over at the end, is what calls,
# communicators and tags that do not match lead to.
CALLS = "^deadlock|collective calls differ: rank|unreceived message|was not called by rank"
WORDS = {
    "CallMatching": CALLS,
    "IHCallMatching": CALLS,
    "CommunicatorMatching": "^deadlock|of the communicator with context",
    "TagMatching": r"waits in (send|recv) \(.*, tag \d+",
    "RootMatching": r"has root \d+ at",
    "OperatorMatching": "has the operation",
    "DatatypeMatching": "element types differ|has elements of|has the operation",
    "BufferingHazard": "occurs only if the send of rank .* is not buffered",
    "MessageRace": "^deadlock|the program called abort",
    "InvalidCommunicator": "MPI_ERR_COMM: invalid communicator|MPI_ERR_TOPOLOGY: the communicator",
    "InvalidDatatype": r"MPI_ERR_TYPE: invalid datatype|on the datatype \S+ is not supported",
    "InvalidOperator": "MPI_ERR_OP: operation",
    "InvalidRoot": "MPI_ERR_ROOT: invalid root",
    "InvalidSrcDest": "MPI_ERR_RANK: invalid rank",
    "InvalidTag": "MPI_ERR_TAG: invalid tag",
    "InvalidBuffer": "MPI_ERR_BUFFER: (invalid base|the buffers of)|MPI_ERR_SIZE: a window of",
    "InvalidOtherArg": "MPI_ERR_(DIMS|ARG): invalid",
    "CommunicatorLeak": "communicator .* never freed",
    "GroupLeak": "groups? .* never freed",
    "OperatorLeak": r"\d operations? .* never freed",
    "TypeLeak": "datatypes? .* never freed",
    "RequestLeak": "persistent requests? .* never freed",
    "MissingStart": "^deadlock",
    "MissingWait": "requests were dropped and never waited for",
    "MissingEpoch": "MPI_ERR_RMA_SYNC",
    # A fence more at one rank is a collective call that another rank does not make.
    "DoubleEpoch": "MPI_ERR_RMA_SYNC|collective calls differ: .* calls fence",
    "LocalConcurrency": "MPI_ERR_BUFFER: (this call (reads|fills) )?memory that the operation",
    "GlobalConcurrency": "MPI_ERR_RMA_CONFLICT: conflicting accesses|MPI_ERR_BUFFER: memory that the operation",
}
LEAKS = ("Leak", "MissingWait", "MissingStart")

PAGE = """# Programs of the MPI Bugs Initiative

The programs that the generators of the MPI Bugs Initiative write (github.com/mquinson/MBI, in the
version of SimGrid 4.1, `teshsuite/smpi/MBI`; not a part of this repository): each is compiled by
`simrun cc -O0 -g` and checked by `simrun check -n N --max-time 20s` with the number of ranks of the
label, `--leaks` where the label is a leak, a missing wait or a missing start, and
`--protocol eager` where the label assumes unlimited buffers. An execution with an error counts as
found if the exit status is 1 and a message has a phrase of the class of the label. Written by

    bench/compiled/bugs-initiative.py SIMRUN PROGRAMS

with {revision}.
[The misses are explained here](mpi-binaries.md#the-mpi-bugs-initiative).

| label | executions | found, or correct | other |
|---|---|---|---|
{rows}
"""


def labels(source):
    """The labelled executions of a program: ranks, arguments, protocol and label."""
    lines = source.read_text().splitlines()
    for line, after in zip(lines, lines[1:]):
        found = re.search(r"\$ mpirun -np (\d+) (\$\w+_buffer )?\$\{EXE\}(.*)", line)
        if found:
            label = after.strip(" |").split("|")[0].replace("ERROR:", "").strip()
            yield int(found[1]), found[3].split(), found[2] == "$infty_buffer ", label


def check(simrun, source, folder):
    """Compiles and checks a program: label, verdict, output and name of each execution."""
    program = folder / source.stem
    built = subprocess.run([simrun, "cc", "-O0", "-g", "-w", "-o", program, source], capture_output=True, text=True)
    results = []
    for ranks, arguments, infinite, label in labels(source):
        if built.returncode:
            results.append((label, "not compiled", built.stderr, source.name))
            continue
        options = ["--leaks"] if any(word in label for word in LEAKS) else []
        options += ["--protocol", "eager"] if infinite else []
        command = [simrun, "check", "-n", str(ranks), "--max-time", "20s", *options, program]
        command += ["--", *arguments] if arguments else []
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
        text = ran.stdout + ran.stderr
        if label == "OK":
            verdict = {0: "correct", 1: "alarm", 3: "incomplete"}.get(ran.returncode, f"status {ran.returncode}")
        elif ran.returncode == 1:
            # The name of a program has words of the label, too.
            messages = re.sub(rf"\S*{re.escape(source.stem)}\S*", "", text)
            verdict = "found" if re.search(WORDS[label], messages, re.MULTILINE) else "other error"
        else:
            verdict = {0: "missed", 3: "incomplete", 2: "refused"}.get(ran.returncode, f"status {ran.returncode}")
        results.append((label, verdict, text, source.name))
    program.unlink(missing_ok=True)
    return results


def main():
    simrun, programs = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    table = collections.defaultdict(collections.Counter)
    threads = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    with tempfile.TemporaryDirectory() as folder, threads as pool:
        sources = sorted(programs.glob("*.c"))
        for results in pool.map(lambda source: check(simrun, source, pathlib.Path(folder)), sources):
            for label, verdict, text, name in results:
                table[label][verdict] += 1
                if verdict not in ("found", "correct"):
                    last = " / ".join(line for line in text.splitlines()[:3])
                    print(f"{name}: {label}: {verdict}: {last}", file=sys.stderr)
    rows = []
    for label in sorted(table):
        counts = table[label]
        found = counts.pop("correct" if label == "OK" else "found", 0)
        other = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        rows.append(f"| {label} | {found + sum(counts.values())} | {found} | {other} |")
    revision = subprocess.run([simrun, "--version"], capture_output=True, text=True).stdout.strip()
    page = pathlib.Path(__file__).parents[2] / "results" / "bugs-initiative.md"
    page.write_text(PAGE.format(revision=revision, rows="\n".join(rows)))


main()
