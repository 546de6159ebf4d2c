"""What tells secrets from other text: patterns, words, and the look of a value.

`redact` applies them with the rows of `secret_formats.tsv`. Patterns are ASCII and repeat without ambiguity, so that a
search stays linear.
"""

import re
from functools import cache

MARK = "[redacted:"
MARKER = r"\[redacted:[a-z0-9-]{1,40}\]"

PRIVATE_TAG = r"(?i:(?:<|\\u003c)(/?)private(?:\s[^<>]{0,200})?(?:>|\\u003e))"
"""Some agents write JSON with `<` escaped."""

JSON_STRING = r'"([^"\\]*(?:\\[\s\S][^"\\]*)*)"'

HEXADECIMAL = "0123456789abcdefABCDEF"

WORD_BREAKS = {ord(char): " " for char in "\"'`,;(){}[]<>&?|"}
"""Characters besides spaces that end a word; no keyword contains one."""

ESCAPED_QUOTE = r"\\{1,15}(?=[\"'])"

PREFIXED = (
    r"(?:(?<![^\s=:])(?<!\d=)|(?<=\dm)(?<!\S\dm)|(?<=\d\dm)(?<!\S\d\dm))"
    r"(?:[A-Za-z][A-Za-z0-9]{0,11}[_.-]){1,4}[A-Za-z0-9][\w-]{15,}(?![\w./])"
)
PREFIX_END = r"[_.-]"
DOTTED = r"(?<![^\s=:])(?<!\d=)(?=\S{32})[A-Za-z0-9][\w-]{0,200}(?:\.[\w-]{6,200}){1,3}(?![\w./])"
"""Parts joined by dots, as in signed tokens."""

TOKEN_PREFIXES = (
    " sk rk ak tk pat tok tkn token secret sec key api apikey sdk live prod production test sandbox dev staging auth"
    " oauth pw pass cred bearer priv private access refresh rw ro srv svc service sa cli bot webhook whsec admin deploy"
    " personal "
)
"""Prefixes that announce a token."""

IDENTIFIER_PREFIXES = (
    " msg toolu req call chatcmpl cmpl resp rs fc run asst thread file step batch cus pi price evt cs seti sub acct ch"
    " card pk pub public pubkey phc client id session sess trace span nonce sha sha1 sha256 sha384 sha512 md5 h1 commit"
    " user usr ses prt org proj prj project team tm dpl acc account gen wf env job task item doc page app ver version"
    " pi ch in po si ba py il ii cn dp su re cu txn src tmp temp db table idx fk hash blob obj object layer volume"
    " container network snapshot backup log tree node pod run var fn func method ws tool email mail form link"
    " build cache index chunk etag uuid img image media video asset static css js "
)
"""Prefixes that announce an identifier, a digest or a public value."""

UNNAMED = r"(?<![^\s=:])[\w-]{20,80}(?![\w./:@+=%-])"
UNNAMED_RUN = r"(?<![\w-])[\w-]{20,80}(?![\w-])"
ASSIGNED_NAME = (
    r"(?<![\w.-])((?:[A-Za-z][\w.-]{1,20} )?[A-Za-z][\w.-]{1,40})[\"'`\])]{0,3}[ \t]{0,8}"
    r"((?:[:=]|=>|:=|<-)[ \t]{0,8}[\"'`({\[<]{0,2}|[ (][\"'`]| )\Z"
)
"""The name, the sign or the opening quote right before a value."""

COMMENT = r"[\"'`]?[,;)\]]?[ \t]{1,8}(?:#|//|--|\()([^\n]{1,60})"

PUBLIC_VALUE = (
    r"[0-7][0-9A-HJKMNP-TV-Z]{25}|AAAA[BCE][\w-]+|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,}|bc1[a-z0-9]+"
    r"|[13][1-9A-HJ-NP-Za-km-z]{25,33}"
)
"""ULIDs, public SSH keys, IPFS content ids and Bitcoin addresses."""

COOKIES = r"cookie2?\\?[\"'`]{0,2}[ \t]{0,3}[:=][^\n]{1,4000}"
COOKIE = r"=([^\s;,\"'`\\]{16,})"

