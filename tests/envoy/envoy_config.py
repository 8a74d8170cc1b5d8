"""Configurations of an Envoy that stands where a mesh's proxy stands: doors, and clusters behind them.

Only what a mesh does for radref: HTTP/2 both ways, certificates with names, health, outliers, retries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from radref.service.tls.files import TlsFiles

Json = dict[str, Any]

_TYPES = "type.googleapis.com/envoy"
# Of k8s/components/mesh/virtual-services.yaml: a net below the callers' deadlines. Envoy's own is 15 s.
ROUTE_TIMEOUT_SECONDS = 150.0


@dataclass(frozen=True, slots=True)
class Tls:
    """One side of a connection with certificates.

    Attributes:
        files: authority, and own certificate unless `shown` is False.
        peers: the other side's certificate must hold one of these names (SAN).
        kind: "URI" (SPIFFE ids, as in Istio) or "DNS".
        shown: False = shows no certificate (callers only).
    """

    files: TlsFiles
    peers: tuple[str, ...]
    kind: str = "URI"
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Outliers:
    """When a replica that fails is left out; the fields are those of Istio's outlierDetection."""

    consecutive_gateway_errors: int
    interval_seconds: float
    base_ejection_seconds: float
    max_ejection_percent: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """Replicas of one service.

    Attributes:
        addresses: host:port of each, or a file of endpoints that Envoy reads again when it is replaced.
        tls: towards them; None = clear text, as between a proxy and its own pod.
        health_seconds: time between two asks of grpc.health.v1; None = not asked.
        outliers: None = replicas that fail stay.
        retry_budget_percent: retries at once, in percent of the calls in flight, never below
            `min_retries`; None = Envoy's fixed three.
        panic_percent: with fewer replicas left than this, all are called again (Istio's minHealthPercent).
    """

    addresses: tuple[str, ...] | Path
    tls: Tls | None = None
    health_seconds: float | None = None
    outliers: Outliers | None = None
    retry_budget_percent: float | None = None
    min_retries: int = 3
    panic_percent: int = 50


@dataclass(frozen=True, slots=True)
class Door:
    """A port of the proxy, chosen by the system, and the cluster behind it.

    Attributes:
        tls: callers must show a certificate; None = clear text, as between a pod and its own proxy.
        retried: full paths ("/package.Service/Method") that are made again on UNAVAILABLE, once.
        from_outside: does as a gateway at the edge: gives each request an id of its own, unless `keeps_ids`.
        rules: allow rules (Envoy's RBAC policies by name); None = everybody may call everything.
    """

    name: str
    cluster: Cluster
    tls: Tls | None = None
    retried: tuple[str, ...] = ()
    timeout_seconds: float = ROUTE_TIMEOUT_SECONDS
    from_outside: bool = False
    keeps_ids: bool = False
    rules: Mapping[str, Json] | None = field(default=None)


def configuration(doors: Sequence[Door]) -> Json:
    """The bootstrap configuration: doors, each with a name of its own, and an admin port."""
    return {
        "node": {"id": "sidecar", "cluster": "radref-tests"},
        "admin": {"address": _address("127.0.0.1:0")},
        "static_resources": {
            "listeners": [_listener(door) for door in doors],
            "clusters": [_cluster(door.name, door.cluster) for door in doors],
        },
    }


def endpoints(cluster: str, addresses: Sequence[str]) -> Json:
    """Content of a file of endpoints (`Cluster.addresses` as a path) of the door `cluster`."""
    return {
        "resources": [
            {
                "@type": f"{_TYPES}.config.endpoint.v3.ClusterLoadAssignment",
                **_assignment(cluster, addresses),
            }
        ]
    }


def _listener(door: Door) -> Json:
    filters: list[Json] = []
    if door.rules is not None:
        filters.append(
            _extension(
                "envoy.filters.http.rbac",
                "extensions.filters.http.rbac.v3.RBAC",
                rules={"action": "ALLOW", "policies": dict(door.rules)},
            )
        )
    filters.append(_extension("envoy.filters.http.router", "extensions.filters.http.router.v3.Router"))
    manager = _extension(
        "envoy.filters.network.http_connection_manager",
        "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        stat_prefix=door.name,
        codec_type="HTTP2",
        use_remote_address=door.from_outside,
        preserve_external_request_id=door.keeps_ids,
        # As in Istio; Envoy's own would end a stream that is silent for five minutes.
        stream_idle_timeout="0s",
        http_filters=filters,
        route_config={
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": _routes(door)}],
        },
    )
    chain: Json = {"filters": [manager]}
    if door.tls is not None:
        chain["transport_socket"] = _extension(
            "envoy.transport_sockets.tls",
            "extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            require_client_certificate=True,
            common_tls_context=_certificates(door.tls),
        )
    return {
        "name": door.name,
        "stat_prefix": door.name,
        "address": _address("127.0.0.1:0"),
        "filter_chains": [chain],
    }


