"""Refuses to start where others could reach a service that checks nothing."""

from __future__ import annotations

import structlog

from radref.service.loopback import is_loopback
from radref.service.settings import ServiceSettings, SettingsError, UserFacingSettings

log = structlog.get_logger()


def check_exposure(settings: ServiceSettings) -> None:
    """Passes when every address that others reach is protected.

    Raises:
        SettingsError: names each setting to change.
    """
    section = settings.section
    user_facing = isinstance(settings, UserFacingSettings)
    faults: list[str] = []
    for name, address in settings.served_addresses().items():
        if is_loopback(address.rpartition(":")[0]):
            continue
        where = f"{section}.{name} is {address}, which other machines reach"
        if settings.tls.mode == "off":
            faults.append(
                f"{where}: set {section}.tls.mode to mtls, or to mesh where a service mesh encrypts and "
                "checks peers"
            )
        if isinstance(settings, UserFacingSettings) and settings.access.mode == "off":
            faults.append(f"{where}: set {section}.access.mode to jwt")
    if settings.channelz_listen and not is_loopback(settings.channelz_listen.rpartition(":")[0]):
        faults.append(f"{section}.channelz_listen shows every connection: loopback only, e.g. 127.0.0.1:7300")
    if settings.tls.mode == "mtls" and not user_facing and not settings.tls.allowed_peer_names:
        faults.append(f"{section}.tls.allowed_peer_names is empty: no service could call this one")
    if settings.tls.peer_listen and not user_facing:
        faults.append(f"{section}.tls.peer_listen: on this service every call needs a certificate anyway")
    if faults:
        raise SettingsError("\n".join(faults))


def warn_of_open_doors(settings: ServiceSettings) -> None:
    """One loud line about what is off; it can be off on loopback only."""
    off = [f"{settings.section}.tls"] if settings.tls.mode == "off" else []
    if isinstance(settings, UserFacingSettings) and settings.access.mode == "off":
        off.append(f"{settings.section}.access")
    if off:
        log.warning(
            "SECURITY IS OFF: every program on this machine may call this service; loopback only", off=off
        )
