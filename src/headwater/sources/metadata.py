"""The metadata document of one Iceberg table, read without Spark.

Only what detection and planning need is decoded; unknown keys are ignored. A document never
changes once written, so whoever holds its location may keep the parsed value.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from headwater.core.errors import StorageDamaged
from headwater.core.frontier import SourceVersion
from headwater.sources.types import IcebergType, nested_ids, spark_type

if TYPE_CHECKING:
    from collections.abc import Iterator

MAIN = "main"


class Field(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={"iceberg_type": "type", "initial_default": "initial-default"},
):
    """A column: `id` stays through renames, `type` is Spark's type text."""

    id: int
    name: str
    iceberg_type: IcebergType
    required: bool = False
    initial_default: Any = None

    @property
    def type(self) -> str:
        """Spark's type text."""
        return spark_type(self.iceberg_type)

    @property
    def nested_ids(self) -> tuple[int, ...]:
        """Ids of the fields inside the type."""
        return tuple(nested_ids(self.iceberg_type))


class Schema(msgspec.Struct, frozen=True, rename="kebab", dict=True):
    """The columns of a table at one time."""

    fields: tuple[Field, ...]
    schema_id: int = 0
    identifier_field_ids: tuple[int, ...] = ()

    @cached_property
    def by_id(self) -> dict[int, Field]:
        """Columns by field id."""
        return {field.id: field for field in self.fields}

    def field(self, name: str) -> Field | None:
        """A column by name, without regard to case, as Spark resolves it."""
        return self._by_name.get(name.casefold())

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {field.name.casefold(): field for field in self.fields}


class Snapshot(
    msgspec.Struct,
    frozen=True,
    gc=False,
    rename={
        "snapshot_id": "snapshot-id",
        "parent_id": "parent-snapshot-id",
        "sequence_number": "sequence-number",
        "timestamp_ms": "timestamp-ms",
        "schema_id": "schema-id",
    },
):
    """One version of a table and what its commit says about itself."""

    snapshot_id: int
    timestamp_ms: int
    parent_id: int | None = None
    sequence_number: int = 0
    summary: dict[str, str] = {}
    schema_id: int | None = None

    @property
    def operation(self) -> str:
        """`append`, `overwrite`, `delete`, `replace`; empty when the writer did not say."""
        return self.summary.get("operation", "")

    def count(self, key: str) -> int:
        """A number of the summary; 0 when it is not there."""
        try:
            return int(self.summary.get(key, 0))
        except ValueError:
            return 0


class Ref(msgspec.Struct, frozen=True, gc=False, rename={"snapshot_id": "snapshot-id"}):
    """A branch or a tag."""

    snapshot_id: int
    type: str


class PartitionField(msgspec.Struct, frozen=True, gc=False, rename="kebab"):
    """One term of a partition spec."""

    name: str
    transform: str
    source_id: int | None = None
    field_id: int | None = None


class PartitionSpec(msgspec.Struct, frozen=True, gc=False, rename="kebab"):
    """How new files are partitioned."""

    fields: tuple[PartitionField, ...] = ()
    spec_id: int = 0


