"""The yardstick measures our own adapter and FTS5 on a few cases, and tells what is missing from what is bad."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest

from lab.yardstick import material, table
from lab.yardstick.__main__ import check, main
from lab.yardstick.adapter import Adapter, Answer, Description, Hit, Note, NotOffered, NotRun, Turn
from lab.yardstick.histories import compute_checksum, pair_turns, parse_history
from lab.yardstick.parts import PARTS, Run, is_absent
from lab.yardstick.parts.change import is_same_place, judge, summarise
from lab.yardstick.parts.experience import find_session, has_rule, is_newest_first
from lab.yardstick.parts.hearing import compare, is_covered
from lab.yardstick.processes import Processes
from lab.yardstick.systems import SYSTEMS, load_adapter
from lab.yardstick.transcripts import Message, list_exchanges, read_messages, write_transcript
from tests.conftest import git

TASK = "Please make the button on the login page blue."
RULE = "From now on use pnpm, not npm, because npm breaks the lockfile."
HISTORY = f"""# Login page

_**User**_

{TASK}

---

_**Agent (model x)**_

<think>Where is the button?</think>
It is blue now. I ran npm install.

---

_**User**_

Thanks. {RULE}
"""


def make_run(system: str, folder: Path, **options: Any) -> Run:
    return Run(adapter=load_adapter(system, folder / "peers"), folder=folder, material=None, most_cases=2, **options)


def measure(part: str, run: Run) -> dict[str, Any]:
    figures: dict[str, Any] = import_module(f"lab.yardstick.parts.{part}").measure(run)
    return figures


@pytest.mark.parametrize("system", ["hivemind", "fts5"])
@pytest.mark.parametrize("part", ["notes", "contradiction", "forgetting", "walls"])
def test_a_part_counts_the_same_things_for_each_system(system: str, part: str, tmp_path: Path) -> None:
    figures = measure(part, make_run(system, tmp_path))

    assert figures
    assert any(not is_absent(value) for value in figures.values())


def test_what_is_erased_is_gone_and_what_is_only_deleted_may_stay_in_the_file(tmp_path: Path) -> None:
    ours = measure("forgetting", make_run("hivemind", tmp_path / "ours"))
    plain = measure("forgetting", make_run("fts5", tmp_path / "plain"))

    assert ours["deleted notes whose name is still in a file"] == {"count": 0, "of": 1}
    assert ours["notes that were not deleted and are still found"] == {"count": 1, "of": 1}
    assert plain["deleted notes that are still told"] == {"not offered": "says nothing with a prompt"}


def test_a_changed_function_is_noticed_and_a_comment_is_not(tmp_path: Path) -> None:
    case = {"path": "shop.py", "symbol": "price", "sentence": "price rounds up", "change": "behaviour", "holds": False}
    group = {
        "before": {"shop.py": "def price(x):\n    return ceil(x)\n"},
        "after": {"shop.py": "def price(x):\n    return floor(x)\n"},
        "cases": [case | {"to": None}],
    }
    comment = group | {
        "after": {"shop.py": "# money\ndef price(x):\n    return ceil(x)\n"},
        "cases": [case | {"to": None, "change": "comments", "holds": True}],
    }
    for system, alarms in (("hivemind", 0), ("fts5", 1)):
        run = make_run(system, tmp_path / system)
        with run.open_store("change"):
            outcomes = judge(run, run.make_repo("a"), group) + judge(run, run.make_repo("b"), comment)
        figures = summarise(outcomes)
        assert figures["sentences that became wrong: asked to verify"] == {"count": 1, "of": 1}
        assert figures["only comments or layout changed: asked to verify"] == {"count": alarms, "of": 1}


def test_a_session_is_found_and_a_decision_is_told(tmp_path: Path) -> None:
    ruling = "Never retry a payment within five seconds, because the bank takes it for a second charge."
    messages = [
        Message("user", "Payments fail when the bank is slow, please add a retry."),
        Message("assistant", "I retry at once. Should a payment retry wait before the bank is asked again?"),
        Message("user", ruling),
        Message("assistant", "Got it: a payment is never retried within five seconds."),
    ]
    case = {"rule": "A payment is not retried within five seconds: a second charge", "points": ["five seconds"]}
    prompt = (
        "Customers were charged twice when the bank answered slowly and our payment retry came at once."
        " Find out how long a retry of a payment has to wait, and fix it."
    )
    path = tmp_path / "s1.jsonl"
    for system in ("hivemind", "fts5"):
        run = make_run(system, tmp_path / system)
        repo = run.make_repo("shop")
        write_transcript(path, messages, cwd=repo, begin="2026-03-01T10:00:00Z")
        with run.open_store("experience"):
            run.adapter.observe([path], repo)
            answer = run.adapter.recall(prompt, repo)
            told = run.adapter.tell(prompt, repo) if system == "hivemind" else ruling
        assert has_rule(case, answer.text)
        assert has_rule(case, told)
        assert answer.hits[0].session == "s1"


def test_a_part_without_its_material_is_not_run(tmp_path: Path) -> None:
    for part in ("experience", "change", "hearing"):
        with pytest.raises(NotRun):
            measure(part, make_run("fts5", tmp_path))


def test_all_systems_have_an_adapter_and_all_parts_a_page(tmp_path: Path) -> None:
    names = [load_adapter(name, tmp_path).name for name in SYSTEMS]
    folder = Path(material.__file__).parent / "parts"

    assert names == list(SYSTEMS)
    assert all((folder / f"{part}.md").exists() and (folder / f"{part}.py").exists() for part in PARTS)


def test_only_our_own_adapter_imports_the_product() -> None:
    folder = Path(material.__file__).parent
    users = [path.name for path in folder.rglob("*.py") if "from hivemind" in path.read_text()]

    assert users == ["hivemind.py"]


def test_a_table_says_what_is_missing_and_why() -> None:
    def make(value: Any) -> dict[str, Any]:
        part = {"date": "2026-11-18 10:00", "figures": {"first": value}}
        return {"parts": {"notes": part}, "description": {"version": "1", "doors": "", "choices": ""}, "machine": "m"}

    page = table.render(
        {"a": make({"count": 1, "of": 2}), "b": make({"not run": "needs a key"}), "c": make({"not offered": "no"})},
        ("notes",),
    )

    assert "| first | 1 of 2 | not run here | not offered |" in page
    assert "* **b**, notes: needs a key" in page


def test_cpu_of_a_process_that_outlives_its_parent_is_counted_and_it_is_ended() -> None:
    processes = Processes({})
    before = processes.measure_cpu()
    processes.run(["sh", "-c", "(while :; do :; done) >/dev/null 2>&1 & sleep 1"])

    assert len(list(processes.list_pids())) == 1
    assert processes.measure_cpu() - before > 0.01
    processes.end()
    assert list(processes.list_pids()) == []


def test_sessions_are_ordered_and_attributed() -> None:
    case = {"decides": ["new"], "amends": ["old"]}
    talks = {"old": "we retry at once", "new": "we wait five seconds before the next try because of the bank and so on"}
    hit = Hit(text="We wait five seconds before the next try, because of the bank and so on")

    assert find_session(hit, talks) == "new"
    assert is_newest_first(case, ["new", "old"])
    assert not is_newest_first(case, ["old", "new"])


def test_a_whole_prompt_that_is_kept_covers_its_sentence_and_a_task_is_junk() -> None:
    figures = compare("kept", [[RULE], []], [[f"Thanks. {RULE}"], [TASK]])

    assert figures["lasting sentences kept"] == {"count": 1, "of": 1}
    assert figures["kept, but not lasting"] == {"count": 1, "of": 2}
    assert is_covered(RULE, "use pnpm, not npm")
    assert not is_covered(RULE, "…")


def test_a_place_may_leave_out_the_class() -> None:
    assert is_same_place("a.py::Shop.price", "a.py::price")
    assert not is_same_place("b.py::price", "a.py::price")


def test_histories_of_three_kinds_give_the_same_turns() -> None:
    aider = f"# aider chat started at 2026-03-01\n\n#### {TASK}\n\nDone.\n\n> Tokens: 5\n\n#### {RULE}\n"
    entries = [
        {"type": "user", "message": {"content": f"<system-reminder>Be brief.</system-reminder>{TASK}"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": "blue"}]}},
        {"type": "user", "message": {"content": [{"type": "text", "text": RULE}]}},
    ]
    torn = "".join(f"{json.dumps(entry)}\n" for entry in entries) + '{"type": "us'
    for path, text in ((".aider.chat.history.md", aider), ("ab/cd/0/full.jsonl", torn)):
        assert list(pair_turns(parse_history(path, text))) == [(TASK, ""), (RULE, "Done.")]
    first, second = pair_turns(parse_history("x.md", HISTORY))
    assert (first, second) == (Turn(TASK, ""), Turn(f"Thanks. {RULE}", "It is blue now. I ran npm install."))


def test_only_prompts_that_read_as_they_were_labelled_are_taken(
    tmp_path: Path, make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = make_repository("origin")
    path = ".specstory/history/login.md"
    (origin / path).parent.mkdir(parents=True)
    (origin / path).write_text(HISTORY)
    git(origin, "add", ".")
    git(origin, "commit", "-q", "-m", "Add a session")
    commit = git(origin, "rev-parse", "HEAD").strip()
    git(tmp_path, "clone", "-q", "--bare", str(origin), str(tmp_path / "clones" / "ada+shop"))
    rows = [
        ("id", "split", "repository", "commit", "path", "turn", "checksum"),
        ("ada:1", "test", "ada/shop", commit, path, "1", compute_checksum(TASK)),
        ("ada:2", "test", "ada/shop", commit, path, "2", compute_checksum("something else")),
        ("bob:1", "dev", "bob/absent", commit, path, "1", compute_checksum(TASK)),
    ]
    (tmp_path / "hearing").mkdir()
    (tmp_path / "hearing" / "prompts.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    monkeypatch.setattr(material, "CASES", tmp_path)

    material.write_prompts(tmp_path / "hearing.jsonl", tmp_path / "clones")

    lines = [json.loads(line) for line in (tmp_path / "hearing.jsonl").read_text().splitlines()]
    assert [(line["id"], line["prompt"]) for line in lines] == [("ada:1", TASK)]


def test_a_transcript_reads_as_it_was_written(tmp_path: Path) -> None:
    messages = [Message("user", "a"), Message("assistant", "b"), Message("assistant", "c"), Message("user", "d")]
    write_transcript(tmp_path / "s.jsonl", messages, cwd=tmp_path, begin="2026-03-01T10:00:00Z")

    talk = read_messages(tmp_path / "s.jsonl")

    assert talk == [("user", "a"), ("assistant", "b\n\nc"), ("user", "d")]
    assert list(list_exchanges(talk)) == ["a\n\nb\n\nc", "d"]


class Forgetful(Adapter):
    """A system of somebody else's, with mistakes."""

    name = "forgetful"

    def describe(self) -> Description:
        return Description(version="1", doors="Python")

    def open(self, folder: Path) -> None:
        self.notes: list[str] = []

    def remember(self, note: Note) -> str:
        self.notes.append(note.text)
        return ""

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        return cast("Answer", [Hit(text=note) for note in self.notes])

    def list_contradictions(self, repo: Path) -> set[frozenset[str]]:
        raise OSError("no such table")


