"""`spaced agents`, with and without a daemon, and the way from nothing to a first chat."""

import json
import os
import stat
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.end_to_end.daemons import Daemon
from tests.end_to_end.test_command_line import Said, spaced


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A person's home folder, and the only place that is looked at."""

    folder: Path

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables of somebody who lives here."""
        places = {name: str(self.folder / name.lower()) for name in ("DATA", "STATE", "CONFIG")}
        return {
            **{f"XDG_{name}_HOME": place for name, place in places.items()},
            "HOME": str(self.folder),
            "PATH": f"{self.folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "SPACED_AGENTS_DETECT": "true",
        }

    def put(self, name: str, content: str) -> Path:
        """Put a program on the path."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def put_agent(self, name: str = "opencode") -> Path:
        """Put an agent on the path that speaks the protocol and repeats what it is told."""
        return self.put(
            name,
            f'#!/bin/sh\nexec {sys.executable} -I -m spaced.testing.acp_agent --script "{{}}"\n',
        )

    async def run(self, *arguments: str, stdin: str = "") -> Said:
        """Run a command as somebody who lives here."""
        return await spaced(*arguments, stdin=stdin, environment=self.environment)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder=folder)


@pytest.fixture
async def daemon(home: Home) -> AsyncIterator[Daemon]:
    """A daemon of somebody who has an agent."""
    home.put_agent()
    async with Daemon.running("--no-tcp", environment=home.environment) as daemon:
        yield daemon


async def test_with_nothing_installed_the_next_step_is_named(home: Home) -> None:
    """No daemon runs, no agent is there, and still it is clear what to do."""
    said = await home.run("agents")
    assert (said.code, said.err) == (0, "")
    assert "None of them is installed. `spaced agents install opencode` gets one" in said.out
    assert "No daemon runs" in said.out
    told = json.loads((await home.run("agents", "list", "--json")).out)
    assert {agent["program"] for agent in told["agents"]} == {None}


async def test_an_agent_is_shown_with_all_that_is_known(home: Home) -> None:
    """Where it is, how to log in, how to install it."""
    home.put_agent("codex-acp")
    said = await home.run("agents", "show", "codex")
    assert str(home.folder / "bin" / "codex-acp") in said.out
    assert "codex login" in said.out
    unknown = await home.run("agents", "show", "nobody")
    assert (unknown.code, "`spaced agents` lists" in unknown.err) == (4, True)


async def test_how_to_log_in_is_said(home: Home) -> None:
    """Agents ask questions for that, so a person does it in a terminal."""
    said = await home.run("agents", "login", "codex")
    assert (said.code, said.out) == (0, "Run this in a terminal: codex login\n")
    told = json.loads((await home.run("agents", "login", "codex", "--json")).out)
    assert told == {"agent": "codex", "login": "missing", "log_in": "codex login"}
    home.put("../.codex/auth.json", "{}")
    assert "already" in (await home.run("agents", "login", "codex")).out


async def test_an_agent_that_could_not_start_is_told_before_it_is_tried(home: Home) -> None:
    """Its words in a failed start would say less."""
    home.put("opencode", f"#!{home.folder}/gone/python\n")
    said = await home.run("agents")
    assert "opencode: its interpreter" in said.out
    assert "broken" in said.out
    assert "None of them can be started" in said.out


async def test_from_an_installed_agent_to_a_chat(home: Home, daemon: Daemon) -> None:
    """The daemon has made a profile of what it found, so the first try works."""
    where = ("--data-dir", str(daemon.folder))
    listed = await home.run("agents", *where)
    assert "Next: spaced new --agent opencode && spaced chat" in listed.out
    assert "No daemon" not in listed.out
    made = await home.run("new", "--agent", "opencode", "--dir", str(home.folder), *where)
    assert made.code == 0, made.err
    answered = await home.run("send", "last", "hello there", "--wait", "30", *where)
    assert "hello there" in answered.out
    plain = await home.run("new", "--dir", str(home.folder), *where)
    assert plain.code == 0, plain.err  # the only agent that is a real one is meant
    missing = await home.run("new", "--agent", "claude", *where)
    assert (missing.code, "spaced agents install claude" in missing.err) == (1, True)
    unknown = await home.run("new", "--agent", "nobody", *where)
    assert (unknown.code, "`spaced agents` lists" in unknown.err) == (4, True)
    both = await home.run("new", "--agent", "opencode", "--profile", "demo", *where)
    assert both.code == 2


async def test_an_agent_that_came_later_gets_its_profile_when_it_is_meant(
    home: Home, daemon: Daemon
) -> None:
    """Nobody has to restart anything; a name of one's own makes another profile."""
    where = ("--data-dir", str(daemon.folder))
    home.put_agent("gemini")
    made = await home.run("new", "--agent", "gemini", "--dir", str(home.folder), *where)
    assert made.code == 0, made.err
    shown = json.loads((await home.run("profiles", "show", "gemini", "--json", *where)).out)
    assert (shown["id"], shown["options"]) == ("prof_gemini", {"resumable": False})
    added = await home.run("agents", "add", "gemini", "--name", "my gemini", *where)
    assert added.code == 0, added.err
    meant = await home.run("new", "--agent", "gemini", "--dir", str(home.folder), "--json", *where)
    assert json.loads(meant.out)["agent_id"] == "prof_gemini"
    probed = await home.run("profiles", "probe", "my gemini", *where)
    assert (probed.code, probed.out.splitlines()[0]) == (0, "usable")


