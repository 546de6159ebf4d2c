"""What followed a telling is claimed only where the session shows it."""

from dataclasses import replace

import pytest

from hivemind.model.ids import MemoryId, ReceiptId
from hivemind.model.memory import Channel, Kind, Memory, Status, Trust
from hivemind.model.outcomes import OutcomeKind, Telling, TellingOutcome
from hivemind.model.recall import Occasion, Receipt
from hivemind.model.scope import Scope
from hivemind.model.session import Observation, ObservationKind
from hivemind.sessions.outcomes import judge_tellings

DAY = "2026-03-01T10:00"
ERROR = "ConnectionRefusedError: could not connect to the postgres server"
FIX = f"`make test` failed with: {ERROR}\nFixed by `make db`."
PNPM = "Use pnpm, not npm, in this repository."


def make_telling(text: str, occasion: str = "", query: str = "", kind: Kind = Kind.CONVENTION, at: int = 5) -> Telling:
    moment = f"{DAY}:{at:02}.000000Z"
    memory = Memory(
        id=MemoryId("m1"), kind=kind, text=text, scope=Scope.PROJECT, repo="r", owner="ada", channel=Channel.PERSON,
        trust=Trust.HIGH, status=Status.ACTIVE, recorded_at=DAY, revised_at=DAY,
    )  # fmt: skip
    receipt = Receipt(
        id=ReceiptId("r1"), memory_id=memory.id, at=moment, actor="claude-code", session_id="s1", query=query, rank=1,
        score=1.0, tokens=9, why="", occasion=occasion,
    )  # fmt: skip
    return Telling(receipt=receipt, memory=memory)


def make_step(second: int, seen: ObservationKind = ObservationKind.TOOL, **fields: object) -> Observation:
    step = Observation(
        agent="claude-code", session_id="s1", seen=seen, source_id=f"step{second}", at=f"{DAY}:{second:02}.000000Z"
    )
    return replace(step, **fields)  # type: ignore[arg-type]


def run(second: int, command: str, output: str = "", *, failed: bool = False, subagent: str = "") -> Observation:
    return make_step(second, command=command, output=output, failed=failed, subagent=subagent)


def ask(second: int, text: str) -> Observation:
    return make_step(second, ObservationKind.PROMPT, text=text)


def edit(second: int, added: str = "", removed: str = "", file: str = "/repo/src/pay.py") -> Observation:
    lines = [f"-{line}" for line in removed.split("|") if line] + [f"+{line}" for line in added.split("|") if line]
    return make_step(second, file=file, diff="\n".join(["--- a", "+++ b", "@@ -1 +1 @@", *lines]))


def judge(telling: Telling, *steps: Observation) -> TellingOutcome:
    (outcome,) = judge_tellings([telling], steps)
    return outcome


def judge_kind(telling: Telling, *steps: Observation) -> tuple[OutcomeKind, str | None]:
    outcome = judge(telling, *steps)
    return outcome.kind, outcome.evidence


@pytest.mark.parametrize(
    ("later", "kind"),
    [
        ("npm install left-pad", OutcomeKind.IGNORED),
        ("cd web && CI=1 npm run build | tail -3", OutcomeKind.IGNORED),
        ("pnpm install", OutcomeKind.OBEYED),
        ("git commit -m 'use npm no more'", OutcomeKind.UNKNOWN),
        ("cat npm-debug.log", OutcomeKind.UNKNOWN),
    ],
)
def test_a_rule_about_commands_is_obeyed_or_ignored_by_what_the_agent_runs(later: str, kind: OutcomeKind) -> None:
    outcome = judge(make_telling(PNPM), run(3, "npm ci"), run(9, later))

    assert outcome.kind is kind
    assert outcome.evidence == (None if kind is OutcomeKind.UNKNOWN else "step9")


@pytest.mark.parametrize(
    "rule",
    [
        "Never run `make deploy` on Fridays.",
        "Do not use npm when the lockfile is from pnpm.",
        "Never run `git push --force`.",
        "Write prose, not code.",
    ],
)
def test_a_warning_that_holds_only_sometimes_is_not_called_ignored(rule: str) -> None:
    steps = [run(9, "make deploy"), run(10, "npm ci"), run(11, "git push"), run(12, "code ."), run(13, "git status")]

    assert judge(make_telling(rule), *steps).kind is OutcomeKind.UNKNOWN
    forced = run(14, "git push --force origin main")
    assert judge_kind(make_telling("Never run `git push --force`."), *steps, forced) == (OutcomeKind.IGNORED, "step14")


def test_the_call_before_which_it_was_told_is_not_called_ignored_but_the_next_one_is() -> None:
    telling = make_telling(PNPM, Occasion.COMMAND, "npm install")

    assert judge(telling, run(6, "npm install")).kind is OutcomeKind.UNKNOWN
    assert judge_kind(telling, run(6, "npm install"), run(8, "npm test")) == (OutcomeKind.IGNORED, "step8")