PEM_HEADER = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
PEM_FOOTER = r"-----END [A-Z0-9 ]{0,60}-----"
PEM_BODY = r"[A-Za-z0-9+/=]{40,}"
PEM_CUT_SHORT = r"(?:(?:\s|\\[nrt]|[\"',|>-])*[A-Za-z0-9+/=]{12,})*"
"""The body of a key whose last line is missing."""

KUBERNETES_SECRET = r"kind\"?: {0,4}\"?Secret\b"
KUBERNETES_DATA = (
    r"(?m:^([ \t]*)(?:data|stringData):[ \t]*\n(?:\1[ \t]+[^\n]*(?:\n|\Z))+)"
    r"|\"(?:data|stringData)\": {0,4}\{[^{}]*\}"
)
KUBERNETES_ENTRY = r"[\w.-]+\"?:[ \t]{1,8}[\"']?([^\s\"'|>][^\s\"']{3,})"

NAME_HINTS = (
    *("pass", "pw", "secret", "token", "key", "cred", "auth", "salt", "pat", "jwt", "psk"),
    *("bearer", "login", "license", "api", "dsn", "hook", "private", "access", "kennwort", "senha", "contrase"),
)
NAME = (
    r"pass(?:word|wd|phrase|code|wort|e)?|pwd?|kennwort|senha|contrase[ñn]a"
    r"|secret|token|credential|creds?|key|auth|salt|pat(?![a-z])|jwt|psk|bearer|login|license|api(?![a-z])|dsn|webhook|private|access"
)
"""Words that name secrets, in lower case."""

TOKEN_WORDS = (
    *("secret", "token", "credential", "cred", "creds", "key", "auth", "salt"),
    *("pat", "jwt", "psk", "bearer", "login", "license", "api", "dsn", "webhook", "private", "access"),
)

AMBIGUOUS_WORDS = TOKEN_WORDS[8:]
"""They mean other things as well, so only random values count."""

GLUED_WORDS = ("password", "passwd", "passphrase", "passwort", "pwd", "secret", "token", "credential")
"""Words that keep their meaning in a longer one (`pgpassword`), unlike `key` (`monkey`) or `pass` (`bypass`)."""

GLUED_KEYS = ("api", "access", "secret", "auth", "private", "account", "app", "user", "token", "pass", "client")
GLUED_PLAIN_KEYS = ("cache", "sort", "hash", "object", "primary", "group", "data", "public", "pub", "map", "row")

