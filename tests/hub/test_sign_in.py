"""People sign in to a hub at a real identity provider, in their browser or with a code, and are offboarded again."""

import json
import os
import secrets
import socket
import stat
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hivemind import Hivemind, hook_reply
from hivemind.errors import AccessRevoked, InvalidInput, Refused, Unauthenticated, Unavailable
from hivemind.hivemind import make_context
from hivemind.hub.host import Host
from hivemind.hub.oidc import GroupRule, Issuer
from hivemind.hub.store import HubDatabase
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Scope
from hivemind.model.team import (
    LoginRequest,
    LoginResult,
    Revocation,
    Role,
    SyncResult,
    hash_nonce,
    hash_token,
    new_token,
)
from hivemind.paths import HUB_FILE
from hivemind.settings import Settings
from hivemind.store.store import Store
from hivemind.sync import hub_login
from hivemind.sync.hub_client import Credentials, ProviderLogin, load_credentials, save_credentials
from hivemind.sync.hub_login import ProviderTokens, SignInAttempt
from tests.hub import provider as provider_module
from tests.hub.people import REPOSITORY, Person
from tests.hub.provider import CLIENT_ID, Provider, browse, find_url, run_provider
from tests.hub.serving import SECONDS, Served, serving

# One provider for all of them.
pytestmark = pytest.mark.xdist_group("oidc")

SHARED = "Deploys run from the release branch zebrafish"


@pytest.fixture(scope="module")
def npm(pytestconfig: pytest.Config) -> Path:
    return Path(pytestconfig.cache.mkdir("clients"))


