"""What the API tells about the daemon itself, and what a search finds."""

from typing import Any, Literal

from spaced.wire.shapes import JsonValue, Live, Shape


class Health(Shape, frozen=True, kw_only=True):
    """The daemon answers.

    Attributes:
        proof: HMAC-SHA256, in hex and keyed with the access token, of the `challenge` that was
            sent: so a client knows whom it talks to before it sends its token.
    """

    status: Literal["ok"]
    proof: str | None = None


class ActiveSession(Shape, frozen=True, kw_only=True):
    """A session that is not idle."""

    session_id: str
    live: Live


class StorageFacts(Shape, frozen=True, kw_only=True):
    """Where the data lie.

    Attributes:
        sizes: bytes by part.
        warnings: sentences that a person should act on.
    """

    name: str
    engine: str
    location: str
    sizes: dict[str, int]
    warnings: tuple[str, ...]


class ListenerFacts(Shape, frozen=True, kw_only=True):
    """Where the daemon is reached."""

    socket: str | None
    tcp: tuple[str, ...]


class Status(Shape, frozen=True, kw_only=True):
    """What the daemon is doing.

    Attributes:
        head: the cursor of the newest event.
        problems: by session, why it could not go on when it was tried last.
        streams: how many clients listen.
        limits: what the daemon serves at most, by name.
        counters: of what is worth knowing and no fact, by name.
        warnings: sentences about plugins and settings that a person should act on.
    """

    version: str
    pid: int
    started_at: str
    log_id: str
    head: str
    active: tuple[ActiveSession, ...]
    pending_prompts: int
    open_asks: int
    problems: dict[str, JsonValue]
    streams: int
    listeners: ListenerFacts
    storage: StorageFacts
    limits: dict[str, int]
    counters: dict[str, int]
    warnings: tuple[str, ...]


class Plugin(Shape, frozen=True, kw_only=True):
    """A plugin that is installed, and what became of it.

    Attributes:
        origin: the file of its module.
        offers: what it registered, as `storage <name>` or `runtime <name>`.
        reason: one sentence on why it is broken or blocked.
        traceback: where it broke.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    origin: str | None
    state: Literal["loaded", "broken", "blocked"]
    hooks: tuple[str, ...]
    offers: tuple[str, ...]
    reason: str
    traceback: str


class PluginList(Shape, frozen=True, kw_only=True):
    """All plugins, and sentences on what no single one is to blame for."""

    plugins: tuple[Plugin, ...]
    problems: tuple[str, ...]


class Agent(Shape, frozen=True, kw_only=True):
    """An agent that is known, and what the daemon's machine has of it.

    Attributes:
        latest: the version that the catalogue knows.
        program: the absolute path of its program; null if it is not installed.
        installed: the version that is installed, where its package tells.
        login: `ready`, `missing`, `optional` where it works without, or `unknown` where nobody can
            see it.
        log_in: what to run for it, in words.
        problems: what keeps it from being started.
        hints: what else a person should do or know.
    """

    id: str
    name: str
    description: str
    website: str
    latest: str
    program: str | None
    installed: str | None
    login: Literal["ready", "missing", "optional", "unknown"]
    log_in: str
    problems: tuple[str, ...]
    hints: tuple[str, ...]


class AgentList(Shape, frozen=True, kw_only=True):
    """The catalogue of agents, and sentences about entries that could not be read."""

    agents: tuple[Agent, ...]
    problems: tuple[str, ...]


class DetectedProfile(Shape, frozen=True, kw_only=True):
    """A profile that could be made, for an agent that is installed.

    Attributes:
        profile_id: the id to create it under, the same each time.
        exists: whether that id is taken, by this profile or by what became of it.
        definition: the body of `POST /v1/profiles`, without the id.
    """

    agent_id: str
    profile_id: str
    exists: bool
    definition: Any


class DetectedProfileList(Shape, frozen=True, kw_only=True):
    """A profile for each agent that is installed."""

    profiles: tuple[DetectedProfile, ...]


class Setting(Shape, frozen=True, kw_only=True):
    """One key of the settings.

    Attributes:
        value: secrets are hidden.
        origin: where the value comes from.
    """

    name: str
    value: Any
    origin: str
    type: str
    description: str


class SettingList(Shape, frozen=True, kw_only=True):
    """Every key of the settings."""

    settings: tuple[Setting, ...]


class Hit(Shape, frozen=True, kw_only=True):
    """Something that a search found.

    Attributes:
        item_id: of the transcript's item; null if the session's title matches.
        snippet: the text around the first words that match.
        matches: `[start, end]` of each match in the snippet, in code points.
    """

    session_id: str
    run_id: str
    title: str | None
    directory: str | None
    archived: bool
    item_id: str | None
    item_type: str | None
    role: str | None
    created_at: str | None
    snippet: str
    matches: tuple[tuple[int, int], ...]


class HitList(Shape, frozen=True, kw_only=True):
    """What a search found, newest first.

    Attributes:
        complete: false if so many places hold the words that only the newest were compared with
            the filters.
    """

    hits: tuple[Hit, ...]
    complete: bool


class Finding(Shape, frozen=True, kw_only=True):
    """One way in which rows and log disagree."""

    kind: str
    stream: str
    detail: str
    table: str | None


class DoctorReport(Shape, frozen=True, kw_only=True):
    """What the doctor found; no findings are good."""

    findings: tuple[Finding, ...]
    storage: StorageFacts


class Reclaimed(Shape, frozen=True, kw_only=True):
    """What a clean-up gave back.

    Attributes:
        waiting: blobs that nothing names, but that may only have been stored too lately for that.
    """

    blobs: int
    bytes: int
    waiting: int


class BackupDone(Shape, frozen=True, kw_only=True):
    """A consistent copy was written."""

    folder: str
    bytes: int
