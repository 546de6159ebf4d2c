"""What a session came to: on its page, and where a search finds it."""

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from hivemind.model.digest import Evidence
from hivemind.viewer.pages import sessions
from hivemind.viewer.templating import ENVIRONMENT
from tests.viewer.conftest import Viewer
from tests.viewer.digested_session import (
    FINDING,
    LATER_REQUEST,
    MARKUP,
    QUESTION,
    RULING,
    RULING_THAT_GOES_ON,
    SESSION_ID,
    SESSION_THAT_GOES_ON,
    SUMMARY,
    TASK,
    find_event,
    play_session_that_goes_on,
)

pytestmark = pytest.mark.xdist_group("viewer")

SESSION = f"/session/{SESSION_ID}"
WITHOUT_DIGEST = "/session/2b77e0c4-9d0f-4f0b-8b53-6f4f2c9be1d7"
"""A session of the demo: a task and a reply that concludes nothing."""
SEARCH = "/search?q=bounced+mail+sent+again"


@pytest.fixture
def ruling(viewer: Viewer) -> Iterator[str]:
    """The log entry of a conclusion, which may be told before and after the test."""
    with viewer.mind() as mind:
        event = find_event(mind, RULING)
    yield event
    with viewer.mind() as mind:
        mind.sessions.restore_conclusion(event)


def read_conclusions(viewer: Viewer) -> list[str]:
    with viewer.mind() as mind:
        return [line.text for line in mind.sessions.digest(SESSION_ID).lines if line.part == "conclusion"]


def test_the_page_of_a_session_begins_with_its_digest(page: Page) -> None:
    page.goto(SESSION)
    parts = page.locator(".digest section")

    expect(page.locator("h1")).to_have_text(TASK)
    expect(page.locator("main h2").locator("visible=true")).to_have_text(
        ["Then asked for", "Conclusions", "Failed, then passed", "Dead ends", "Done", "Open", "Steps", "Learned 2"]
    )
    expect(parts.nth(0)).to_contain_text(LATER_REQUEST)
    expect(parts.nth(2)).to_contain_text("KeyError: 'message_id' → pip install harbour-mail")
    expect(parts.nth(3)).to_contain_text("docker compose exec smtp swaks")
    expect(parts.nth(4).locator("li")).to_contain_text(
        ["harbour/notify/mail.py: send", "harbour/notify/stop_list.py: add", "commit Send each mail once"]
    )
    expect(parts.nth(5)).to_contain_text("Tell the carrier")
    expect(parts.nth(5)).not_to_contain_text("Write the rule down")


def test_a_session_that_came_to_nothing_shows_only_its_steps(page: Page) -> None:
    page.goto(WITHOUT_DIGEST)

    expect(page.locator(".step")).not_to_have_count(0)
    expect(page.locator(".digest")).to_have_count(0)
    expect(page.locator("main h2").locator("visible=true")).to_have_count(0)


def test_each_conclusion_says_who_is_behind_it_and_when_and_what_it_rules_on(page: Page) -> None:
    page.goto(SESSION)
    conclusions = page.locator(".conclusion")

    expect(conclusions.filter(has_text=RULING)).to_contain_text(re.compile(r"you said\s*\d{4}-\d\d-\d\d \d\d:\d\d"))
    expect(conclusions.filter(has_text=RULING).locator(".text").first).to_contain_text(QUESTION)
    expect(conclusions.filter(has_text=SUMMARY)).to_contain_text("you confirmed")
    expect(conclusions.filter(has_text=SUMMARY).locator(".about")).to_have_count(0)
    expect(conclusions.filter(has_text=FINDING)).to_contain_text("an agent's summary, not confirmed")


def test_the_page_says_nothing_twice_above_its_steps(viewer: Viewer) -> None:
    above, _, steps = viewer.ask("GET", SESSION).text.partition('class="timeline"')
    texts = ENVIRONMENT.from_string("{{ text }}")

    for text in (TASK, RULING, LATER_REQUEST, "harbour/notify/mail.py: send"):
        shown = above.partition("<h1")[2].replace(f'aria-label="Never tell this: {texts.render(text=text)[:40]}', "")
        assert shown.count(texts.render(text=text)) == 1, text
    assert "harbour/notify/mail.py" in steps
    assert "Edited" not in steps


def test_a_line_of_the_digest_leads_to_the_step_it_quotes(page: Page, ruling: str) -> None:
    page.goto(SESSION)
    expect(page.locator(".step.now")).to_have_count(0)

    page.locator(".conclusion", has_text=RULING).get_by_role("link").click()
    expect(page.locator(".step.now")).to_contain_text(RULING)
    expect(page.locator(".step.now")).to_be_in_viewport()
    page.get_by_role("button", name="First step").click()
    expect(page.locator(".step:visible")).to_have_count(1)
    page.locator(".line", has_text="harbour/notify/stop_list.py").get_by_role("link").click()

    expect(page.locator(".step.now")).to_contain_text("def add(address")
    expect(page.locator(".step.now")).to_be_in_viewport()


