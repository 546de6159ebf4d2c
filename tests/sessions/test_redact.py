"""Secrets never reach the disk, and nothing else is lost on the way.

Every sample is drawn when the tests run: nothing here is, or was, or looks to a scanner like a live token.
"""

import json
import random
import re
import string
from pathlib import Path

import pytest

from hivemind.sessions.redact import collect_secrets, redact

ALPHABETS = {
    "A": string.ascii_letters + string.digits,
    "a": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "-_",
    "b": string.ascii_letters + string.digits + "+/",
}

HERE = Path(__file__).parent

FORMATS = {
    kind: templates
    for line in (HERE / "secret_formats.txt").read_text(encoding="utf-8").splitlines()
    for kind, *templates in [line.split()]
}
"""By kind, what its tokens are drawn from: `{A36}` is 36 letters and digits."""

NEGATIVES = [line.replace("⏎", "\n") for line in (HERE / "hard_negatives.txt").read_text(encoding="utf-8").splitlines()]

WHERE_TOKENS_STAND = [
    "@",
    "SERVICE_TOKEN=@",
    "export SERVICE_TOKEN=@",
    "service_token: @",
    '"service_token": "@"',
    "const service = '@';",
    'curl -H "Authorization: Bearer @" https://api.example.org/v1/items',
    "git remote set-url origin https://oauth2:@@git.example.org/team/repo.git",
    "I pasted @ into the config and it worked",
    "$ echo $SERVICE\n@",
    r"first line\n@\nlast line",
    "\x1b[32m@\x1b[0m",
]

WHERE_PASSWORDS_STAND = [
    "DB_PASSWORD=@",
    "PGPASSWORD=@ psql -h db",
    "password: @",
    "password = '@'",
    '"password": "@"',
    r"{\"user\": \"bob\", \"password\": \"@\"}",
    'smtp_pass: "@"',
    "spring.datasource.password=@",
    "--password @",
    "--password=@",
    "-Dkeystore.password=@",
    "mysql -u root -p@ app",
    "curl -u admin:@ https://x.example.org",
    "sshpass -p @ ssh host",
    "redis-cli -h cache -a @ ping",
    "docker login -u bob -p @ registry.example.org",
    "postgres://app:@@db.internal:5432/app",
    "mongodb+srv://svc:@@c0.mongodb.net/x",
    "redis://:@@cache:6379/0",
    "the admin password is @",
    "The password for the staging database is @",
    "password for bob: @",
    "**Password:** @",
    "| password | @ |",
    "login bob / @",
    "creds: bob / @",
    "machine api.example.org login bob password @",
    "ALTER USER app WITH PASSWORD '@';",
    "CREATE USER app IDENTIFIED BY '@';",
    "Server=db;Database=app;User Id=sa;Password=@;Encrypt=true",
    "jdbc:postgresql://db/app?user=app&password=@&ssl=true",
    "jdbc:oracle:thin:scott/@@db:1521/x",
    "<password>@</password>",
    '<property name="password" value="@"/>',
    "  - name: DB_PASSWORD\n    value: @",
    ":password => '@'",
    "define('DB_PASSWORD', '@');",
    'setPassword("@")',
    'password := "@"',
    "requirepass @",
    "db:5432:app:app:@",
    "openssl rsa -in key.pem -passin pass:@",
    "echo 'root:@' | chpasswd",
    "Passwort: @",
    "the db: password=@ and export",
    r"{\\\"password\\\": \\\"@\\\"}",
    r"{\\\\\\\"password\\\\\\\":\\\\\\\"@\\\\\\\"}",
    r"password=\"@\"",
    "password == '@'",
    'const password string = "@"',
    'password <- "@"',
    "host=db user=app password=@ dbname=app",
    "psexec -u admin -p @ cmd",
    'new NetworkCredential("bob", "@")',
]

WHERE_OPAQUE_TOKENS_STAND = [
    "ACCESS_TOKEN=@",
    "access_token: @",
    '"refresh_token":"@"',
    "clientSecret = '@'",
    "Authorization: Bearer @",
    "'Authorization': 'token @'",
    "Authorization: Basic @",
    "X-Api-Key: @",
    "Cookie: theme=dark; session=@; lang=en",
    "Set-Cookie: sid=@; HttpOnly; Path=/",
    "?access_token=@&x=1",
    "https://maps.example.org/api?key=@&q=1",
    "--token @",
    "--api-key=@",
    "the api key is @",
    "ERROR 401 for token @ (expired)",
    "  - name: API_TOKEN\n    value: @",
    '{"name": "API_TOKEN", "value": "@"}',
    "gh secret set API_TOKEN --body @",
    "//registry.npmjs.org/:_authToken=@",
    '"auth": "@"',
    "https://@@git.example.org/acme/api.git",
    "AccountKey=@;EndpointSuffix=core.windows.net",
    "JWT_SECRET=@",
    "AZURE_OPENAI_KEY=@",
    "client = Client(token='@', timeout=5)",
    "$ echo $API_TOKEN\n@",
    "aws_secret_access_key = @",
]

