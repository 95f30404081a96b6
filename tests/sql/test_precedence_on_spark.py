"""Random expressions: what is written gives the values of what was read, operator by operator."""

from __future__ import annotations

import random

import pytest
from sqlglot import parse_one

import headwater
from headwater.sql.dialect import HeadwaterSpark

pytestmark = pytest.mark.spark

NUMBERS = ("+", "-", "*", "&", "^", "|", "<<", ">>", ">>>")
TRUTHS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR")
EXPRESSIONS, COLUMNS = 240, 60


def number(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["a", "b", "c", "1", "2", "3"])
    if rng.random() < 0.15:
        return rng.choice(["-", "~", "+"]) + number(rng, 0)
    text = f"{number(rng, depth - 1)} {rng.choice(NUMBERS)} {number(rng, depth - 1)}"
    return f"({text})" if rng.random() < 0.15 else text


def truth(rng: random.Random, depth: int) -> str:
    choice = rng.random()
    if depth == 0:
        return rng.choice(["p", "q", "TRUE"])
    if choice < 0.3:
        return f"{number(rng, depth - 1)} {rng.choice(TRUTHS[:7])} {number(rng, depth - 1)}"
    if choice < 0.4:
        return f"NOT {truth(rng, depth - 1)}"
    if choice < 0.5:
        return f"{truth(rng, depth - 1)} {rng.choice(['IS NULL', 'IS NOT NULL'])}"
    if choice < 0.6:
        return f"{truth(rng, depth - 1)} {rng.choice(['IN', 'NOT IN'])} (p, TRUE)"
    if choice < 0.7:
        return f"{number(rng, depth - 1)} NOT BETWEEN {number(rng, 1)} AND {number(rng, 1)}"
    if choice < 0.8:
        return f"a || {number(rng, 1)} LIKE b || '%'"
    return f"{truth(rng, depth - 1)} {rng.choice(TRUTHS)} {truth(rng, depth - 1)}"


def is_valid(hub: headwater.Hub, text: str) -> bool:
    """Whether Spark itself takes the text: not every mixture of predicates is SQL."""
    try:
        hub.spark.sql(f"SELECT {text} FROM numbers").schema  # noqa: B018 - analysed by this
    except Exception:
        return False
    return True


def test_values_stay_as_they_are(hub: headwater.Hub) -> None:
    hub.spark.sql(
        "SELECT * FROM VALUES (1, 2, 3, TRUE, FALSE), (5, 3, 2, FALSE, NULL), "
        "(NULL, 6, 1, NULL, TRUE), (0, 7, 4, TRUE, TRUE) AS t(a, b, c, p, q)"
    ).createOrReplaceTempView("numbers")
    hub.spark.conf.set("spark.sql.ansi.enabled", "false")  # mixtures of types give a value
    rng = random.Random(2026)
    made = (number(rng, 3) if i % 2 else truth(rng, 3) for i in range(2 * EXPRESSIONS))
    texts = [text for text in made if is_valid(hub, text)][:EXPRESSIONS]
    assert len(texts) > EXPRESSIONS / 2
    for start in range(0, len(texts), COLUMNS):
        pairs = []
        for text in texts[start : start + COLUMNS]:
            query = parse_one(f"SELECT {text} FROM numbers", read=HeadwaterSpark)
            pairs.append((text, query.expressions[0].sql(HeadwaterSpark)))
        asked = ", ".join(f"({a}) <=> ({b})" for a, b in pairs)
        for row in hub.spark.sql(f"SELECT {asked} FROM numbers").collect():
            wrong = [pair for pair, same in zip(pairs, row, strict=True) if not same]
            assert not wrong, wrong[:5]
