"""The command line without a hub: help, speed, usage errors, formats, finding the hub."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
import typer
from process_time import is_within
from typer.testing import CliRunner

import headwater as package
from headwater import connect
from headwater.catalog.store import Store
from headwater.cli.cells import cell, field, to_json
from headwater.cli.main import COMMANDS, app
from headwater.cli.output import Format, Output, show_error
from headwater.cli.reach import Globals, Reach
from headwater.cli.reference import render
from headwater.cli.texts import Piece, Script, read_file, read_script
from headwater.cli.usage import WrongUsage
from headwater.core.errors import Place, SqlSyntaxError
from headwater.core.results import RefreshResult
from headwater.project import FILE_NAME, read
from headwater.settings import Settings, resolve

HELP_BUDGET_SECONDS = 0.3
HEAVY = ("rich", "sqlglot", "sqlalchemy", "pydantic", "pyspark", "pyiceberg", "alembic")
SPEC_COMMANDS = [
    *("init", "demo", "sql", "create", "alter", "drop", "list", "status", "refresh", "history"),
    *("explain", "validate", "verify", "doctor", "settings", "cache", "maintain"),
    *("graph", "run", "tick", "health", "workers", "jobs"),
]

RESULT = RefreshResult(
    name="default.totals",
    action="INCREMENTAL",
    reason_code="DELTA_SMALL",
    reason="few rows changed",
    rows_inserted=12,
    rows_deleted=3,
    delta_rows=15,
    duration_ms=41.6,
    frontier={"default.orders": 7},
    version=99,
    run_id="r1",
    spark_jobs=2,
    strategy=({"node": "Scan", "strategy": "L"},),
    apply="merge",
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWATER_HUB", raising=False)
    return lambda *args, **more: CliRunner().invoke(app, list(args), **more)


def headwater(*args: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from headwater.cli.main import main; main()", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


class TestHelp:
    def test_all_commands_are_there(self, run) -> None:
        shown = run("--help").stdout
        assert sorted(COMMANDS) == sorted(SPEC_COMMANDS)
        assert all(f"\n  {name} " in shown for name in SPEC_COMMANDS)

    @pytest.mark.parametrize("name", SPEC_COMMANDS)
    def test_every_command_has_sentence_and_example(self, run, name: str) -> None:
        shown = run(name, "--help")
        assert shown.exit_code == 0
        sentence = shown.stdout.split("\n\n")[1].strip()
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "\n  Example:\n    headwater " in shown.stdout

    @pytest.mark.parametrize("name", SPEC_COMMANDS)
    def test_every_option_is_described(self, run, name: str) -> None:
        command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"
            assert parameter.help.endswith("."), f"{name} {parameter.name}"

    @pytest.mark.timed
    def test_help_is_quick(self) -> None:
        assert is_within(lambda: headwater("--help").check_returncode(), HELP_BUDGET_SECONDS)

    def test_nothing_heavy_is_imported(self) -> None:
        code = (
            "import sys\n"
            "from headwater.cli.main import app\n"
            "try: app(['--hub', 'x', 'history', 'name', '--limit', '3', '--format', 'json'])\n"
            "except SystemExit: sys.stderr.write('---')\n"
            f"sys.exit(' '.join(m for m in {HEAVY!r} if m in sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stderr.partition("---")[1:] == ("---", "\n")

    def test_version_is_that_of_package_and_catalog(self, run, tmp_path: Path) -> None:
        assert run("--version").stdout == f"headwater {package.__version__}\n"
        with Store(f"sqlite:///{tmp_path}/headwater.db") as store:
            versions = store.versions()
        assert (versions.package, versions.catalog) == (package.__version__,) * 2
        assert versions.agree

    def test_reference_names_every_command_and_example(self) -> None:
        page = render()
        for name in SPEC_COMMANDS:
            assert f"## headwater {name}\n" in page
        assert page.count("Example:") == len(SPEC_COMMANDS)
        assert "\b" not in page

    def test_reference_page_is_current(self) -> None:
        page = Path(__file__).parents[2] / "docs" / "cli.md"
        assert page.read_text(encoding="utf-8") == render(), "run `make docs`"


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "says"),
        [
            (["list"], "no hub"),
            (["--hub", "nowhere", "list"], "headwater init nowhere"),
            (["status", "--hub", "nowhere"], "headwater init nowhere"),
            (["--hub", "nowhere", "refresh"], "headwater init nowhere"),
            (["--hub", "nowhere", "verify"], "headwater init nowhere"),
            (["--hub", "nowhere", "alter", "t", "--suspend"], "headwater init nowhere"),
            (["--hub", "nowhere", "drop", "t", "--if-exists"], "headwater init nowhere"),
            (["--hub", "nowhere", "tick"], "headwater init nowhere"),
            (["--hub", "nowhere", "run"], "headwater init nowhere"),
            (["--hub", "nowhere", "maintain"], "headwater init nowhere"),
            (["lst"], "lst"),
            (["list", "--formt", "json"], "--formt"),
            (["list", "--format", "xml"], "'xml' is not one of table, json, csv"),
            (["--hub", "x", "sql", "-f", "missing.sql"], "cannot read missing.sql"),
            (["--hub", "x", "sql", "SELECT 1", "-f", "a.sql"], "not both"),
            (["--hub", "x", "sql", " ; -- nothing"], "no statement"),
            (["--hub", "x", "alter", "t"], "nothing to change"),
            (["--hub", "x", "alter", "t", "--suspend", "--resume"], "exclude each other"),
            (["--hub", "x", "drop"], "NAME"),
            (["history", "--limit", "0"], "0 is less than 1"),
            (["history", "--limit", "x"], "'x' is not a whole number"),
            (["doctor", "--spark"], "no hub"),
        ],
    )
    def test_exit_code_2_and_a_message(self, run, args: list[str], says: str) -> None:
        done = run(*args)
        assert done.exit_code == 2
        assert says in done.stderr
        assert done.stdout == ""

    def test_wrong_usage_makes_no_hub(self, run) -> None:
        run("--hub", "x", "sql", " ; ")
        run("--hub", "x", "list")
        run("--hub", "x", "refresh")
        assert not Path("x").exists()

    def test_error_of_ours_is_exit_code_1_with_caret(self, run) -> None:
        done = run("--hub", "x", "sql", "SELECT 1;\nSELECT 'a")
        assert done.exit_code == 1
        lines = done.stderr.splitlines()
        assert lines[0] == "HW1002: this string is not closed"
        assert lines[1] == "at line 2, column 8"
        assert lines[3].index("^") == 7
        assert lines[4].startswith("Do: ")


class TestFindingTheHub:
    def reach(self, path: str | None = None) -> Reach:
        return Reach(path, Output())

    def test_project_file_upward(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / FILE_NAME).touch()
        below = tmp_path / "a" / "b"
        below.mkdir(parents=True)
        monkeypatch.chdir(below)
        assert self.reach().hub_path() == str(tmp_path / FILE_NAME)

    def test_folder_with_project_file(self, tmp_path: Path) -> None:
        assert self.reach(str(tmp_path)).hub_path() == str(tmp_path)
        (tmp_path / FILE_NAME).touch()
        assert self.reach(str(tmp_path)).hub_path() == str(tmp_path / FILE_NAME)

    def test_a_folder_with_project_file_is_the_same_hub_in_python(self, tmp_path: Path) -> None:
        (tmp_path / FILE_NAME).write_text('hub = "shop"\nwarehouse = "files"\n')
        with connect(tmp_path) as hub:
            assert hub.name == "shop"
            assert hub.lake.warehouse == str(tmp_path / "files")

    @pytest.mark.parametrize(
        "wrong", ["[settings]\nmax_paralel_workers = 3", "[settings]\nmax_parallel_workers = 999"]
    )
    def test_wrong_settings_are_told_when_a_hub_is_opened(self, tmp_path, run, wrong) -> None:
        (tmp_path / FILE_NAME).write_text(wrong)
        for command in ("list", "status"):
            done = run(command)
            assert done.exit_code == 1
            assert "max_parallel_workers" in done.stderr
        assert [p.name for p in tmp_path.iterdir()] == [FILE_NAME]

    def test_a_setting_may_have_its_older_name(self, run) -> None:
        Path("lake").mkdir()
        done = run("--hub", "lake", "settings", "max_concurrent_refreshes", "7", "--format", "json")
        assert done.exit_code == 0
        (found,) = json.loads(done.stdout)
        assert (found["name"], found["value"]) == ("max_parallel_workers", 7)

    def test_none(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(WrongUsage):
            self.reach().hub_path()

    def test_option_after_the_command_wins(self) -> None:
        context = typer.Context(typer.main.get_command(app))  # type: ignore[attr-defined]
        context.obj = Globals("a", Format.JSON)
        assert Reach.of(context, None, None).path == "a"
        assert Reach.of(context, None, None).out.format is Format.JSON
        assert Reach.of(context, "b", Format.CSV).path == "b"
        assert Reach.of(context, "b", Format.CSV).out.format is Format.CSV

    def test_environment(self, run) -> None:
        done = run("list", env={"HEADWATER_HUB": "from_env"})
        assert "headwater init from_env" in done.stderr


class TestFormats:
    COLUMNS = ("name", "action", "rows_inserted", "duration_ms")

    def test_table(self, capsys) -> None:
        Output().rows([RESULT, RESULT], self.COLUMNS)
        assert capsys.readouterr().out.splitlines() == [
            "name            action       rows_inserted  duration_ms",
            "--------------  -----------  -------------  -----------",
            *["default.totals  INCREMENTAL             12           42"] * 2,
        ]

    def test_json_has_every_field(self, capsys) -> None:
        Output(Format.JSON).rows([RESULT], self.COLUMNS)
        assert json.loads(capsys.readouterr().out) == [
            {**RESULT.to_dict(), "strategy": [{"node": "Scan", "strategy": "L"}]}
        ]

    def test_csv_has_every_field(self, capsys) -> None:
        Output(Format.CSV).rows([RESULT], self.COLUMNS)
        head, row = capsys.readouterr().out.splitlines()
        assert head.split(",")[:3] == ["name", "action", "reason_code"]
        assert '"{""default.orders"":7}"' in row

    def test_empty(self, capsys) -> None:
        Output(Format.JSON).rows([], self.COLUMNS)
        Output(Format.CSV).rows([], self.COLUMNS)
        Output().rows([], self.COLUMNS, empty="nothing here")
        written = capsys.readouterr()
        assert written.out == "[]\nname,action,rows_inserted,duration_ms\n"
        assert written.err == "nothing here\n"

    def test_frame(self, capsys) -> None:
        Output().frame(["a", "a"], [[1, "x"], [None, "line\nbreak"]])
        assert capsys.readouterr().out.splitlines() == [
            "a  a",
            "-  ----------",
            "1  x",
            "   line break",
        ]

    def test_details(self, capsys) -> None:
        Output().details(RESULT)
        assert "duration_ms    42" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("value", "in_table", "in_csv", "in_json"),
        [
            (None, "", "", "null"),
            (True, "yes", "true", "true"),
            (2**60, str(2**60), str(2**60), str(2**60)),
            (0.5, "0.5", "0.5", "0.5"),
            (Decimal("1.50"), "1.50", "1.50", '"1.50"'),
            (("a", "b"), "a, b", '["a","b"]', '["a","b"]'),
            (b"\x01\xff", "01ff", "b'\\x01\\xff'", '"01ff"'),
            (float("nan"), "nan", "nan", '"NaN"'),
            (
                datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                "2026-01-02 03:04:05",
                "2026-01-02T03:04:05+00:00",
                '"2026-01-02T03:04:05Z"',
            ),
        ],
    )
    def test_values(self, value: object, in_table: str, in_csv: str, in_json: str) -> None:
        assert cell(value) == in_table
        assert field(value) == in_csv
        assert to_json(value, indent=None) == in_json

    def test_colour_only_on_a_terminal(self) -> None:
        code = (
            "from headwater.cli.output import Output\n"
            "with Output().progress('busy'): pass\n"
            "Output().check('FAIL', 'java', 'missing', 'install it')\n"
            "Output().frame(['a'], [['ERROR']])\n"
        )
        piped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert "\x1b" not in piped.stdout + piped.stderr
        assert piped.stdout.startswith("FAIL java             missing. Do: install it\n")
        assert "\x1b[31mFAIL" in on_terminal([sys.executable, "-c", code])
        plain = on_terminal([sys.executable, "-c", code], NO_COLOR="1")
        assert "\x1b[31m" not in plain

    def test_error(self, capsys) -> None:
        sql = "SELECT\n  x FROM"
        show_error(SqlSyntaxError("no", hint="try again", place=Place(2, 3), sql=sql))
        written = capsys.readouterr()
        assert written.out == ""
        assert written.err == "HW1002: no\nat line 2, column 3\n  x FROM\n  ^\nDo: try again\n"

    def test_unforeseen_error(self, capsys) -> None:
        show_error(KeyError("x"))
        assert capsys.readouterr().err.startswith("HW9000: unexpected failure: KeyError: 'x'\nDo: ")


class TestTexts:
    def test_one_source_only(self, tmp_path: Path) -> None:
        file = tmp_path / "a.sql"
        file.write_text("\ufeffSELECT 1", encoding="utf-8")
        assert read_script("SELECT 2", None, what="x").text == "SELECT 2"
        assert read_script(None, file, what="x") == Script("SELECT 1", str(file))
        with pytest.raises(WrongUsage):
            read_script("SELECT 2", file, what="x")

    def test_unreadable_files(self, tmp_path: Path) -> None:
        (tmp_path / "binary").write_bytes(b"\xff\xfe\xff")
        for name in ("binary", "missing", "."):
            with pytest.raises(WrongUsage):
                read_file(tmp_path / name)

    def test_errors_move_to_their_place_in_the_script(self) -> None:
        script = Script("SELECT 1;\n\n  SELECT x", "a.sql")
        piece = script.statements()[1]
        error = SqlSyntaxError("no", place=Place(1, 10), sql=piece.text)
        with pytest.raises(SqlSyntaxError) as caught, piece.located():
            raise error
        assert caught.value.place == Place(3, 10)
        assert caught.value.sql == script.text

    def test_errors_about_other_texts_stay(self) -> None:
        piece = Piece("SELECT 1", 5, Script("…", "a.sql"))
        with pytest.raises(SqlSyntaxError) as caught, piece.located():
            raise SqlSyntaxError("no", place=Place(1, 1), sql="a view")
        assert caught.value.place == Place(1, 1)


class TestInit:
    def test_project_file_is_valid_and_sets_nothing(self, run) -> None:
        done = run("init", "shop")
        assert done.exit_code == 0
        assert done.stdout == "wrote shop/headwater.toml\n"
        project = read(Path("shop", FILE_NAME))
        assert (project.catalog, project.warehouse, dict(project.settings)) == (None, None, {})

    def test_every_commented_line_is_valid_once_uncommented(self, run) -> None:
        run("init")
        file = Path(FILE_NAME)
        lines = file.read_text().splitlines()
        keys = [line[2:] for line in lines if line.startswith("# ") and " = " in line]
        assert len(keys) == 5 + len(Settings.model_fields)
        settings = lines.index("[settings]")
        assert lines[settings + 1] == f"# {Settings.model_fields['enabled'].description}"
        file.write_text("\n".join(x[2:] if x[2:] in keys else x for x in lines))
        project = read(file)
        assert resolve(project=project.settings, environ={}).settings == Settings()

    def test_an_existing_file_is_kept(self, run) -> None:
        Path(FILE_NAME).write_text("hub = 'mine'")
        assert run("init").exit_code == 2
        assert Path(FILE_NAME).read_text() == "hub = 'mine'"
        assert run("init", "--force").exit_code == 0
        assert read(Path(FILE_NAME)).hub == "default"


class TestDoctor:
    def test_machine(self, run) -> None:
        done = run("doctor", "--format", "json")
        found = {row["what"]: row for row in json.loads(done.stdout)}
        assert found["python"]["level"] == "OK"
        assert list(found) == ["python", "java", "pyspark", "spark jars", "hub"]

    def test_missing_java_is_exit_code_3_with_remedy(self, run) -> None:
        done = run("doctor", env={"JAVA_HOME": "/nowhere", "PATH": "/nowhere"})
        assert done.exit_code == 3
        line = next(line for line in done.stdout.splitlines() if "java" in line)
        assert line.startswith("FAIL java")
        assert "openjdk-17" in line


def on_terminal(command: list[str], **environment: str) -> str:
    """What a command writes when standard output and error are a terminal."""
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    env.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
    process = subprocess.Popen(command, stdout=child, stderr=child, env=env)
    os.close(child)
    written = b""
    while True:
        try:
            more = os.read(parent, 65536)
        except OSError:
            break
        if not more:
            break
        written += more
    os.close(parent)
    assert process.wait() == 0, written
    return written.decode()
