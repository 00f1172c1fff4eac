"""How commands print: aligned columns for people, one JSON document for programs."""

from collections.abc import Iterable, Mapping, Sequence

import click


def print_json(value: object) -> None:
    """Print one JSON document."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))


def facts(told: Mapping[str, object]) -> None:
    """Print names and what they are, aligned."""
    width = max((len(name) for name in told), default=0)
    for name, value in told.items():
        click.echo(f"{name:<{width}}  {shown(value)}")


def table(
    titles: Sequence[str], rows: Iterable[Sequence[object]], *, nothing: str = "Nothing."
) -> None:
    """Print rows in columns, or a sentence if there are none."""
    cells = [[shown(value) for value in row] for row in rows]
    if not cells:
        click.echo(nothing)
        return
    everything = [list(titles), *cells]
    widths = [max(len(row[place]) for row in everything) for place in range(len(titles))]
    for row in everything:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def shown(value: object) -> str:
    """Return a value on one line, with nothing in it that moves the cursor."""
    text = "" if value is None else str(value)
    if text.isascii() and text.isprintable():
        return text
    from spaced.cli.chat.spans import one_line

    return one_line(text, longest=400)
