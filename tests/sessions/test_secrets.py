"""Secrets are found in any language and quoting depth, and what only looks like one stays readable.

Every value is made up when the tests run.
"""

import json
import random
import string
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.sessions.redact import redact
from tests.command_line import run, run_json
from tests.conftest import Tally
from tests.mcp.client import connected

DEPTHS = range(4)
"""How many times a text is written as a JSON string: once by a hook, more often in logs of payloads."""

LETTERS = string.ascii_letters + string.digits

TOKENS = {
    "mixed": (LETTERS, 40),
    "for addresses": (f"{LETTERS}-_", 43),
    "lower case": (string.ascii_lowercase + string.digits, 40),
    "hexadecimal": ("0123456789abcdef", 32),
}

TOKEN_NAMES = ["acme_api_key", "ACME_TOKEN", "acmeSecret", "acme-auth-token", "AcmeKey", "ACME_CLIENT_SECRET"]

TOKEN_FORMS = [
    *("{name}={value}", "{name}: {value}", '"{name}": "{value}"', "'{name}' => '{value}'", 'export {name}="{value}"'),
    *(
        "set {name}={value}",
        "ENV {name}={value}",
        '$env:{name} = "{value}"',
        '{name} := "{value}"',
        '{name} <- "{value}"',
    ),
    *('const {name} string = "{value}"', 'let {name}: string = "{value}";', "{name} ?= {value}", "-D{name}={value}"),
    *(
        'NSString *{name} = @"{value}";',
        'char {name}[] = "{value}";',
        '{name} = Secret.of("{value}")',
        "--{name} {value}",
    ),
    *("<{name}>{value}</{name}>", '<add key="{name}" value="{value}"/>', "<key>{name}</key>\n<string>{value}</string>"),
    *('os.environ["{name}"] = "{value}"', 'setenv("{name}", "{value}")', '{name} = getenv("X", "{value}")'),
    *(
        "https://acme.test/v1?x=1&{name}={value}",
        'curl -H "X-{name}: {value}"',
        "| {name} | {value} |",
        '("{name}","{value}")',
    ),
    *('variable "{name}" {{\n  default = "{value}"\n}}', "- name: {name}\n  value: {value}", "{name}: >-\n  {value}"),
]

PASSWORDS = ["passwrod1234", "Tr0ub4dor3horse", "team10x", "Quartz-Falcon!7"]

PASSWORD_FORMS = [
    *("password={value}", "the db: password={value} and export", 'password == "{value}"', "Password is '{value}'"),
    *('{{"password": "{value}"}}', "password: {value}", "DB_PASSWORD={value}", 'db_password = "{value}"'),
    *("protocol=https\nhost=git.test\nusername=bob\npassword={value}", "host=db user=app password={value} dbname=app"),
    *("Server=db;User Id=sa;Password={value};Encrypt=true", "postgres://app:{value}@db.test/app", "--password {value}"),
    *("mysql -u root -p{value} app", "curl -u bob:{value} https://acme.test", "psexec -u bob -p {value} cmd"),
]

WORD_FORMS = ["Password is '{value}'", 'password = "{value}"', 'if password == "{value}":', "password => '{value}'"]

