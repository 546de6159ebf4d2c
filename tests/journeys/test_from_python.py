"""The Python interface as a programmer meets it: what can be seen of it, what it takes, and how it fails."""

import pydoc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from pathlib import Path

import pytest

import hivemind
from hivemind import Hivemind
from hivemind.errors import HivemindError, InvalidInput, StoreBusy, StoreClosed
from hivemind.model.claim import Claim
from hivemind.model.memory import Kind, Status

Make = Callable[..., Path]


def test_dir_and_help_show_the_whole_interface() -> None:
    page = pydoc.plain(pydoc.render_doc(hivemind))

    assert set(hivemind.__all__) <= set(dir(hivemind))
    for name in ("open", "connect", "embed", "class Hivemind", "class Recall", "remember(", "recall("):
        assert name in page, name


def test_every_public_name_is_documented() -> None:
    for owner in (hivemind, hivemind.Hivemind, hivemind.Recall, hivemind.Memory, hivemind.Hit, hivemind.Kind):
        names = [name for name in vars(owner) if not name.startswith("_")] if owner is not hivemind else dir(hivemind)
        values = {name: getattr(owner, name) for name in names if name[0] != "_"}
        undocumented = [name for name, value in values.items() if callable(value) and not value.__doc__]
        assert not undocumented, (owner, undocumented)


def test_an_answer_is_a_sequence_of_its_hits(mind: Hivemind) -> None:
    mind.remember("Tests need a running Redis")
    answer = mind.recall("what do the tests need?")

    assert [hit.memory.text for hit in answer] == ["Tests need a running Redis"]
    assert (len(answer), answer[0], answer[:1], answer[-1] in answer) == (1, answer.hits[0], answer.hits, True)
    assert answer
    assert not mind.recall("anything", tags=["no such tag"])


def test_a_directory_is_a_text_or_a_path_and_may_begin_with_the_home(
    make_repository: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("work/shop")
    monkeypatch.setenv("HOME", str(root.parent.parent))
    monkeypatch.setenv("USERPROFILE", str(root.parent.parent))
    for directory in (root, str(root), "~/work/shop", Path("~/work/shop")):
        with hivemind.open(directory=directory) as mind:
            assert mind.repository.root == str(root)


def test_names_stand_for_kinds_scopes_statuses_and_details(mind: Hivemind) -> None:
    memory = mind.remember("Deploys run from main", kind="decision", scope="user", tags="deploy, Release")

    assert (memory.kind, memory.scope, memory.tags) == ("decision", "user", ("deploy", "release"))
    assert mind.recall("deploys", kinds="decision", scope="user", detail="full")[0].memory.id == memory.id
    assert not mind.recall("deploys", kinds=["fix"])
    assert mind.list(statuses="active", kinds=["decision"], tags="deploy") == (memory,)
    assert mind.edit(memory, kind="convention").kind == "convention"


def test_one_link_or_file_needs_no_list(mind: Hivemind, tmp_path: Path) -> None:
    (tmp_path / "till.py").write_text("def ring_up():\n    pass\n")

    assert mind.remember("Rounds down", links="till.py::ring_up", sources=Path("till.py")).links == (
        "till.py::ring_up",
    )
    assert mind.context("rounding", files="till.py")[0].memory.text == "Rounds down"


def test_a_memory_can_be_given_instead_of_its_id(mind: Hivemind) -> None:
    memory = mind.remember("Deploys run from main")
    newer = mind.remember("Deploys run from release branches", replaces=memory)

    assert (mind.show(newer), mind.show(memory).status) == (newer, "superseded")
    assert mind.forget(newer).status == "retracted"


def test_dates_of_python_are_dates(mind: Hivemind) -> None:
    memory = mind.remember("The old till is used", valid_from=date(2026, 1, 1), valid_to=date(2026, 2, 1))

    assert memory.valid_from == "2026-01-01T00:00:00.000000Z"
    assert mind.recall("till", true_at=date(2026, 1, 15))[0].memory.id == memory.id
    assert not mind.recall("till", true_at=date(2026, 3, 1))


def test_a_recall_prints_as_what_an_agent_is_told(mind: Hivemind) -> None:
    mind.remember("Deploys run on Mondays")

    found, nothing = mind.recall("when do deploys run?"), mind.recall("Deploys", tags=["none"])

    assert str(found) == found.text
    assert str(nothing) == nothing.hint


def test_texts_dictionaries_and_claims_can_be_remembered_together(mind: Hivemind) -> None:
    claim = Claim(text="Prices are in cents")
    texts = [memory.text for memory in mind.remember_all(["Tests need Redis", {"content": "Use tabs"}, claim])]

    assert texts == ["Tests need Redis", "Use tabs", "Prices are in cents"]


def test_a_dictionary_has_the_parameters_of_remember(mind: Hivemind) -> None:
    (old,) = mind.remember_all([{"text": "Deploys run on Mondays", "subject": "deploy-day"}])
    item = {
        "text": "Deploys run on Tuesdays", "kind": "decision", "subject": "deploy-day", "replaces": [old.id],
        "expires": "28d", "valid_from": date(2026, 1, 1), "confidence": 0.5, "tags": ["ops"],
        "forbids": ["make deploy", "!make deploy-dry"],
    }  # fmt: skip

    (memory,) = mind.remember_all([item])

    assert (memory.kind, memory.subject, memory.confidence) == (Kind.DECISION, "deploy-day", 0.5)
    assert memory.metadata == {"forbids": "make deploy, !make deploy-dry"}
    assert memory.supersedes == (old.id,)
    assert memory.expires_at > memory.recorded_at
    assert memory.valid_from == "2026-01-01T00:00:00.000000Z"
    (proposal,) = mind.remember_all([{"text": "Backups are encrypted", "propose": True}])
    assert proposal.status is Status.PROPOSED


@pytest.mark.parametrize(("key", "value"), [("kind", "gospel"), ("expires", "soon"), ("confidence", 7), ("links", 7)])
def test_a_wrong_value_in_a_dictionary_is_refused_with_its_key(mind: Hivemind, key: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=rf"items\[1\]\['{key}'\]"):
        mind.remember_all(["Tests need Redis", {"text": "Use tabs", key: value}])
    assert not mind.list()


@pytest.mark.parametrize("items", ["Tests need Redis", {"content": "Use tabs"}, b"bytes", None, 7])
def test_what_is_no_list_is_not_taken_for_one(mind: Hivemind, items: object) -> None:
    with pytest.raises(InvalidInput, match="must be a list"):
        mind.remember_all(items)  # type: ignore[arg-type]
    assert not mind.list()


ODD_VALUES = (None, 7, 0.5, b"bytes", ["a list"], {"a": "dictionary"}, object(), Path("a/path"), True)
"""What programs pass by mistake; None means that a value is not given."""
TEXT_VERBS = (
    "remember", "recall", "on_prompt", "context", "show", "explain", "edit", "forget", "restore", "approve", "reject",
    "erase",
)  # fmt: skip
OPTIONS = {
    "remember": "scope kind tags subject replaces expires verify_by valid_from valid_to links sources confidence "
    "metadata",
    "recall": "scope kinds tags limit max_tokens as_of true_at detail where",
    "list": "scope kinds tags statuses agent since until limit before where",
    "edit": "kind subject expires verify_by valid_from valid_to confidence reason metadata",
}


def attempt(call: Callable[[], object]) -> None:
    """Let a call succeed or fail in our own words; any other error fails the test."""
    with suppress(HivemindError):
        call()


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: type(value).__name__)
def test_a_value_of_a_wrong_type_is_refused_in_our_own_words(mind: Hivemind, value: object) -> None:
    memory = mind.remember("Tests need a running Redis")
    for name in TEXT_VERBS:
        with pytest.raises(HivemindError):
            getattr(mind, name)(value)
    for verb, options in OPTIONS.items():
        first = {"edit": [memory.id], "list": []}.get(verb, ["Tests need a running Redis too"])
        for option in options.split():
            attempt(lambda: getattr(mind, verb)(*first, **{option: value}))  # noqa: B023 - called at once
    # None means the default, for a directory and a store as for everything else.
    attempt(lambda: hivemind.open(directory=value).close())  # type: ignore[arg-type]
    attempt(lambda: hivemind.open(value).close())  # type: ignore[arg-type]

    assert {memory.kind for memory in mind.list(limit=100)} <= set(hivemind.Kind)