ASSIGNED = (
    r"(?P<tail>[\w.-]{0,40})(?:[ \\]{1,16}(?=[\"'][ \t]*(?:[:=,)\]]|value)))?[\"'`\])}*]{0,5}(?: \([^()\n]{1,30}\))?"
    r"(?:(?P<pair>[\s,;/]{0,12}\\?[\"']?(?:value|default|content) ?\\?[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"| --?(?:body|value|b)[ =]|(?:: ?\w[\w.\[\]| ]{0,24}|\[\d{0,4}\] ?| [a-zA-Z][\w.]{0,20} )= {0,16}(?=@?[\"'`]))"
    r"|(?P<sign>[ \t]{0,20}(?:=>|->|<-|[?+.]=|::|→|:=|[=!]==?|\|\||\?\?|[=:|,(>]|：)[ \t]{0,20})(?:\*{2}[ \t]{1,4})?"
    r"(?:[|>][-+]?\n\s{1,40}|(?P<below>\n[ \t]{0,40}))?"
    r"|(?P<said>(?: (?:for|of|on|to|in|at) [^\n:=]{1,60}?)?"
    r"(?: (?:is|was)(?: now| set to| changed to| reset to| currently| still)?:?|:| [-–—]) )"
    r"|(?P<gap>[ \t]{1,20}(?=[\"'`\\]|\S{0,60}[0-9A-Z])|[ \t]{0,4}\n))"
    r"[*_]{0,3}(?:[({]{1,2} ?(?=[\"']))?(?:[rbuf@]{1,2}(?=[\"']))?(?:[\"'](?=[ \\]{0,16}[\"']))?"
    r"(?:[ \\]{0,16}\"(?P<double>[^\"\n]{1,128})|'(?P<single>[^'\n]{1,128})|`(?P<back>[^`\n]{1,128})"
    r"|(?P<bare>[^\s\"'`<>,;|()\[\]{}]{1,128}))"
)
"""What follows a name: its last part, the way the value is assigned, and the value."""

NEARBY = (
    r"(?P<tail>[\w.-]{0,40})"
    r"(?P<glue>(?=[^A-Za-z0-9]{0,20}[\s\"'`=:(\[{<>|,;])[^A-Za-z0-9\n]{0,20}(?:\n[^A-Za-z0-9\n]{0,20})?"
    r"(?:[A-Za-z0-9]{1,16}[^A-Za-z0-9]{1,24}){0,3}?)"
    r"(?P<value>[A-Za-z0-9][\w+/.~-]{15,127}={0,2})"
)
"""A name, at most three words and some punctuation, and what could be a random value."""
LONG_RUN = r"\b[\w+/.~-]{16,}"
ASSIGNMENT = r"[=:>({\[|,;][^A-Za-z0-9]*$|<-"
ADDRESS_GLUE = ("/", ".", "@", "#", "$", "\\", " -", "--")
DIGEST_WORDS = (
    " commit sha hash digest checksum fingerprint id ids uuid guid md etag version path url uri ref refs rev revision"
    " file image tag trace span request correlation session "
)
"""Words that are followed by an identifier."""

IDENTIFIER_NAMES = (
    f"{DIGEST_WORDS} message msg call run thread step batch event user org project team gen env job task item doc"
    " page tmp temp db table object obj blob layer volume container network snapshot backup log tree node pod tool"
    " email mail link build cache index chunk img media video asset static nonce public integrity resolved data content"
    " body cert certificate kid address channel cursor next continuation parent signature sig mac challenge code name"
    " names filename checksum pattern regex prefix suffix format encoding "
)
"""Names whose values are identifiers or public."""

NEXT_PAIR = r"[ ;] ?[A-Za-z][\w ]{0,30}=[^=\s]"
"""The next pair of a connection string: `password=… dbname=app`."""
END_OF_BASE64 = r"[A-Za-z0-9+/=]{0,64}\n"
END_OF_STRING = r"[ \\]*\""
NEEDS_QUOTES = (",", "(", "||", "??", "==", "===", "!=", "!==")
ASSIGNMENT_SIGNS = ("=", ":", "==", "===", "!=", "!==", "=>", ":=", "<-")
PRINTED_VARIABLE_STARTS = ("$", "${", "%", "printenv ")
REGEX_PART = r"[()\[\]|\\<>]"
BARE_END = r"&[\w.-]+=|\\+$"
REST_OF_VALUE = r"[^\s\"'`<>,;]*"
NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

KEY_OWNERS = (
    " api access secret private account auth shared sign signing signature encrypt encryption decryption"
    " master storage license service admin app application deploy client consumer server webhook hmac aes"
    " jwt session cipher crypt preshared psk bot integration ingest rest root subscription function"
    " functions wireguard password token ssh ssl tls rsa bearer security authorization oauth write"
    " management project org user team "
)
"""A `key` that belongs to one of these is a secret even if it is plain hexadecimal."""

PUBLIC_OWNERS = (
    " public publishable pub idempotency pagination paging next continuation cursor max min num total count "
)
"""Keys and tokens that belong to one of these are public, or no credentials."""

PLAIN_KEY_OWNERS = (
    " cache primary foreign sort partition dedup group object routing"
    " file files redis map dict node tree item event message msg option config lock job queue block blob content data"
    " record entity resource image asset column table field parent child ref bucket path build commit dep deps sha"
    " etag video track room issue thread shard slot metric feature flag query search filter menu route test"
    " registry lookup row index unique hash site page input output sync start request correlation trace design special"
    " socket gpg pgp recv translation "
)
"""Keys that belong to one of these are not secret."""

PLAIN_TOKEN_OWNERS = (
    " prompt completion input output sync start stop pad eos bos unk sep cls mask cancellation cancel request"
    " correlation trace design special page "
)
"""Tokens that belong to one of these are not secret."""

COMMON_WORDS = (
    " the a an this that these those for with and or of is by no each same first last new old my our your its it to in"
    " on at as from one any all every another other missing wrong invalid correct right given current same as per via"
    " hit press unknown duplicate dict hash map cache random host "
)
"""They say nothing about the key that follows them."""

PLAIN_ENDINGS = (
    " file files filename path paths dir url uri endpoint host port name names id ids type types kind"
    " length len size count limit min max ttl expiry expires expiration expired age timeout field fields"
    " header param params parameter prefix suffix regex pattern policy hash digest checksum fingerprint"
    " version format encoding alg algo algorithm method mode scope scopes audience issuer usage used budget"
    " window index idx label placeholder hint error errors msg message required enabled valid validator"
    " provider store manager service class reset input form ref refs reference arn env var variable changed"
    " updated created at on date time stdin prompt rotation strength rules per rate page screen view"
    " hasher hashers variant variants component"
    " spec config settings location mount volume template generator factory parser"
    " lexer ring chain map set list table column pair pairs code codes word words bits bytes lifetime"
    " interval position status state response request handler exists missing mgr realm marker encryption"
    " pub py js ts go md json yaml yml txt example sample enc sock socket region "
)
"""A name that ends with one of these is about a secret and does not hold it."""

PLAIN_VARIABLES = ("PWD", "OLDPWD")
"""Variables named like a password (`pwd`) that hold a directory."""

WELL_KNOWN_VALUES = (
    " pass passwd password passphrase pw pwd secret token key apikey api-key api_key credential credentials"
    " mypassword my-password my_password mysecret my-secret my_secret mytoken my-token my_token mykey"
    " dbpass dbpassword db_password db_pass userpass proxypass adminpass rootpass testpass testpassword"
    " newpassword oldpassword changeme change-me change_me changeit changethis postgres postgresql mysql"
    " mariadb redis rabbitmq mongo mongodb minio minioadmin elastic guest root admin administrator test"
    " tests testing user username example sample string str text bytes int integer number boolean bool"
    " object any none null nil true false undefined optional required invalid missing hidden disabled"
    " enabled env prompt stdin default redacted masked removed encrypted unknown empty foo bar baz foobar"
    " localhost dev development prod production staging bearer basic secretref vault private public"
    " supersecret topsecret incorrect correct wrong weak strong short expired hashed plain plaintext"
    " confirmed nullable writeonly write-only read-only readonly always never omitted blank visible"
    " provided shared changed accepted rejected reset valid denied allowed granted "
)
"""Well-known values; `changeme` and the like stay readable, because a default is worth remembering."""

PLACEHOLDER_STARTS = (
    *("${", "$(", "$env:", "%(", "{{", "#{", "<", "!secret", "!vault", "!env", "!sub", "!ref", "enc("),
    *("arn:", "op://", "vault:", "ssm:", "secretsmanager", "projects/", "env:", "env.", "process.env"),
    *("os.", "file:", "ref+", "todo", "fixme", "sha1", "sha256", "sha384", "sha512"),
)
PLACEHOLDER_PART = (
    r"example|placeholder|change[-_]?me|replace(?:me|-|_)|insert[-_]|redacted|dummy|xxxxxx|\*\*\*|\.\.\.|…|\$\{|\{\{"
    r"|your(?:-|_|api|token|secret|pass|key|access)|[-_]here|sha256:"
)
PLACEHOLDER = r"\$[A-Za-z_]\w*\W?|%[A-Za-z_]\w*%|%s|[:@&*][\w.-]+|[a-z]+\|[a-z\d|:,]+|[^{]*\{[^}]*\}.*"
"""Placeholders for a secret: a variable, a template, a reference, or a word such as `dummy`."""

SEQUENCES = ("012345678", "123456789", "abcdefgh")
"""A token with one of these was made up by a person; generators do not produce them."""

MEASURE = (
    r"[v^~=<>]*\d[\d.,:_/+-]*(?:[a-z%]{1,3}|[.-]?(?:alpha|beta|rc|dev|post)[.\d-]*)?"
    r"|\d{4}-\d\d-\d\d[\dtz:.+ -]*"
)
"""Numbers, versions, dates, times, sizes, in lower case."""

TECHNICAL = (
    r"(?<![a-z0-9])(?:sha|md|base|utf|aes|rsa|rs|hs|es|ps|oauth|http|ipv|rfc|iso|ed|argon|blake|win|amd|arm|x"
    r"|u?int|float|cp|p|h|s|k)[-_]?\d+(?:id)?(?![a-z0-9])"
)
"""Words that carry a number without being passwords, in lower case."""

SLUG = r"(?:[A-Za-z]+\d{0,2}|\d{0,4})(?:[-_./:+](?:[A-Za-z]+\d{0,2}|\d{0,4}))*"
"""Words and small numbers joined by separators: a name that a person chose."""

WORDY = r"[a-z]{6,20}(?:[-_][a-z]{3,20}){0,2}"
"""A password made of words alone."""

MEMBER = r"\.|->|::"
IDENTIFIER = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_]\w*)*"
PATH = r"[.~]{0,2}/|[A-Za-z]:\\|[\w.-]+(?:/[\w.-]+)*\.[a-z]{1,5}$|\w+://"
RESOURCE = r"[\w.@-]+(?:/[\w.@-]+)+"
EMAIL = r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}"
DIGEST = r"(?:0x)?[0-9a-fA-F]+|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
DIGEST_LENGTHS = (40, 56, 64, 96, 128)
LABELLED_DIGEST = r"(?:[A-Za-z0-9.]+[-_:/])*[0-9a-f]{32,}"
CHANGE_OF_CLASS = r"[a-z](?=[A-Z0-9])|[A-Z](?=[a-z0-9])|[0-9](?=[A-Za-z])"
FOLLOWER_TABLE = (
    "a:bcdfgiklmnprstuvy b:aeilorsu c:acehiklorstu d:adeilorsu e:abcdefgilmnpqrstvwxy f:aefilortu g:aehilnorsu"
    " h:aeiort i:abcdefglmnoprstvxz k:eis l:adeilostuy m:abeimopsu n:acdefgiklnopstuv o:abcdfgiklmnoprstuvw"
    " p:aehiloprstuy q:u r:acdegiklmnoprstuy s:acehiklmopstuy t:acehilorstuy u:abcegilmnprst v:aei w:aehior x:ept"
    " y:ps z:e"
)
FOLLOWERS = {entry[0]: entry[2:] for entry in FOLLOWER_TABLE.split()}
"""The letters that follow each letter in words: nine of ten pairs in code and prose, four of ten in random text."""
ADJACENT = r"(?=([a-z])([a-z]))"
HUMPS = r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])"
"""The words of a name: `client` and `Secret` of `clientSecret`."""
SEPARATOR = r"[-_./:]"
SYMBOL = r"[!@#$%^&*+=?~]"
QUERY = r"\?\w|\w\(|/\w+/|://"
STRONG_PART = r"[!@#$%^&*]|\d{3}"