async def test_a_profile_that_was_deleted_stays_so(home: Home, daemon: Daemon) -> None:
    """Also after a restart, which finds the agent again."""
    where = ("--data-dir", str(daemon.folder))
    assert (await home.run("profiles", "delete", "opencode", *where)).code == 0
    await daemon.stop()
    await daemon.start()
    listed = json.loads((await home.run("profiles", "list", "--json", *where)).out)
    assert [profile["name"] for profile in listed["profiles"]] == ["demo"]
    refused = await home.run("new", "--agent", "opencode", *where)
    assert (refused.code, "disabled or deleted" in refused.err) == (1, True)


NPM = """#!/bin/sh
[ "$1" = install ] || exit 9
mkdir -p "$3/node_modules/.bin"
printf '#!/bin/sh\\n' > "$3/node_modules/.bin/opencode"
chmod +x "$3/node_modules/.bin/opencode"
"""


async def test_an_installation_is_shown_first_and_run_only_if_somebody_agrees(home: Home) -> None:
    """Without a terminal nobody can, so it is refused and costs nothing."""
    home.put("npm", NPM)
    refused = await home.run("agents", "install", "opencode")
    assert refused.code == 1
    assert "npm install --prefix" in refused.out
    assert "--yes" in refused.err
    assert not (home.folder / "data").exists()

    done = await home.run("agents", "install", "opencode", "--yes")
    assert done.code == 0, done.err
    assert "Next: spaced new --agent opencode" in done.out
    program = home.folder / "data/spaced/agents/opencode/node_modules/.bin/opencode"
    assert str(program) in (await home.run("agents", "show", "opencode")).out
    assert stat.S_IMODE((home.folder / "data/spaced").stat().st_mode) == 0o700


async def test_an_installation_tells_programs_what_there_is(home: Home) -> None:
    """Only that is printed; what the package manager says goes to the other output."""
    home.put("npm", NPM + "echo added 1 package\n")
    taken = home.put_agent()
    told = await home.run("agents", "install", "opencode", "--yes", "--json")
    assert json.loads(told.out)["program"] == str(taken)
    assert "added 1 package" in told.err
    again = await home.run("agents", "install", "opencode", "--yes")
    assert f"{taken} comes before it on your PATH" in again.out


async def test_an_installation_that_brings_no_program_is_a_failure(home: Home) -> None:
    """Also if another one of that name is on the path."""
    home.put("npm", '#!/bin/sh\nmkdir -p "$3"\n')
    home.put_agent()
    failed = await home.run("agents", "install", "opencode", "--yes")
    assert (failed.code, "there is no" in failed.err) == (1, True)


async def test_an_installation_that_fails_leaves_nothing(home: Home) -> None:
    """The package manager has said why."""
    home.put("npm", "#!/bin/sh\nmkdir -p \"$3/half\"\necho 'no network' >&2\nexit 7\n")
    failed = await home.run("agents", "install", "opencode", "--yes")
    assert failed.code == 1
    assert "exit code 7" in failed.err
    assert not (home.folder / "data/spaced/agents/opencode").exists()


@pytest.mark.parametrize("runner", ["npx", "uvx", "/usr/bin/npx"])
async def test_a_program_that_fetches_another_is_no_agent(
    home: Home, daemon: Daemon, runner: str
) -> None:
    """It would do so at each start, without anybody's consent."""
    where = ("--data-dir", str(daemon.folder))
    said = await home.run("profiles", "add", "x", "--runtime", "acp", "--command", runner, *where)
    assert (said.code, "at each start" in said.err) == (1, True)


async def test_a_package_manager_that_is_told_to_fetch_is_no_agent(
    home: Home, daemon: Daemon
) -> None:
    """The same in other words."""
    where = ("--data-dir", str(daemon.folder))
    arguments = ("--argument", "exec", "--argument", "some-agent")
    said = await home.run(
        "profiles", "add", "x", "--runtime", "acp", "--command", "npm", *arguments, *where
    )
    assert (said.code, "at each start" in said.err) == (1, True)


async def test_a_profile_gets_the_absolute_path_of_its_program(home: Home, daemon: Daemon) -> None:
    """It is looked for once, when somebody is there to see."""
    where = ("--data-dir", str(daemon.folder))
    options = (
        *("--environment", "A=1", "--environment", "HOME", "--headless"),
        *("--cancel-grace", "1500ms"),
    )
    added = await home.run(
        "profiles", "add", "x", "--runtime", "acp", "--command", "opencode", *options, *where
    )
    assert added.code == 0, added.err
    shown = json.loads((await home.run("profiles", "show", "x", "--json", *where)).out)
    assert shown["command"] == [str(home.folder / "bin/opencode")]
    assert (shown["environment"], shown["headless"]) == (["A=1", "HOME"], True)
    assert shown["cancel_grace_ms"] == 1500
    wrong = await home.run("profiles", "add", "z", "--runtime", "acp", "--cancel-grace", "soon")
    assert (wrong.code, "duration" in wrong.err) == (2, True)
    missing = await home.run(
        "profiles", "add", "y", "--runtime", "acp", "--command", "nowhere", *where
    )
    assert (missing.code, "no program 'nowhere'" in missing.err) == (1, True)