def test_what_happened_after_a_compaction_or_in_a_subagent_is_not_held_against_a_telling() -> None:
    compacted = make_step(7, ObservationKind.COMPACTED)

    assert judge(make_telling(PNPM), compacted, run(9, "npm ci")).kind is OutcomeKind.UNKNOWN
    assert judge(make_telling(PNPM), run(9, "npm ci", subagent="a1")).kind is OutcomeKind.UNKNOWN
    told_subagent = make_telling(PNPM, Occasion.SUBAGENT, "task")
    assert judge(told_subagent, run(9, "npm ci", subagent="a1")).kind is OutcomeKind.IGNORED


def test_a_failure_is_resolved_if_the_command_passes_and_recurs_if_the_error_does() -> None:
    telling = make_telling(FIX, Occasion.FAILURE, ERROR, Kind.FIX)
    failure = run(4, "make test", ERROR, failed=True)

    assert judge_kind(telling, failure, run(9, "make test -v", "3 passed")) == (OutcomeKind.RESOLVED, "step9")
    again = run(8, "make check", ERROR, failed=True)
    assert judge_kind(telling, failure, again, run(9, "make test", "ok")) == (OutcomeKind.RECURRED, "step8")


def test_a_failure_that_comes_again_after_the_command_passed_is_not_called_resolved() -> None:
    telling = make_telling(FIX, Occasion.FAILURE, ERROR, Kind.FIX)
    failure, success = run(4, "make test", ERROR, failed=True), run(8, "make test", "ok")

    assert judge(telling, failure, success, run(9, "make test", ERROR, failed=True)).kind is OutcomeKind.UNKNOWN
    assert judge(telling, failure, success, run(9, "make test", "1 failed", failed=True)).kind is OutcomeKind.RESOLVED


@pytest.mark.parametrize("error", ["connect ECONNREFUSED 127.0.0.1:5432", "E   KeyError: 'STRIPE_KEY'"])
def test_an_error_of_two_words_is_resolved_or_recurs_too(error: str) -> None:
    telling = make_telling(f"{error}: start it with make db-up", Occasion.FAILURE, error, Kind.FIX)
    failure = run(4, "pytest", error, failed=True)

    assert judge_kind(telling, failure, run(9, "pytest", "3 passed")) == (OutcomeKind.RESOLVED, "step9")
    assert judge_kind(telling, failure, run(9, "pytest", error, failed=True)) == (OutcomeKind.RECURRED, "step9")
    other_error = run(8, "pytest", "connect ETIMEDOUT 10.0.0.1\nKeyError: 'PORT'", failed=True)
    assert judge(telling, failure, other_error).kind is OutcomeKind.UNKNOWN


def test_another_failure_another_command_or_one_in_the_background_says_nothing() -> None:
    telling = make_telling(FIX, Occasion.FAILURE, ERROR, Kind.FIX)
    failure = run(4, "make test", ERROR, failed=True)

    for later in (
        run(9, "make test", "E   assert 1 == 2", failed=True),
        run(9, "make lint", "ok"),
        run(9, "make test", "Command running in background with ID: 7"),
        run(9, "make test", f"{ERROR} (retried)"),
        run(9, "make test --dry-run", "pytest -q"),
    ):
        assert judge(telling, failure, later).kind is OutcomeKind.UNKNOWN
    assert judge_kind(telling, failure, run(9, "make db")) == (OutcomeKind.OBEYED, "step9")


def test_an_edit_stays_or_is_taken_back() -> None:
    telling = make_telling("Round the total once.", Occasion.EDIT, "src/pay.py")
    change = edit(6, added="return round(total)", removed="return total")

    assert judge_kind(telling, change, edit(9, added="other line", file="/repo/src/a.py")) == (
        OutcomeKind.KEPT, "step6",
    )  # fmt: skip
    back = edit(9, added="return total", removed="return round(total)")
    assert judge_kind(telling, change, back) == (OutcomeKind.UNDONE, "step9")
    assert judge_kind(telling, change, run(9, "git checkout -- src/pay.py")) == (OutcomeKind.UNDONE, "step9")


