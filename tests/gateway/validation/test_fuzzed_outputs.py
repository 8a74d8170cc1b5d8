"""Outputs broken in every way; `python -m benchmarks.fuzz_validator --examples 10000` runs many more."""

from hypothesis import HealthCheck, given, settings

from benchmarks.fuzz_validator.check import run
from benchmarks.fuzz_validator.outputs import Case, cases


@given(cases())
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_citation_resolves_and_no_statement_lacks_one(case: Case) -> None:
    _, broken = run(case)
    assert broken == []