@pytest.fixture(scope="module")
def provider(npm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with run_provider(npm, tmp_path_factory.mktemp("provider")) as running:
        yield running


@dataclass
class Company:
    """A hub with two teams, an identity provider with two groups, and laptops."""

    provider: Provider
    served: Served
    directory: Path
    payments: str
    search: str
    time_shift: list[timedelta] = field(default_factory=lambda: [timedelta()])
    """Of all laptops."""
    minds: list[Hivemind] = field(default_factory=list)

    @property
    def host(self) -> Host:
        return self.served.host

    def hire(self, subject: str, *groups: str, **claims: object) -> str:
        """An account in groups, by its subject; every test has accounts of its own."""
        subject = f"{subject}-{secrets.token_hex(3)}"
        self.provider.set_account(subject, **{"email": f"{subject}@acme.example", "email_verified": True} | claims)
        self.provider.set_account(subject, groups=list(groups))
        return subject

    def laptop(self, name: str) -> Hivemind:
        settings = Settings(home=self.directory / name, person=name, model="none")
        writer = Writer(actor=name, channel=Channel.PERSON)
        context = make_context(
            Store.open(self.directory / name), settings, REPOSITORY, writer,
            lambda: datetime.now(UTC) + self.time_shift[0],
        )  # fmt: skip
        self.minds.append(Hivemind(context))
        return self.minds[-1]

    def file(self, name: str) -> Path:
        return self.directory / name / HUB_FILE

    def sign_in(
        self, mind: Hivemind, subject: str, *, with_code: bool = False, team: str = "",
        choose_team: Callable[[Mapping[str, str]], str] = lambda teams: pytest.fail("there is nothing to choose"),
    ) -> SyncResult:  # fmt: skip
        options = mind.team.find_provider(self.served.url)
        assert options is not None
        return mind.team.sign_in(
            self.served.url, options, with_code=with_code, team=team, choose_team=choose_team,
            announce=lambda text: visit(text, subject),
        )  # fmt: skip

    def prove(self, subject: str, client_id: str = CLIENT_ID) -> ProviderTokens:
        """A login at the provider, which the hub has not seen yet."""
        options = self.host.describe_provider()
        assert options is not None
        return hub_login.sign_in_with_browser(replace(options, client_id=client_id), lambda text: visit(text, subject))

    def begin(self, subject: str, token: str, **fields: str) -> str:
        tokens = self.prove(subject)
        request = LoginRequest(
            id_token=tokens.id_token, nonce_secret=tokens.nonce_secret, token_hash=hash_token(token), **fields
        )
        return self.ask_hub(request).person

    def ask_hub(self, request: LoginRequest) -> LoginResult:
        with self.host.open_sign_in("127.0.0.1") as sign_in:
            return sign_in.sign_in(request)

    def is_admitted(self, token: str) -> bool:
        try:
            self.host.admit(token, "127.0.0.1", "test")
        except Unauthenticated:
            return False
        return True


def visit(text: str, subject: str) -> None:
    """Open the address with the code in it, or the only one, as a person would."""
    if "enter this code" not in text:
        threading.Thread(target=browse, args=(find_url(text), subject), daemon=True).start()


def get_login(file: Path) -> tuple[Credentials, ProviderLogin]:
    credentials = load_credentials(file)
    assert credentials is not None
    assert credentials.login is not None
    return credentials, credentials.login


@contextmanager
def open_company(hub: HubDatabase, provider: Provider, directory: Path) -> Iterator[Company]:
    """A company for as long as a test needs it."""
    payments, search = (f"{name}-{secrets.token_hex(4)}" for name in ("payments", "search"))
    issuer = Issuer(
        url=provider.url, client_id=CLIENT_ID, parameters={"prompt": "consent"},
        rules=(
            GroupRule(group="payers", team=payments, role=Role.WRITER),
            GroupRule(group="payers leads", team=payments, role=Role.REVIEWER),
            GroupRule(group="searchers", team=search, role=Role.READER),
        ),
    )  # fmt: skip
    host = Host(hub, Settings(home=directory / "hub", person="hub"), issuer)
    for team in (payments, search):
        host.create_team(team)
    with serving(host) as served:
        company = Company(provider, served, directory, payments, search)
        yield company
        for mind in company.minds:
            mind.close()


@pytest.fixture
def company(hub: HubDatabase, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Company]:
    # The tests open the address themselves.
    monkeypatch.setenv("BROWSER", "true")
    with open_company(hub, provider, tmp_path) as opened_company:
        yield opened_company


def test_a_person_signs_in_with_the_browser_and_never_sees_a_token(company: Company, person: Person) -> None:
    subject = company.hire("alice", "payers")
    person.more = {"BROWSER": f"{sys.executable} {provider_module.__file__} {subject} %s", "PYTHONPATH": os.getcwd()}
    alice = person("alice")

    login = alice.plainly("-m", "hivemind", "team", "login", company.served.url)
    alice("remember", SHARED, "--scope", "team")
    sent = alice("sync")
    teams = alice("team", "list")

    assert login.returncode == 0, login.stderr
    assert f"Logged in as {subject}@acme.example, role writer" in login.stdout
    assert company.provider.url in login.stderr
    assert sent["pushed"] > 0
    assert teams == [{"team": company.payments, "role": "writer", "here": True}]
    file = Path(alice.environment["HIVEMIND_HOME"]) / HUB_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        assert [member.person for member in mind.list_members()] == ["admin", f"{subject}@acme.example"]


def test_a_person_without_a_browser_signs_in_with_a_code(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")

    company.sign_in(mind, subject, with_code=True)

    membership = mind.team.status().membership
    assert membership is not None
    assert (membership.person, membership.role) == (f"{subject}@acme.example", Role.WRITER)


def test_a_login_is_renewed_without_the_person_and_its_token_is_replaced(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    first, first_login = get_login(company.file("alice"))

    mind.team.sync()
    early, _ = get_login(company.file("alice"))
    company.time_shift[0] = timedelta(minutes=31)
    mind.team.sync()
    late, late_login = get_login(company.file("alice"))

    assert early.token == first.token
    assert late.token != first.token
    assert late_login.refresh_token != first_login.refresh_token
    assert company.is_admitted(late.token)
    assert not company.is_admitted(first.token)


def test_an_expired_token_lets_nobody_in_but_can_be_renewed(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    # The login began two hours ago by the hub's clock.
    company.host._clock = lambda: datetime.now(UTC) - timedelta(hours=2)
    company.sign_in(mind, subject)
    token = get_login(company.file("alice"))[0].token
    was_admitted = company.is_admitted(token)
    company.host._clock = lambda: datetime.now(UTC)

    assert was_admitted
    assert not company.is_admitted(token)
    company.time_shift[0] = timedelta(hours=2)
    mind.team.sync()
    assert company.is_admitted(get_login(company.file("alice"))[0].token)


def test_logging_out_ends_the_login_at_the_provider_too(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    login = get_login(company.file("alice"))[1]
    # Renewable before, with the refresh token that it then has.
    refresh_token = hub_login.renew_tokens(login.provider, login.refresh_token).refresh_token
    save_credentials(company.file("alice"), get_login(company.file("alice"))[0].with_login(refresh_token=refresh_token))

    revocation = mind.team.logout()

    assert revocation is Revocation.DONE
    assert not company.file("alice").exists()
    with pytest.raises(Unauthenticated):
        hub_login.renew_tokens(login.provider, refresh_token)


def test_logging_out_works_while_the_provider_is_down(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    credentials, login = get_login(company.file("alice"))
    # Nothing listens at port 1.
    provider = replace(login.provider, issuer="http://127.0.0.1:1")
    save_credentials(company.file("alice"), credentials.with_login(provider=provider))

    revocation = mind.team.logout()

    assert revocation is Revocation.FAILED
    assert not company.file("alice").exists()
    assert mind.team.status().membership is None


def test_a_store_that_joined_with_a_token_has_nothing_to_end_at_a_provider(company: Company) -> None:
    mind = company.laptop("alice")
    with company.host.open_mind(company.host.find_owner(company.payments)) as team:
        token = team.admin.tokens.issue(name="alice", role=Role.WRITER)
    mind.team.login(company.served.url, token)

    assert mind.team.logout() is Revocation.UNNEEDED


def test_roles_follow_the_groups_at_the_next_renewal(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)

    company.provider.set_account(subject, groups=["payers", "payers leads"])
    company.time_shift[0] = timedelta(minutes=31)
    mind.team.sync()

    membership = mind.team.status().membership
    assert membership is not None
    assert membership.role is Role.REVIEWER
    with company.host.open_mind(company.host.find_owner(company.payments)) as team:
        acts = [entry.event.fact.action for entry in team.admin.list_acts()]  # type: ignore[union-attr]
    assert "role changed" in acts


def test_a_person_who_leaves_the_group_loses_the_team_and_keeps_what_was_not_sent(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    mind.remember(SHARED, scope=Scope.TEAM)
    mind.team.sync()
    unsent = mind.remember("The staging key is in the vault", scope=Scope.TEAM)

    company.provider.set_account(subject, groups=["searchers"])
    company.time_shift[0] = timedelta(minutes=31)
    with pytest.raises(AccessRevoked, match="no longer give access"):
        mind.team.sync()

    assert mind.team.credentials is None
    assert [memory.id for memory in mind.list()] == [unsent.id]


def test_offboarding_ends_everything_at_once_even_while_the_provider_says_yes(company: Company) -> None:
    subject = company.hire("alice", "payers", "searchers")
    laptop, desktop, colleague = company.laptop("laptop"), company.laptop("desktop"), company.laptop("bob")
    company.sign_in(laptop, subject, team=company.payments)
    company.sign_in(desktop, subject, team=company.search)
    company.sign_in(colleague, company.hire("bob", "payers"))
    tokens = [get_login(company.file(name))[0].token for name in ("laptop", "desktop", "bob")]
    company.host.admit(tokens[0], "127.0.0.1", "test")

    removals = company.host.remove_everywhere(subject)

    assert sorted(removals) == sorted([company.payments, company.search])
    assert [company.is_admitted(token) for token in tokens] == [False, False, True]
    company.time_shift[0] = timedelta(minutes=31)
    for mind in (laptop, desktop):
        with pytest.raises(AccessRevoked):
            mind.team.sync()
    with pytest.raises(AccessRevoked, match="removed from this hub"):
        company.begin(subject, new_token(), team=company.payments)
    colleague.team.sync()

    company.host.return_everywhere(f"{subject}@acme.example")
    assert company.begin(subject, new_token(), team=company.payments) == f"{subject}@acme.example"


def test_an_admin_removes_a_person_from_their_own_team_only(company: Company) -> None:
    subject = company.hire("alice", "payers", "searchers")
    company.begin(subject, new_token(), team=company.payments)
    company.begin(subject, search_token := new_token(), team=company.search)

    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        mind.admin.remove_member(subject)

    with pytest.raises(AccessRevoked, match="removed you from this team"):
        company.begin(subject, new_token(), team=company.payments)
    assert company.is_admitted(search_token)
    with company.host.open_mind(company.host.find_owner(company.payments)) as mind:
        assert mind.admin.return_member(subject) == f"{subject}@acme.example"
    company.begin(subject, new_token(), team=company.payments)


def test_a_person_in_several_teams_chooses_one_for_each_store(company: Company) -> None:
    subject, mind, other = company.hire("alice", "payers", "searchers"), company.laptop("one"), company.laptop("other")
    offers: list[Mapping[str, str]] = []

    def choose(teams: Mapping[str, str]) -> str:
        offers.append(teams)
        return company.search

    company.sign_in(mind, subject, choose_team=choose)
    company.sign_in(other, subject, team=company.payments)

    assert offers == [{company.payments: "writer", company.search: "reader"}]
    roles = [store.team.status().membership for store in (mind, other)]
    assert [membership and membership.role for membership in roles] == [Role.READER, Role.WRITER]
    with pytest.raises(Refused, match="another team"):
        company.sign_in(mind, subject, team=company.payments)


def test_who_is_in_no_group_of_a_team_is_turned_away(company: Company) -> None:
    mind = company.laptop("eve")

    with pytest.raises(Unauthenticated, match="no team"):
        company.sign_in(mind, company.hire("eve", "cooks"))
    with pytest.raises(Unauthenticated, match="your teams"):
        company.sign_in(mind, company.hire("mallory", "searchers"), team=company.payments)

    assert mind.team.credentials is None


def test_an_address_that_is_not_verified_is_never_somebodys_name(company: Company) -> None:
    bob = company.hire("bob", "payers")
    thief = company.hire("thief", "payers", email=f"{bob}@acme.example", email_verified=False)
    heir = company.hire("heir", "payers", email=f"{bob}@acme.example")

    assert company.begin(bob, new_token()) == f"{bob}@acme.example"
    assert company.begin(thief, new_token()) == thief
    # An address that was given to somebody else does not make them the author of what the first one wrote.
    assert company.begin(heir, new_token()) == heir


def test_a_subject_cannot_take_the_name_of_a_member_with_a_token(company: Company) -> None:
    company.provider.set_account("admin", groups=["payers"])

    with pytest.raises(Unauthenticated, match="name of another member"):
        company.begin("admin", new_token())
    assert company.begin(company.hire("carol", "payers", email=None), new_token())


def test_a_login_that_is_renewed_on_two_devices_ends_on_both(company: Company) -> None:
    subject = company.hire("alice", "payers")
    company.begin(subject, stolen := new_token())

    company.begin(subject, thief := new_token(), previous_token=stolen)
    assert company.is_admitted(thief)
    with pytest.raises(AccessRevoked, match="two devices"):
        company.begin(subject, owner := new_token(), previous_token=stolen)

    assert not company.is_admitted(thief)
    assert not company.is_admitted(owner)


def test_a_renewal_whose_answer_got_lost_can_be_repeated(company: Company) -> None:
    subject = company.hire("alice", "payers")
    company.begin(subject, first := new_token())

    for _ in range(2):
        company.begin(subject, second := "hm_the same", previous_token=first)

    assert company.is_admitted(second)
    assert not company.is_admitted(first)


def test_another_persons_login_cannot_be_renewed(company: Company) -> None:
    company.begin(company.hire("alice", "payers"), token := new_token())

    with pytest.raises(Unauthenticated, match="unknown here"):
        company.begin(company.hire("mallory", "payers"), new_token(), previous_token=token)

    assert company.is_admitted(token)


def test_a_stolen_refresh_token_of_the_provider_works_once_and_the_owner_is_asked_to_sign_in(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    _, login = get_login(company.file("alice"))

    hub_login.renew_tokens(login.provider, login.refresh_token)
    company.time_shift[0] = timedelta(minutes=31)
    with pytest.raises(Unauthenticated, match="hivemind team login"):
        mind.team.sync()

    # Nothing is asked of the provider any more, and nothing here is lost.
    with pytest.raises(Unauthenticated, match="has ended"):
        mind.team.sync()
    assert mind.team.status().membership is not None


def test_an_erasure_while_the_login_has_ended_waits_for_the_next_one(company: Company) -> None:
    subject, mind = company.hire("alice", "payers"), company.laptop("alice")
    company.sign_in(mind, subject)
    memory = mind.remember(SHARED, scope=Scope.TEAM)
    mind.team.sync()
    _, login = get_login(company.file("alice"))
    hub_login.renew_tokens(login.provider, login.refresh_token)
    company.time_shift[0] = timedelta(minutes=31)

    receipt = mind.team.carry(mind.erase(memory.id))
    company.sign_in(mind, subject)

    assert ("hub", "pending") in [(place.name, place.state) for place in receipt.places]
    assert not mind.list()
    with company.host.open_mind(company.host.find_owner(company.payments)) as team:
        assert not team.list()


def test_a_hook_says_once_that_the_person_must_sign_in_again(
    company: Company, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mind = company.laptop("alice")
    company.sign_in(mind, company.hire("alice", "payers"))
    _, login = get_login(company.file("alice"))
    hub_login.renew_tokens(login.provider, login.refresh_token)
    company.time_shift[0] = timedelta(minutes=31)
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "alice"))
    # A browser would leave a file.
    monkeypatch.setenv("BROWSER", f"touch {tmp_path / 'opened'}")
    payload = json.dumps({"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "SessionStart"})

    before = hook_reply.answer("claude-code", "SessionStart", payload)
    with pytest.raises(Unauthenticated):
        mind.team.sync()
    replies = [hook_reply.answer("claude-code", "SessionStart", payload) for _ in range(2)]

    assert "sign in" not in before
    assert [f"hivemind team login {company.served.url}" in reply for reply in replies] == [True, False]
    assert not (tmp_path / "opened").exists()


def test_processes_that_renew_at_the_same_moment_do_not_look_like_a_theft(company: Company) -> None:
    mind = company.laptop("alice")
    company.sign_in(mind, company.hire("alice", "payers"))
    file, tokens = company.file("alice"), []

    def renew() -> None:
        credentials = hub_login.renew_login(file, lambda: datetime.now(UTC) + timedelta(minutes=31))
        tokens.append(credentials and credentials.token)

    threads = [threading.Thread(target=renew) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(tokens) == 4
    assert len(set(tokens)) == 1
    assert company.is_admitted(tokens[0] or "")


def test_while_the_provider_is_down_a_login_goes_on_until_it_expires(
    hub: HubDatabase, npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "true")
    with run_provider(npm, tmp_path) as provider, open_company(hub, provider, tmp_path) as company:
        mind = company.laptop("alice")
        company.sign_in(mind, company.hire("alice", "payers"))
        mind.remember(SHARED, scope=Scope.TEAM)
        provider.stop()

        company.time_shift[0] = timedelta(minutes=45)
        result = mind.team.sync()
        company.time_shift[0] = timedelta(minutes=61)
        with pytest.raises(Unavailable, match="does not answer") as error:
            mind.team.sync()

        assert result.pushed > 0
        assert "'hivemind sync' tries again" in str(error.value)
        assert [memory.text for memory in mind.list()] == [SHARED]


def test_an_answer_that_belongs_to_another_login_is_not_taken(company: Company) -> None:
    subject, pages = company.hire("alice", "payers"), []

    def mislead(text: str) -> None:
        address = urllib.parse.parse_qs(urllib.parse.urlsplit(find_url(text)).query)["redirect_uri"][0]
        right_state = urllib.parse.parse_qs(urllib.parse.urlsplit(find_url(text)).query)["state"][0]
        for fields in (
            {"code": "evil", "state": "guessed"}, {"code": "evil"},
            {"code": "evil", "state": right_state, "iss": "https://evil.example"},
        ):  # fmt: skip
            pages.append(fetch_status(f"{address}?{urllib.parse.urlencode(fields)}"))
        pages.append(fetch_status(f"{address}?code=evil&state={right_state}", Host="evil.example"))
        browse(find_url(text), subject)

    options = company.host.describe_provider()
    assert options is not None
    tokens = hub_login.sign_in_with_browser(
        options, lambda text: threading.Thread(target=mislead, args=(text,)).start()
    )

    assert pages == [404, 404, 404, 404]
    assert tokens.id_token


def fetch_status(url: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_a_person_who_says_no_at_the_provider_is_not_signed_in(company: Company) -> None:
    def refuse(text: str) -> None:
        fields = urllib.parse.parse_qs(urllib.parse.urlsplit(find_url(text)).query)
        address = fields["redirect_uri"][0]
        answer = urllib.parse.urlencode({"error": "access_denied", "state": fields["state"][0]})
        threading.Thread(target=fetch_status, args=(f"{address}?{answer}",)).start()

    options = company.host.describe_provider()
    assert options is not None
    with pytest.raises(Refused, match="access_denied"):
        hub_login.sign_in_with_browser(options, refuse)


def test_a_code_is_good_for_the_address_it_was_sent_to_and_for_the_client_that_has_the_verifier(
    company: Company,
) -> None:
    subject = company.hire("alice", "payers")
    options = company.host.describe_provider()
    assert options is not None
    verifier = "v" * 43

    def redeem(sent_verifier: str, *, is_elsewhere: bool) -> str:
        with hub_login._CallbackServer(SignInAttempt(state="state"), options.issuer) as server:
            fields = {
                "response_type": "code", "client_id": CLIENT_ID, "redirect_uri": server.url, "scope": "openid",
                "state": "state", "code_challenge": hash_nonce(verifier), "code_challenge_method": "S256",
            }  # fmt: skip
            visit(f"{options.authorization_endpoint}?{urllib.parse.urlencode(fields)}", subject)
            code = server.wait_for_code(30)
        redirect = "http://127.0.0.1:1/callback" if is_elsewhere else server.url
        grant = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect,
                 "code_verifier": sent_verifier, "client_id": CLIENT_ID}  # fmt: skip
        return str(hub_login._post(options.token_endpoint, grant).get("error", "accepted"))

    assert redeem(verifier, is_elsewhere=False) == "accepted"
    assert redeem(verifier, is_elsewhere=True) == "invalid_grant"
    assert redeem("g" * 43, is_elsewhere=False) == "invalid_grant"


def test_agents_are_sent_to_the_provider_for_a_token(company: Company) -> None:
    with urllib.request.urlopen(
        f"{company.served.url}/.well-known/oauth-protected-resource/mcp", timeout=SECONDS
    ) as answer:
        metadata = json.load(answer)

    assert [url.rstrip("/") for url in metadata["authorization_servers"]] == [company.provider.url]
    assert metadata["resource"] == f"{company.served.url}/mcp"


def test_a_login_for_another_application_of_the_same_provider_is_refused(company: Company) -> None:
    tokens = company.prove(company.hire("alice", "payers"), client_id="another")
    request = LoginRequest(
        id_token=tokens.id_token, nonce_secret=tokens.nonce_secret, token_hash=hash_token(new_token())
    )

    with pytest.raises(Unauthenticated, match=r"[Aa]udience"):
        company.ask_hub(request)


def test_an_id_token_is_good_once_and_only_for_the_device_that_asked_for_it(company: Company) -> None:
    tokens = company.prove(company.hire("alice", "payers"))
    request = LoginRequest(
        id_token=tokens.id_token, nonce_secret=tokens.nonce_secret, token_hash=hash_token(new_token())
    )

    with pytest.raises(Unauthenticated, match="another login"):
        company.ask_hub(replace(request, nonce_secret="guessed"))
    company.ask_hub(request)
    with pytest.raises(Unauthenticated, match="used before"):
        company.ask_hub(replace(request, token_hash=hash_token(new_token())))


@pytest.mark.usefixtures("long_minute")
def test_wrong_logins_are_recorded_and_limited_and_right_ones_are_not(company: Company) -> None:
    wrong = {"id_token": "a.b.c", "token_hash": "0" * 64}

    statuses = [company.served.ask("POST", "/v1/login", body=wrong).status for _ in range(35)]
    large = company.served.ask("POST", "/v1/login", body=wrong | {"id_token": "x" * 70_000}).status

    assert (statuses[0], statuses[-1], large) == (401, 429, 413)
    assert company.begin(company.hire("alice", "payers"), new_token())


def test_a_hub_without_a_provider_asks_for_a_token(served: Served, device: Callable[[str], Hivemind]) -> None:
    assert device("alice").team.find_provider(served.url) is None
    assert served.ask("GET", "/v1/login").body == {"provider": None}
    assert served.ask("POST", "/v1/login", body={"id_token": "a.b.c", "token_hash": "0" * 64}).status == 404


def test_a_redirect_port_that_is_in_use_is_named(company: Company) -> None:
    options = company.host.describe_provider()
    assert options is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port}.*--device-code"):
            hub_login.sign_in_with_browser(replace(options, redirect_port=port), lambda _: None)
    subject = company.hire("alice", "payers")
    urls: list[str] = []

    def announce(text: str) -> None:
        urls.append(text)
        visit(text, subject)

    assert hub_login.sign_in_with_browser(replace(options, redirect_port=port), announce).id_token
    assert f"127.0.0.1%3A{port}%2Fcallback" in urls[0]


def test_secrets_are_not_sent_to_a_provider_without_tls(company: Company) -> None:
    options = company.host.describe_provider()
    assert options is not None

    with pytest.raises(InvalidInput, match="has no TLS"):
        hub_login.sign_in_with_browser(
            replace(options, authorization_endpoint="http://id.example/auth"), lambda _: None
        )


def test_a_machine_reached_by_ssh_has_no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BROWSER", "SSH_CONNECTION", "SSH_TTY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")

    at_the_desk = hub_login.has_browser()
    monkeypatch.setenv("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")

    assert at_the_desk
    assert not hub_login.has_browser()
