"""Which values settings take, from a file and from a variable, and how others are refused."""

from pathlib import Path

import pytest

from spaced.daemon.settings import Settings
from spaced.refusals import InvalidSettings
from tests.unit.daemon.settings_loading import (
    load,
    load_file,
    refusal_of,
    refusal_of_variable,
)


def _of_file(folder: Path, toml: str) -> Settings:
    return load_file(folder, toml).settings


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ('"500ms"', 500),
        ('"10s"', 10_000),
        ('"1.5s"', 1500),
        ('"10m"', 600_000),
        ('"2h"', 7_200_000),
        ('"7d"', 604_800_000),
        ('"7 d"', 604_800_000),
        ('"30"', 30_000),
        ('"0"', 0),
        ("30", 30_000),
        ("0.25", 250),
    ],
)
def test_durations_are_kept_as_milliseconds(
    tmp_path: Path, written: str, milliseconds: int
) -> None:
    """With a unit, or as a number of seconds."""
    assert _of_file(tmp_path, f"retention = {written}").retention_ms == milliseconds


@pytest.mark.parametrize(
    "written", ['"soon"', '"-1s"', "-1", "nan", "inf", "true", '"1w"', '""', '"99999999d"', "[]"]
)
def test_what_is_no_duration_is_refused(tmp_path: Path, written: str) -> None:
    """The sentence names the file, the line, the key, what was found and what is allowed."""
    refusal = refusal_of(tmp_path, f"\nretention = {written}")

    assert refusal.startswith("config.toml line 2: retention is ")
    assert 'but must be a duration such as "500ms", "10s", "5m", "2h" or "7d"' in refusal


def test_a_heartbeat_without_any_pause_is_refused(tmp_path: Path) -> None:
    """It would flood every listener."""
    assert "at least 100ms (it is too short)" in refusal_of(tmp_path, "streams.heartbeat = 0")


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("listen.port = '80'", "listen.port is '80', but must be a whole number from 0 to 65535"),
        ("listen.port = true", "listen.port is true, but must be a whole number"),
        ("listen.port = 65536", "listen.port is 65536, but must be a whole number"),
        ("listen.port = 1.0", "listen.port is 1.0, but must be a whole number"),
        ("listen.port = {x = 1}", "listen.port is a table, but must be a whole number"),
        ("listen.tcp = 1", "listen.tcp is 1, but must be true or false"),
        ("listen.tcp = 'true'", "listen.tcp is 'true', but must be true or false"),
        ("log.level = 'loud'", "log.level is 'loud', but must be debug, info, warning or error"),
        ("log.format = 12:00:00", "log.format is a date or time, but must be text or json"),
        ("storage.name = 'My SQL'", "storage.name is 'My SQL', but must be the name of a storage"),
        ("listen = 5", "listen is 5, but must be a table"),
        ("runtimes.acp = 'x'", "runtimes.acp is 'x', but must be a table"),
        ("storages.sqlite.size = 5", "storages.sqlite.size is a number, but must be text"),
        ("storages.sqlite.plugin = ''", "storages.sqlite.plugin is '', but must be the name of"),
        ("plugins.block = ['*']", "plugins.block is a list, but must be a list of plugins"),
        ("environment = ['AWS_*']", "(it holds 'AWS_*')"),
        ("environment = ['A=B']", "(it holds 'A=B')"),
        ("mcp_servers = [1]", "mcp_servers is a list, but must be a list of tables"),
        ("mcp_servers = [{t = 12:00:00}]", "(it holds a time, nan or inf, or is nested too deep)"),
        ("mcp_servers = [{t = nan}]", "(it holds a time, nan or inf, or is nested too deep)"),
        (
            f"[[mcp_servers]]\n{'a.' * 5000}a = 1",
            "(it holds a time, nan or inf, or is nested too deep)",
        ),
    ],
)
def test_a_value_of_another_kind_is_refused_with_what_is_allowed(
    tmp_path: Path, toml: str, sentence: str
) -> None:
    """Nothing is converted by guessing, and nothing is skipped."""
    refusal = refusal_of(tmp_path, toml)

    assert refusal.startswith("config.toml line 1: ")
    assert sentence in refusal


