"""Settings: where they come from, which goes before which, and what is said of wrong ones."""

from pathlib import Path

import pytest

from hemeroteca import config
from hemeroteca.config import ConfigError


def test_the_command_line_goes_before_the_environment_before_the_file(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('contact = "file"\nport = 1111\ndelay = 2.5\n')
    environment = {"HEMEROTECA_CONFIG": str(file), "HEMEROTECA_PORT": "2222", "HEMEROTECA_DELAY": "3"}
    found = config.load(environ=environment, delay=4.0)
    assert (found.contact, found.port, found.delay) == ("file", 2222, 4.0)
    assert found.data == config.Config().data


def test_without_a_file_all_is_as_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert config.load(environ={}) == config.Config()
    Path("hemeroteca.toml").write_text("port = 1111\n")
    assert config.load(environ={}).port == 1111


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("port = ", "is not valid TOML"),
        ("porto = 1", "unknown setting `porto`"),
        ('port = "many"', "setting `port`"),
        ("delay = inf", "setting `delay`"),
        (None, "does not exist; create it"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, reason):
    file = tmp_path / "settings.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ConfigError, match=reason) as error:
        config.load(environ={"HEMEROTECA_CONFIG": str(file)})
    assert "settings.toml" in str(error.value)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_secrets_of_wikis_are_not_shown(monkeypatch, capsys, form):
    from hemeroteca import cli

    monkeypatch.setenv("HEMEROTECA_WIKI_PASSWORD", "bot-password-7")
    monkeypatch.setenv("HEMEROTECA_WIKI_TOKEN", "oauth-token-7")
    with pytest.raises(SystemExit):
        cli.command_line("config")(["config", *form])
    shown = capsys.readouterr().out
    assert "wiki_password" in shown
    assert "password-7" not in shown  # "-7" alone may stand in the name of the folder
    assert "token-7" not in shown
