"""Nothing is open by accident: policies choose pods and ports that exist, and every Service has one."""

from __future__ import annotations

from typing import Any

from tests.k8s.manifests import OPERATORS_PODS, Rendered, matches

# Not of our pods: DNS, istiod, proxies' metrics, the cluster's API, key servers, PostgreSQL and its operator.
FOREIGN_PORTS = {53, 443, 6443, 15012, 15020, 5432, 8000, 9187}


def known_pods(rendered: Rendered) -> list[tuple[dict[str, str], set[int]]]:
    pods = [(pod.labels, set(pod.ports.values())) for pod in rendered.pods]
    operators = [(labels, {5432, 8000, 9187}) for labels in OPERATORS_PODS if rendered.of("Cluster")]
    return [*pods, *operators]


def policies(rendered: Rendered) -> list[dict[str, Any]]:
    return rendered.of("NetworkPolicy")


def test_everything_is_closed_unless_named(rendered: Rendered) -> None:
    default = rendered.get("NetworkPolicy", "default-deny")
    assert default["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in policies(rendered):
        assert policy["metadata"]["namespace"] == "radref"
        # A direction with rules but without its type would not be applied as meant.
        for direction in ("ingress", "egress"):
            if direction in policy["spec"]:
                assert direction.capitalize() in policy["spec"]["policyTypes"], policy["metadata"]["name"]


def test_every_pod_and_every_service_has_a_policy_of_its_own(rendered: Rendered) -> None:
    specific = [p["spec"]["podSelector"] for p in policies(rendered) if p["spec"]["podSelector"]]
    for pod in rendered.pods:
        assert any(matches(selector, pod.labels) for selector in specific), pod.name
    for service in rendered.of("Service"):
        chosen = [
            pod for pod in rendered.pods if matches({"matchLabels": service["spec"]["selector"]}, pod.labels)
        ]
        assert len(chosen) == 1, service["metadata"]["name"]
        assert any(matches(selector, chosen[0].labels) for selector in specific)


def test_policies_choose_pods_and_peers_that_exist(rendered: Rendered) -> None:
    known = [labels for labels, _ in known_pods(rendered)]
    for policy in policies(rendered):
        name = policy["metadata"]["name"]
        assert any(matches(policy["spec"]["podSelector"], labels) for labels in known), name
        for direction, side in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(direction, []):
                assert rule.get("ports"), f"{name}: a rule for all ports"
                if side not in rule:
                    # The API server's address is the cluster's; only the database's manager calls it.
                    assert name == "radref-db", f"{name}: a rule for everybody"
                for peer in rule.get(side, []):
                    assert peer != {}, name
                    if "podSelector" in peer and "namespaceSelector" not in peer:
                        assert any(matches(peer["podSelector"], labels) for labels in known), (
                            f"{name}: {peer}"
                        )


def test_ports_in_policies_exist(rendered: Rendered) -> None:
    known = known_pods(rendered)
    for policy in policies(rendered):
        name = policy["metadata"]["name"]
        own = {p for labels, ports in known if matches(policy["spec"]["podSelector"], labels) for p in ports}
        for rule in policy["spec"].get("ingress", []):
            for port in rule["ports"]:
                assert port["port"] in own or (rendered.in_mesh and port["port"] == 15020), f"{name}: {port}"
        for rule in policy["spec"].get("egress", []):
            peers = [peer["podSelector"] for peer in rule.get("to", []) if set(peer) == {"podSelector"}]
            theirs = {p for peer in peers for labels, ports in known if matches(peer, labels) for p in ports}
            for port in rule["ports"]:
                allowed = theirs if peers and "radref-db" not in str(peers) else theirs | FOREIGN_PORTS
                assert port["port"] in allowed, f"{name}: {port}"


def test_addresses_of_the_site_are_placeholders_that_lead_nowhere(rendered: Rendered) -> None:
    for policy in policies(rendered):
        for direction, side in (("ingress", "from"), ("egress", "to")):
            for rule in policy["spec"].get(direction, []):
                for peer in rule.get(side, []):
                    if "ipBlock" in peer:
                        # RFC 5737: never assigned.
                        assert peer["ipBlock"]["cidr"].startswith("192.0.2."), policy["metadata"]["name"]


def test_services_lead_to_ports_that_pods_have_and_never_to_the_admin_port(rendered: Rendered) -> None:
    for service in rendered.of("Service"):
        (pod,) = [p for p in rendered.pods if matches({"matchLabels": service["spec"]["selector"]}, p.labels)]
        for port in service["spec"]["ports"]:
            where = f"{service['metadata']['name']}: {port['name']}"
            assert port["targetPort"] in pod.ports, where
            assert port["targetPort"] not in ("admin", "metrics"), where
            if port["appProtocol"] == "grpc":
                assert port["name"].startswith("grpc-"), where
            if "grpc" in port["name"]:
                assert port["appProtocol"] == "grpc", where


def test_only_monitoring_reaches_the_admin_ports(rendered: Rendered) -> None:
    monitoring = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    for pod in rendered.pods:
        if "admin" not in pod.ports:
            continue
        sources = [
            rule["from"]
            for policy in policies(rendered)
            if matches(policy["spec"]["podSelector"], pod.labels)
            for rule in policy["spec"].get("ingress", [])
            if any(port["port"] == pod.ports["admin"] for port in rule["ports"])
        ]
        assert sources == [monitoring], pod.name


def test_clients_that_balance_see_every_pod_and_one_pod_has_a_lasting_address(rendered: Rendered) -> None:
    for service in rendered.of("Service"):
        name = service["metadata"]["name"]
        headless = service["spec"].get("clusterIP") == "None"
        # inference: radref's channels; qdrant: its client; the others: names of pods of a StatefulSet.
        assert headless is (name in ("inference", "qdrant", "ingest-pods", "qdrant-pods")), name
