"""`envoy --mode validate` accepts everything this suite generates, and refuses what is wrong.

`running_envoy` validates besides whatever it starts.
"""

from pathlib import Path

import pytest

from tests.envoy.answering import ALL_METHODS
from tests.envoy.authorization import proxy_rules
from tests.envoy.envoy_config import Cluster, Door, Tls, configuration, endpoints
from tests.envoy.envoy_process import validate, written
from tests.envoy.mesh_site import Site, spiffe_id
from tests.envoy.test_envoy_outliers import committed
from tests.k8s.manifests import SERVICES

ADDRESSES = ("127.0.0.1:7101", "127.0.0.1:7102")


@pytest.mark.parametrize("service", SERVICES)
def test_everything_at_once_is_accepted_for_every_service(tmp_path: Path, service: str) -> None:
    """All that a door or a cluster can have, with what is committed for this service."""
    site = Site(tmp_path)
    # retrieval is one pod: nobody takes over from it.
    outliers = {} if service == "retrieval" else committed(service)
    cluster = Cluster(
        ADDRESSES,
        tls=Tls(site.of("gateway"), (spiffe_id(service),)),
        health_seconds=5,
        retry_budget_percent=20,
        **outliers,
    )
    inbound = Door(
        "in",
        Cluster(ADDRESSES[:1]),
        tls=Tls(site.of(service), (spiffe_id("gateway"),)),
        rules=proxy_rules(service),
    )
    outbound = Door("out", cluster, retried=ALL_METHODS, from_outside=True, keeps_ids=True)
    listed = Door("listed", Cluster(written(tmp_path, endpoints("listed", ADDRESSES), "endpoints.json")))
    assert validate(written(tmp_path, configuration([inbound, outbound, listed]))) == ""


def test_a_mistake_is_refused(tmp_path: Path) -> None:
    """Or else the tests above would show nothing."""
    unknown = configuration([Door("in", Cluster(ADDRESSES))])
    unknown["static_resources"]["clusters"][0]["no_such_field"] = 1
    assert "no_such_field" in validate(written(tmp_path, unknown))
    nowhere = configuration([Door("in", Cluster(ADDRESSES))])
    nowhere["static_resources"]["clusters"][0]["name"] = "another"
    assert "unknown cluster 'in'" in validate(written(tmp_path, nowhere))
