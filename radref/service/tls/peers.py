"""Which services may call this one: names in their certificates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from radref.errors import PermissionDenied
from radref.service.metrics import ACCESS_REFUSED

_NAMES = "x509_subject_alternative_name"


class AllowedPeers:
    """The list of peers.

    Args:
        names: SAN entries (DNS, URI or IP), compared whole; a peer needs one of them.
        required: a call without a certificate is refused; False where people call on a port of their own.
    """

    def __init__(self, names: Iterable[str], *, required: bool) -> None:
        self._names = frozenset(names)
        self._required = required

    def check(self, auth_context: Mapping[str, Iterable[bytes]]) -> None:
        """Passes when the peer may call.

        Args:
            auth_context: of the gRPC call.

        Raises:
            PermissionDenied: PEER_NOT_ALLOWED.
        """
        shown = {name.decode("utf-8", "replace") for name in auth_context.get(_NAMES, ())}
        # A certificate without any name still is one: it must not pass for a person without certificate.
        with_certificate = bool(shown) or "x509_common_name" in auth_context
        if not with_certificate and not self._required:
            return
        if not shown & self._names:
            ACCESS_REFUSED.labels(reason="PEER_NOT_ALLOWED").inc()
            raise PermissionDenied(
                "this certificate is not on the list of peers (tls.allowed_peer_names)",
                reason="PEER_NOT_ALLOWED",
            )