PROSE_SYMBOL = r"[!#$%^&*?+@~]"
WORD_WITH_DIGITS = r"[a-z]{8,}\d{1,4}|(?=.{8})[a-z]+\d+[a-z]+[a-z\d]*"
"""What people make of words: `peachcobbler4`, `tr0mb4dour`."""
TECHNICAL_WORD = f"(?i:{TECHNICAL})"
NAME_WITH_NUMBER = (
    r"[A-Z]+-\d+(?:\.[\w.]+)?|[A-Za-z]+(?:[-_.][A-Za-z]+)*[-_.]?v?\d+(?:\.\d+)+|[A-Z]\d-\d{4}|[A-Za-z]+-v?\d+"
    r"|[A-Z]?[a-z]{1,7}\d{1,2}|[A-Z]{2,}\d+(?:-?[A-Za-z0-9]+)*|[Bb]ase\d+\w*|[A-Za-z]+[24][A-Z]\w*(?:\.\w+)*"
)
"""A ticket, a version, a quarter, a machine, a format: `PR-1123`, `KeePassXC-2.7`, `Q3-2025`, `Server2`, `JSON5`."""
FILE_OR_HOST = (
    r".*(?:/.*|\.(?:md|py|js|ts|go|rs|rb|java|json|ya?ml|toml|txt|env|ini|cfg|conf|sh|sql|csv|log|xml|html?|kdbx|gpg"
    r"|com|org|net|io|dev|local|internal|example|test|de|fr|es|it|nl|pl|se))"
)