HEXADECIMAL_PLACES = [
    "SECRET_KEY=@",
    "secret_key: @",
    "DD_API_KEY=@",
    "DD-API-KEY: @",
    'datadog: {"apiKey": "@"}',
    "ENCRYPTION_KEY=@",
    "api_key = '@'",
]


def drawn(template: str, dice: random.Random) -> str:
    def run(match: re.Match[str]) -> str:
        return "".join(dice.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{([AaUhdwb])(\d+)\}", run, template)


def placed(where: str, secret: str) -> str:
    return where.replace("@@", f"{secret}@") if "@@" in where else where.replace("@", secret)


def survives(secret: str, text: str) -> bool:
    """Whether a stretch of six tenths of the secret can still be read."""
    length = -(-len(secret) * 6 // 10)
    return any(secret[start : start + length] in text for start in range(len(secret) - length + 1))


def passwords(dice: random.Random) -> list[str]:
    words = ["Quartz", "falcon", "Velvet", "monsoon", "Cobalt", "harbor"]
    return [
        f"{dice.choice(words)}{dice.choice('-_!#')}{dice.choice(words)}{drawn('{d4}', dice)}",
        f"{dice.choice(words)}{drawn('{d5}', dice)}!",
        f"{drawn('{A6}', dice)}7{drawn('{A5}', dice)}{dice.choice('!#%^&')}{drawn('{A4}', dice)}",
    ]


def pem(label: str, dice: random.Random) -> str:
    lines = "\n".join(drawn("{b64}", dice) for _ in range(6))
    return f"-----BEGIN {label}-----\n{lines}\n{drawn('{b20}', dice)}==\n-----END {label}-----"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_token_is_known_by_its_shape_wherever_it_stands(kind: str) -> None:
    dice = random.Random(kind)
    texts = [
        (placed(where, token), token)
        for template in FORMATS[kind]
        for where in WHERE_TOKENS_STAND
        for token in [drawn(template, dice)]
    ]

    missed = [text for text, token in texts if survives(token, redact(text)) or "[redacted:" not in redact(text)]

    assert missed == []


@pytest.mark.parametrize("where", WHERE_PASSWORDS_STAND)
def test_a_password_is_known_by_its_place(where: str) -> None:
    dice = random.Random(where)
    drawn_passwords = [password for _ in range(10) for password in passwords(dice)]

    missed = [each for each in drawn_passwords if survives(each, redact(placed(where, each)))]

    assert missed == []


@pytest.mark.parametrize("where", WHERE_OPAQUE_TOKENS_STAND)
def test_a_token_without_a_shape_is_known_by_its_place(where: str) -> None:
    dice = random.Random(where)
    tokens = [drawn("{A17}4x{A21}", dice) for _ in range(20)]

    missed = [token for token in tokens if survives(token, redact(placed(where, token)))]

    assert missed == []


@pytest.mark.parametrize("where", HEXADECIMAL_PLACES)
def test_hexadecimal_is_a_secret_where_a_name_says_so(where: str) -> None:
    key = drawn("{h32}", random.Random(where))

    cleaned = redact(placed(where, key))

    assert key not in cleaned
    assert redact(f"commit {key}12345678") == f"commit {key}12345678"


def test_what_stands_around_a_secret_stays_readable() -> None:
    password = passwords(random.Random(1))[2]

    cleaned = redact(f"connect to postgres://app:{password}@db.internal:5432/app before the migration")

    assert cleaned == "connect to postgres://app:[redacted:password]@db.internal:5432/app before the migration"


@pytest.mark.parametrize("label", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"])
@pytest.mark.parametrize(
    "where",
    ["@", "cat id_rsa\n@\n$ ls", "key: |\n@", '{"private_key": "@"}'],
)
def test_a_private_key_goes_whole(label: str, where: str) -> None:
    block = pem(label, random.Random(label))
    shown = block.replace("\n", "\\n") if "{" in where else block

    cleaned = redact(where.replace("@", shown))

    assert cleaned == where.replace("@", "[redacted:private-key]")


def test_a_private_key_that_was_cut_off_goes_as_far_as_it_was_shown() -> None:
    block = pem("PRIVATE KEY", random.Random(3))
    shown = block[: block.index("-----END")]

    cleaned = redact(f"head -5 key.pem\n{shown}\nThat was the key.")

    assert not any(line in cleaned for line in shown.splitlines() if len(line) > 12)
    assert cleaned.endswith("That was the key.")


@pytest.mark.parametrize("label", ["CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK"])
def test_what_is_public_stays(label: str) -> None:
    dice = random.Random(label)
    public, private = pem(label, dice), pem("PRIVATE KEY", dice)

    assert redact(f"{public}\n{private}") == f"{public}\n[redacted:private-key]"


def test_every_value_of_a_kubernetes_secret_goes_and_a_config_map_stays() -> None:
    value = drawn("{b22}==", random.Random(5))
    secret = f"apiVersion: v1\nkind: Secret\ndata:\n  username: {value}\n  anything: {value}\n"
    config = "apiVersion: v1\nkind: ConfigMap\ndata:\n  LOG_LEVEL: debug\n"

    cleaned = redact(f"{config}---\n{secret}")

    assert value not in cleaned
    assert cleaned.startswith(config)
    assert "  anything: [redacted:kubernetes]" in cleaned


def test_the_secret_half_of_an_aws_key_goes_with_its_id() -> None:
    dice = random.Random(7)
    key_id, secret = drawn("AKIA{U16}", dice), drawn("{A18}/7b{A19}", dice)

    cleaned = redact(f"keys: {key_id}  {secret}")

    assert cleaned == "keys: [redacted:aws]  [redacted:aws]"


@pytest.mark.parametrize(
    "address",
    [
        "https://hooks.slack.com/services/T{U10}/B{U10}/{A24}",
        "https://discord.com/api/webhooks/{d18}/{w68}",
        "https://{h32}@o12345.ingest.sentry.io/67890",
        "https://acme.blob.core.windows.net/c/f?sv=2022-11-02&sig={A20}%2B{A22}%3D",
        "https://acme.s3.amazonaws.com/f?X-Amz-Signature={h64}",
        "otpauth://totp/acme:bob?secret={U32}&issuer=acme",
    ],
)
def test_an_address_that_is_itself_a_credential_loses_it(address: str) -> None:
    secret = drawn(address, random.Random(address))

    cleaned = redact(f"posted to {secret} at noon")

    assert all(not survives(part, cleaned) for part in re.findall(r"[\w%-]{20,}", secret))
    assert cleaned.startswith("posted to ")
    assert cleaned.endswith(" at noon")


def test_a_seed_phrase_goes_whole() -> None:
    words = " ".join(random.Random(2).choices(["apple", "river", "stone", "cloud", "tiger"], k=12))

    assert redact(f"seed phrase: {words}") == "seed phrase: [redacted:mnemonic]"


def test_hard_negatives_stay_as_they_are() -> None:
    changed = [text for text in NEGATIVES if redact(text) != text]

    assert len(NEGATIVES) >= 300
    assert changed == []


def test_a_secret_is_found_in_the_midst_of_hard_negatives() -> None:
    token = drawn("ghp_{A36}", random.Random(11))

    missed = [text for text in NEGATIVES if token in redact(f"{text}\n{token}\n{text}")]

    assert missed == []


SECRET_TEXTS = [
    placed(where, drawn(template, random.Random(f"{kind}{where}")))
    for kind, templates in FORMATS.items()
    for template in templates[:1]
    for where in WHERE_TOKENS_STAND[:6]
] + [placed(where, each) for where in WHERE_PASSWORDS_STAND for each in passwords(random.Random(where))]


def test_what_was_json_stays_json_and_its_strings_lose_the_same_secrets() -> None:
    payloads = [
        (text, json.dumps({"tool": "Bash", "output": f"C:\\new\n{text}\nlast line", "exit_code": 0}))
        for text in SECRET_TEXTS
    ]

    outputs = [(text, json.loads(redact(payload))["output"]) for text, payload in payloads]

    assert all(output.startswith("C:\\new\n") and output.endswith("\nlast line") for _, output in outputs)
    assert [text for text, output in outputs if "[redacted:" not in output or redact(output) != output] == []


def test_redacting_twice_changes_nothing() -> None:
    changed = [text for text in SECRET_TEXTS + NEGATIVES if redact(redact(text)) != redact(text)]

    assert changed == []


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            "eyJ",
            "0meyJ",
            "pass:",
            "token=",
            "key",
            "://a:",
            "<private",
            "-----BEGIN PRIVATE KEY-----",
            "curl -u ",
        ),
        *("sk-", "1-", "\\", "{", "AAAA", "password is for a ", "kind: Secret\ndata:\n a: b\n", "cookie: a="),
        *("[redacted:", "token=_ ", "token a b c d ", "acme_live_", "://hook", "password= \\ \\ "),
        "token=" + "_" * 300 + " " * 300,
    ],
)
def test_a_secret_is_found_after_64_kilobytes_of_anything(unit: str) -> None:
    token = drawn("ghp_{A36}", random.Random(unit))
    hostile = (unit * 65536)[:65536]

    cleaned = redact(f"{hostile}\n{token} end")

    assert token not in cleaned
    assert cleaned.endswith(" end")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("before <private>my diary</private> after", "before  after"),
        ("a<private>1</private>b<PRIVATE>2</PRIVATE>c", "abc"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private reason='x'>b</private > c", "a  c"),
        ("a <private>never closed", "a "),
        ("a</private> b", "a</private> b"),
        ("<pri<private>x</private>vate>y", ""),
        ("privates are not <privateer>s", "privates are not <privateer>s"),
        (r"a \u003cprivate\u003eb\u003c/private\u003e c", "a  c"),
    ],
)
def test_private_passages_are_dropped(text: str, kept: str) -> None:
    assert redact(text) == kept


