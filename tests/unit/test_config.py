"""The configuration: every problem at once, each with its key and line, and an example that loads."""

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from winnowd import config, config_file, rules
from winnowd.errors import EXIT_CONFIG, ConfigError

EXAMPLE = Path(__file__).parents[2] / "config.example.toml"

BAD = """\
[limits]
file_mb = "many"
idle_second = 5

[pool]
workers = -1

[[roots]]
path = "relative"

[[roots]]
path = "/srv/a"

[[roots]]
pth = "/srv/b"
"""


def problems(text):
    with pytest.raises(ConfigError) as caught:
        config_file.parse(text, "x.toml")
    assert caught.value.exit_code == EXIT_CONFIG
    return str(caught.value).splitlines()


def test_the_example_holds_every_setting_with_its_default():
    assert config_file.load(EXAMPLE) == config.Config()
    text = EXAMPLE.read_text(encoding="utf-8")
    for section in fields(config.Config):
        for setting in fields(section.type) if is_dataclass(section.type) else ():
            assert f"\n{setting.name} = " in text, setting.name


def test_every_problem_is_reported_at_once_with_its_key_and_line():
    assert sorted(line.rpartition(": ")[0] for line in problems(BAD)) == [
        "x.toml: roots.2.path",
        "x.toml:15: roots.2.pth",
        "x.toml:2: limits.file_mb",
        "x.toml:3: limits.idle_second",
        "x.toml:6: pool.workers",
        "x.toml:9: roots.0.path",
    ]


def test_a_syntax_error_says_where():
    (line,) = problems("[limits]\nfile_mb = \n")
    assert line.startswith("x.toml:2: ")


def test_overlapping_roots_are_refused():
    (line,) = problems('[[roots]]\npath = "/srv/a"\n[[roots]]\npath = "/srv/a/b"\n')
    assert line.startswith("x.toml:4: roots.1.path: ")
    assert "overlaps" in line


def test_a_database_inside_a_root_is_refused():
    (line,) = problems('[database]\npath = "/srv/a/x.db"\n[[roots]]\npath = "/srv/a"\n')
    assert "inside the root" in line


def test_a_missing_file_is_one_clear_line():
    with pytest.raises(ConfigError, match="there is no such file"):
        config_file.load(Path("/nowhere/config.toml"))


def test_an_unknown_encoding_is_refused():
    (line,) = problems('[text]\nfallback_encoding = "klingon"\n')
    assert "klingon" in line


def test_a_pattern_that_is_none_is_refused():
    (line,) = problems('[walk]\nexclude = ["*.tmp", "!"]\n')
    assert line.startswith("x.toml:2: walk.exclude: ")


def test_each_default_pattern_leaves_out_what_it_names():
    applied = rules.rules_for(config.Config(), "/srv")
    names = {"~$*": "~$a.docx", ".~lock.*#": ".~lock.a.odt#", "._*": "._a", "*.tmp": "a.tmp", "*.part": "a.part"}
    names |= {"*.crdownload": "a.crdownload", ".Trash-*/": ".Trash-1000"}
    for pattern in config.Config().walk.exclude:
        name = names.get(pattern, pattern.rstrip("/").lstrip("\\"))
        assert applied.rule_for(name, folder=pattern.endswith("/")) == pattern
