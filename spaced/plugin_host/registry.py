"""Names and the factories behind them; who offers what, and what is contested.

A name that two plugins offer belongs to neither until the setting `storages.<name>.plugin` or
`runtimes.<name>.plugin` chooses one: guessing would make the order of installation decide.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from spaced.errors import PluginProblem
from spaced.plugin_host.registration import Kind, Offer

FactoryT = TypeVar("FactoryT")


class Registry(Mapping[str, FactoryT]):
    """The usable factories of one kind, by name, and a sentence for each name that is not usable.

    Attributes:
        kind: what the factories make.
        offers: the usable ones with their owners and summaries.
        conflicts: names that no factory answers to, each with why and what to set.
    """

    def __init__(
        self, kind: Kind, offers: Iterable[Offer[FactoryT]], choices: Mapping[str, str]
    ) -> None:
        """Decide every name.

        Args:
            kind: what the factories make.
            offers: all offers of all plugins, in loading order.
            choices: settings of the form `runtimes.<name>.plugin`, with the plugin they choose;
                those of another kind are ignored.
        """
        self.kind = kind
        self.offers: dict[str, Offer[FactoryT]] = {}
        self.conflicts: dict[str, str] = {}
        by_name: dict[str, list[Offer[FactoryT]]] = {name: [] for name in _chosen(kind, choices)}
        for offer in offers:
            by_name.setdefault(offer.name, []).append(offer)
        for name, candidates in sorted(by_name.items()):
            self._decide(name, candidates, choices.get(setting_of(kind, name)))

    def __getitem__(self, name: str) -> FactoryT:
        return self.offers[name].factory

    def __iter__(self) -> Iterator[str]:
        return iter(self.offers)

    def __len__(self) -> int:
        return len(self.offers)

    def _decide(self, name: str, candidates: Sequence[Offer[FactoryT]], choice: str | None) -> None:
        wanted = [offer for offer in candidates if choice in (None, offer.owner)]
        if len(wanted) == 1:
            self.offers[name] = wanted[0]
            return
        self.conflicts[name] = _explain(self.kind, name, [o.owner for o in candidates], choice)


def setting_of(kind: Kind, name: str) -> str:
    """Return the setting that chooses which plugin provides a name."""
    return f"{kind}s.{name}.plugin"


def listing(names: Iterable[str]) -> str:
    """Write names as a person would: `'a', 'b' and 'c'`."""
    *most, last = [repr(name) for name in names]
    return f"{', '.join(most)} and {last}" if most else last


def check_choices(choices: Mapping[str, str]) -> None:
    """Refuse choices that choose nothing.

    Raises:
        PluginProblem: a setting is of another form.
    """
    kinds: tuple[Kind, ...] = ("storage", "runtime")
    known = {setting_of(kind, name) for kind in kinds for name in _chosen(kind, choices)}
    if unknown := sorted(choices.keys() - known):
        raise PluginProblem(
            f"{listing(unknown)} chooses no plugin; choices are written"
            " 'storages.<name>.plugin' or 'runtimes.<name>.plugin'"
        )


def _chosen(kind: Kind, choices: Mapping[str, str]) -> Sequence[str]:
    prefix, suffix = setting_of(kind, "|").split("|")
    return [
        setting[len(prefix) : -len(suffix)]
        for setting in choices
        if setting.startswith(prefix) and setting.endswith(suffix)
    ]


def _explain(kind: Kind, name: str, owners: Sequence[str], choice: str | None) -> str:
    setting = setting_of(kind, name)
    if choice is None:
        both = "both " if len(owners) == 2 else ""  # noqa: PLR2004 - the English word needs two
        return f"{kind} {name!r} is offered by {both}{listing(owners)}; set {setting} to choose one"
    offered = f"it is offered by {listing(owners)}" if owners else "no plugin offers it"
    return f"{setting} chooses {choice!r}, which offers no {kind} {name!r}; {offered}"