class TableMetadata(
    msgspec.Struct,
    frozen=True,
    dict=True,
    rename={
        "format_version": "format-version",
        "table_uuid": "table-uuid",
        "current_schema_id": "current-schema-id",
        "all_schemas": "schemas",
        "only_schema": "schema",
        "head": "current-snapshot-id",
        "partition_specs": "partition-specs",
        "default_spec_id": "default-spec-id",
        "recorded_refs": "refs",
        "last_updated_ms": "last-updated-ms",
    },
):
    """One table at one metadata location."""

    location: str
    format_version: int
    table_uuid: str = ""
    current_schema_id: int = 0
    all_schemas: tuple[Schema, ...] = ()
    only_schema: Schema | None = None
    head: int | None = None
    snapshots: tuple[Snapshot, ...] = ()
    recorded_refs: dict[str, Ref] = {}
    properties: dict[str, str] = {}
    partition_specs: tuple[PartitionSpec, ...] = ()
    default_spec_id: int = 0
    last_updated_ms: int = 0

    @property
    def current_snapshot_id(self) -> int | None:
        """The snapshot main points to; None while the table was never written."""
        return self.head if self.head is not None and self.head >= 0 else None

    @property
    def version(self) -> SourceVersion:
        """What main shows now."""
        return SourceVersion(self.table_uuid, self.current_snapshot_id, self.current_schema_id)

    @property
    def schemas(self) -> tuple[Schema, ...]:
        """Every schema still recorded; old documents have a single one."""
        if self.all_schemas or self.only_schema is None:
            return self.all_schemas
        return (self.only_schema,)

    @property
    def current_schema(self) -> Schema:
        """The schema that readers of the table see now."""
        schema = self.schema(self.current_schema_id)
        if schema is None:
            raise StorageDamaged(f"{self.location}: metadata lacks the current schema")
        return schema

    @property
    def refs(self) -> dict[str, Ref]:
        """Branches and tags; `main` is there once the table was written."""
        current = self.current_snapshot_id
        if current is None or MAIN in self.recorded_refs:
            return self.recorded_refs
        return {**self.recorded_refs, MAIN: Ref(current, "branch")}

    @property
    def branches(self) -> dict[str, int]:
        """Snapshot of each branch other than main."""
        return {
            name: ref.snapshot_id
            for name, ref in self.recorded_refs.items()
            if ref.type == "branch" and name != MAIN
        }

    @property
    def partition_spec(self) -> PartitionSpec:
        """How new files are partitioned."""
        for spec in self.partition_specs:
            if spec.spec_id == self.default_spec_id:
                return spec
        return PartitionSpec()

    def schema(self, schema_id: int | None) -> Schema | None:
        """A schema by id; None when it is not recorded."""
        for schema in self.schemas:
            if schema.schema_id == schema_id:
                return schema
        return None

    def with_head(self, snapshot_id: int) -> TableMetadata:
        """The table as it will be when main is set to a staged snapshot."""
        return msgspec.structs.replace(self, head=snapshot_id)

    def snapshot(self, snapshot_id: int | None) -> Snapshot | None:
        """A snapshot by id; None when it has expired or never was."""
        return self._by_id.get(snapshot_id) if snapshot_id is not None else None

    def schema_at(self, snapshot_id: int) -> Schema:
        """The schema Spark uses to read `VERSION AS OF snapshot_id`."""
        snapshot = self.snapshot(snapshot_id)
        found = self.schema(snapshot.schema_id) if snapshot is not None else None
        return found or self.current_schema

    def ancestry(self, snapshot_id: int | None) -> Iterator[Snapshot]:
        """The snapshot and its ancestors, newest first, as far as they are recorded."""
        current = self.snapshot(snapshot_id)
        while current is not None:
            yield current
            current = self.snapshot(current.parent_id)

    def snapshots_between(
        self, since: int | None, until: int | None
    ) -> tuple[Snapshot, ...] | None:
        """Snapshots after `since` up to and including `until`, oldest first.

        None when `since` is no ancestor of `until`, or a snapshot between them has expired.
        `since` itself may have expired: its child still names it. `since=None` asks for everything
        back to the first snapshot.
        """
        if since == until:
            return ()
        path: list[Snapshot] = []
        for snapshot in self.ancestry(until):
            path.append(snapshot)
            if snapshot.parent_id == since:
                return tuple(reversed(path))
        return None

    @cached_property
    def _by_id(self) -> dict[int, Snapshot]:
        return {snapshot.snapshot_id: snapshot for snapshot in self.snapshots}


_DECODER = msgspec.json.Decoder(TableMetadata)


def parse_metadata(content: bytes, *, location: str = "") -> TableMetadata:
    """Read a metadata document.

    Args:
        content: the JSON text.
        location: where it was found, for the message when it cannot be read.
    """
    try:
        return _DECODER.decode(content)
    except msgspec.MsgspecError as error:
        raise StorageDamaged(
            f"table metadata {location or '(unnamed)'} cannot be read: {error}",
            hint="restore the file, or register the table at an older metadata file",
        ) from error
