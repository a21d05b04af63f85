"""Read what an offline W&B run wrote: a log in the format of LevelDB, of protocol buffers."""

import html
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = 32768
FULL, FIRST, LAST = 1, 2, 4  # and 3, middle: which part of a record a chunk is


def records(path: Path) -> Iterator[Any]:
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]

    data = path.read_bytes()
    assert data[:4] == b":W&B"
    position, parts = 7, b""
    while position + 7 <= len(data):
        left = BLOCK - position % BLOCK
        if left < 7:  # too few for a header: filled up with zeros
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", data[position : position + 7])
        chunk = data[position + 7 : position + 7 + length]
        position += 7 + length
        parts = chunk if kind in (FULL, FIRST) else parts + chunk
        if kind in (FULL, LAST):
            record = Record()
            record.ParseFromString(parts)
            yield record


def rows_of(page: Path) -> list[list[str]]:
    """The cells of a table in HTML."""
    rows = page.read_text(encoding="utf-8").split("<tr>")[1:]
    return [[html.unescape(cell) for cell in row.partition("</tr>")[0].split("<td>")[1:]] for row in rows]


def read_run(run_dir: Path) -> dict[str, Any]:
    """What all offline runs in a directory have, in the order it was written.

    `x_axes` has the last x-axis of each name or pattern of metrics.
    """
    run: dict[str, Any] = {"ids": [], "config": {}, "history": [], "summary": {}, "group": "", "x_axes": {}}
    for path in sorted(run_dir.glob("wandb/offline-run-*/run-*.wandb")):
        for record in records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run["ids"].append(record.run.run_id)
                run["group"] = record.run.run_group
                run["config"] |= _items(record.run.config.update)
            elif kind == "config":
                run["config"] |= _items(record.config.update)
            elif kind == "metric" and record.metric.step_metric:
                run["x_axes"][record.metric.name or record.metric.glob_name] = record.metric.step_metric
            elif kind == "history":
                run["history"].append(_items(record.history.item))
            elif kind == "summary":
                run["summary"] |= _items(record.summary.update)
    return run


def _items(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def read_parts(run_dir: Path) -> list[dict[str, Any]]:
    """What describes the run in each offline part, and its artifacts, in the order they were written."""
    parts = []
    for path in sorted(run_dir.glob("wandb/offline-run-*/run-*.wandb")):
        part: dict[str, Any] = {"artifacts": []}
        for record in records(path):
            kind = record.WhichOneof("record_type")
            if kind == "run":
                run = record.run
                part |= {"id": run.run_id, "name": run.display_name, "group": run.run_group, "job_type": run.job_type}
                part |= {"notes": run.notes, "tags": list(run.tags), "project": run.project}
            elif kind == "artifact":
                part["artifacts"].append(record.artifact)
        parts.append(part)
    return parts