def test_a_line_leads_to_its_step_on_another_page_of_a_long_session(
    page: Page, viewer: Viewer, ruling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE_STEPS", 4)
    page.goto(SESSION)
    expect(page.locator(f'[id="step-{ruling}"]')).to_have_count(0)

    page.locator(".conclusion", has_text=RULING).get_by_role("link").click()

    expect(page.locator(".step.now")).to_contain_text(RULING)
    expect(page.locator(".digest")).to_contain_text(SUMMARY)


def test_a_conclusion_that_must_not_be_told_leaves_the_page_and_the_search_until_that_is_undone(
    page: Page, viewer: Viewer, ruling: str
) -> None:
    page.goto(SESSION)
    page.get_by_role("button", name=f"Never tell this: {RULING[:30]}").click()
    expect(page.locator(".flash")).to_contain_text("Agents are never told this again")
    expect(page.locator(".conclusion").filter(has_text=RULING)).to_have_count(0)
    expect(page.locator(".conclusion").filter(has_text=SUMMARY)).to_have_count(1)
    forgotten = read_conclusions(viewer), viewer.ask("GET", SEARCH).text
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".flash")).to_contain_text("Agents may be told this again")
    expect(page.locator(".conclusion").filter(has_text=RULING)).to_have_count(1)
    restored = read_conclusions(viewer), viewer.ask("GET", SEARCH).text

    assert RULING not in forgotten[0]
    assert RULING in restored[0]
    assert ruling not in forgotten[1]
    assert ruling in restored[1]
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_only_a_form_of_the_page_itself_may_forget_a_conclusion(viewer: Viewer, ruling: str) -> None:
    path = f"/conclusion/{ruling}/forget"

    without = viewer.ask("POST", path)
    wrong = viewer.ask("POST", path, {"token": "0" * 64})
    elsewhere = viewer.ask("POST", path, {"token": viewer.token()}, origin="http://evil.example")
    untouched = read_conclusions(viewer)
    right = viewer.ask("POST", path, {"token": viewer.token()})

    assert (without.status, wrong.status, elsewhere.status, right.status) == (403, 403, 403, 303)
    assert RULING in untouched
    assert RULING not in read_conclusions(viewer)


def test_what_is_no_conclusion_or_no_act_is_not_found_and_changes_nothing(viewer: Viewer, ruling: str) -> None:
    before = viewer.end()

    unknown = viewer.ask("POST", f"/conclusion/{'0' * 32}/forget", {"token": viewer.token()})
    no_act = viewer.ask("POST", f"/conclusion/{ruling}/erase", {"token": viewer.token()})

    assert (unknown.status, no_act.status) == (404, 404)
    assert viewer.end() == before


def test_a_session_that_goes_on_offers_no_button_for_what_is_not_told_yet(page: Page, viewer: Viewer) -> None:
    play_session_that_goes_on(viewer.demo.root, viewer.demo.home)
    page.goto(f"/session/{SESSION_THAT_GOES_ON}")

    expect(page.locator(".conclusion").filter(has_text=RULING_THAT_GOES_ON)).to_have_count(1)
    expect(page.get_by_role("button", name="Never tell this")).to_have_count(0)
    page.goto(SESSION)
    expect(page.get_by_role("button", name="Never tell this")).not_to_have_count(0)


def test_a_hostile_digest_is_text(page: Page) -> None:
    page.goto(SESSION)
    visible = MARKUP.replace("\u202e", "")

    expect(page.locator(".digest")).to_contain_text(f"commit Send each mail once {visible}")
    expect(page.locator(".digest")).to_contain_text(f"Tell the carrier {visible}")
    expect(page.locator(".conclusion").filter(has_text="X-Harbour-Id")).to_contain_text("<b onclick=go(2)>")
    assert page.title() != "owned"
    assert page.locator("img").count() == 0
    assert "\u202e" not in page.content()


def test_a_search_shows_what_a_session_concluded_and_then_the_passage_that_matches(page: Page) -> None:
    page.goto(SEARCH)
    row = page.locator("#from-sessions + ol [data-row]", has_text=SUMMARY)

    expect(row).to_contain_text(re.compile(f"{re.escape(SUMMARY)}.*Matching \\w+: ", re.DOTALL))
    expect(row).to_contain_text("you confirmed")
    expect(row.locator(".conclusion")).to_have_count(3)
    expect(row.locator("[data-open]")).to_have_text(SUMMARY)
    row.get_by_role("link", name=SUMMARY).click()

    expect(page.locator(".step.now")).to_contain_text(SUMMARY)
    expect(page.locator(".step.now")).to_be_in_viewport()


def test_a_session_without_conclusions_is_found_by_its_passage_alone(viewer: Viewer) -> None:
    with viewer.mind() as mind:
        hit = next(hit for hit in mind.browse.search("bounced mail sent again").session_hits if hit.conclusions)
    template = ENVIRONMENT.get_template("results.html")

    def show(**changes: object) -> str:
        values = {"hits": (), "hint": "", "caveat": "", "filters": {"q": "mail"}, "more": {}, "conclusions_shown": 3}
        url = {"session_step_url": lambda hit, event: f"/session/{hit.session_id}#step-{event}"}
        return template.render(**values, **url, session_hits=[replace(hit, **changes)])  # type: ignore[arg-type]

    assert "Matching" in show()
    assert "Matching" not in show(conclusions=())
    assert hit.what in show(conclusions=())
    assert "Matching" not in show(text="")
    assert SUMMARY in show(text="")


def test_every_evidence_has_a_label() -> None:
    assert len({evidence.label for evidence in Evidence}) == len(Evidence)
