"""Whatever is asked of ``/v1``, the hub answers; it never fails."""

from typing import Any

import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import status_code_conformance

from hivemind.hub.access import Limits
from hivemind.model.team import Role
from tests.hub.serving import Served

STEADY = hypothesis.settings(
    max_examples=12, deadline=None, suppress_health_check=list(hypothesis.HealthCheck), derandomize=True, database=None
)


@pytest.fixture
def description(served: Served, team: str, monkeypatch: pytest.MonkeyPatch) -> schemathesis.BaseSchema:
    """The interface as the hub itself describes it."""
    monkeypatch.setattr(served.host, "limits", Limits(per_token=1 << 30, wrong_per_address=1 << 30))
    described = schemathesis.openapi.from_url(f"{served.url}/v1/openapi.json")
    described.config.update(headers={"Authorization": f"Bearer {served.token(team, Role.ADMIN, 'fuzz')}"})
    return described


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")  # of the fuzzer's own making
def test_no_request_makes_the_hub_fail(description: schemathesis.BaseSchema) -> None:
    asked: dict[str, int] = {}
    for found in description.get_all_operations():
        assert isinstance(found, schemathesis.core.result.Ok)
        operation = found.ok()

        @STEADY
        @hypothesis.given(case=operation.as_strategy())
        def answers(case: schemathesis.Case[Any]) -> None:
            asked[case.operation.label] = asked.get(case.operation.label, 0) + 1
            case.call_and_validate(checks=[not_a_server_error, status_code_conformance])

        answers()

    assert {"POST /v1/push", "POST /v1/recall", "DELETE /v1/memories/{memory}"} < set(asked)
    assert sum(asked.values()) > 150


@pytest.mark.parametrize(
    "text", ["nul \0 inside", "half \ud800 a pair", "\u202e backwards", "\U0001f41d", "x" * 19_000]
)
def test_odd_text_is_kept_or_refused_and_found_again(served: Served, team: str, text: str) -> None:
    token = served.token(team)

    kept = served.ask("POST", "/v1/memories", token, {"text": text, "tags": [text[:20]]})

    assert kept.status in (200, 422)
    assert kept.status == 422 or served.ask("GET", f"/v1/memories/{kept.body['id']}", token).status == 200


@pytest.mark.parametrize("entry", [{}, [], 7, {"header": [], "salt": "", "content": ""}, {"header": ["x"] * 14}])
def test_an_entry_that_is_none_is_refused(served: Served, team: str, entry: object) -> None:
    asked = {"device": "d1", "entries": [entry]}

    assert served.ask("POST", "/v1/push", served.token(team), asked).status == 422
