"""Laws of replaying a stream, for any story that a run or a definition can have."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.log.fold import StreamFold, fold_stream, fold_transcript
from spaced.log.record import RecordedEvent
from spaced.log.table import Key, PutRow
from spaced.testing.fake_clock import START
from tests.unit.log.stories import (
    Story,
    definition_stories,
    recorded,
    run_stories,
    system_stories,
)

STORIES = run_stories("run") | definition_stories() | system_stories()
LAW = settings(deadline=None, derandomize=True, max_examples=100)

State = tuple[dict[tuple[str, Key], PutRow], dict[str, list[dict[str, object]]], Any]


def _state(fold: StreamFold) -> State:
    """Return all that a fold holds, as values that can be compared."""
    items = {name: transcript.items() for name, transcript in fold.transcripts.items()}
    return fold.rows, items, fold.damage


def _unknown(version: int, session_id: str | None) -> RecordedEvent:
    return RecordedEvent(
        stream="run",
        version=version,
        position=version,
        kind="session-levitated",
        body=b'{"item":{"id":"item-0"},"height":3}',
        created_at=START + 99_999,
        recorded_at=START,
        session_id=session_id,
        item_id="item-0",
    )


@LAW
@given(story=STORIES)
def test_a_story_that_does_not_contradict_itself_is_undamaged(story: Story) -> None:
    """The laws below are about something: every story folds to its end."""
    fold = fold_stream(recorded("run", story))

    assert fold.damage is None


@LAW
@given(story=STORIES)
def test_replaying_a_stream_gives_the_same_again(story: Story) -> None:
    """Nothing but the events goes into a fold."""
    events = recorded("run", story)

    assert _state(fold_stream(events)) == _state(fold_stream(events))


@LAW
@given(story=STORIES, data=st.data())
def test_folding_a_beginning_and_then_the_rest_is_folding_the_whole(
    story: Story, data: st.DataObject
) -> None:
    """A fold can be continued at any point, in any number of parts."""
    events = recorded("run", story)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=3)))
    fold = StreamFold()

    for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True):
        fold.take(events[start:end])

    assert _state(fold) == _state(fold_stream(events))


@LAW
@given(story=STORIES, position=st.integers(1, 10**9), recorded_at=st.integers(0, 10**13))
def test_where_and_when_events_were_recorded_changes_nothing(
    story: Story, position: int, recorded_at: int
) -> None:
    """Rows hold only what was known before the append, so a copied log gives the same rows."""
    elsewhere = recorded("run", story, position=position, recorded_at=recorded_at)

    assert _state(fold_stream(elsewhere)) == _state(fold_stream(recorded("run", story)))


@LAW
@given(story=run_stories("run"), data=st.data())
def test_unknown_kinds_move_nothing_wherever_they_stand(story: Story, data: st.DataObject) -> None:
    """Facts of a newer program are skipped, also before the first event that is known."""
    events = recorded("run", story)
    sessions = st.sampled_from([None, "run", "nobody"])
    mixed = list(events)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(mixed)))
        mixed.insert(place, _unknown(place + 1, data.draw(sessions)))

    assert _state(fold_stream(mixed)) == _state(fold_stream(events))


@LAW
@given(story=run_stories("run"))
def test_the_counts_and_places_of_items_are_those_of_the_transcript(story: Story) -> None:
    """The derived rows of a session say what its transcript holds, in the same order."""
    fold = fold_stream(recorded("run", story))

    for session_id in (key[0] for table, key in fold.rows if table == "session"):
        items = fold.transcripts[session_id].items() if session_id in fold.transcripts else []
        session = fold.row("session", (session_id,))
        places = [fold.row("item", (session_id, str(item["id"]))) for item in items]

        assert session is not None
        assert session["item_count"] == len(items)
        assert [row and row["ordinal"] for row in places] == list(range(1, len(items) + 1))


@LAW
@given(story=run_stories("run"))
def test_an_item_begins_at_the_version_that_its_row_names(story: Story) -> None:
    """A reader that starts there misses nothing of the item."""
    events = recorded("run", story)
    fold = fold_stream(events)

    for (table, key), put in fold.rows.items():
        if table == "item":
            first = next(e for e in events if (e.session_id, e.item_id) == key)
            assert put.row["first_version"] == first.version


@LAW
@given(story=run_stories("run"))
def test_the_transcript_of_a_session_is_the_fold_of_its_events_alone(story: Story) -> None:
    """So it can be read by index, without anything else of the stream."""
    events = recorded("run", story)
    fold = fold_stream(events)

    for session_id, transcript in fold.transcripts.items():
        own = [event for event in events if event.session_id == session_id]
        assert fold_transcript(own).items() == transcript.items()


@LAW
@given(story=run_stories("run"))
def test_an_item_is_the_fold_of_its_own_events(story: Story) -> None:
    """So a screenful costs what it holds, however long the session is."""
    events = recorded("run", story)
    fold = fold_stream(events)

    for session_id, transcript in fold.transcripts.items():
        for item in transcript.items():
            own = [e for e in events if (e.session_id, e.item_id) == (session_id, item["id"])]
            assert fold_transcript(own).items() == [item]
