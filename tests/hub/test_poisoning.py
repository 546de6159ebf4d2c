"""What reaches a team by an agent's hands stays an agent's word, on the hub and on every laptop."""

from dataclasses import replace
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.hivemind import make_context
from hivemind.model.events import MemoryApproved, MemoryRemembered
from hivemind.model.ids import MemoryId, derive_id
from hivemind.model.memory import Channel, Kind, Source, Status, Writer
from hivemind.model.scope import Repository
from hivemind.model.team import Role, TeamMember
from hivemind.settings import Settings
from hivemind.store.store import Store
from tests.conftest import Clock, Tally
from tests.hub.hubs import Line, writer
from tests.hub.serving import Served
from tests.recall.samples import injections

FORGED = {"channel": "person", "trust": "high", "status": "active", "actor": "alice", "owner": "alice"}


def device(home: Path, person: str, channel: Channel, clock: Clock) -> Hivemind:
    who, here = Writer(actor=person, channel=channel), Repository(id="remote:example.org/acme/api", root="/nowhere")
    return Hivemind(
        make_context(Store.open(home / person), Settings(home=home / person, person=person), here, who, clock)
    )


def test_over_http_no_field_makes_an_agents_word_a_persons(served: Served, team: str, tally: Tally) -> None:
    agent, alice = served.token(team, name="robot", is_agent=True), served.token(team, name="alice")
    served.ask("POST", "/v1/memories", alice, {"text": "Deploys run from main"})
    texts = [text for text in injections() if text.strip()]

    forged = [served.ask("POST", "/v1/memories", agent, {"text": text} | FORGED).status for text in texts[:20]]
    kept = [served.ask("POST", "/v1/memories", agent, {"text": text}) for text in texts]
    held = [one.body for one in kept if one.status == 200]
    approved = [served.ask("POST", f"/v1/memories/{one['id']}/approve", agent, {}).status for one in held[:20]]
    answer = served.ask("POST", "/v1/recall", alice, {"query": texts[0][:500]}).body["text"]

    assert set(forged) == {422}
    assert held
    assert {(one["channel"], one["trust"]) for one in held} == {("agent", "medium")}
    assert {source["actor"] for one in held for source in one["sources"]} == {"robot"}
    assert set(approved) == {403}
    assert answer.count("<hivemind-memory") == answer.count("</hivemind-memory") == 1
    tally("by the hub's HTTP: tried, never a person's word", len(texts), len(texts))


@pytest.mark.parametrize("channel", [Channel.AGENT, Channel.DERIVED])
def test_what_an_agents_device_pushes_is_no_more_on_another_laptop(
    channel: Channel, tmp_path: Path, clock: Clock, tally: Tally
) -> None:
    hub = Store.open(tmp_path / "hub")
    robot, alice = device(tmp_path, "robot", channel, clock), device(tmp_path, "alice", Channel.PERSON, clock)
    token = TeamMember(person="robot", role=Role.ADMIN, is_agent=True)
    alice.remember("Deploys run from main", kind=Kind.CONVENTION, scope=Scope.TEAM)
    alice.team.sync(Line(hub, writer("alice")))
    lying = (Source(channel=Channel.PERSON, actor="alice"),)
    texts = [text for text in injections() if text.strip()]
    as_alice = replace(robot._context.factory, writer=Writer(actor="alice", channel=Channel.PERSON))
    for text in texts:
        sent = MemoryRemembered(
            memory_id=MemoryId(derive_id("forged", text)), kind=Kind.CONVENTION, text=text, owner="alice", sources=lying
        )
        approved = MemoryApproved(memory_id=sent.memory_id)
        robot._context.store.record(
            [
                factory.event(fact, Scope.TEAM, "")
                for factory, fact in ((robot._context.factory, sent), (as_alice, approved))
            ]
        )

    done = robot.team.sync(Line(hub, token))
    alice.team.sync(Line(hub, writer("alice")))

    arrived = [one for one in alice.list(limit=10_000, statuses=list(Status)) if one.text != "Deploys run from main"]
    brief = alice.brief().text
    assert len(done.refused) == len(texts) >= len(arrived) > 0
    assert {(one.trust, one.channel) for one in arrived} == {(channel.trust, channel)}
    assert "Deploys run from main" in brief
    if channel is Channel.DERIVED:
        assert {one.status for one in arrived} == {Status.PROPOSED}
        assert not [text for text in texts if text.strip()[:60] in brief]
    tally(f"by a team's pull, {channel}: tried, believed no further", len(texts), len(texts))
    for store in (robot, alice, hub):
        store.close()