NOT_SECRET = [
    *(
        "password=changeme",
        "password=<your-password>",
        "password=$PASSWORD",
        "password=${DB_PASSWORD}",
        "password: null",
    ),
    *('password = os.environ["DB_PASSWORD"]', "password: true", "password = get_password()", "password: str"),
    *("def login(user: str, password: str) -> None:", "password: Optional[str] = None", "self.password = password2"),
    *("login(user=user1, password=pass2)", "if password == user.password2:", 'password: "required|min:8"'),
    *("The password is case sensitive", "password is too short", '"password": "Password"', "passwords match"),
    *('"password": "{{ vault_password }}"', "PASSWORD_MIN_LENGTH = 12", "token = tokens[index1234]", "max_tokens=4096"),
    *("token=tokenizer.encode(text2)", "exports.X509KeyUsage = X509KeyUsage;", "api = FastAPI(title='Orders v2')"),
    *("RegOpenKeyEx = win32api.RegOpenKeyEx", "access = AccessPolicy.from_env()", "license: Apache-2.0", "login: ada"),
    *("msg_01XFDUDYJgAACzvnptvVoYEL", "toolu_01A09q90qw90lq917835lq9W", "chatcmpl-9mXk2Vq0aZ3bT7yL1nR5wE8uJ4sD6"),
    *("ses_e21e5616dffeEdVbFGjynwHBZQ", "prt_1de1a9f0c001Qk3vXyZ8WbLmNt"),
    *("sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "key commit: 39fec8efef7a32bea00bff7a613cee7b25049b88"),
    *("node_modules_7362cb208e0c3c6811227aad0dcc9083", "token for run 0b9e1d52-8c5e-4f43-9d5c-0b6a7c1f2e3d"),
]


def drawn(alphabet: str, length: int, seed: str) -> str:
    """A made-up value with a digit in it."""
    dice = random.Random(seed)
    return "".join(dice.choices(alphabet, k=length - 2)) + "7" + dice.choice("bcdf")


def as_json(text: str, depth: int) -> str:
    """The text as JSON in JSON in JSON."""
    for _ in range(depth):
        text = json.dumps({"output": text})
    return text


def from_json(text: str, depth: int) -> str:
    """The text that `as_json` was given."""
    for _ in range(depth):
        text = json.loads(text)["output"]
    return text


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_found_after_its_name_in_any_language_and_quoting_depth(kind: str, depth: int, tally: Tally) -> None:
    alphabet, length = TOKENS[kind]
    texts = [
        (form.format(name=name, value=value), value)
        for form in TOKEN_FORMS
        for name in TOKEN_NAMES
        for value in [drawn(alphabet, length, f"{form}{name}{kind}")]
    ]

    missed = [text for text, value in texts if value in from_json(redact(as_json(text, depth)), depth)]

    tally(f"tokens in the clear, quoted {depth} deep", len(texts), len(missed))
    assert missed == []


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_password_is_found_in_pairs_prose_commands_and_addresses(depth: int, tally: Tally) -> None:
    texts = [(form.format(value=value), value) for form in PASSWORD_FORMS for value in PASSWORDS]

    missed = [text for text, value in texts if value in from_json(redact(as_json(text, depth)), depth)]

    tally(f"passwords in the clear, quoted {depth} deep", len(texts), len(missed))
    assert missed == []


def test_a_password_of_plain_words_is_found_where_it_is_quoted_and_given() -> None:
    texts = [form.format(value=value) for form in WORD_FORMS for value in ("blooberry", "velvet-harbor")]

    assert [text for text in texts if redact(text) == text] == []
    assert redact('password = "required"') == 'password = "required"'


@pytest.mark.parametrize("depth", DEPTHS)
def test_code_placeholders_and_identifiers_stay_as_they_are(depth: int, tally: Tally) -> None:
    texts = [as_json(text, depth) for text in NOT_SECRET]

    changed = [text for text in texts if redact(text) != text]

    tally(f"lines without a secret altered, quoted {depth} deep", len(texts), len(changed))
    assert changed == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "https://outlook.office.com/webhook/{uuid}@{uuid}/IncomingWebhook/{hex}/{uuid}",
            "https://outlook.office.com/webhook/[redacted:teams]",
        ),
        ("https://chat.test/hooks/{lower}", "https://chat.test/hooks/[redacted:webhook]"),
        (
            "coap://coap.things.test/api/v1/{lower}/telemetry",
            "coap://coap.things.test/api/v1/[redacted:token]/telemetry",
        ),
        ("Unseal Key 2: {base64}", "Unseal Key 2: [redacted:vault]"),
        ("mvn -Dsonar.login={hex}", "mvn -Dsonar.login=[redacted:key]"),
        ('ado_pat = "{lower}"', 'ado_pat = "[redacted:key]"'),
        ('postmark: "{uuid}"', 'postmark: "[redacted:token]"'),
        (
            '"auth.login_with_api_key", "params": ["8-{mixed}"]',
            '"auth.login_with_api_key", "params": ["[redacted:truenas]"]',
        ),
    ],
)
def test_what_has_no_name_of_its_own_is_found_by_where_it_stands(text: str, expected: str) -> None:
    lengths = [drawn("0123456789abcdef", length, f"{text}{length}") for length in (8, 4, 5, 6, 12)]
    values = {
        "uuid": f"{lengths[0]}-{lengths[1]}-4{lengths[2][:3]}-{lengths[3][:4]}-{lengths[4]}",
        "hex": drawn("0123456789abcdef", 40, text),
        "lower": drawn("bcd7fg8hjk2lm3np4qr5", 20, text),
        "mixed": drawn(LETTERS, 64, text),
        "base64": drawn(f"{LETTERS}+/", 44, text),
    }

    assert redact(text.format(**values)) == expected


@pytest.mark.parametrize("depth", DEPTHS)
def test_a_value_that_was_found_once_is_gone_everywhere(depth: int) -> None:
    value = drawn(LETTERS, 24, "copies")
    text = as_json(f"acme_token = '{value}' | '{value}'\n200 GET /v1/{value}/items\nretry with {value}", depth)

    assert value not in redact(text)


def test_a_copy_of_a_word_that_was_a_password_stays() -> None:
    assert redact("password = 'blooberry'\nA blooberry pie").endswith("A blooberry pie")


RANDOM_VALUES = {
    "mixed": (LETTERS, 28),
    "lower case": (string.ascii_lowercase + string.digits, 32),
    "capitals": (string.ascii_uppercase + string.digits, 32),
}

