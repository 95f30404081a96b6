"""Refreshes against materialized views of Spark Declarative Pipelines.

    python -m bench.pipelines_peer [--scale 1] [--share 0.001] [--rounds N] [--keep FOLDER]

Queries 1, 3, 5, 10, 12, 13 and 18 of TPC-H, or those of `--queries`, on sources sorted by their
keys; each round brings new orders with their lines and deletes as many. The peer has one
`@materialized_view` for each query in the same Iceberg catalog, on a Spark Connect server that is
warm: only the time from the start of a run to its last event counts, not the start of the server,
nor the making of the dataflow graph, which a client has to send anew for each run. The server has
the file system that refreshes have. At the end both have the same rows.

Mark: refreshing all stream tables together is ≥ 4 × faster than a run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater
from bench.command import differing_rows, options
from bench.experts import EXPERTS
from bench.measure import median, save
from bench.tpch import CURSOR, keep, prepared
from bench.tpch_data import queries
from headwater.storage import remote
from headwater.storage.connect_server import ConnectServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

MARK = 4.0
COMPLETED = "Run is COMPLETED."


def main() -> int:
    arguments = options(
        __doc__,
        {
            "scale": 1.0,
            "share": 0.001,
            "rounds": 7,
            "warm": 3,
            "queries": ",".join(EXPERTS),
            "keep": "",
            "child": False,
        },
    )
    warnings.simplefilter("ignore")
    if arguments.child:
        serve(json.loads(sys.stdin.readline()))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.keep or temporary)
        with headwater.connect(folder / "lake") as hub, Pipeline.started(hub, folder) as pipeline:
            result = run(hub, pipeline, folder / CURSOR, arguments)
    scale = arguments.scale
    save("pipelines_peer" if scale == 1 else f"pipelines_peer_sf{scale:g}", result)
    return 0 if result["passed"] else 1


def run(
    hub: headwater.Hub, pipeline: Pipeline, cursor: Path, arguments: argparse.Namespace
) -> dict[str, Any]:
    known = queries()
    chosen = {name: known[name] for name in arguments.queries.split(",")}
    changes = prepared(hub, cursor, arguments.scale, chosen)
    hub.refresh(list(chosen))
    pipeline.say({name: chosen[name] for name in chosen})
    ours: list[float] = []
    told: list[dict[str, float]] = []
    for number in range(-arguments.warm, arguments.rounds):
        changes.new_and_deleted(arguments.share)
        keep(cursor, changes)
        for way in ("ours", "peer") if number % 2 else ("peer", "ours"):
            if way == "ours":
                started = time.perf_counter()
                hub.refresh(list(chosen))
                ours.append((time.perf_counter() - started) * 1000)
            else:
                told.append(pipeline.run())
        print(f"refreshed in {ours[-1]:.0f} ms, run in {told[-1]['run_ms']:.0f} ms", flush=True)
    for name in chosen:
        assert hub.verify(name).equal, name
        assert differing_rows(hub, name, f"mv_{name}") == 0, name
    refresh_ms = median(ours[arguments.warm :])
    run_ms, graph_ms = (
        median([one[part] for one in told[arguments.warm :]]) for part in ("run_ms", "graph_ms")
    )
    print(
        f"{len(chosen)} stream tables {refresh_ms:.0f} ms, materialized views {run_ms:.0f} ms: "
        f"{run_ms / refresh_ms:.2f} x faster (mark {MARK} x); the graph took {graph_ms:.0f} ms more"
    )
    return {
        "scale": arguments.scale,
        "share": arguments.share,
        "rounds": arguments.rounds,
        "queries": list(chosen),
        "refresh_ms": round(refresh_ms, 1),
        "run_ms": round(run_ms, 1),
        "graph_ms_not_counted": round(graph_ms, 1),
        "faster": round(run_ms / refresh_ms, 3),
        "mark": MARK,
        "passed": run_ms >= MARK * refresh_ms,
    }


class Pipeline:
    """The peer, as seen from here: a process that tells a Connect server what to run."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    @classmethod
    @contextmanager
    def started(cls, hub: headwater.Hub, folder: Path) -> Iterator[Pipeline]:
        lake = hub._runtime.lake
        files = lake.refresh_conf(bare_files=True)
        server = ConnectServer(replace(lake, spark_conf={**lake.spark_conf, **files}))
        command = [sys.executable, "-m", "bench.pipelines_peer", "--child"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            pipeline = cls(process)
            try:
                storage = (folder / "pipeline").resolve().as_uri()
                pipeline.say({"url": server.ensure(), "catalog": lake.catalog, "storage": storage})
                yield pipeline
            finally:
                assert process.stdin is not None
                process.stdin.close()
                process.wait(60)
                server.close()

    def say(self, line: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()

    def run(self) -> dict[str, float]:
        """Run the pipeline once; milliseconds of the graph and of the run."""
        self.say("run")
        assert self._process.stdout is not None
        told: dict[str, float] = json.loads(self._process.stdout.readline())
        return told


def serve(place: dict[str, str]) -> None:
    """In the process of its own: run the pipeline each time a line asks for it."""
    spark = remote.connect(place["url"])
    spark.sql(f"USE {place['catalog']}.default")
    texts: dict[str, str] = json.loads(sys.stdin.readline())
    for _ in sys.stdin:
        started = time.perf_counter()
        graph = defined(spark, place["catalog"], texts)
        ready = time.perf_counter()
        finished(spark, graph, place["storage"])
        ended = time.perf_counter()
        told = {"graph_ms": (ready - started) * 1000, "run_ms": (ended - ready) * 1000}
        print(json.dumps(told), flush=True)
    spark.stop()


def defined(spark: SparkSession, catalog: str, texts: dict[str, str]) -> str:
    """A dataflow graph with one materialized view for each query."""
    from pyspark import pipelines
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import (
        SparkConnectGraphElementRegistry,
    )
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph

    graph: str = create_dataflow_graph(spark, catalog, "default", {})
    with graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)):
        for name, text in texts.items():
            view = pipelines.materialized_view(name=f"mv_{name}", format="iceberg")
            view(lambda text=text: spark.sql(text))
    return graph


def finished(spark: SparkSession, graph: str, storage: str) -> None:
    """Run a graph to its last event."""
    from pyspark.pipelines.spark_connect_pipeline import start_run

    messages = [
        told["pipeline_event_result"].event.message
        for told in start_run(
            spark,
            graph,
            full_refresh=None,
            full_refresh_all=False,
            refresh=None,
            dry=False,
            storage=storage,
        )
        if "pipeline_event_result" in told
    ]
    assert messages[-1] == COMPLETED, messages


if __name__ == "__main__":
    sys.exit(main())
