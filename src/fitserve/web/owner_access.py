"""Who may look into the owner's tab, and who may act in it.

The key travels in a header that our page sets, not in a cookie: a cookie for 127.0.0.1 would be sent to every other
program's port on this machine, and with every request that another page makes the browser send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fitserve.errors import OperationFailed
from fitserve.text import tr
from fitserve.web.access import Throttle, same_key


class KeyNeeded(OperationFailed):
    """401: this needs the owner's key."""


class TooManyTries(OperationFailed):
    """429: this address has to wait."""


@dataclass(frozen=True)
class OwnerAccess:
    """`public`: others can reach the page; then the tab shows nothing without the key."""

    key: str
    public: bool = False
    throttle: Throttle = field(default_factory=Throttle)

    def may_act(self, headers: Mapping[str, str], address: str) -> bool:
        """Whether the right key was given. Raises TooManyTries."""
        given = headers.get("authorization", "").removeprefix("Bearer ")
        if not given:
            return False
        if wait_s := self.throttle.wait_s(address):
            raise TooManyTries(tr("owner.too_many", seconds=f"{wait_s:.0f}"), code="too_many_tries")
        if same_key(given, self.key):
            return True
        self.throttle.wrong(address)
        return False

    def admit_reader(self, headers: Mapping[str, str], address: str) -> None:
        """Raises KeyNeeded where one is needed even for looking."""
        if self.public:
            self.admit_owner(headers, address)

    def admit_owner(self, headers: Mapping[str, str], address: str) -> None:
        """Raises KeyNeeded."""
        if not self.may_act(headers, address):
            said = "owner.key_wrong" if headers.get("authorization") else "owner.key_needed"
            raise KeyNeeded(tr(said), code="owner_key", hint="fitserve page --owner-key")
