"""Platforms: hosts, routes, and the time of a message alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Tuple

from ._command import PathLike, call
from ._run import Setting, settings


@dataclass(frozen=True)
class Host:
    """A host. ``speed`` is in flop/s, of one core."""

    name: str
    speed: float
    cores: int


@dataclass(frozen=True)
class Link:
    """A link. ``bandwidth`` is in B/s, ``latency`` in seconds."""

    name: str
    bandwidth: float
    latency: float
    sharing: str


@dataclass(frozen=True)
class Route:
    """The links between two hosts. ``bandwidth`` is the least of them, ``None`` without links."""

    latency: float
    bandwidth: Optional[float]
    links: Tuple[Link, ...]


class Platform:
    """A platform file, TOML or SimGrid's XML, with changes as for a run."""

    def __init__(self, file: PathLike, *, set: Optional[Mapping[str, Setting]] = None) -> None:
        self._command = ["platform", "show", str(file), "--format", "json", *settings(set)]
        shown = self._show()
        self.name: Optional[str] = shown["name"]
        self.network_model: str = shown["network_model"]
        """The name of the network model in a platform file."""
        self.hosts: List[Host] = [Host(**host) for host in shown["hosts"]]

    def route(self, source: str, target: str) -> Route:
        """Returns the route from one host to another. Raises ``InputError`` if there is none."""
        shown = self._show("--route", source, target)
        links = (
            Link(link["name"], link["bandwidth"], link["latency_s"], link["sharing"]) for link in shown["links"]
        )
        return Route(shown["latency_s"], shown["bandwidth"], tuple(links))

    def time(self, source: str, target: str, size: float) -> float:
        """Returns the time in seconds of ``size`` bytes alone on the network: latency + size / bandwidth.

        This is the model ``flow``. Raises ``ValueError`` for platforms with another one, where only
        a run can tell.
        """
        if self.network_model != "flow":
            model = self.network_model
            raise ValueError(f"the network model is {model!r}: expected 'flow'; run a ping-pong for other models")
        route = self.route(source, target)
        return route.latency + (size / route.bandwidth if route.bandwidth else 0.0)

    def _show(self, *options: str) -> Any:
        return json.loads(call([*self._command, *options]).stdout)
