"""Words of a question in a hub's index: rare ones select passages, all of them rank."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hivemind import Hivemind, Scope
from hivemind.hivemind import make_context
from hivemind.hub import search
from hivemind.hub.store import HubDatabase
from hivemind.model.scope import Repository
from hivemind.settings import Settings
from tests.conftest import PERSON
from tests.postgres import new_team

HERE, THERE = (
    Repository(id="remote:git.example/acme/api", root=""),
    Repository(id="remote:git.example/acme/web", root=""),
)
BOTH, RARE = "The zebrafish job calls the okapi after each deploy", "The zebrafish job has a timeout"
COMMON = [f"Deploy number {number} took long" for number in range(12)]


@pytest.fixture
def mind(hub: HubDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hivemind]:
    monkeypatch.setattr(search, "MIN_SEARCHED", 3)
    monkeypatch.setattr(search, "SEARCHED_SHARE", 0)
    settings = Settings(home=tmp_path, person="ada", model="none")
    with hub.open_team(new_team(hub)) as store:
        mind = Hivemind(make_context(store, settings, HERE, PERSON))
        for text in (BOTH, RARE, *COMMON):
            mind.remember(text, scope=Scope.TEAM)
        yield mind


def search_texts(mind: Hivemind, question: str, limit: int = 100) -> list[str]:
    context = mind._context
    return [hit.text for hit in context.store.db.index.search(context.query(question, limit=5), limit)]


def test_passages_with_the_common_words_alone_are_left_out_beside_rare_ones(mind: Hivemind) -> None:
    assert search_texts(mind, "the zebrafish, the okapi and the deploy") == [BOTH, RARE]


def test_common_words_find_everything_where_there_are_no_rare_ones(mind: Hivemind) -> None:
    # Neither this question nor most of the texts has a word by which it is known to be English, so that their words are
    # cut into grams. These must not displace the word, by which the English text is found.
    assert set(search_texts(mind, "deploy")) == {BOTH, *COMMON}


def test_common_words_decide_between_passages_with_the_same_rare_ones(mind: Hivemind) -> None:
    mind.remember("The zebrafish job has an owner", scope=Scope.TEAM)
    longer = mind.remember("The zebrafish job has an owner who can deploy", scope=Scope.TEAM).text

    # "owner" and "zebrafish" select three passages, and "deploy" puts this one before the shorter one.
    assert search_texts(mind, "zebrafish owner deploy")[0] == longer


def test_passages_out_of_sight_do_not_keep_others_from_being_found(mind: Hivemind) -> None:
    context = mind._context
    elsewhere = Hivemind(make_context(context.store, context.settings, THERE, PERSON))
    for number in range(20):
        elsewhere.remember(f"Deploy deploy deploy {number}", scope=Scope.TEAM)

    # The best four candidates for one result are all of the other repository.
    (text,) = search_texts(mind, "deploy", limit=1)

    assert text in {BOTH, *COMMON}