def test_an_edit_that_was_changed_further_or_may_have_been_taken_back_is_unknown() -> None:
    telling = make_telling("Round the total once.", Occasion.EDIT, "src/pay.py")
    change = edit(6, added="return round(total)", removed="return total")

    further = edit(9, added="return round(total, 2)", removed="return round(total)")
    assert judge(telling, change, further).kind is OutcomeKind.UNKNOWN
    assert judge(telling, change, run(9, "git stash")).kind is OutcomeKind.UNKNOWN


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("sed -i 's/round(total)/total/' src/pay.py", OutcomeKind.UNKNOWN),
        ("git show HEAD:src/pay.py > src/pay.py", OutcomeKind.UNKNOWN),
        ("cp /tmp/pay.py src/pay.py", OutcomeKind.UNKNOWN),
        ("git -C /repo checkout -- src/pay.py", OutcomeKind.UNKNOWN),
        ("git diff src/pay.py | git apply -R", OutcomeKind.UNKNOWN),
        ("git reset --merge", OutcomeKind.UNKNOWN),
        ("git switch --discard-changes main", OutcomeKind.UNKNOWN),
        ("git checkout -- test/pay.py", OutcomeKind.UNKNOWN),
        ("git checkout fix-pay.py-total", OutcomeKind.UNKNOWN),
        ("echo 'to undo: git checkout -- src/pay.py'", OutcomeKind.UNKNOWN),
        ("cd src && git checkout ./pay.py", OutcomeKind.UNDONE),
        ("git restore src/pay.py", OutcomeKind.UNDONE),
        ("sed -n 1,9p src/pay.py", OutcomeKind.KEPT),
        ("git commit -am total", OutcomeKind.KEPT),
    ],
)
def test_only_a_command_that_names_the_file_takes_an_edit_back(command: str, kind: OutcomeKind) -> None:
    telling = make_telling("Round the total once.", Occasion.EDIT, "src/pay.py")
    change = edit(6, added="return round(total)", removed="return total")

    assert judge(telling, change, run(9, command)).kind is kind


def test_an_edit_that_a_subagent_takes_back_is_not_kept() -> None:
    telling = make_telling("Round the total once.", Occasion.EDIT, "src/pay.py")
    change = edit(6, added="return round(total)", removed="return total")
    back = replace(edit(9, added="return total", removed="return round(total)"), subagent="a1")

    assert judge_kind(telling, change, back) == (OutcomeKind.UNDONE, "step9")


def test_what_the_person_asks_for_is_not_called_ignored() -> None:
    request, install = ask(8, "Please run npm install this once"), run(9, "npm install")

    assert judge(make_telling(PNPM), request, install).kind is OutcomeKind.UNKNOWN
    assert judge(make_telling(PNPM), ask(8, "Go on"), install).kind is OutcomeKind.IGNORED


def test_a_correction_about_this_very_thing_is_seen_and_any_other_prompt_is_not() -> None:
    telling = make_telling("The export rounds the invoice total once, never each line.")
    act = edit(6, added="x = round(line)")

    correction = ask(9, "No, I told you the invoice export rounds the total once.")
    assert judge_kind(telling, act, correction) == (OutcomeKind.CORRECTED, "step9")
    assert judge(telling, ask(6, correction.text)).kind is OutcomeKind.UNKNOWN, "nothing was done yet"
    for prompt in ("No, make the button blue.", "Great, the invoice export rounds the total once now."):
        assert judge(telling, act, ask(9, prompt)).kind is OutcomeKind.UNKNOWN


def test_what_the_agent_does_because_the_person_says_it_is_not_called_obeyed() -> None:
    correction, compliance = ask(8, "No, I told you to use pnpm here"), run(9, "pnpm install")

    assert judge(make_telling(PNPM), correction, compliance).kind is OutcomeKind.UNKNOWN
    assert judge(make_telling(PNPM), ask(8, "Go on, please"), compliance).kind is OutcomeKind.OBEYED


def test_a_name_that_only_the_memory_gave_is_a_sign_of_use() -> None:
    telling = make_telling("Totals live in `ledger_totals`.", kind=Kind.FACT)
    reply = make_step(9, ObservationKind.REPLY, text="I read it from ledger_totals.")

    assert judge_kind(telling, reply) == (OutcomeKind.MENTIONED, "step9")
    for earlier in (ask(3, "look at ledger_totals"), run(8, "ls", "ledger_totals"), ask(8, "see ledger_totals")):
        assert judge(telling, earlier, reply).kind is OutcomeKind.UNKNOWN


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("Never run git push --force", OutcomeKind.UNKNOWN),
        ("Do not use git push with --force on main", OutcomeKind.UNKNOWN),
        ("Not on Fridays: git push --force", OutcomeKind.MENTIONED),
        ("git push needs --force after a rebase here", OutcomeKind.MENTIONED),
    ],
)
def test_to_do_what_a_rule_forbids_is_no_sign_of_its_use(rule: str, kind: OutcomeKind) -> None:
    assert judge(make_telling(rule), run(9, "git push --force")).kind is kind


def test_a_guard_that_acted_is_known_from_its_receipt() -> None:
    assert judge_kind(make_telling(PNPM, Occasion.GUARD_DENY, "npm ci")) == (OutcomeKind.GUARDED, None)
