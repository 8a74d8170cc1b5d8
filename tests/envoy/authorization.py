"""The committed AuthorizationPolicies as rules of Envoy's RBAC filter, the way Istio translates them."""

from __future__ import annotations

from typing import Any

import yaml

from tests.envoy.envoy_config import Json
from tests.k8s.manifests import NAME_LABEL, ROOT

POLICIES = ROOT / "k8s/components/mesh/authorization.yaml"


def proxy_rules(service: str) -> dict[str, Json]:
    """Rules of the proxy in front of a service. Ports are left out: here they are others."""
    (policy,) = (
        one["spec"]
        for one in yaml.safe_load_all(POLICIES.read_text("utf-8"))
        if one["spec"].get("selector", {}).get("matchLabels") == {NAME_LABEL: service}
    )
    assert policy["action"] == "ALLOW"
    return {str(number): _rule(rule) for number, rule in enumerate(policy["rules"])}


def _rule(rule: dict[str, Any]) -> Json:
    sources = [source["source"] for source in rule["from"]]
    paths = [path for target in rule["to"] for path in target["operation"]["paths"]]
    return {
        "principals": [principal for source in sources for principal in _principals(source)],
        "permissions": [{"url_path": {"path": _matcher(path)}} for path in paths],
    }


def _principals(source: dict[str, list[str]]) -> list[Json]:
    (kind,) = source
    if kind == "principals":
        names = [{"exact": f"spiffe://{name}"} for name in source[kind]]
    else:
        assert kind == "namespaces"
        names = [_regex(f"spiffe://[^/]+/ns/{namespace}/.*") for namespace in source[kind]]
    return [{"authenticated": {"principal_name": name}} for name in names]


def _matcher(pattern: str) -> Json:
    if pattern.endswith("*"):
        return {"prefix": pattern.removesuffix("*")}
    return {"exact": pattern}


def _regex(pattern: str) -> Json:
    return {"safe_regex": {"regex": pattern}}
