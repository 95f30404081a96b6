"""The indexes of the catalog, as they are after the newest migration.

Only migrations and their tests import this: partial indexes make SQLAlchemy load the dialects of
all databases they are written for, a tenth of a second that no reader should pay.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, text

from headwater.catalog import schedule_tables, tables


def _partial(name: str, where: str, *columns: Column[object], unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


_d, _h, _j = tables.dependencies.c, tables.history.c, tables.jobs.c
_p, _i, _b = tables.templates.c, tables.publish_intents.c, tables.batches.c
_c = tables.costs.c

_s, _t = schedule_tables.schedule_state.c, schedule_tables.ticks.c

INDEXES = (
    Index("hw_dependencies_source", _d.hub, _d.source_namespace, _d.source_name),
    Index("hw_history_table", _h.hub, _h.stream_table_id, _h.seq),
    Index("hw_history_name", _h.hub, _h.name, _h.seq),
    Index("hw_history_finished", _h.hub, _h.finished_at),
    _partial("hw_history_running", "status = 'RUNNING'", _h.hub, _h.status),
    Index("hw_jobs_status", _j.hub, _j.status, _j.enqueued_at),
    _partial(
        "hw_jobs_in_flight", "status IN ('QUEUED', 'RUNNING')", _j.hub, _j.unit_key, unique=True
    ),
    _partial("hw_jobs_finished", "finished_at IS NOT NULL", _j.hub, _j.finished_at),
    Index("hw_templates_hub", _p.hub),
    Index("hw_publish_intents_open", _i.hub, _i.status),
    Index("hw_batches_hub", _b.hub),
    Index("hw_costs_table", _c.hub, _c.stream_table_id, _c.id),
    Index("hw_schedule_state_hub", _s.hub),
    Index("hw_ticks_hub", _t.hub, _t.started_at),
)
