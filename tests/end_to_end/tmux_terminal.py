"""A real terminal that a test types into and reads: a tmux of its own.

What a program writes also goes into a pipe. That is only the sign that the screen may have changed:
tmux has taken the bytes before it passes them on, so that looking after each of them misses
nothing, and nobody has to look at a clock.
"""

import asyncio
import os
import shlex
import signal
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

PATIENCE: Final = 60.0
_NAME: Final = "terminal"


class TmuxTerminal:
    """One window, 100 columns wide, with one program in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._news = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def running(
        cls, command: Sequence[str], *, environment: Mapping[str, str], rows: int = 40
    ) -> AsyncIterator["TmuxTerminal"]:
        """Run a program in a terminal, and end both in any case."""
        with tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp") as name:
            terminal = cls(Path(name))
            signs = terminal._folder / "signs"
            os.mkfifo(signs)
            # Open for both, so that it is never at its end.
            descriptor = os.open(signs, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            loop = asyncio.get_running_loop()
            loop.add_reader(descriptor, terminal._note, descriptor)
            try:
                await terminal._start(command, environment, rows, signs)
                yield terminal
            finally:
                loop.remove_reader(descriptor)
                os.close(descriptor)
                await terminal._tmux("kill-server", is_strict=False)

    async def type(self, text: str) -> None:
        """Type text, then Enter."""
        await self._tmux("send-keys", "-t", _NAME, "-l", text)
        await self.press("Enter")

    async def press(self, *keys: str) -> None:
        """Press keys by the names that tmux has for them, such as `C-c`."""
        await self._tmux("send-keys", "-t", _NAME, *keys)

    async def screen(self, *, with_styles: bool = False) -> str:
        """Return everything that was printed, and what stands on the screen."""
        styles = ["-e"] if with_styles else []
        return await self._tmux("capture-pane", "-p", "-J", *styles, "-S", "-", "-t", _NAME)

    async def until(self, *texts: str, times: int = 1) -> str:
        """Wait until texts stand there so often; returns the screen."""
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    self._news.clear()
                    shown = await self.screen()
                    if all(shown.count(text) >= times for text in texts):
                        return shown
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{texts} never came:\n{await self.screen()}") from None

    def end_program(self) -> None:
        """Send the program a SIGTERM."""
        os.kill(int((self._folder / "pid").read_text()), signal.SIGTERM)

    async def ended(self) -> str:
        """Wait until the program has ended; returns what it leaves behind."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._tmux("wait-for", "ended")
        except TimeoutError:
            raise AssertionError(f"it never ended:\n{await self.screen()}") from None
        return await self.screen()

    def exit_code(self) -> int:
        """Return how the program ended."""
        return int((self._folder / "code").read_text())

    async def _start(
        self, command: Sequence[str], environment: Mapping[str, str], rows: int, signs: Path
    ) -> None:
        told = [f"{name}={value}" for name, value in environment.items()]
        folder, program = shlex.quote(str(self._folder)), shlex.join(["env", *told, *command])
        started = (
            # It begins once everything is in place that hears of it.
            "tmux wait-for begin; trap : INT; "
            f'sh -c \'echo $$ > "$0/pid"; exec "$@"\' {folder} {program}; '
            # The window stays, so that what the program leaves behind can be read.
            f"echo $? > {folder}/code; tmux wait-for -S ended; tmux wait-for never"
        )
        size = ("-x", "100", "-y", str(rows))
        await self._tmux("-u", "-f", "/dev/null", "new-session", "-d", "-s", _NAME, *size, started)
        await self._tmux("pipe-pane", "-t", _NAME, f"cat > {shlex.quote(str(signs))}")
        await self._tmux("wait-for", "-S", "begin")

    async def _tmux(self, *arguments: str, is_strict: bool = True) -> str:
        process = await asyncio.create_subprocess_exec(
            "tmux",
            *("-S", str(self._folder / "tmux.sock"), *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        output, complaint = await process.communicate()
        if is_strict and process.returncode:
            raise AssertionError(f"tmux {arguments[0]}: {complaint.decode(errors='replace')}")
        return output.decode(errors="replace")

    def _note(self, descriptor: int) -> None:
        os.read(descriptor, 65536)
        self._news.set()