# A hook is a new process for every event and needs few of the patterns.
@cache
def compile_rule(pattern: str) -> re.Pattern[str]:
    """Compile a pattern when it is first used."""
    return re.compile(pattern, re.ASCII)


def is_noise(part: str) -> bool:
    """Whether a part can only be from a token: long, with capitals and digits all over and unpronounceable."""
    return len(part) >= 20 and any(map(str.isdigit, part)) and is_jumbled(part) and is_unpronounceable(part)


def is_unnamed_secret(value: str) -> bool:
    """Whether a value is so random that it may be a secret under any name."""
    return is_opaque(value) and not is_dummy(value) and not is_identifier(value)


def is_prefixed_token(word: str) -> bool:
    """Whether a word is a token behind a prefix, as `acme_live_` and thirty random characters."""
    *prefixes, body = compile_rule(PREFIX_END).split(word)
    first, separator, remainder = prefixes[0], word[len(prefixes[0])], word[len(prefixes[0]) + 1 :]
    if f" {first.lower()} " in IDENTIFIER_PREFIXES or is_dummy(word):
        return False
    is_announced = any(f" {part.lower()} " in TOKEN_PREFIXES for part in prefixes)
    is_word = first.islower() or first.isupper()
    if is_digest(remainder) or is_digest(body):
        is_own_prefix = len(first) <= 6 or not is_checksum(remainder)
        is_short_prefix = is_word and is_own_prefix and separator == "_" and is_digest(remainder)
        return (is_announced or is_short_prefix) and max(len(body), len(remainder) if is_digest(remainder) else 0) >= 32
    if is_announced:
        return len(remainder) >= 20 and (is_opaque(remainder) or is_opaque(body))
    # In URL-safe base64, two letters and a dash occur by chance.
    is_word = (
        is_word and (len(first) >= 3 or separator != "-") and (first.islower() or separator != "." or len(first) < 3)
    )
    if not is_word or any(map(is_noise, [remainder, *compile_rule(PREFIX_END).split(remainder)])):
        return is_word
    is_plain_noise = separator == "_" and remainder.isalnum() and sum(map(str.isdigit, remainder)) >= 6
    is_clear = is_plain_noise or is_jumbled(remainder) or is_unpronounceable(remainder)
    return is_opaque(remainder) and len(remainder) >= (24 if is_clear else 32)


