"""Nexmark: people, auctions and bids as tables, and the queries of `nexmark.sql`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from made_rows import Keys
from tpc import Workload

# Windows of the engine that the in-process one does not have.
ONLY_SPARK = ("q05", "q11")

KEYS = Keys(
    primary={
        "side_input": ("key_id",),
        "person": ("person_id",),
        "auction": ("auction_id",),
        "bid": ("bid_id",),
    },
    foreign={"seller": "person", "bidder": "person", "auction": "auction"},
    copied={},
    amounts={"side_input": 10, "person": 5, "auction": 6, "bid": 15},
    values={
        "channel": ("Apple", "google", "baidu", "channel-7", "channel-9"),
        "url": ("https://nexmark.com/cc/c/a/item?id=7", "https://nexmark.com/b", "x"),
    },
)


@cache
def nexmark() -> Workload:
    """The queries that give the same answer whenever they are asked."""
    schemas = {
        "person": "person_id bigint, name string, email string, city string, state string, "
        "ts timestamp_ntz",
        "auction": "auction_id bigint, item string, reserve bigint, ts timestamp_ntz, "
        "expires timestamp_ntz, seller bigint, category bigint",
        "bid": "bid_id bigint, auction bigint, bidder bigint, price bigint, channel string, "
        "url string, ts timestamp_ntz",
        "side_input": "key_id bigint, value string",
    }
    parts = (Path(__file__).parent / "nexmark.sql").read_text().split("-- name: ")[1:]
    texts = {name: text.strip() for name, _, text in (part.partition("\n") for part in parts)}
    return Workload("nexmark", schemas, texts)