def test_known_values_go_wherever_they_stand() -> None:
    value = "correct-horse-battery"

    cleaned = redact(f"run deploy({value}) and log {value}s; keep correct-horse", {value})

    assert cleaned == "run deploy([redacted:known]) and log [redacted:known]s; keep correct-horse"


def test_a_known_value_goes_when_it_is_escaped_too() -> None:
    value = 'say "friend" and enter'

    cleaned = redact('{"out": "say \\"friend\\" and enter", "ok": 1}', {value})

    assert cleaned == '{"out": "[redacted:known]", "ok": 1}'


def test_known_values_do_not_touch_the_markers() -> None:
    token = drawn("ghp_{A36}", random.Random(13))

    cleaned = redact(f"redacted github {token}", {"redacted", "github"})

    assert cleaned == "[redacted:known] [redacted:known] [redacted:github]"


def test_the_secrets_of_an_environment_are_those_its_names_say() -> None:
    environ = {
        "ACME_TOKEN": "quiet-river-crossing-9",
        "DB_PASSWORD": "hunter2hunter2",
        "SOME_API_KEY": "0123abcd4567ef89",
        "DATABASE_URL": "postgres://app:s3ldom-told@db:5432/app",
        "PWD": "/home/bob/src/api",
        "OLDPWD": "/home/bob/src",
        "SSH_AUTH_SOCK": "/tmp/ssh-abc/agent.12",
        "TOKEN_TTL": "86400000",
        "SECRET_FILE": "/run/secrets/db_password",
        "ADMIN_PASSWORD": "changeme",
        "SHORT_TOKEN": "abc12",
        "SECRET_WORD": "development",
        "EDITOR": "vim-with-many-plugins-2",
    }

    known = collect_secrets(environ)

    assert known == {"quiet-river-crossing-9", "hunter2hunter2", "0123abcd4567ef89", "s3ldom-told"}


def test_variables_about_an_api_or_a_login_are_not_taken_for_secrets() -> None:
    plain = {"ACME_API": "orders-service-2", "LOGIN": "ada-lovelace-1", "ACCESS": "read-write-42"}

    assert collect_secrets(plain) == frozenset()
    assert collect_secrets({"ACME_TOKEN": "orders-service-2"}) == {"orders-service-2"}


def test_what_is_known_from_the_environment_is_found_in_a_text() -> None:
    known = collect_secrets({"ACME_TOKEN": "quiet-river-crossing-9", "HOME": "/home/bob"})

    cleaned = redact("it printed quiet-river-crossing-9 in /home/bob", known)

    assert cleaned == "it printed [redacted:known] in /home/bob"


def test_markers_are_short_and_say_the_kind() -> None:
    markers = {marker for text in SECRET_TEXTS for marker in re.findall(r"\[redacted:[^\]]*\]", redact(text))}

    assert all(re.fullmatch(r"\[redacted:[a-z0-9-]{2,15}\]", marker) for marker in markers)
    assert {"[redacted:github]", "[redacted:password]", "[redacted:jwt]"} <= markers
