"""The manual page: every verb with its help and options."""

import shutil
import subprocess

import pytest

from tests.command_line import call
from tests.commands.test_help import VERBS


def test_every_verb_and_option_is_there():
    """As its --help has it."""
    page = call("manual").out
    for name, command in VERBS.items():
        if getattr(command, "commands", None) or command.hidden:
            continue
        _, _, section = page.partition(f".SS {name.removeprefix('bufferhouse ')}\n".replace("-", "\\-"))
        section = section.partition(".SS ")[0]
        assert section, name
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                assert parameter.opts[0].replace("-", "\\-") in section, (name, parameter.name)


def test_it_is_a_page_of_the_manual():
    """groff formats it without a complaint."""
    if not shutil.which("groff"):
        pytest.skip("there is no groff")
    words = ["groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z"]
    done = subprocess.run(words, input=call("manual").out, capture_output=True, text=True)
    assert (0, "") == (done.returncode, done.stderr)
