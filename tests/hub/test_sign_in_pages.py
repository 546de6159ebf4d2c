"""People sign in to the hub's pages at a real identity provider, in a real browser and by hand."""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from hivemind.hub.store import HubDatabase
from tests.browser import audit_page, open_page
from tests.hub.provider import Provider, browse, run_provider
from tests.hub.serving import SECONDS, Served
from tests.hub.test_sign_in import Company, open_company

# One provider for all of them.
pytestmark = pytest.mark.xdist_group("oidc")


@pytest.fixture(scope="module")
def provider(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    npm = Path(pytestconfig.cache.mkdir("clients"))
    with run_provider(npm, tmp_path_factory.mktemp("provider")) as running:
        yield running


@pytest.fixture
def company(hub: HubDatabase, provider: Provider, tmp_path: Path) -> Iterator[Company]:
    with open_company(hub, provider, tmp_path) as opened_company:
        yield opened_company


@pytest.fixture
def page(browser: Browser, company: Company) -> Iterator[Page]:
    with open_page(browser, company.served.url, {}) as opened_page:
        # The provider's own pages load a font from elsewhere.
        opened_page.route(re.compile(r"^https?://(?!127\.0\.0\.1)"), lambda route: route.fulfill(body=""))
        yield opened_page


def sign_in_at_provider(page: Page, subject: str) -> None:
    """Fill in what the provider asks for until it sends the browser back."""
    page.get_by_placeholder("Enter any login").fill(subject)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def read(opener: urllib.request.OpenerDirector, url: str) -> tuple[int, str, str]:
    """Return the status, the address and the text of a page, also of a refusal."""
    try:
        with opener.open(url, timeout=SECONDS) as answer:
            return answer.status, answer.geturl(), answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.url, error.read().decode()


def make_opener() -> tuple[urllib.request.OpenerDirector, CookieJar]:
    jar = CookieJar()
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)), jar


def test_a_person_signs_in_to_the_pages_without_a_token(page: Page, company: Company) -> None:
    subject = company.hire("alice", "payers leads")

    page.goto("/review")
    violations, widths = audit_page(page, "hub-login")
    page.get_by_role("link", name=f"Sign in with {urlsplit(company.provider.url).netloc}").click()
    sign_in_at_provider(page, subject)

    page.wait_for_url(f"{company.served.url}/")
    expect(page.get_by_role("link", name="Review")).to_be_visible()
    expect(page.get_by_text(f"{subject}@acme.example")).to_be_visible()
    cookie = next(cookie for cookie in page.context.cookies() if cookie["name"] == "hivemind_hub")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert (violations, widths) == ([], [])


def test_who_is_in_several_teams_chooses_one(page: Page, company: Company) -> None:
    subject = company.hire("alice", "payers", "searchers")

    page.goto("/login")
    page.get_by_role("link", name="Sign in with").click()
    sign_in_at_provider(page, subject)
    violations, widths = audit_page(page, "hub-teams")
    page.get_by_role("link", name=company.search).click()
    # The provider knows the person by now and asks only whether to go on.
    page.get_by_role("button", name="Continue").click()

    page.wait_for_url(f"{company.served.url}/")
    page.goto("/team")
    expect(page.get_by_role("heading", name="Team")).to_be_visible()
    expect(page.get_by_role("row", name=f"{subject}@acme.example reader")).to_be_visible()
    assert (violations, widths) == ([], [])


def test_somebody_whose_groups_give_nothing_stays_out(company: Company) -> None:
    subject = company.hire("mallory", "strangers")
    opener, _ = make_opener()

    with pytest.raises(urllib.error.HTTPError, match="401") as refusal:
        browse(f"{company.served.url}/login/provider", subject, opener)

    assert "your groups give access to no team" in refusal.value.read().decode()
    assert read(opener, company.served.url)[1].endswith("/login")


def test_a_visit_ends_when_the_provider_has_to_be_asked_again(company: Company) -> None:
    subject, (opener, _) = company.hire("alice", "payers"), make_opener()
    browse(f"{company.served.url}/login/provider", subject, opener)
    at_first = read(opener, company.served.url)[1]

    company.host._clock = lambda: datetime.now(UTC) + timedelta(minutes=61)

    assert not at_first.endswith("/login")
    assert read(opener, company.served.url)[1].endswith("/login")


def test_signing_in_again_makes_no_further_entry_in_the_record_of_administration(company: Company) -> None:
    subject = company.hire("alice", "payers")
    for _ in range(2):
        browse(f"{company.served.url}/login/provider", subject, make_opener()[0])

    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        details = [entry.event.fact.detail for entry in mind.admin.list_acts()]  # type: ignore[union-attr]
        logins = [token for token in mind.admin.tokens.list() if token.name.startswith(subject)]

    assert sum("with a browser" in detail for detail in details) == 1
    assert [token.is_login for token in logins] == [True]


def test_a_browser_login_that_an_admin_revokes_ends_at_once(company: Company) -> None:
    subject, (opener, _) = company.hire("alice", "payers"), make_opener()
    browse(f"{company.served.url}/login/provider", subject, opener)
    at_first = read(opener, company.served.url)[1]

    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        mind.admin.tokens.revoke(f"{subject}@acme.example")

    assert not at_first.endswith("/login")
    assert read(opener, company.served.url)[1].endswith("/login")


def test_a_removed_person_is_signed_out_of_the_pages_and_cannot_come_back(company: Company) -> None:
    subject, (opener, _) = company.hire("alice", "payers"), make_opener()
    browse(f"{company.served.url}/login/provider", subject, opener)
    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        members = [member.person for member in mind.list_members()]

    company.host.remove_everywhere(f"{subject}@acme.example")

    assert f"{subject}@acme.example" in members
    assert read(opener, company.served.url)[1].endswith("/login")
    with pytest.raises(urllib.error.HTTPError, match="401") as refusal:
        browse(f"{company.served.url}/login/provider", subject, make_opener()[0])
    assert "was removed" in refusal.value.read().decode()


def test_an_answer_of_the_provider_counts_only_in_the_browser_that_asked(company: Company) -> None:
    subject, (opener, jar) = company.hire("mallory", "payers"), make_opener()
    # An attacker stops before the last redirect and sends it to somebody else.
    other_opener, _ = make_opener()
    _, provider_url, _ = read(opener, f"{company.served.url}/login/provider")
    state = next(
        re.findall("state=([^&]+)", cookie.value or "")[0] for cookie in jar if cookie.name == "hivemind_login"
    )

    status, _, text = read(other_opener, f"{company.served.url}/login/callback?code=any&state={state}")
    own_status, _, own_text = read(opener, f"{company.served.url}/login/callback?error=access_denied&state={state}")

    assert provider_url.startswith(company.provider.url)
    assert (status, own_status) == (401, 401)
    assert "not the answer to a login of this browser" in text
    assert "access_denied" in own_text
    assert subject not in text


def test_a_hub_without_a_provider_offers_no_such_login(served: Served) -> None:
    opener, _ = make_opener()

    assert "Sign in with" not in read(opener, f"{served.url}/login")[2]
    assert read(opener, f"{served.url}/login/provider")[0] == 404