def test_a_check_names_everything_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    is_wrong = check(Forgetful(tmp_path))

    output = capsys.readouterr().out
    assert is_wrong
    assert "remember returns '', not an id" in output
    assert "recall returns a list, not an Answer" in output
    assert "contradiction fails: OSError: no such table" in output
    assert "walls fails: AttributeError" in output


class Raising(Forgetful):
    """A system that cannot even store a note."""

    def remember(self, note: Note) -> str:
        raise ValueError("no space")


def test_a_check_goes_on_after_an_error_and_says_when_nothing_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raises, right = check(Raising(tmp_path)), check(load_adapter("fts5", tmp_path))

    output = capsys.readouterr().out
    assert (raises, right) == (True, False)
    assert "a note fails: ValueError: no space" in output
    assert "walls fails: ValueError: no space" in output
    assert output.endswith("nothing is wrong\n")


@pytest.mark.parametrize("options", [["--cases", "0"], ["--cases", "-3"], ["--sizes", "many"], ["--parts", "all"]])
def test_options_that_mean_nothing_are_refused(options: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["yardstick", "run", "fts5", *options])

    with pytest.raises(SystemExit) as refused:
        main()

    assert refused.value.code == 2


def test_a_table_names_figures_that_are_not_from_all_cases() -> None:
    def make(cases: str) -> dict[str, Any]:
        part = {"date": "2026-11-18 10:00", "cases": cases, "figures": {"first": {"count": 1, "of": 2}}}
        return {"parts": {"notes": part}, "description": {"version": "1", "doors": "", "choices": ""}, "machine": "m"}

    page = table.render({"a": make("test"), "b": make("development, at most 2 of each kind")}, ("notes",))

    assert "* **b**, notes: development, at most 2 of each kind" in page
    assert "**a**, notes" not in page


@pytest.mark.parametrize("name", ["nobody", "nothing.here:System", f"{__name__}:Nobody"])
def test_a_system_that_is_not_there_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"nobody|nothing|Nobody"):
        load_adapter(name, tmp_path)


def test_a_missing_method_is_not_offered(tmp_path: Path) -> None:
    adapter = load_adapter("fts5", tmp_path)

    with pytest.raises(NotOffered):
        adapter.brief(tmp_path)
    adapter.open(tmp_path / "store")
    assert adapter.recall("anything", tmp_path) == Answer(hits=(), text="")
    adapter.close()