def is_identifier(value: str) -> bool:
    """Whether a value identifies something with a random part: a digest, a ULID, `msg_…`, `worker-7d9f8b6c54-x2x4z`."""
    parts = compile_rule(PREFIX_END).split(value)
    is_one_case = value.lower() == value or value.upper() == value
    return (
        (len(parts) > 1 and (is_one_case or any(len(part) >= 16 and is_digest(part) for part in parts)))
        or f" {parts[0].lower()} " in IDENTIFIER_PREFIXES
        or is_checksum(value)
        or compile_rule(PUBLIC_VALUE).fullmatch(value) is not None
    )


def is_reference(value: str, sort: str) -> bool:
    """Whether a value is a path, an address or a resource, which only says where a secret is."""
    if compile_rule(PATH).match(value) or compile_rule(EMAIL).fullmatch(value):
        return True
    return sort != "password" and compile_rule(RESOURCE).fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value stands for a secret: a variable, a default, a word such as `dummy`."""
    lower_value = value.lower()
    return (
        len(set(value)) < 4
        or f" {lower_value} " in WELL_KNOWN_VALUES
        or lower_value.startswith(PLACEHOLDER_STARTS)
        or compile_rule(PLACEHOLDER_PART).search(lower_value) is not None
        or compile_rule(PLACEHOLDER).fullmatch(value) is not None
    )


def is_dummy(value: str) -> bool:
    """Whether a person made a value up as an example."""
    return is_placeholder(value) or any(part in value.lower() for part in SEQUENCES)


def is_measure(value: str) -> bool:
    """Whether a value is a number, a version, a date or a size."""
    return compile_rule(MEASURE).fullmatch(value.lower()) is not None


def is_digest(value: str) -> bool:
    """Whether a value is hexadecimal or a UUID: more often an identifier than a secret."""
    return compile_rule(DIGEST).fullmatch(value) is not None


def is_checksum(value: str) -> bool:
    """Whether a value is a digest of a customary length; hexadecimal keys also come in other lengths."""
    is_customary = len(value) <= 36 or len(value) in DIGEST_LENGTHS or value.startswith("0x")
    return is_customary and is_digest(value)


def is_jumbled(value: str) -> bool:
    """Whether capitals are all over a value: the humps of `getUserById` are words, these are not."""
    humps = compile_rule(HUMPS).findall(value)
    letters = sum(map(len, humps))
    words = len(compile_rule(SEPARATOR).findall(value)) + 1
    return letters >= 10 and letters * 2 <= len(humps) * 7 and len(humps) >= words + 3


def is_unpronounceable(value: str) -> bool:
    """Whether too many neighbouring letters are pairs that seldom occur in words."""
    lower_value = value.lower()
    pairs = compile_rule(ADJACENT).findall(lower_value)
    odd = sum(second not in FOLLOWERS.get(first, "") for first, second in pairs)
    return len(pairs) >= 8 and odd * 5 >= len(pairs) * 2 and "abcdefgh" not in lower_value


def is_random(value: str) -> bool:
    """Whether a value looks random: lower case, capitals and digits alternate all the time."""
    if len(value) < 16 or len(set(value)) < 7:
        return False
    if is_digest(value) or is_jumbled(value) or is_unpronounceable(value):
        return True
    turns = len(compile_rule(CHANGE_OF_CLASS).findall(value))
    is_varied = any(map(str.isdigit, value)) and turns * 5 >= len(value)
    return is_varied and not compile_rule(SLUG).fullmatch(value)


def is_opaque(value: str) -> bool:
    """Whether a value is so clearly random that its name need not be a secret's."""
    is_unspeakable = is_unpronounceable(value)
    if not is_random(value) or (compile_rule(SLUG).fullmatch(value) and not is_unspeakable):
        return False
    digits = sum(map(str.isdigit, value))
    is_one_case = value.lower() == value or value.upper() == value
    is_mixed = digits > 0 and (is_jumbled(value) or is_unspeakable)
    is_long_noise = is_unspeakable and value.isalnum() and len(value) >= (20 if is_jumbled(value) else 24)
    return is_digest(value) or is_mixed or is_long_noise or (is_one_case and digits >= 3)