PLAIN_NAME_FORMS = [
    *("acme: {value}", "acme = '{value}'", 'acme := "{value}"', "acme('{value}')", 'new AcmeClient("{value}")'),
    *('"acme": "{value}"', "{value} # acme api key", '"{value}", // token of acme', "ACME={value}"),
]

IDENTIFIER_FORMS = [
    *("request_id: {value}", 'etag = "{value}"', "next_cursor={value}", 'commit "{value}"', "pageToken={value}"),
    *("trace: {value}", "sha256: {value}", "integrity = '{value}'", "doc = '{value}'", "public key: {value}"),
]


@pytest.mark.parametrize("kind", RANDOM_VALUES)
def test_a_random_value_given_to_any_name_is_found(kind: str, tally: Tally) -> None:
    alphabet, length = RANDOM_VALUES[kind]
    texts = [form.format(value=drawn(alphabet, length, f"{form}{kind}")) for form in PLAIN_NAME_FORMS]

    missed = [text for text in texts if redact(text) == text]

    tally(f"random values, {kind}, given to a plain name and left", len(texts), len(missed))
    assert missed == []


@pytest.mark.parametrize("kind", RANDOM_VALUES)
def test_a_random_value_given_to_the_name_of_an_identifier_stays(kind: str, tally: Tally) -> None:
    alphabet, length = RANDOM_VALUES[kind]
    texts = [form.format(value=drawn(alphabet, length, f"{form}{kind}")) for form in IDENTIFIER_FORMS]

    changed = [text for text in texts if redact(text) != text]

    tally(f"identifiers altered, {kind}", len(texts), len(changed))
    assert changed == []


@pytest.mark.parametrize(
    "text",
    [
        "acme: 39fec8efef7a32bea00bff7a613cee7b25049b88",
        "acme = '0b9e1d52-8c5e-4f43-9d5c-0b6a7c1f2e3d'",
        "pod: payments-worker-7d9f8b6c54-x2x4z",
        "memory: 01J9ZC4V7K8Q2M5N6P3R1S0T9W",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIyRZI2hIlVBYrWHL1hsGfEiIEiNtLIf9kIRYUGgxRE1Y bob@laptop",
        "x/ocsp.py,sha256=OQKsqW_Y4mWY53UT_JG79RJR19xt53Q-iQSSw4m0kZM,16691",
        "AwEAAaNCMEAw/xPwd\nAwEAAaNCMEAwHQYDVR0OBBYEFOLJQJ9NzuiaoXzPDj9lxSmIahlRMA8GA1UdEwEB\n",
    ],
)
def test_digests_and_names_of_things_stay_beside_a_plain_name(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("owner", ["image", "search", "page", "data", "video", "event"])
def test_a_product_called_like_a_thing_has_secrets_too(owner: str) -> None:
    value = drawn("0123456789abcdef", 32, owner)

    assert value not in redact(f"{owner.upper()}_API_KEY={value}")
    assert value not in redact(f"{owner}_access_token: '{value}'")
    assert value in redact(f"{owner} key: {value}")


def test_letters_that_no_word_has_are_random_without_digits() -> None:
    assert "wjxkcfzqowprqhtmbwtvqgrk" not in redact("acme_token = 'wjxkcfzqowprqhtmbwtvqgrk'")
    assert redact("acme_token = 'internationalization_helper'") == "acme_token = 'internationalization_helper'"


def test_signed_tokens_in_parts_are_found_without_a_name() -> None:
    parts = ".".join(drawn(LETTERS, length, f"part {length}") for length in (24, 27, 38))

    assert redact(f"I pasted {parts} into the chat") == "I pasted [redacted:token] into the chat"
    assert (
        redact("see hivemind.sessions.redact.collect_secrets for more")
        == "see hivemind.sessions.redact.collect_secrets for more"
    )


LOGINS = "The staging login is ada, password: hunter2-Kx9! and the admin password: Tr0ub4dor&3x"


def test_every_door_says_what_was_redacted_and_never_the_value(
    mind: Hivemind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = mind.remember(LOGINS)
    printed, written = run("remember", LOGINS), run_json("remember", LOGINS)
    edited = run("edit", memory.id, "The database password: hunter2-Kx9!")
    traced = run("trace", "store", "--action", "logged in with password: hunter2-Kx9!")
    with connected(tmp_path) as client:
        client.shake_hands(name="codex")
        answer, _ = client.call("remember", text=LOGINS)

    assert memory.redacted == ("password", "password")
    assert written["redacted"] == ["password", "password"]
    assert "redacted: 2 passwords" in printed.stderr
    assert "redacted: 2 passwords" in answer
    assert all("redacted: 1 password\n" in result.stderr for result in (edited, traced))
    for text in (str(memory), printed.output, str(written), edited.output, traced.output, answer):
        assert "hunter2" not in text


def test_nothing_is_said_of_redaction_where_nothing_was_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert "redacted" not in run("remember", "Passwords are rotated every month").output
    assert run_json("remember", "Tokens expire after a day")["redacted"] == []
