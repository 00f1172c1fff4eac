"""Pages that are made from the code say what the code says."""

from spaced.domain.events.catalogue import EVENTS
from tests.docs import events_page
from tests.docs.generate import DOCS


def test_the_page_of_events_is_current() -> None:
    """docs/events.md is what the event classes give; `make docs` writes it."""
    assert (DOCS / "events.md").read_text(encoding="utf-8") == events_page.page()


def test_the_page_of_events_names_every_kind() -> None:
    """No kind is left out, whatever the generator does."""
    page = events_page.page()

    missing = [cls.kind for cls in EVENTS if f"#### `{cls.kind}`" not in page]

    assert missing == []