def is_mixed(value: str) -> bool:
    """Whether a value mixes letters with digits or symbols, as passwords do and words do not."""
    has_digit_or_symbol = any(map(str.isdigit, value)) or compile_rule(SYMBOL).search(value.strip("?!*="))
    return (any(map(str.isalpha, value)) and bool(has_digit_or_symbol)) or is_jumbled(value)


def strip_technical_words(value: str) -> str:
    """Lower the case and remove words such as `sha256`, which contain a number and are no passwords."""
    return compile_rule(TECHNICAL).sub("", value.lower())


def is_chosen_by_person(value: str) -> bool:
    """Whether a person could have chosen the value as a secret, rather than as a name."""
    plain = strip_technical_words(value)
    has_symbol = compile_rule(SYMBOL).search(plain.strip("?!*=")) is not None
    is_varied = any(map(str.isalpha, plain)) and (has_symbol or sum(map(str.isdigit, plain)) > 1)
    return is_varied and not (compile_rule(SLUG).fullmatch(value) or compile_rule(REGEX_PART).search(value))


def is_no_word(value: str) -> bool:
    """Whether what a sentence gives as a password is one: letters and digits, and no name with a number."""
    if is_measure(value) or value[0] in "$%[{<" or value.startswith("--") or MARK in value:
        return False
    plain = compile_rule(TECHNICAL_WORD).sub("", value)
    if not (any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))):
        return False
    if any(compile_rule(pattern).fullmatch(value) for pattern in (NAME_WITH_NUMBER, FILE_OR_HOST, EMAIL)):
        return False
    has_sign = compile_rule(PROSE_SYMBOL).search(value) is not None or any(map(str.isupper, plain))
    return has_sign or compile_rule(WORD_WITH_DIGITS).fullmatch(plain) is not None


def is_strong(value: str) -> bool:
    """Whether a password differs from a word even in running text."""
    if len(value) < 6 or is_measure(value) or compile_rule(QUERY).search(value):
        return False
    if is_random(value):
        return not is_digest(value)
    plain = strip_technical_words(value)
    is_varied = any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    return is_varied and compile_rule(STRONG_PART).search(plain) is not None
