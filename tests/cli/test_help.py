"""The list of commands is told without importing them; it says what they say themselves."""

import typer

from hemeroteca.cli import COMMANDS, command_line


def test_the_first_lines_are_those_of_the_commands():
    listed = typer.main.get_command(command_line(""))
    whole = typer.main.get_command(command_line())
    assert set(listed.commands) == set(whole.commands) == set(COMMANDS)
    for name, (_, line) in COMMANDS.items():
        first = " ".join(whole.commands[name].help.split("\n\n")[0].split())
        assert first == line, f"`{name}` says of itself: {first}"
        assert listed.commands[name].help == line
