"""Where settings come from, and what they are made into."""

import inspect
from pathlib import Path

import pytest

from spaced.clock import SystemClock
from spaced.daemon.directories import default_directories
from spaced.daemon.settings import Settings, load_settings
from spaced.engine import session_specs
from spaced.engine.parts import EngineSettings
from spaced.plugin_host.host import load_plugins
from spaced.refusals import InvalidSettings
from spaced.storage.protocol import StoragePlace
from tests.unit.daemon.settings_loading import load, load_file, refusal_of


def test_without_any_source_every_setting_has_its_default() -> None:
    """A daemon starts on a machine on which nobody has configured anything."""
    settings = load()
    places = default_directories()

    assert (settings.data_dir, settings.state_dir) == (places.data, places.state)
    assert (settings.listen_tcp, settings.listen_host, settings.listen_port) == (
        True,
        "127.0.0.1",
        0,
    )
    assert settings.storage_name == "sqlite"
    assert settings.allowed_plugins is None


def test_the_file_in_the_default_place_is_read() -> None:
    """Nobody has to say where it is."""
    folder = default_directories().config
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("listen.port = 4000")

    assert load().listen_port == 4000


def test_each_source_wins_over_those_before_it(tmp_path: Path) -> None:
    """Defaults, then the file, then variables, then flags."""
    toml = "listen.port = 1\nturns.concurrent = 2\nstreams.limit = 3"
    loaded = load_file(
        tmp_path,
        toml,
        environment={"SPACED_LISTEN_PORT": "10", "SPACED_TURNS_CONCURRENT": "20"},
        flags={"listen.port": 100},
    )

    assert loaded.settings.listen_port == 100
    assert loaded.settings.turns_concurrent == 20
    assert loaded.settings.streams_limit == 3


def test_the_listing_tells_where_each_value_comes_from(tmp_path: Path) -> None:
    """Whoever wonders about a value finds the place to change it."""
    loaded = load_file(
        tmp_path,
        "\n[listen]\nhost = '::1'\nport = 1",
        environment={"SPACED_STREAMS_LIMIT": "5"},
        flags={"listen.port": "2", "listen.tcp": False},
    )
    origins = {entry.name: entry.origin for entry in loaded.listing()}

    assert origins["listen.host"] == f"{tmp_path / 'config.toml'} line 3"
    assert origins["listen.port"] == "--port"
    assert origins["listen.tcp"] == "--no-tcp"
    assert origins["streams.limit"] == "SPACED_STREAMS_LIMIT"
    assert origins["retention"] == "default"


def test_the_listing_shows_values_as_a_person_writes_them(tmp_path: Path) -> None:
    """What is listed can be copied into a file."""
    toml = 'retention = 3600\nlisten.allowed_hosts = ["box.lan"]\ndata_dir = "/srv/spaced"'
    shown = {entry.name: entry.value for entry in load_file(tmp_path, toml).listing()}

    assert shown["retention"] == "1h"
    assert shown["turns.cancel_grace"] == "10s"
    assert shown["listen.allowed_hosts"] == ["box.lan"]
    assert shown["data_dir"] == "/srv/spaced"
    assert shown["socket"] == "/srv/spaced/run/control.sock"


def test_the_listing_hides_secrets_that_were_set(tmp_path: Path) -> None:
    """A listing is pasted into reports, so options of plugins and servers are not in it."""
    toml = (
        'mcp_servers = [{name = "x", key = "hush"}]\n[storages.postgres]\ndsn = "hush"\n'
        '[runtimes.acp]\nplugin = "acp"\nkey = "hush"'
    )
    loaded = load_file(tmp_path, toml)
    shown = {entry.name: entry.value for entry in loaded.listing()}

    assert shown["mcp_servers"] == "(hidden)"
    assert shown["storages.postgres.dsn"] == "(hidden)"
    assert shown["runtimes.acp.key"] == "(hidden)"
    assert shown["runtimes.acp.plugin"] == "acp"
    assert "hush" not in f"{loaded!r}"


def test_a_file_that_was_named_must_exist(tmp_path: Path) -> None:
    """A misspelt name must not mean that everything falls back to its default."""
    missing = tmp_path / "missing.toml"
    for sources in (
        {"environment": {}, "config_file": missing},
        {"environment": {"SPACED_CONFIG": str(missing)}},
    ):
        with pytest.raises(InvalidSettings, match=r"there is no settings file .*missing\.toml"):
            load_settings(flags={}, **sources)