def _routes(door: Door) -> list[Json]:
    once_more = {
        "retry_on": "unavailable,connect-failure,reset-before-request,refused-stream",
        "num_retries": 1,
    }
    route = {"cluster": door.name, "timeout": f"{door.timeout_seconds}s"}
    return [
        *({"match": {"path": path}, "route": {**route, "retry_policy": once_more}} for path in door.retried),
        {"match": {"prefix": "/"}, "route": route},
    ]


def _cluster(name: str, cluster: Cluster) -> Json:
    protocol = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    made: Json = {
        "name": name,
        "connect_timeout": "2s",
        "lb_policy": "LEAST_REQUEST",
        "common_lb_config": {"healthy_panic_threshold": {"value": cluster.panic_percent}},
        "typed_extension_protocol_options": {
            protocol: {
                "@type": f"type.googleapis.com/{protocol}",
                "explicit_http_config": {"http2_protocol_options": {}},
            }
        },
        "circuit_breakers": {"thresholds": [_limits(cluster)]},
    }
    if isinstance(cluster.addresses, Path):
        made["type"] = "EDS"
        made["eds_cluster_config"] = {
            "eds_config": {
                "resource_api_version": "V3",
                "path_config_source": {"path": str(cluster.addresses)},
            }
        }
    else:
        made["type"] = "STATIC"
        made["load_assignment"] = _assignment(name, cluster.addresses)
    if cluster.health_seconds is not None:
        every = f"{cluster.health_seconds}s"
        made["health_checks"] = [
            {
                # A cold machine may take a moment to answer; it is not a failure of the service.
                "timeout": "5s",
                "interval": every,
                "no_traffic_interval": every,
                "unhealthy_threshold": 1,
                "healthy_threshold": 1,
                "grpc_health_check": {},
            }
        ]
    if cluster.outliers is not None:
        made["outlier_detection"] = _outlier_detection(cluster.outliers)
    if cluster.tls is not None:
        made["transport_socket"] = _extension(
            "envoy.transport_sockets.tls",
            "extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            common_tls_context=_certificates(cluster.tls),
        )
    return made


def _limits(cluster: Cluster) -> Json:
    limits: Json = {"track_remaining": True}
    if cluster.retry_budget_percent is not None:
        limits["retry_budget"] = {
            "budget_percent": {"value": cluster.retry_budget_percent},
            "min_retry_concurrency": cluster.min_retries,
        }
    return limits


def _outlier_detection(outliers: Outliers) -> Json:
    return {
        "consecutive_gateway_failure": outliers.consecutive_gateway_errors,
        "enforcing_consecutive_gateway_failure": 100,
        "enforcing_consecutive_5xx": 0,
        "enforcing_success_rate": 0,
        "interval": f"{outliers.interval_seconds}s",
        "base_ejection_time": f"{outliers.base_ejection_seconds}s",
        "max_ejection_percent": outliers.max_ejection_percent,
    }


def _certificates(tls: Tls) -> Json:
    made: Json = {
        "alpn_protocols": ["h2"],
        "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
        "validation_context": {
            "trusted_ca": {"filename": str(tls.files.ca)},
            "match_typed_subject_alt_names": [
                {"san_type": tls.kind, "matcher": {"exact": name}} for name in tls.peers
            ],
        },
    }
    if tls.shown:
        made["tls_certificates"] = [
            {
                "certificate_chain": {"filename": str(tls.files.cert)},
                "private_key": {"filename": str(tls.files.key)},
            }
        ]
    return made


def _assignment(cluster: str, addresses: Sequence[str]) -> Json:
    hosts = [{"endpoint": {"address": _address(address)}} for address in addresses]
    return {"cluster_name": cluster, "endpoints": [{"lb_endpoints": hosts}]}


def _address(address: str) -> Json:
    host, _, port = address.rpartition(":")
    return {"socket_address": {"address": host, "port_value": int(port)}}


def _extension(name: str, kind: str, **fields: Any) -> Json:
    return {"name": name, "typed_config": {"@type": f"{_TYPES}.{kind}", **fields}}
