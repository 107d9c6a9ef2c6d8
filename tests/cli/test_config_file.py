"""fitserve.toml: values with their origin, the order of precedence, refusals with the evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from fitserve.cli.app import app
from fitserve.cli.config_file import Origin, known_deployments, origins
from fitserve.cli.failure import told
from fitserve.cli.plan_options import plan_options
from fitserve.errors import SettingsError

Write = Callable[[str], Path]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "user" / "fitserve").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path / "project")


@pytest.fixture
def project(tmp_path: Path) -> Write:
    return lambda text: _write(tmp_path / "project" / "fitserve.toml", text)


@pytest.fixture
def user(tmp_path: Path) -> Write:
    return lambda text: _write(tmp_path / "user" / "fitserve" / "config.toml", text)


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@click.command()
@click.argument("name")
@plan_options
def command(name: str, **options: object) -> None: ...


def read(*argv: str) -> dict[str, Origin]:
    return origins(command.make_context("up", list(argv)), argv[0])


def test_a_deployment_wins_over_defaults_and_the_project_over_the_user(project: Write, user: Write) -> None:
    user('[defaults]\nmax_num_seqs = 4\n[deployments.shop]\nmax_model_len = "8K"\ngoal = "context"\n')
    path = project('[defaults]\nmax_num_seqs = 8\n[deployments.shop]\nmax_model_len = "32K"\n')
    found = read("shop")
    assert found["max_model_len"] == Origin(32768, f"{path} [deployments.shop]")
    assert found["max_num_seqs"] == Origin(8, f"{path} [defaults]")
    assert found["goal"].value == "context"
    assert found["block_size"] == Origin(None, "default")


def test_variables_win_over_files_and_flags_over_variables(project: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    project("[deployments.shop]\nmax_num_seqs = 8\nblock_size = 64\n")
    monkeypatch.setenv("FITSERVE_MAX_NUM_SEQS", "12")
    monkeypatch.setenv("FITSERVE_BLOCK_SIZE", "32")
    found = read("shop", "--block-size", "128")
    assert found["max_num_seqs"] == Origin(12, "$FITSERVE_MAX_NUM_SEQS")
    assert found["block_size"] == Origin(128, "flag")


def test_an_unknown_key_is_refused_with_the_nearest(project: Write) -> None:
    path = project("[deployments.shop]\nmax_modle_len = 4096\n")
    with pytest.raises(SettingsError) as caught:
        read("shop")
    assert "max_modle_len" in caught.value.message
    assert "max_model_len" in caught.value.hint
    assert str(path) in caught.value.evidence


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[deployments.shop]\nmax_num_seqs = 0\n", "max_num_seqs"),
        ("[deployments.shop]\ngoal = 'speed'\n", "goal"),
        ("[deployments]\nshop = 3\n", "shop"),
        ("deployments = 3\n", "deployments"),
        ("[deployment.shop]\n", "deployment"),
        ("not toml", "fitserve.toml"),
    ],
)
def test_bad_files_are_told_in_a_sentence(project: Write, text: str, word: str) -> None:
    project(text)
    with pytest.raises(SettingsError) as caught:
        read("shop")
    assert word in caught.value.message
    assert "fitserve.toml" in caught.value.message + caught.value.evidence


def test_deployments_are_listed_once(project: Write, user: Write) -> None:
    user("[deployments.shop]\n[deployments.lab]\n")
    project("[deployments.shop]\n")
    assert known_deployments() == ("shop", "lab")


def test_show_says_what_is_in_force_and_from_where(project: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = project('[deployments.shop]\nmodel = "/models/x"\nmax_model_len = "32K"\n')
    assert told(app, ["config", "show", "--origin"]) == 0
    printed = capsys.readouterr().out
    assert f'model = "/models/x"  # {path} [deployments.shop]' in printed
    assert f"max_model_len = 32768  # {path} [deployments.shop]" in printed
    assert "max_num_seqs = null  # default" in printed
    assert told(app, ["config", "show", "shop", "--json"]) == 0
    shop = json.loads(capsys.readouterr().out)["deployments"]["shop"]
    assert shop["max_model_len"]["value"] == 32768
    assert "max_num_seqs" not in shop


def test_show_without_files_says_where_they_would_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(app, ["config", "show"]) == 3
    assert "fitserve.toml" in capsys.readouterr().err


def test_show_says_the_origin_without_being_asked(project: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = project('[deployments.shop]\nmax_model_len = "32K"\npassthrough = ["--seed", "1"]\n')
    assert told(app, ["config", "show", "shop"]) == 0
    printed = capsys.readouterr().out
    assert f"max_model_len = 32768  # {path} [deployments.shop]" in printed
    assert 'passthrough = ["--seed", "1"]' in printed
    assert "max_num_seqs" not in printed


def test_show_of_a_name_that_nobody_wrote(
    project: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    project("[deployments.shop]\n")
    assert told(app, ["config", "show", "nope"]) == 3
    printed = capsys.readouterr().err
    assert "nope" in printed and "shop" in printed


def test_the_settings_are_listed_in_order_and_nothing_else(project: Write) -> None:
    project("[deployments.shop]\nzzzzzz = 1\n")
    up = app.get_command(click.Context(app), "up")
    assert up is not None
    with pytest.raises(SettingsError) as caught:
        origins(up.make_context("up", ["shop"]), "shop")
    listed = caught.value.hint.rpartition(": ")[2].split(", ")
    assert listed == sorted(listed) and {"max_model_len", "model", "port"} <= {*listed}
    assert not {"as_json", "help", "lang", "name", "yes", "wait"} & {*listed}


@pytest.mark.parametrize("page", ["settings.md", "settings.zh.md"])
def test_the_documented_example_is_a_good_file(project: Write, page: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    project(text.partition("```toml\n")[2].partition("```")[0])
    up = app.get_command(click.Context(app), "up")
    assert up is not None
    for name in known_deployments():
        found = origins(up.make_context("up", [name]), name)
        assert found["max_num_seqs"].value == 16
    assert found["page"].value is False and found["passthrough"].value == ("--seed", "1")
