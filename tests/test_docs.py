"""The pages agree with the code: generated parts, codes, packages, methods, examples, links."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import json
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlglot

from headwater.commands import CALLABLE
from headwater.core import errors
from headwater.hub import Hub, connect
from headwater.sql.statements import parse_statement, split_statements

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md")
    for path in ROOT.glob(pattern)
    if not path.name.startswith(".")
)
WHOLE = ("cli.md", "settings.md", "errors.md")
WRITTEN = [p for p in PAGES if p.name not in WHOLE]


def _script(name: str) -> ModuleType:
    file = ROOT / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"scripts_{name}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


DOCS = _script("docs")
BENCH = _script("bench_docs")
EXPERT = "fee9deabee7ba1f57e652175b5f035f49c459fafd383d6b1f5af503619b430a0"
"""The statements that refreshes are measured against are not changed when refreshes are."""


def blocks(page: Path, language: str) -> list[str]:
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [text for name, text in found if name == language]


def _is_generated(page: Path) -> bool:
    return page.name in (*WHOLE, "sql.md") or page.parent.name == "operators"


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def generated() -> dict[Path, str]:
    return DOCS.generated_pages()


@pytest.mark.parametrize("page", [p for p in PAGES if _is_generated(p)], ids=name_of)
def test_generated_page_is_current(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == generated()[page], "run `make docs`"


def test_sql_page_names_every_call_and_every_call_exists() -> None:
    page = (ROOT / "docs" / "sql.md").read_text(encoding="utf-8")
    told = page.partition("These calls exist:")[2]
    assert set(re.findall(r"`(\w+)`", told)) == set(CALLABLE)
    assert all(callable(getattr(Hub, name)) for name in CALLABLE)


def test_no_generated_page_is_forgotten() -> None:
    assert set(generated()) == {p for p in PAGES if _is_generated(p)}


def test_check_finds_a_page_that_is_out_of_date(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = generated()
    monkeypatch.setattr(DOCS, "generated_pages", lambda: pages)
    assert DOCS.main(["--check"]) == 0
    stale = ROOT / "docs" / "errors.md"
    monkeypatch.setattr(DOCS, "generated_pages", lambda: pages | {stale: "other\n"})
    before = stale.read_text(encoding="utf-8")
    assert DOCS.main(["--check"]) == 1
    assert "docs/errors.md is out of date" in capsys.readouterr().out
    assert stale.read_text(encoding="utf-8") == before


def test_compact_sql_means_the_same() -> None:
    query = "SELECT a, SUM(IF(b > 1, c, 0)) AS s, 'x, y' AS t FROM r WHERE d = 1 GROUP BY a, 'x, y'"
    pretty = sqlglot.transpile(query, read="spark", write="spark", pretty=True)[0]
    short = DOCS.compact(pretty)
    assert sqlglot.parse_one(short, read="spark") == sqlglot.parse_one(query, read="spark")
    assert short.count("\n") < pretty.count("\n")


def test_error_codes_are_unique_and_documented() -> None:
    classes = [
        value
        for value in vars(errors).values()
        if inspect.isclass(value) and issubclass(value, errors.HeadwaterError)
    ]
    codes = [kind.code for kind in classes]
    assert len(set(codes)) == len(codes) > 20
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    for kind in classes:
        assert re.fullmatch(r"HW\d{4}", kind.code)
        assert f"## {kind.code}\n\n`{kind.__name__}`" in page


def test_codes_named_in_pages_exist() -> None:
    known = {kind.code for kind in DOCS.error_classes()}
    for page in PAGES:
        named = set(re.findall(r"\bHW\d{4}\b", page.read_text(encoding="utf-8")))
        assert named <= known, name_of(page)


def test_architecture_names_every_package() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [p.parent.name for p in (ROOT / "src" / "headwater").glob("*/__init__.py")]
    assert len(packages) >= 10
    for package in packages:
        assert f"`{package}/`" in page, package


def test_architecture_names_only_modules_that_exist() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = {p.name for p in (ROOT / "src" / "headwater").rglob("*.py")}
    named = set(re.findall(r"\b(\w+\.py)\b", page))
    assert named - modules == set()


def _public(owner: type) -> list[str]:
    return [name for name in vars(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", _public(Hub))
def test_python_page_shows_every_method_with_its_arguments(name: str) -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", page, re.DOTALL | re.MULTILINE)
    assert section is not None
    member: Any = inspect.getattr_static(Hub, name)
    if isinstance(member, property):
        assert f"hub.{name} ->" in section[1]
        return
    _check_signature(section[1], f"hub.{name}(", member)
    assert section[1].count("```python") >= 2, "signature and example"


def test_python_page_shows_connect_with_its_arguments() -> None:
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    _check_signature(page, "headwater.connect(", connect)


def _check_signature(text: str, call: str, function: Any) -> None:
    start = text.index(call) + len(call)
    shown = text[start : text.index(") ->", start)]
    arguments = [a for a in inspect.signature(function).parameters if a != "self"]
    named = re.findall(
        r"\b(\w+)(?==|,|$|\n)", re.sub(r"=(\"[^\"]*\"|\([^)]*\)|[^,\n]+)", "", shown)
    )
    assert named == arguments


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_python_blocks_compile(page: Path) -> None:
    for text in blocks(page, "python"):
        if re.search(r"\) -> |^hub\.\w+ -> ", text, re.MULTILINE):
            continue
        ast.parse(text)


def test_readme_tutorial_compiles_and_calls_what_exists() -> None:
    tutorial = blocks(ROOT / "README.md", "python")[0]
    compile(tutorial, "README.md", "exec")
    assert 15 <= len(tutorial.strip().splitlines()) <= 25
    called = set(re.findall(r"hub\.(\w+)\(", tutorial))
    assert {"sql", "create_stream_table", "refresh_stream_table", "explain", "verify"} <= called
    assert called <= set(_public(Hub))


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "sql.md"], ids=name_of)
def test_sql_blocks_parse(page: Path) -> None:
    ours = 0
    for text in blocks(page, "sql"):
        for statement, _ in split_statements(text):
            ours += parse_statement(statement) is not None
    assert ours >= 3


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), target
        if anchor:
            assert anchor in _anchors(path), target


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    folder = ROOT / "src" / "headwater" / "delta" / "rules"
    rules = {p.stem for p in folder.glob("*.py")} - {"__init__"}
    pages = {p.stem for p in (ROOT / "docs" / "operators").glob("*.md")} - {"README"}
    assert pages == rules
    for rule in rules:
        page = (ROOT / "docs" / "operators" / f"{rule}.md").read_text(encoding="utf-8")
        for heading in ("## Rule", "## Example", "## What it becomes", "## Limits"):
            assert heading in page, (rule, heading)


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_lines_are_short(page: Path) -> None:
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        assert len(line) <= 120 or line.startswith("|"), f"{name_of(page)}:{number}"


@pytest.mark.parametrize(
    ("measured", "stated", "wrong"),
    [
        (93.47, "93.4", ""),
        (93.47, "91.0", ""),
        (93.47, "93.5", "states 93.5 %, measured is 93.4 %"),
        (89.99, "89.9", "below the mark"),
        (93.47, "about ninety", "does not state"),
    ],
)
def test_readme_cannot_state_more_coverage_than_measured(
    measured: float, stated: str, wrong: str
) -> None:
    problems = _script("coverage").judge(
        measured, f"# H\n\nLine coverage of the pure packages: {stated} %\n"
    )
    assert [wrong in p for p in problems] == [True] * bool(wrong)


def test_readme_states_coverage() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert _script("coverage").judge(100.0, readme) == []


def test_benchmark_results_are_in_the_page() -> None:
    for file, text in BENCH.generated().items():
        assert file.read_text(encoding="utf-8") == text, "run `make bench-docs`"
    assert {file.name for file in BENCH.PLOTS.iterdir()} == {
        file.name for file in BENCH.generated() if file.suffix == ".svg"
    }


def test_check_finds_benchmark_results_that_are_not_in_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in BENCH.RESULTS.glob("*.json"):
        (tmp_path / file.name).write_text(file.read_text())
    width = {"ratio": 9.87, "mark": 1.3, "passed": False}
    (tmp_path / "width.json").write_text(json.dumps(width))
    monkeypatch.setattr(BENCH, "RESULTS", tmp_path)
    assert "| `width` |  | 9.87 × | 1.3 × | no |" in BENCH.generated()[BENCH.PAGE]
    assert BENCH.main(["--check"]) == 1
    assert "docs/performance.md is out of date" in capsys.readouterr().out


def test_every_benchmark_is_run_and_documented() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    listed = re.search(r"^BENCHMARKS := (.*?)\n\n", makefile, re.DOTALL | re.MULTILINE)
    assert listed is not None
    run = set(listed[1].replace("\\\n", " ").split())
    commands = {
        file.stem
        for file in (ROOT / "bench").glob("*.py")
        if "__main__" in file.read_text(encoding="utf-8")
    }
    assert run == commands - {"gate", "tpch_make"}
    for name in run - {"idle_tick", "parallel"}:
        assert f"bench.{name}`" in page.replace("\n", " "), name


def test_expert_statements_are_frozen() -> None:
    text = (ROOT / "bench" / "experts.py").read_bytes()
    assert hashlib.sha256(text).hexdigest() == EXPERT


def test_as_many_orders_come_as_go_and_keys_never_run_out() -> None:
    from bench.tpch_data import Walk

    walk = Walk.over(2_500, 10_000)
    there = {(key // 32, 0) for key in range(0, 2 * walk.half, 32)}
    before = len(there)
    for _ in range(40):
        come, go = walk.step(0.1)
        new = {(k // 32, r.place) for r in come for k in range(r.low, r.high, 32)}
        assert new
        assert not new & there
        gone = {
            (span, place)
            for span, place in there | new
            for r in go
            if r.low <= span * 32 < r.high and r.place in (place, None)
        }
        assert len(gone) == len(new)
        there = (there | new) - gone
    assert len(there) == before


def test_partial_runs_of_tpch_join_and_need_the_shares_with_a_mark(tmp_path: Path) -> None:
    from bench.tpch import judged, merged

    def part(share: str, ratio: float, **more: object) -> dict[str, Any]:
        shares = {share: {"total_ratio": ratio, "slowest": 1.0}}
        return {"scale": 1.0, "queries": ["q01"], "shares": shares, "random_updates": None, **more}

    file = tmp_path / "tpch.json"
    first = judged(merged(file, part("0.001", 0.25)))
    assert (first["passed"], first["missing_shares"]) == (False, ["0.0001"])
    file.write_text(json.dumps(first))
    both = judged(merged(file, part("0.0001", 0.2)))
    assert list(both["shares"]) == ["0.0001", "0.001"]
    assert both["passed"]
    assert not judged(merged(file, part("0.0001", 0.21)))["passed"]
    assert list(merged(file, part("0.0001", 0.2, scale=0.1))["shares"]) == ["0.0001"]


def test_picture_shows_the_demo_as_it_is() -> None:
    from headwater.cli.commands import demo_data

    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    shown = re.sub(r"<[^>]+>", "", picture).replace("&#160;", " ")
    titles = [changes.title for changes in demo_data.ROUNDS]
    for text in [*titles, *(sample.name for sample in demo_data.STREAM_TABLES)]:
        assert text in shown, text
    assert "All four are exact." in shown
    assert "url(&quot;http" not in picture
    assert "@font-face" not in picture