@pytest.mark.parametrize(
    "origin", ["null", "*", "https://x.org/", "https://*.x.org", "x.org", "HTTPS://x.org"]
)
def test_an_origin_that_is_not_exact_is_refused(tmp_path: Path, origin: str) -> None:
    """A browser sends exactly one form, and a pattern would let in whoever fits it."""
    toml = f"listen.allowed_origins = ['https://example.org', '{origin}']"

    assert f"(it holds '{origin}')" in refusal_of(tmp_path, toml)


@pytest.mark.parametrize("host", ["*", "*.lan", "http://box", "box/x", "", "a b"])
def test_a_host_that_is_not_exact_is_refused(tmp_path: Path, host: str) -> None:
    """The list is what keeps web pages under foreign names out."""
    assert f"(it holds '{host}')" in refusal_of(tmp_path, f"listen.allowed_hosts = ['{host}']")


def test_hosts_may_have_a_port_and_be_addresses(tmp_path: Path) -> None:
    """These are the forms that a `Host` header has."""
    hosts = ["box.lan", "box.lan:8080", "10.0.0.7:80", "[::1]", "[fd00::1]:80"]
    toml = f"listen.allowed_hosts = {hosts}"

    assert _of_file(tmp_path, toml).listen_allowed_hosts == tuple(hosts)


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1:80", "a/b", "a b"])
def test_an_address_to_listen_on_has_no_brackets_and_no_port(host: str) -> None:
    """The port is a setting of its own."""
    assert "without brackets or a port" in refusal_of_variable("SPACED_LISTEN_HOST", host)


@pytest.mark.parametrize("place", ["here", "./here", "../x"])
def test_a_relative_place_is_refused(place: str) -> None:
    """A daemon and its clients are started in different folders."""
    refusal = refusal_of_variable("SPACED_DATA_DIR", place)

    assert refusal == (
        f"SPACED_DATA_DIR: data_dir is '{place}', but must be an absolute path, or one that begins"
        " with ~/ (a relative path is another place for every program that reads it)"
    )


def test_the_home_of_a_user_who_does_not_exist_is_refused() -> None:
    """The sentence says what is wrong with it."""
    assert "has no home" in refusal_of_variable("SPACED_DATA_DIR", "~nobody-of-this-name/x")


def test_a_place_with_a_nul_is_refused(tmp_path: Path) -> None:
    """No file has such a name."""
    assert "but must be an absolute path" in refusal_of(tmp_path, 'data_dir = "/a\\u0000b"')


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("FALSE", False)])
def test_a_variable_says_yes_and_no_in_a_few_ways(text: str, value: bool) -> None:
    """Shells know no types."""
    assert load({"SPACED_LISTEN_TCP": text}).listen_tcp is value


def test_a_list_in_a_variable_is_separated_by_commas() -> None:
    """Or written as TOML writes it, if an entry needs that."""
    assert load({"SPACED_LISTEN_ALLOWED_HOSTS": "a, b,"}).listen_allowed_hosts == ("a", "b")
    assert load({"SPACED_LISTEN_ALLOWED_HOSTS": '["a"]'}).listen_allowed_hosts == ("a",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "it is no value as TOML writes it"),
        ("[{a = 1}]\nother = 1", "it is more than one value"),
        ("[" * 5000, "it is no value as TOML writes it"),
    ],
)
def test_a_table_in_a_variable_is_written_as_toml(text: str, why: str) -> None:
    """A text cannot bring in other settings, nor exhaust the reader."""
    assert why in refusal_of_variable("SPACED_MCP_SERVERS", text)


@pytest.mark.parametrize("text", ["80a", "-1", "٨", "9" * 5000, "0x50"])
def test_a_number_in_a_variable_has_digits_only(text: str) -> None:
    """Other spellings that Python knows are no ports."""
    assert "but must be a whole number" in refusal_of_variable("SPACED_LISTEN_PORT", text)


