"""What a person sees and does in a real browser."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from hivemind.model.memory import Channel, Kind, Memory, Writer
from hivemind.model.session import Observation, ObservationKind
from hivemind.viewer.pages import sessions
from tests.browser import SHOTS, audit_page, find_violations
from tests.viewer.conftest import Viewer
from tests.viewer.digested_session import SESSION_ID

pytestmark = pytest.mark.xdist_group("viewer")

SESSION = "/session/5f1c9a52-31d7-4c0e-9a66-0b7d0f2f61aa"


def kept(viewer: Viewer, text: str, **more: object) -> Memory:
    with viewer.mind() as mind:
        return mind.remember(text, **more)  # type: ignore[arg-type]


def status(viewer: Viewer, memory: Memory) -> str:
    with viewer.mind() as mind:
        return mind.show(memory.id).status.value


def press(page: Page, key: str) -> None:
    """A key, once the page listens."""
    page.wait_for_load_state("load")
    page.keyboard.press(key)


def addresses(viewer: Viewer) -> dict[str, str]:
    made = {name: memory.id for name, memory in viewer.demo.memories.items()}
    return {
        "today": "/",
        "search": "/search?q=how+are+prices+rounded&kind=requirement",
        "search-sessions": "/search?q=price+of+a+parcel",
        "memory": f"/memory/{made['`verify` in harbour/']}",
        "dispute": f"/memory/{made['Deploys go out on Tu']}",
        "promote": f"/memory/{made['Money is kept in int']}/promote",
        "publish": f"/memory/{made['Money is kept in int']}/publish",
        "guard": f"/memory/{made['Money is kept in int']}/guard?commands=git+push",
        "review": "/review",
        "sessions": "/sessions",
        "replay": SESSION,
        "digest": f"/session/{SESSION_ID}",
        "search-conclusions": "/search?q=bounced+mail+sent+again",
        "log": "/log?verify=1",
        "rollback": "/rollback?agent=codex",
        "erase": "/erase?about=codex",
        "health": "/health",
        "file": "/file?path=harbour/auth/tokens.py&lines=10-14",
        "error": "/memory/ffffffff",
    }


NAMES = ("today", "search", "search-sessions", "memory", "dispute", "promote", "publish", "guard", "review", "sessions",
         "replay", "digest", "search-conclusions", "log", "rollback", "erase", "health", "file", "error")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_page_keeps_nobody_out_and_fits_every_width_in_both_themes(page: Page, viewer: Viewer, name: str) -> None:
    page.goto(addresses(viewer)[name])

    found, wide = audit_page(page, name)

    assert found == []
    assert wide == []


def test_axe_would_notice_a_barrier(page: Page) -> None:
    page.goto("/")
    page.evaluate("document.querySelector('main').append(document.createElement('button'))")

    assert any(one.startswith("button-name") for one in find_violations(page))


def test_a_hostile_memory_is_text_everywhere(page: Page, viewer: Viewer) -> None:
    hostile = viewer.demo.hostile
    own = (f"/memory/{hostile}", f"/review?at={hostile}")

    for path in ("/", "/search?q=owned+script", *own, "/log", "/rollback?since=2h"):
        page.goto(path)
        assert '{{ 7 * 7 }} <script>document.title = "owned"</script><img src=x onerror=' in page.inner_text("main")
        assert page.title() != "owned"
        assert page.locator("img").count() == 0
        assert "\u202e" not in page.content()


def test_the_same_text_as_markup_would_have_been_obeyed(viewer: Viewer, page: Page) -> None:
    with viewer.mind() as mind:
        text = mind.show(viewer.demo.hostile).text
    page.goto("about:blank")

    page.evaluate("window.alert = () => (document.title = 'owned')")
    page.evaluate("(text) => { document.body.innerHTML = text; }", text)
    page.wait_for_function("document.title === 'owned'")

    assert page.locator("img").count() == 1


def test_a_person_is_let_in_by_the_link_and_out_by_the_button(page: Page, viewer: Viewer) -> None:
    page.context.clear_cookies()

    page.goto(viewer.link)
    page.wait_for_url(f"{viewer.base}/")
    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("heading")).to_contain_text("signed out")


def test_the_first_page_says_first_what_memory_did_this_week(page: Page) -> None:
    page.goto("/")
    week = page.get_by_label("The last seven days")

    expect(week).to_contain_text(re.compile(r"Agents got \d+ memories in \d+ sessions\. the last seven days"))
    expect(week).to_contain_text(re.compile(r"Notes came with \d+ edits?"))
    expect(week).to_contain_text(re.compile(r"\d+ memor(y|ies) came with a warning that code had changed\."))


def test_a_replay_shows_what_was_told_at_which_action(page: Page) -> None:
    page.goto(SESSION)
    hints = page.locator(".recalled")

    expect(hints.filter(has_text="got a brief")).to_have_count(1)
    expect(hints.filter(has_text="was told before an edit of “harbour/parcels/models.py”")).to_contain_text("500 g")
    expect(hints.filter(has_text="was told after the failure of")).to_contain_text("docker compose up -d db")


def test_search_answers_as_one_types_and_every_search_is_a_link(page: Page) -> None:
    page.goto("/search")

    page.get_by_label("Query").press_sequentially("how are jobs taken", delay=5)
    first = page.locator("#results [data-row]").first
    expect(first).to_contain_text("SKIP LOCKED")
    expect(first.get_by_label("Ranking")).to_contain_text("meaning")
    expect(first.get_by_label("Ranking")).to_contain_text(re.compile(r"confidence\s*\d+ %"))
    expect(first.get_by_label("Ranking")).not_to_contain_text("trust")
    closest = page.locator("#results .hits [data-row]").last
    expect(closest.get_by_label("Ranking")).to_contain_text("confidence")
    expect(closest.get_by_label("Ranking")).not_to_contain_text("meaning")
    expect(page).to_have_url(re.compile(r"\?q=how\+are\+jobs\+taken$"))
    page.get_by_text("Filters").click()
    page.get_by_label("Kind").select_option("procedure")
    expect(page).to_have_url(re.compile("kind=procedure"))
    expect(page.locator("#results")).not_to_contain_text("Redis was tried")
    page.reload()

    expect(page.get_by_label("Query")).to_have_value("how are jobs taken")
    expect(page.get_by_label("Kind")).to_have_value("procedure")


def test_search_lists_sessions_below_memories_and_opens_the_step(page: Page) -> None:
    page.goto("/search?q=price+of+a+700+g+parcel")

    expect(page.get_by_role("heading", name="From sessions not reviewed")).to_be_visible()
    page.get_by_role("link", name=re.compile("sessions? below")).click()
    expect(page.get_by_role("heading", name="From sessions not reviewed")).to_be_in_viewport()
    page.screenshot(path=SHOTS / "search-with-sessions.png")
    expect(page.locator("#results [data-row]").first).not_to_contain_text("customers pay for one step")
    page.get_by_role("link", name="The price of a 700 g parcel is wrong").click()
    step = page.url.rpartition("#")[2]

    expect(page.locator(f'[id="{step}"]')).to_contain_text("customers pay for one step")
    page.goto("/search?q=price+of+a+700+g+parcel&kind=decision")
    expect(page.get_by_role("heading", name="From sessions not reviewed")).to_have_count(0)


def test_search_looks_back_and_narrows_by_agent_state_and_time(page: Page) -> None:
    then = (datetime.now(UTC) - timedelta(days=24)).date()
    page.goto(f"/search?q=staging+database+restored&as_of={then}")
    expect(page.locator("#results [data-row]").first).to_contain_text("02:00")
    page.goto("/search?q=staging+database+restored")
    expect(page.locator("#results [data-row]").first).to_contain_text("03:30")

    page.goto("/search?agent=codex&status=proposed")
    expect(page.locator("#results")).to_contain_text("must commit when it finds no job")
    expect(page.locator("#results")).not_to_contain_text("Labels are A6")
    page.goto("/search?status=retracted&since=30d")

    expect(page.locator("#results")).to_contain_text("The API answers on port 9090")
    expect(page.locator("#results")).not_to_contain_text("Money is kept")


def test_the_health_page_does_not_jump_when_its_checks_arrive(page: Page) -> None:
    page.add_init_script(
        "window.shift = 0;"
        "new PerformanceObserver((list) => { for (const entry of list.getEntries()) shift += entry.value })"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    page.goto("/health")

    expect(page.get_by_text("the chain verifies")).to_be_visible()
    expect(page.get_by_role("heading", name="Tokens per session")).to_be_visible()
    assert page.evaluate("shift") < 0.01


def test_the_links_to_pages_stay_in_their_place(page: Page) -> None:
    def find_tops() -> list[float]:
        return [link.bounding_box()["y"] for link in page.get_by_label("Pages").get_by_role("link").all()]  # type: ignore[index]

    page.goto("/")
    tops = find_tops()
    page.goto("/search")

    assert len(tops) >= 6
    assert find_tops() == tops


def test_the_keyboard_leads_everywhere(page: Page) -> None:
    page.goto("/")

    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    press(page, "Escape")
    press(page, "/")
    expect(page.get_by_role("searchbox", name="Search memories, conclusions and sessions")).to_be_focused()
    press(page, "Escape")
    press(page, "g")
    press(page, "e")
    expect(page).to_have_url(re.compile("/sessions$"))
    press(page, "j")
    press(page, "j")
    press(page, "k")
    expect(page.locator(".chosen")).to_have_count(1)
    press(page, "Enter")

    expect(page).to_have_url(re.compile("/session/"))


def test_the_theme_is_kept(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    page.goto("/")

    page.get_by_role("button", name="Switch between light and dark").click()
    page.goto("/log")

    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 21, 15)"


def test_the_deck_is_worked_by_keyboard_and_each_verdict_can_be_undone(page: Page, viewer: Viewer) -> None:
    one = kept(viewer, "Parcels over 30 kg need a second carrier.", propose=True)
    page.goto(f"/review?at={one.id}")

    press(page, "a")
    expect(page.get_by_role("status")).to_contain_text("Approved")
    approved = status(viewer, one)
    press(page, "u")
    expect(page.get_by_role("status")).to_contain_text("Undone")
    undone = status(viewer, one)
    expect(page.locator(".card")).to_contain_text("second carrier")
    press(page, "r")
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    rejected = status(viewer, one)
    press(page, "u")
    expect(page.get_by_role("status")).to_contain_text("Undone")

    assert (approved, undone, rejected, status(viewer, one)) == ("active", "proposed", "retracted", "proposed")
    assert kept(viewer, "Parcels over 30 kg need a second carrier.").id == one.id


def test_all_proposals_of_a_kind_are_decided_with_one_key_and_one_undo(page: Page, viewer: Viewer) -> None:
    group = [
        kept(viewer, text, propose=True, kind=Kind.REQUIREMENT)
        for text in ("Pallets carry a tracking code.", "Envelopes need a stamp.")
    ]
    other = kept(viewer, "Couriers wear a badge.", propose=True, kind=Kind.PREFERENCE)
    page.goto(f"/review?at={group[0].id}")

    press(page, "x")
    expect(page.get_by_role("status")).to_contain_text("Rejected")
    rejected = [status(viewer, memory) for memory in (*group, other)]
    press(page, "u")
    expect(page.get_by_role("status")).to_contain_text("Undone")

    assert rejected == ["retracted", "retracted", "proposed"]
    assert [status(viewer, memory) for memory in group] == ["proposed", "proposed"]


def test_a_conflict_is_settled_in_favour_of_one_and_that_can_be_undone(page: Page, viewer: Viewer) -> None:
    old = kept(viewer, "Labels are printed in A6.", subject="label-size")
    new = kept(viewer, "Labels are printed in A5.", subject="label-size")
    page.goto(f"/review?at={new.id}")
    expect(page.locator(".contender")).to_have_count(2)
    expect(page.locator(".contender").last).to_contain_text("A6")

    press(page, "1")
    expect(page.get_by_role("status")).to_contain_text("superseded")
    settled = status(viewer, old), status(viewer, new)
    press(page, "u")
    expect(page.get_by_role("status")).to_contain_text("Undone")

    assert settled == ("superseded", "active")
    assert (status(viewer, old), status(viewer, new)) == ("disputed", "disputed")


def test_a_memory_is_edited_verified_taken_back_and_restored(page: Page, viewer: Viewer) -> None:
    one = kept(viewer, "The carrier calls at noon.", tags=["carrier"])
    page.goto(f"/memory/{one.id}")

    press(page, "e")
    page.get_by_label("Text").fill("The carrier calls at one.")
    page.get_by_label("Tags").fill("carrier, daily")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".statement")).to_have_text("The carrier calls at one.")
    expect(page.locator(".history del")).to_contain_text("noon")
    expect(page.locator(".history ins")).to_contain_text("one")
    page.get_by_role("button", name="Verify").click()
    expect(page.get_by_text("Marked as still correct")).to_be_visible()
    page.get_by_role("button", name="Forget").click()
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_text("Restored.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()

    expect(page.locator(".claim .chip")).to_have_text("retracted")
    with viewer.mind() as mind:
        assert mind.show(one.id).tags == ("carrier", "daily")


def test_two_memories_are_disputed_side_by_side(page: Page, viewer: Viewer) -> None:
    one, other = kept(viewer, "Stamps cost 85 cents."), kept(viewer, "A letter needs no stamp at all.")
    page.goto(f"/memory/{one.id}")

    page.locator("summary", has_text="Dispute").click()
    page.get_by_label("Contradicts memory").fill(other.id[:10])
    page.get_by_role("button", name="Dispute").click()

    expect(page.locator(".versus .panel")).to_have_count(2)
    expect(page.locator(".versus")).to_contain_text("no stamp at all")


def test_a_memory_is_promoted_after_its_change_was_shown(page: Page, viewer: Viewer) -> None:
    one = kept(viewer, "Never log a full address.")
    file = Path(viewer.demo.root) / "docs" / "AGENTS.md"
    page.goto(f"/memory/{one.id}")

    page.locator("summary", has_text="Promote").click()
    page.get_by_label("File").fill("docs/AGENTS.md")
    page.get_by_role("button", name="Preview the change").click()
    expect(page.locator(".diff .came").last).to_be_visible()
    shown_only = file.exists()
    page.get_by_role("button", name="Write docs/AGENTS.md").click()
    expect(page.get_by_text("Written to the file.")).to_be_visible()

    assert not shown_only
    assert "Never log a full address." in file.read_text()


def test_a_memory_is_published_after_what_leaves_was_shown(page: Page, viewer: Viewer) -> None:
    one = kept(viewer, "Parcels to islands take two days more.", tags=["islands"])
    page.goto(f"/memory/{one.id}")

    page.get_by_role("link", name="Publish to the team").click()
    expect(page.locator(".card")).to_contain_text("islands take two days")
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_text("Published")).to_be_visible()

    with viewer.mind() as mind:
        copies = mind.list(tags=["islands"])
        assert {(copy.text, copy.scope.value) for copy in copies} == {(one.text, "project"), (one.text, "team")}


def test_an_erased_memory_leaves_a_receipt_and_nothing_else(page: Page, viewer: Viewer) -> None:
    one = kept(viewer, "The safe's combination is quillwort-7741.")
    page.goto(f"/memory/{one.id}")

    page.locator("summary", has_text="Erase").click()
    page.get_by_label("Erase permanently").check()
    page.get_by_role("button", name="Erase").click()
    expect(page.get_by_role("heading", name="Erased")).to_be_visible()
    expect(page.get_by_label("Receipt")).to_contain_text("no byte of it is left")
    page.screenshot(path=SHOTS / "erased-1000-light.png", full_page=True)
    gone = viewer.ask("GET", f"/memory/{one.id}")

    assert gone.status == 404
    assert "was erased on" in gone.text
    assert b"quillwort" not in (viewer.demo.home / "memory.db").read_bytes()


def test_everything_that_names_somebody_is_shown_and_erased_but_what_is_left_out(page: Page, viewer: Viewer) -> None:
    gone = kept(viewer, "Ask Zebulon-Quirk about the harbour dues.")
    stays = kept(viewer, "The Zebulon Quirk memorial is a landmark.")
    page.goto("/log")
    page.get_by_role("link", name="Erase by name").click()
    page.get_by_label("Name").fill("zebulon quirk")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_role("heading", name="2 mentions of zebulon quirk")).to_be_visible()
    page.get_by_label(f"Keep {stays.id[:8]}").check()
    page.screenshot(path=SHOTS / "erase-by-name-1000-light.png", full_page=True)
    page.get_by_label("Erase permanently").check()
    page.get_by_role("button", name="Erase all that is not kept").click()

    expect(page.get_by_label("Receipt")).to_contain_text("left as you chose")
    assert viewer.ask("GET", f"/memory/{gone.id}").status == 404
    assert status(viewer, stays) == "active"


def test_nothing_is_erased_that_was_not_on_the_list_somebody_saw(viewer: Viewer) -> None:
    one = kept(viewer, "Ophelia Wrenfield signs for the pilots.")
    stale = {"token": viewer.token(), "about": "Ophelia Wrenfield", "seen": "0" * 64}

    refused = viewer.ask("POST", "/erase", stale)

    assert refused.status == 422
    assert "check it again" in refused.text
    assert status(viewer, one) == "active"


def test_sources_open_the_step_and_the_code(page: Page, viewer: Viewer) -> None:
    page.goto(addresses(viewer)["memory"])

    expect(page.locator(".diff .went").first).to_contain_text("def verify(token: str, key: bytes)")
    expect(page.locator(".diff .came").first).to_contain_text("keys: dict[str, bytes]")
    expect(page.locator(".warning")).to_contain_text("Verify before acting")
    page.goto("/search?q=keep+the+minimum+of+one+step&status=proposed")
    page.locator("#results [data-open]").first.click()
    page.get_by_role("link", name=", step").click()

    expect(page.locator(".step.now")).to_contain_text("Done: prices now round up")


def test_a_session_is_replayed_by_steps_and_by_itself(page: Page) -> None:
    page.goto(SESSION)
    steps = page.locator(".step:visible")
    everything = steps.count()

    expect(page.locator(".recalled").first).to_contain_text("got a brief")
    expect(page.locator(".learned").first).to_contain_text("minimum of one step")
    page.get_by_role("button", name="First step").click()
    expect(steps).to_have_count(1)
    press(page, "ArrowRight")
    page.get_by_role("button", name="Next step").click()
    expect(steps).to_have_count(3)
    press(page, "ArrowLeft")
    expect(steps).to_have_count(2)
    page.get_by_label("Step", exact=True).fill("5")
    expect(steps).to_have_count(5)
    page.get_by_label("Speed").select_option("64")
    page.get_by_role("button", name="Play").click()
    expect(steps).not_to_have_count(5)
    page.get_by_role("button", name="Pause").click()
    paused = steps.count()
    page.get_by_role("button", name="Show all steps").click()

    assert 5 < paused <= everything
    expect(steps).to_have_count(everything)


def test_every_recall_of_a_long_session_is_on_one_of_its_pages(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    def count_recalls(first: int) -> int:
        return viewer.ask("GET", f"{SESSION}?from={first}").text.count('class="recalled"')

    on_one_page = count_recalls(0)
    monkeypatch.setattr(sessions, "PAGE_STEPS", 1)
    on_each_page = [count_recalls(step) for step in range(15)]

    assert on_one_page > 1
    assert sum(on_each_page) == on_one_page


def test_a_rollback_is_previewed_applied_and_undone(page: Page, viewer: Viewer) -> None:
    with viewer.mind() as mind, mind.review.batch("import") as batch:
        one = mind.remember("Imported by mistake: parcels glow in the dark.")
    page.goto("/rollback")

    page.get_by_label("Batch").fill(batch)
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("heading", name="1 memory would change")).to_be_visible()
    expect(page.locator("del")).to_contain_text("glow in the dark")
    previewed = status(viewer, one)
    page.get_by_role("button", name="Roll back 1").click()
    expect(page.get_by_role("status")).to_contain_text("Rolled back")
    after = viewer.ask("GET", f"/memory/{one.id}").status
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("Undone")

    assert (previewed, after, status(viewer, one)) == ("active", 404, "active")


def test_the_log_is_filtered_and_verified(page: Page) -> None:
    page.goto("/log")

    page.get_by_label("Show").select_option("rollbacks")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("rollbacks"))
    expect(page.locator("td .fact").first).to_contain_text("roll")
    facts = set(page.locator("td .fact").all_inner_texts())
    page.get_by_role("link", name="Verify the chain").click()

    assert facts <= {"memory.rolled_back", "rollback.undone"}
    assert facts
    expect(page.get_by_role("status")).to_contain_text("verifies")


def test_today_counts_what_happened_and_health_finds_nothing_wrong(page: Page) -> None:
    page.goto("/")
    expect(page.get_by_label(re.compile("^Recalls per day, [1-9]"))).to_be_visible()
    expect(page.get_by_label(re.compile("^Tokens spent on briefs per day, [1-9]"))).to_be_visible()
    expect(
        page.locator("section", has=page.get_by_role("heading", name=re.compile("^Stale [0-9]"))).last
    ).to_contain_text("signature changed")
    expect(page.get_by_role("region", name="Repositories")).to_contain_text("tariffs")

    page.goto("/health")

    expect(page.locator(".findings").first).to_contain_text("the chain verifies")
    assert page.locator(".unwell").all_inner_texts() == []


def test_today_and_review_count_the_same_waiting(page: Page, viewer: Viewer) -> None:
    kept(viewer, "The pilot's timetable is looked at every spring", verify_by="2020-01-01")
    page.goto("/")
    on_today = page.locator("section", has_text="Needs review").last.locator(".count").inner_text()

    page.goto("/review")

    with viewer.mind() as mind:
        waiting = mind.review.queue(limit=100)
    assert any(one.why.startswith("to be verified") for one in waiting)
    assert on_today == str(len(waiting))
    expect(page.locator("h1")).to_contain_text(f"1 of {on_today}")


NARROW = 390
"""The width of a common phone."""


@pytest.mark.parametrize("path", ["/", "/search", "/review", "/sessions", "/log", "/health"])
def test_the_current_page_is_named_within_a_narrow_screen(page: Page, path: str) -> None:
    page.set_viewport_size({"width": NARROW, "height": 844})
    page.goto(path)

    tab = page.locator("nav [aria-current]").bounding_box()

    assert tab
    assert tab["x"] >= 0
    assert tab["x"] + tab["width"] <= NARROW
    # In one line on every page, so that the page below does not jump.
    assert len({link.bounding_box()["y"] for link in page.locator(".side nav a").all()}) == 1  # type: ignore[index]


def test_an_empty_log_says_so_on_a_narrow_screen(page: Page) -> None:
    page.set_viewport_size({"width": NARROW, "height": 844})
    page.goto("/log?actor=nobody")

    expect(page.get_by_text("No matching entries.")).to_be_visible()


def test_the_log_names_the_code_that_a_memory_was_linked_to(page: Page) -> None:
    page.goto("/log?sort=memory.anchored")

    expect(page.locator(".log td.wrap").first).to_contain_text("::")


def test_a_warning_of_a_hit_is_not_repeated_among_its_reasons(page: Page) -> None:
    page.goto("/search?q=does+verify+check+token+expiry")

    hit = page.locator(".hits .row").first

    expect(hit).to_contain_text("verify before acting")
    assert hit.inner_text().count("verify before acting") == 1


def test_the_log_is_not_clipped_on_a_narrow_screen(page: Page, viewer: Viewer) -> None:
    agent = Writer(actor="an-agent-whose-name-is-quite-a-bit-longer-than-usual", channel=Channel.AGENT)
    with viewer.demo.open_mind(writer=agent) as mind:
        mind.remember("Parcels are weighed at the door/of/a/very/long/path/without/any/space/in/it/at/all.py")
    page.set_viewport_size({"width": NARROW, "height": 844})
    page.goto("/log")

    table = page.locator(".log").bounding_box()

    assert table
    assert table["x"] + table["width"] <= NARROW
    assert page.evaluate("[...document.querySelectorAll('.log td')].every((cell) => cell.scrollWidth <= innerWidth)")
    assert page.evaluate(
        "document.querySelector('.scroll').scrollWidth <= document.querySelector('.scroll').clientWidth"
    )
    page.screenshot(path=SHOTS / f"log-{NARROW}-light.png")


def test_a_guard_is_tried_set_and_removed(page: Page, viewer: Viewer) -> None:
    memory = kept(viewer, "We use pnpm, not npm, in every folder of the harbour.")
    page.goto(f"{viewer.base}/memory/{memory.id}")
    page.get_by_role("link", name="Guard …").click()

    expect(page.get_by_label("Commands, one per line")).to_have_value("npm")
    page.get_by_label("Commands, one per line").fill("npm install")
    page.get_by_role("button", name="Try on past sessions").click()
    expect(page.get_by_role("heading", name=re.compile("Tried on"))).to_be_visible()
    expect(page.get_by_label("Commands, one per line")).to_have_value("npm install")
    page.get_by_label("Answer").select_option("deny")
    page.get_by_role("button", name="Set the guard").click()

    expect(page.get_by_text("deny at command npm install")).to_be_visible()
    with viewer.mind() as mind:
        assert mind.guards.check("npm install")
        call = Observation(
            agent="codex", session_id="s1", source_id="1", seen=ObservationKind.TOOL, command="npm install"
        )
        mind.guards.judge([call])
    page.goto(viewer.base)
    expect(page.get_by_text("was refused “npm install”")).to_be_visible()
    with viewer.mind() as mind:
        mind.forget(memory.id)
    page.goto(f"{viewer.base}/memory/{memory.id}")
    page.get_by_role("button", name="Remove the guard").click()
    expect(page.get_by_text("The guard was removed.")).to_be_visible()
    with viewer.mind() as mind:
        assert mind.guards.check("npm install") is None