def test_a_file_given_by_hand_wins_over_the_variable(tmp_path: Path) -> None:
    """A flag is nearer to the user than what their shell has set."""
    environment = {"SPACED_CONFIG": str(tmp_path / "missing.toml")}

    assert load_file(tmp_path, "listen.port = 7", environment=environment).settings.listen_port == 7


def test_an_empty_variable_says_nothing() -> None:
    """Shells and unit files set variables to nothing where they mean to unset them."""
    environment = {"SPACED_LISTEN_PORT": "", "SPACED_CONFIG": "", "SPACED_SOCKET": ""}

    assert load(environment).listen_port == 0


def test_flags_that_were_not_given_say_nothing() -> None:
    """The command line passes `None`, or `()` where a flag can be repeated."""
    assert load({"SPACED_LISTEN_PORT": "5"}, {"listen.port": None}).listen_port == 5
    assert load(None, {"storage.name": ()}).storage_name == "sqlite"


def test_a_flag_for_a_place_is_relative_to_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person at a prompt means the folder that they are in."""
    monkeypatch.chdir(tmp_path)

    assert load(None, {"data_dir": "here"}).data_dir == tmp_path / "here"
    assert load(None, {"data_dir": Path("there")}).data_dir == tmp_path / "there"


def test_an_unknown_flag_is_refused() -> None:
    """A command that passes on a name that no flag says has a mistake in it."""
    with pytest.raises(InvalidSettings, match=r"no flag says 'listen\.prot'"):
        load(None, {"listen.prot": 1})


def test_a_data_directory_brings_its_own_socket_and_logs(tmp_path: Path) -> None:
    """Two daemons with two data directories share nothing."""
    settings = load({"SPACED_DATA_DIR": str(tmp_path / "d")})

    assert settings.socket == tmp_path / "d" / "run" / "control.sock"
    assert settings.state_dir == tmp_path / "d" / "state"


def test_a_place_in_the_home_folder_can_be_written_with_a_tilde() -> None:
    """A settings file is shared between machines with different homes."""
    assert load({"SPACED_DATA_DIR": "~/kept"}).data_dir == Path.home() / "kept"


def test_settings_become_those_of_the_engine() -> None:
    """What the user sets is what the engine gets."""
    environment = {
        "SPACED_TURNS_CONCURRENT": "3",
        "SPACED_TURNS_CANCEL_GRACE": "1s",
        "SPACED_TURNS_STOP_GRACE": "2s",
        "SPACED_TURNS_IDLE": "3s",
        "SPACED_TURNS_REATTACH": "4s",
        "SPACED_RETENTION": "5s",
        "SPACED_MCP_SERVERS": '[{name = "files", command = "files-mcp"}]',
    }

    assert load(environment).engine({"PATH": "/bin"}) == EngineSettings(
        concurrent_turns=3,
        cancel_grace_ms=1000,
        stop_grace_ms=2000,
        idle_ms=3000,
        reattach_ms=4000,
        retention_ms=5000,
        environment={"PATH": "/bin"},
        mcp_servers=({"name": "files", "command": "files-mcp"},),
    )


def test_defaults_are_the_engines_own() -> None:
    """An engine without a daemon behaves like one with an empty settings file."""
    assert load().engine({}) == EngineSettings()


def test_agents_get_named_variables_and_those_that_no_program_does_without() -> None:
    """Naming one key must not take `PATH` from every agent."""
    own = {"API_KEY": "k", "OTHER": "o", "PATH": "/bin", "LC_ALL": "C"}

    assert load({"SPACED_ENVIRONMENT": "API_KEY"}).engine(own).environment == {
        "API_KEY": "k",
        "PATH": "/bin",
        "LC_ALL": "C",
    }
    assert load().engine(own).environment == own


def test_what_no_program_does_without_is_what_the_engine_always_passes_on() -> None:
    """Otherwise a variable would be promised there and kept back here."""
    own = dict.fromkeys(session_specs.ALWAYS_SEEN, "value")

    assert load({"SPACED_ENVIRONMENT": "API_KEY"}).engine(own).environment == own


def test_options_reach_the_storage_and_the_runtimes_without_the_choice_of_a_plugin(
    tmp_path: Path,
) -> None:
    """The choice is the plugin host's; a storage that got it would not know the option."""
    toml = (
        '[storage]\nname = "postgres"\n[storages.postgres]\nplugin = "pg"\ndsn = "host"\n'
        '[storages.sqlite]\nother = "x"\n[runtimes.acp]\nplugin = "acp"\nlimits = {lines = 5}'
    )
    settings = load_file(tmp_path, toml).settings

    assert settings.storage_options == {"dsn": "host"}
    assert settings.runtime_configs == {"acp": {"limits": {"lines": 5}}}
    assert settings.plugin_choices == {
        "storages.postgres.plugin": "pg",
        "runtimes.acp.plugin": "acp",
    }


