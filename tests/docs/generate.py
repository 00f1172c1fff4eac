"""Writes the pages of docs/ that are made from the code: `make docs`."""

from pathlib import Path

from tests.docs import events_page

DOCS = Path(__file__).parents[2] / "docs"


def main() -> None:
    """Write every generated page."""
    (DOCS / "events.md").write_text(events_page.page(), encoding="utf-8")


if __name__ == "__main__":
    main()