def test_a_closed_store_says_that_it_is_closed(mind: Hivemind) -> None:
    memory = mind.remember("Tests need a running Redis")
    mind.close()
    mind.close()

    for name in TEXT_VERBS:
        with pytest.raises(StoreClosed, match="open it again"):
            getattr(mind, name)(memory.id)
    calls = (
        mind.brief, mind.list, mind.review.queue, mind.sessions.list, mind.maintenance.stats, mind.history.log,
        lambda: mind.remember_all(["a text"]), lambda: mind.store_trace(action="x"), lambda: mind.tag(memory, ["a"]),
        lambda: mind.search_traces("x"), lambda: [*mind.files.export_lines()],
    )  # fmt: skip
    for call in calls:
        with pytest.raises(StoreClosed):
            call()


def test_a_closed_connection_for_sql_says_that_it_is_closed() -> None:
    reader = hivemind.connect()
    reader.close()

    with pytest.raises(StoreClosed):
        reader.query("SELECT 1")


def test_threads_that_share_one_object_are_told_to_open_their_own(mind: Hivemind) -> None:
    def write(name: int) -> None:
        with suppress(StoreBusy):
            for number in range(30):
                mind.remember(f"thread {name} counts to {number}")

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(write, range(4))] == [None] * 4


def test_a_thread_does_not_join_what_another_one_may_undo(mind: Hivemind) -> None:
    def write() -> str:
        try:
            return mind.remember("Written by another thread").text
        except StoreBusy:
            return "refused"

    with ThreadPoolExecutor(1) as threads:
        with suppress(ZeroDivisionError), mind._context.store.db.transaction():
            outcome = threads.submit(write).result()
            raise ZeroDivisionError
        stored = [memory.text for memory in mind.list()]

        assert (outcome, stored) == ("refused", [])
        assert threads.submit(write).result() == mind.list()[0].text


def test_a_backup_goes_to_a_path_as_people_write_it(mind: Hivemind, tmp_path: Path) -> None:
    (tmp_path / "user").mkdir()

    assert mind.maintenance.backup("~/mine.db").file == str(tmp_path / "user" / "mine.db")
    assert mind.maintenance.backup(Path("~/other.db")).file == str(tmp_path / "user" / "other.db")