def test_the_plugin_host_takes_the_choices_as_they_are(tmp_path: Path) -> None:
    """The names of these settings are the ones that its sentences tell people to set."""
    settings = load_file(tmp_path, '[runtimes.acp]\nplugin = "acp"').settings
    host = load_plugins(
        finder=list, allow=settings.allowed_plugins, choices=settings.plugin_choices
    )

    assert "acp" in host.runtimes.conflicts


def test_storage_options_are_what_a_storage_place_takes(tmp_path: Path) -> None:
    """Options of storages are texts."""
    options = load_file(tmp_path, '[storages.sqlite]\nx = "1"').settings.storage_options
    place = StoragePlace(folder=tmp_path, tables=(), clock=SystemClock(), options=options)

    assert place.options == {"x": "1"}


def test_only_some_plugins_can_be_allowed() -> None:
    """A star allows all of them; names allow only these."""
    assert load({"SPACED_PLUGINS_ALLOW": "acp, sqlite@spaced"}).allowed_plugins == (
        "acp",
        "sqlite@spaced",
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_addresses_need_no_permission(host: str) -> None:
    """Only this machine reaches them."""
    assert load({"SPACED_LISTEN_HOST": host}).listen_host == host


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "0", "192.168.1.7", "::ffff:10.0.0.1", "box.lan", "127.evil.com"]
)
def test_an_address_that_others_reach_is_refused_with_the_reason(host: str) -> None:
    """A flag or a variable alone must not open the daemon to a network."""
    with pytest.raises(InvalidSettings) as refused:
        load(None, {"listen.host": host})

    assert refused.value.message.startswith(f"--host: listen.host '{host}' lets other machines")
    assert "set listen.allow_remote to true" in refused.value.message


def test_a_second_setting_opens_the_daemon_to_others() -> None:
    """Whoever says it twice means it."""
    settings = load(None, {"listen.host": "0.0.0.0", "listen.allow_remote": True})

    assert settings.listen_host == "0.0.0.0"


def test_an_empty_host_is_refused(tmp_path: Path) -> None:
    """To the system it would mean every address."""
    assert "listen.host is '', but must be" in refusal_of(tmp_path, "listen.host = ''")


def test_all_mistakes_of_all_sources_are_reported_at_once(tmp_path: Path) -> None:
    """Nobody wants to start a daemon five times to find five mistakes."""
    with pytest.raises(InvalidSettings) as refused:
        load_file(
            tmp_path,
            "listen.port = -1\nlisten.host = '0.0.0.0'\nstreams.limit = 0",
            environment={"SPACED_LOG_LEVEL": "loud", "SPACED_STREAMS_LIMIT": "7"},
            flags={"turns.concurrent": 1, "listen.port": "http"},
        )
    lines = refused.value.message.replace(f"{tmp_path}/", "").splitlines()

    assert [line.partition(":")[0] for line in lines] == [
        "config.toml line 1",
        "config.toml line 3",
        "SPACED_LOG_LEVEL",
        "the command line",
        "--port",
        "config.toml line 2",
    ]


def test_a_flood_of_mistakes_is_cut(tmp_path: Path) -> None:
    """A file of another program does not fill the terminal."""
    lines = refusal_of(tmp_path, "".join(f"x{i} = 1\n" for i in range(1000))).splitlines()

    assert len(lines) == 21
    assert lines[-1] == "and 980 more mistakes"


@pytest.mark.parametrize("kind", [bool, int, str, Path])
def test_every_value_has_the_type_of_its_attribute(kind: type) -> None:
    """The class makes promises to a type checker that the table has to keep."""
    values = load()

    for name, hint in inspect.get_annotations(Settings).items():
        if hint is kind:
            assert isinstance(getattr(values, name), kind), name
