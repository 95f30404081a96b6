"""Metadata documents: what is read, how types are spelled, how versions hang together."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from sources_lake import Lake

from headwater.core.errors import StorageDamaged
from headwater.core.frontier import SourceVersion
from headwater.sources.files import IcebergFiles, local_path
from headwater.sources.metadata import TableMetadata, parse_metadata
from headwater.sources.types import spark_type


def snapshot(number: int, parent: int | None = None, **summary: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "snapshot-id": number,
        "sequence-number": number,
        "timestamp-ms": 1000 + number,
        "summary": {"operation": "append", **summary},
        "manifest-list": f"/w/{number}.avro",
        "schema-id": 0,
    }
    return found if parent is None else {**found, "parent-snapshot-id": parent}


def document(*snapshots: dict[str, Any], current: int | None = None, **more: Any) -> TableMetadata:
    body = {
        "format-version": 2,
        "table-uuid": "u",
        "location": "/w/t",
        "current-schema-id": 0,
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "identifier-field-ids": [1],
                "fields": [{"id": 1, "name": "Id", "required": True, "type": "long"}],
            }
        ],
        "current-snapshot-id": -1 if current is None else current,
        "snapshots": list(snapshots),
        "a-key-of-the-future": {"x": 1},
        **more,
    }
    return parse_metadata(json.dumps(body).encode())


def test_empty_table() -> None:
    metadata = document()
    assert metadata.current_snapshot_id is None
    assert metadata.refs == {}
    assert metadata.version == SourceVersion("u", None, 0)
    assert metadata.snapshots_between(None, None) == ()
    field = metadata.current_schema.field("iD")
    assert field is not None
    assert (field.id, field.name, field.type, field.required) == (1, "Id", "bigint", True)
    assert metadata.current_schema.identifier_field_ids == (1,)


def test_lines_of_versions() -> None:
    metadata = document(
        snapshot(1), snapshot(2, 1), snapshot(3, 2), snapshot(4, 2), snapshot(6, 5), current=4
    )

    def ids(since: int | None, until: int | None) -> list[int] | None:
        found = metadata.snapshots_between(since, until)
        return None if found is None else [s.snapshot_id for s in found]

    assert ids(1, 4) == [2, 4]
    assert ids(None, 4) == [1, 2, 4]
    assert ids(4, 4) == []
    assert ids(3, 4) is None
    assert ids(4, 2) is None
    assert ids(5, 6) == [6]
    assert ids(1, 6) is None
    assert ids(None, 6) is None
    assert [s.snapshot_id for s in metadata.ancestry(3)] == [3, 2, 1]
    assert metadata.refs["main"].snapshot_id == 4


def test_branches() -> None:
    refs = {
        "main": {"snapshot-id": 1, "type": "branch"},
        "run": {"snapshot-id": 1, "type": "branch", "max-ref-age-ms": 5},
        "v1": {"snapshot-id": 1, "type": "tag"},
    }
    assert document(snapshot(1), current=1, refs=refs).branches == {"run": 1}


def test_first_format_version() -> None:
    """Documents of format version 1 have one schema, and snapshots may have no summary."""
    bare = {"snapshot-id": 1, "timestamp-ms": 5}
    metadata = document(
        bare, current=1, **{"format-version": 1, "schemas": []},
        schema={"type": "struct", "fields": [{"id": 1, "name": "a", "type": "int"}]},
    )  # fmt: skip
    assert metadata.current_schema.fields[0].type == "int"
    assert metadata.snapshots[0].operation == ""
    assert metadata.schema_at(1) is metadata.current_schema


@pytest.mark.parametrize(
    ("iceberg", "spark"),
    [
        ("decimal(10, 2)", "decimal(10,2)"),
        ("timestamp", "timestamp_ntz"),
        ("timestamptz", "timestamp"),
        ("long", "bigint"),
        ("uuid", "string"),
        ("fixed[16]", "binary"),
        ("binary", "binary"),
        ("date", "date"),
        ({"type": "list", "element-id": 2, "element": "int"}, "array<int>"),
        (
            {
                "type": "map", "key-id": 2, "key": "string", "value-id": 3,
                "value": {"type": "struct", "fields": [
                    {"id": 4, "name": "a", "type": "float"},
                    {"id": 5, "name": "b c", "type": "date"},
                ]},
            },
            "map<string,struct<a:float,`b c`:date>>",
        ),
    ],
)  # fmt: skip
def test_types(iceberg: Any, spark: str) -> None:
    assert spark_type(iceberg) == spark


def test_unknown_type() -> None:
    with pytest.raises(StorageDamaged, match="quaternion"):
        spark_type("quaternion")


@pytest.mark.spark
def test_types_are_spelled_as_spark_does(lake: Lake) -> None:
    table = lake.table(
        "(a decimal(38,10), b timestamp, c timestamp_ntz, d date, e binary, f float, g double,"
        " h boolean, i int, j array<map<string,struct<x:bigint,y:array<decimal(5,2)>>>>,"
        " k string NOT NULL)"
    )
    have = [(f.name, f.type) for f in table.metadata.current_schema.fields]
    assert have == lake.spark.table(table.name.sql(lake.catalog)).dtypes
    assert [f.name for f in table.metadata.current_schema.fields if f.required] == ["k"]


def test_damaged_document() -> None:
    with pytest.raises(StorageDamaged, match=r"v7\.json"):
        parse_metadata(b'{"format-version": 2', location="/w/v7.json")
    with pytest.raises(StorageDamaged):
        parse_metadata(b'{"location": 5, "format-version": 2}')


def test_files(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.json", tmp_path / "b.gz.metadata.json"
    plain.write_bytes(b"{}")
    packed.write_bytes(gzip.compress(b"[]"))
    files = IcebergFiles()
    assert (
        files.read(str(plain))
        == files.read(f"file:{plain}")
        == files.read(f"file://{plain}")
        == b"{}"
    )
    assert files.read(str(packed)) == b"[]"
    with pytest.raises(FileNotFoundError):
        files.read(str(tmp_path / "none"))
    assert local_path("s3://bucket/t.json") is None


class FolderIO(PyArrowFileIO):
    """Stands for an object store: `store://` locations are files of a folder."""

    def new_input(self, location: str) -> Any:
        return super().new_input(location.replace("store:/", self.properties["folder"]))


def test_remote_files_go_through_pyiceberg(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_bytes(b"{}")
    files = IcebergFiles({"py-io-impl": f"{__name__}.FolderIO", "folder": str(tmp_path)})
    assert files.read("store://t.json") == b"{}"
    with pytest.raises(FileNotFoundError):
        files.read("store://none.json")