def test_a_variable_that_is_no_text_is_refused() -> None:
    """Bytes that are not UTF-8 could not be shown or stored."""
    refusal = refusal_of_variable("SPACED_DATA_DIR", "/srv/\udcff")

    assert refusal == "SPACED_DATA_DIR: the value is no text in UTF-8"


def test_a_secret_is_not_shown_in_a_refusal() -> None:
    """Refusals end in logs."""
    assert "hush" not in refusal_of_variable("SPACED_MCP_SERVERS", "'hush'")
    assert "hush" not in refusal_of_variable("SPACED_MCP_SERVERS", "hush")


def test_a_long_value_is_cut_in_a_refusal(tmp_path: Path) -> None:
    """What was pasted by mistake is recognised by its beginning."""
    assert len(refusal_of(tmp_path, f"log.level = '{'x' * 10_000}'")) < 200


def test_levels_may_be_written_in_capitals() -> None:
    """Other programs want them so."""
    assert load({"SPACED_LOG_LEVEL": "DEBUG"}).log_level == "debug"


def test_an_unknown_variable_is_refused_with_the_nearest_known_one() -> None:
    """A misspelt variable would otherwise be ignored without a word."""
    refusal = refusal_of_variable("SPACED_LISTEN_PROT", "80")

    assert refusal == (
        "the environment: SPACED_LISTEN_PROT is no variable of spaced;"
        " did you mean SPACED_LISTEN_PORT?"
    )


def test_a_variable_for_the_options_of_a_plugin_is_told_where_those_are_said() -> None:
    """No variable can tell where the name ends and the option begins."""
    refusal = refusal_of_variable("SPACED_RUNTIMES_ACP_KEY", "hush")

    assert "runtimes.* can be said in the settings file only" in refusal
    assert "hush" not in refusal


def test_variables_of_others_are_no_business_of_ours() -> None:
    """Only the prefix with its underscore is ours."""
    assert load({"SPACEDOUT": "1", "_SPACED_COMPLETE": "bash_source"}) == load()


def test_an_unknown_setting_without_any_likeness_gets_no_hint(tmp_path: Path) -> None:
    """A far-fetched guess is worse than none."""
    assert refusal_of(tmp_path, "zebra = 1") == "config.toml line 1: there is no setting 'zebra'"


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("[listen]\nprot = 1", "config.toml line 2: there is no setting 'listen.prot'"),
        ("port = 1", "did you mean listen.port?"),
        ("[lsten]\nport = 1\nhost = 'x'", "config.toml line 3: there is no setting 'lsten.host'"),
        ("[nothing]", "config.toml line 1: there is no setting 'nothing'"),
        ("[runtimes.Bad_Name]\nx = 1", "there is no setting 'runtimes.Bad_Name.x'"),
        ("[storages.a]\nb.c = 'x'", "storages.a.b is a table, but must be text"),
    ],
)
def test_an_unknown_setting_is_refused_with_its_line(
    tmp_path: Path, toml: str, sentence: str
) -> None:
    """Also in a table that is unknown itself."""
    assert sentence in refusal_of(tmp_path, toml)


def test_all_settings_can_be_said_in_one_file(tmp_path: Path) -> None:
    """The forms of TOML for the same thing are the same thing."""
    tables = load_file(tmp_path, "[listen]\nport = 5\n[turns]\nidle = '1m'").settings
    dotted = load_file(tmp_path, "listen.port = 5\nturns.idle = '1m'").settings
    inline = load_file(tmp_path, "listen = {port = 5}\nturns = {idle = '1m'}").settings

    assert tables == dotted == inline


def test_a_wrong_value_is_a_mistake_even_if_a_later_source_replaces_it(tmp_path: Path) -> None:
    """It would come to light on the day on which the variable is gone."""
    with pytest.raises(InvalidSettings, match=r"line 1: listen\.port"):
        load_file(tmp_path, "listen.port = 'x'", environment={"SPACED_LISTEN_PORT": "1"})
