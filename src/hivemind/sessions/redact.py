"""Removes secrets from every text before its first byte is written.

Several searches run over a text: *formats* recognise tokens by their shape, *places* know where secrets are, *names*
read the value assigned to a word such as `password`, and private keys and Kubernetes secrets are removed whole. Each
search reads a bounded stretch per match, so that hostile input costs time linear in its length.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial

from hivemind.sessions import secret_rules as rules
from hivemind.sessions.secret_rules import MARK, compile_rule

Span = tuple[int, int, str]
"""Where a secret starts and ends, and its kind."""

Row = tuple[str, ...]
"""Kind, where, keywords and pattern."""

PASSES = 8
"""Replacing one secret can uncover another beside it; two passes are enough for all but contrived text."""

SHORTEST_TOKEN = 16
"""No token format is shorter, so keywords are searched for only in words of at least this length."""

SHORTEST_KNOWN = 8
"""Shorter values of environment variables are too likely to be ordinary words."""

SHORTEST_VALUE = 5
"""Shorter values protect nothing, and many are words such as `none` and `true`."""

LONGEST_LOOK = 120
"""A value of this length was not read to its end; once it is found to be a secret, the rest is redacted too."""

MOST_COPIED = 100
"""How many values of one text are searched for again elsewhere in it."""


def redact(text: str, known_secrets: Collection[str] = ()) -> str:
    """Return the text with each secret replaced by `[redacted:kind]` and without `<private>` passages."""
    text = _remove_private(text)
    for _ in range(PASSES):
        before, text = text, _redact_once(text, known_secrets)
        if text == before:
            break
    return text


def redact_payload(text: str, known_secrets: Collection[str] = ()) -> str:
    """Redact JSON as agents send it: an unclosed `<private>` ends with the string that contains it."""
    if compile_rule(rules.PRIVATE_TAG).search(text):
        text = compile_rule(rules.JSON_STRING).sub(lambda string: f'"{_remove_private(string[1])}"', text)
    return redact(text, known_secrets)


def build_redaction(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return the redaction of a process, which also knows the secrets in its environment."""
    return partial(redact, known_secrets=collect_secrets(environ))


def collect_secrets(environ: Mapping[str, str]) -> frozenset[str]:
    """Collect the values of environment variables with secret names, and the passwords in URLs."""
    values: set[str] = set()
    address = next(pattern for _, where, _, pattern in _load_rows() if where == "address")
    for name, value in environ.items():
        if "://" in value:
            values.update(match[1] for match in compile_rule(address).finditer(value))
        if name not in rules.PLAIN_VARIABLES and _names_a_secret(name):
            values.add(value.strip())
    return frozenset(filter(_is_worth_redacting, values))


def _names_a_secret(name: str) -> bool:
    words = compile_rule(rules.NAME).finditer(_lower(name))
    return any(
        _classify_name(name[: word.start()], word[0], name[word.end() :])
        for word in words
        if word[0] not in rules.AMBIGUOUS_WORDS
    )


def _is_worth_redacting(value: str) -> bool:
    if len(value) < SHORTEST_KNOWN or rules.is_placeholder(value):
        return False
    is_plain = value.isalpha() or rules.is_measure(value) or compile_rule(rules.PATH).match(value) is not None
    return not is_plain or rules.is_random(value)


def _lower(text: str) -> str:
    """Lower the case without moving any character, so that positions hold for the original text."""
    lower_text = text.lower()
    # Some characters become two in lower case, such as the Turkish İ.
    if len(lower_text) == len(text):
        return lower_text
    return "".join(char.lower() if char.isascii() else char for char in text)


def _remove_private(text: str) -> str:
    """Remove `<private>` passages with everything nested in them; an unclosed one reaches to the end."""
    for _ in range(PASSES):
        if "private" not in text.lower():
            return text
        pieces, depth, position = [], 0, 0
        for tag in compile_rule(rules.PRIVATE_TAG).finditer(text):
            if not depth and not tag[1]:
                pieces.append(text[position : tag.start()])
            if depth or not tag[1]:
                depth += -1 if tag[1] else 1
                position = tag.end()
        if not pieces:
            return text
        text = "".join(pieces) + ("" if depth else text[position:])
    # Each removal joins pieces into new tags: this is an attempt to evade redaction, so everything from there on goes.
    return compile_rule(rules.PRIVATE_TAG).split(text, maxsplit=1)[0]


def _redact_once(text: str, known_secrets: Collection[str]) -> str:
    """Redact once; markers of earlier passes count as empty lines, so that they are not searched again."""
    searchable = compile_rule(rules.MARKER).sub(lambda marker: "\n" * len(marker[0]), text) if MARK in text else text
    pieces: list[str] = []
    position = 0
    spans = _merge_spans(_find_spans(searchable, known_secrets))
    for first, last, kind in _merge_spans([*spans, *_find_copies(searchable, spans)]) if spans else ():
        start, end = _trim_half_escapes(text, first, last)
        pieces += (text[position:start], f"[redacted:{kind}]" if start < end else "")
        position = max(start, end)
    return "".join(pieces) + text[position:]


def _trim_half_escapes(text: str, start: int, end: int) -> tuple[int, int]:
    r"""Shorten a span that would cut a `\n` or `\"` in half at its edges, so that JSON stays valid."""
    before, within = text[max(0, start - 8) : start], text[max(start, end - 8) : end]
    if (len(before) - len(before.rstrip("\\"))) % 2:
        start += 5 if text[start] == "u" else 1
    return start, end - (len(within) - len(within.rstrip("\\")))


def _merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Merge overlapping spans into one, with the kind of the search that ran first."""
    groups: list[tuple[int, int, int, str]] = []
    for start, end, order, kind in sorted((start, end, order, kind) for order, (start, end, kind) in enumerate(spans)):
        if groups and start < groups[-1][1]:
            first, last, earlier, name = groups.pop()
            groups.append((first, max(last, end), *min((earlier, name), (order, kind))))
        else:
            groups.append((start, end, order, kind))
    return [(start, end, kind) for start, end, _, kind in groups]


def _find_spans(text: str, known_secrets: Collection[str]) -> Iterator[Span]:
    yield from _find_known(text, known_secrets)
    text = _unescape(text)
    lower_text = _lower(text)
    yield from _find_private_keys(text)
    yield from _find_kubernetes(text)
    words = _collect_words(text)
    yield from _find_formats(text, words)
    yield from _find_prefixed(text, words)
    yield from _find_in_places(text, lower_text)
    yield from _find_cookies(text, lower_text)
    yield from _find_named(text, lower_text)
    yield from _find_unnamed(text, words)


def _find_copies(text: str, spans: list[Span]) -> Iterator[Span]:
    """Find other occurrences of a value that was found once, such as a log line or a table that repeats it."""
    # Without its base64 padding a value matches copies with and without it.
    kinds = {text[start:end].rstrip("="): kind for start, end, kind in spans}
    values = [
        value for value in kinds if rules.is_opaque(value) or (len(value) >= 10 and rules.is_chosen_by_person(value))
    ]
    # Each value is searched for on its own; without a limit, a text full of them would take quadratic time.
    for value in values[:MOST_COPIED]:
        yield from ((start, start + len(value), kinds[value]) for start in _find_positions(value, text))


def _find_positions(value: str, text: str) -> Iterator[int]:
    start = text.find(value)
    while start >= 0:
        yield start
        start = text.find(value, start + len(value))


def _unescape(text: str) -> str:
    """Replace escaped line ends, tabs and quotes by the characters themselves, without moving any character."""
    if "\\" not in text:
        return text
    if '\\\\"' in text or "\\'" in text:
        # JSON within JSON: each level doubles the backslashes before a quote.
        text = compile_rule(rules.ESCAPED_QUOTE).sub(lambda escape: " " * len(escape[0]), text)
    return text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t").replace('\\"', ' "')


def _find_known(text: str, known_secrets: Collection[str]) -> Iterator[Span]:
    for value in known_secrets:
        if len(value) < SHORTEST_VALUE or MARK in value:
            continue
        # As it is, and as a JSON string escapes it.
        for form in {value, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")}:
            yield from ((start, start + len(form), "known") for start in _find_positions(form, text))


def _find_private_keys(text: str) -> Iterator[Span]:
    """Find whole PEM blocks; one without an end line reaches as far as its base64 lines do."""
    start = text.find("-----BEGIN")
    closing = text.find("-----END", start) if start >= 0 else -1
    while start >= 0:
        following = text.find("-----BEGIN", start + 10)
        if 0 <= closing < start:
            closing = text.find("-----END", start)
        if header := compile_rule(rules.PEM_HEADER).match(text, start):
            end = _find_end_of_key(text, header.end(), closing, following)
            if compile_rule(rules.PEM_BODY).search(text, header.end(), end):
                yield start, end, "private-key"
        start = following


def _find_end_of_key(text: str, body: int, closing: int, following: int) -> int:
    is_closed = closing >= body and not body <= following < closing
    pattern, start = (rules.PEM_FOOTER, closing) if is_closed else (rules.PEM_CUT_SHORT, body)
    match = compile_rule(pattern).match(text, start)
    return match.end() if match else start


def _find_kubernetes(text: str) -> Iterator[Span]:
    """Find every value of a Kubernetes `Secret`, whatever its key is called."""
    if "Secret" not in text:
        return
    offset = 0
    for document in text.split("\n---"):
        if compile_rule(rules.KUBERNETES_SECRET).search(document):
            for block in compile_rule(rules.KUBERNETES_DATA).finditer(document):
                for entry in compile_rule(rules.KUBERNETES_ENTRY).finditer(document, *block.span()):
                    if not rules.is_placeholder(entry[1]):
                        yield offset + entry.start(1), offset + entry.end(1), "kubernetes"
        offset += len(document) + len("\n---")


@cache
def _load_rows() -> list[Row]:
    """Load the rules of `secret_formats.tsv`."""
    with open(f"{__file__.removesuffix('redact.py')}secret_formats.tsv", encoding="utf-8") as file:
        rows = file.read().replace("\n\t", "").split("\n")
    return [tuple(row.split("\t")) for row in rows if row and row[0] != "#"]


@cache
def _index_by_keyword(*, of_places: bool) -> list[tuple[str, Row]]:
    rows = [row for row in _load_rows() if (row[1] not in {"anywhere", "word"}) is of_places]
    return [(keyword, row) for row in rows for keyword in row[2].split()]


def _select_rules(text: str, *, of_places: bool) -> Iterable[Row]:
    """Select the rules with a keyword in the text, each once and in order."""
    # One arrow or emoji makes every search three times slower, and keywords are ASCII.
    plain = text if text.isascii() else text.encode("ascii", "ignore").decode("ascii")
    rows = _index_by_keyword(of_places=of_places) if plain else []
    return dict.fromkeys([row for keyword, row in rows if keyword in plain])


def _find_formats(text: str, words: str) -> Iterator[Span]:
    for kind, where, _, pattern in _select_rules(words, of_places=False):
        for match in compile_rule(pattern).finditer(text):
            start, end = match.span(match.lastindex or 0)
            is_random_word = _starts_a_word(text, start) and (
                any(map(str.isdigit, match[0])) or rules.is_jumbled(match[0])
            )
            if (where == "anywhere" or is_random_word) and not rules.is_dummy(text[start:end]):
                yield start, end, kind


def _collect_words(text: str) -> str:
    """Collect the words that are long enough for a token and are not plain words or digests, each once."""
    long = " ".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN]).translate(rules.WORD_BREAKS)
    has_digit = compile_rule(r"\d").search
    words = {word for word in long.split() if len(word) >= SHORTEST_TOKEN and word.strip(rules.HEXADECIMAL)}
    return " ".join([word for word in words if has_digit(word) or not word.islower()])


def _find_prefixed(text: str, words: str) -> Iterator[Span]:
    """Find tokens of unlisted providers by a prefix: `acme_live_` and thirty random characters."""
    prefixed_tokens = [
        match[0] for match in compile_rule(rules.PREFIXED).finditer(words) if rules.is_prefixed_token(match[0])
    ]
    dotted_tokens = [
        match[0]
        for match in compile_rule(rules.DOTTED).finditer(words)
        if any(map(rules.is_noise, match[0].split(".")))
    ]
    for token in {*prefixed_tokens, *dotted_tokens}:
        yield from ((start, start + len(token), "token") for start in _find_positions(token, text))


def _find_unnamed(text: str, words: str) -> Iterator[Span]:
    """Find random values that are assigned to any name, unless that is the name of an identifier."""
    values = {match[0] for match in compile_rule(rules.UNNAMED).finditer(words) if rules.is_unnamed_secret(match[0])}
    for run in compile_rule(rules.UNNAMED_RUN).finditer(text) if values else ():
        if run[0] in values and (
            _is_assigned_value(text, run.start(), run[0]) or _is_secret_by_comment(text, run.end())
        ):
            yield *run.span(), "token"


def _is_assigned_value(text: str, start: int, value: str) -> bool:
    """Whether the value that starts here is assigned to a name that may be a secret's, or follows it and is noise."""
    name = compile_rule(rules.ASSIGNED_NAME).search(text, max(0, start - 80), start)
    if name is None or (name[2].isspace() and not (rules.is_noise(value) and len(value) >= 24)):
        return False
    words = [f" {word.lower()} " for word in compile_rule(rules.HUMPS).findall(name[1])]
    return bool(words) and not any(word in rules.IDENTIFIER_NAMES for word in words)


def _is_secret_by_comment(text: str, end: int) -> bool:
    """Whether a comment after a value says that it is a secret."""
    comment = compile_rule(rules.COMMENT).match(text, end)
    return comment is not None and compile_rule(rules.NAME).search(comment[1].lower()) is not None


def _starts_a_word(text: str, start: int) -> bool:
    r"""Whether a word starts here; it can follow escapes such as `\n` and colour codes, which end in a letter."""
    before = text[max(0, start - 2) : start]
    if not (before[-1:].isalnum() or before[-1:] in {"-", "_", "+"}):
        return True
    return before in {"\\n", "\\r", "\\t"} or (before[-1] == "m" and before[0] in "0123456789;[")


def _find_in_places(text: str, lower_text: str) -> Iterator[Span]:
    for kind, bar, _, pattern in _select_rules(lower_text, of_places=True):
        for match in compile_rule(pattern).finditer(lower_text):
            start, end = match.span(1)
            if _is_secret_in_place(bar, text[start:end], lower_text[match.start() : start]):
                yield start, end, kind


def _is_secret_in_place(bar: str, value: str, before: str) -> bool:
    """Whether a value in a place for secrets meets the bar of that place."""
    if bar == "whole" or rules.is_placeholder(value):
        return bar == "whole"
    if bar == "address":
        return not before.endswith(f"/{value.lower()}:")
    if bar == "segment":
        return any(map(rules.is_random, value.split("/")))
    check = {
        "likely": rules.is_mixed,
        "random": rules.is_random,
        "strong": rules.is_strong,
        "prose": rules.is_no_word,
    }.get(bar)
    return check is None or check(value)


def _find_cookies(text: str, lower_text: str) -> Iterator[Span]:
    if "cookie" in lower_text:
        for header in compile_rule(rules.COOKIES).finditer(lower_text):
            for pair in compile_rule(rules.COOKIE).finditer(text, *header.span()):
                if _is_secret_in_place("likely", pair[1], ""):
                    yield *pair.span(1), "cookie"


def _find_named(text: str, lower_text: str) -> Iterator[Span]:
    """Find values that are assigned to a secret's name, passed to its flag, or given in a sentence."""
    if not any(hint in lower_text for hint in rules.NAME_HINTS):
        return
    position = next_run = 0
    runs = [run.start() for run in compile_rule(rules.LONG_RUN).finditer(text)]
    for word in compile_rule(rules.NAME).finditer(lower_text):
        following = text[word.end() : word.end() + 1]
        is_part_of_a_word = following.isalpha() and following.islower() and following != "s"
        if word.start() < position or is_part_of_a_word:
            continue
        while next_run < len(runs) and runs[next_run] <= word.end():
            next_run += 1
        is_followed = next_run < len(runs) and runs[next_run] < word.end() + LONGEST_LOOK
        is_ambiguous = word[0] in rules.AMBIGUOUS_WORDS
        if is_ambiguous and not is_followed:
            continue
        owner, name = _read_owner(text, word.start()), text[word.start() : word.end()]
        if _is_within_base64(text, *word.span(), owner):
            continue
        span = None if is_ambiguous else _read_assigned(text, owner, name, word.end())
        if is_followed and span is None:
            span = _read_nearby(text, owner, name, word.end())
        if span:
            start, position, sort = span
            yield start, position, "key" if sort == "named-key" else sort


def _read_assigned(text: str, owner: str, name: str, position: int) -> Span | None:
    """Read the value that is assigned to a name; None if it is not a secret."""
    after = compile_rule(rules.ASSIGNED).match(text, position)
    if after is None or len(after[after.lastgroup or 0]) < SHORTEST_VALUE:
        return None
    sort = _classify_name(owner, name, after["tail"])
    start, end = _locate_value(after)
    if not sort or not _is_secret_value(sort, _classify_assignment(owner, name, after), text[start:end], after):
        return None
    if end - start >= LONGEST_LOOK and (continuation := compile_rule(rules.REST_OF_VALUE).match(text, end)):
        end = continuation.end()
    return start, end, sort


def _read_nearby(text: str, owner: str, name: str, position: int) -> Span | None:
    """Read a random value that follows a name after little but punctuation, whatever the language."""
    after = compile_rule(rules.NEARBY).match(text, position)
    if after is None or after["glue"].endswith(rules.ADDRESS_GLUE):
        return None
    sort, value = _classify_name(owner, name, after["tail"]), after["value"].rstrip(".")
    if sort in {"", "key"} or text[after.end() : after.end() + 1] in {"(", "["}:
        return None
    parts = compile_rule(rules.MEMBER).split(value) if after["glue"][-1:] not in {'"', "'", "`"} else [value]
    if rules.is_placeholder(value) or not any(map(rules.is_opaque, parts)) or rules.is_reference(value, sort):
        return None
    words = compile_rule(rules.HUMPS).findall(after["glue"])
    if any(f" {word.lower()} " in rules.DIGEST_WORDS for word in words):
        return None
    # Digests often follow such names by chance; one is the value only right after an assignment sign.
    if rules.is_digest(value) and (len(value) < 32 or not compile_rule(rules.ASSIGNMENT).search(after["glue"])):
        return None
    return after.start("value"), after.start("value") + len(value), sort


def _is_within_base64(text: str, start: int, end: int, owner: str) -> bool:
    """Whether letters that read like a name occur by chance in a certificate or another long value."""
    before = text[max(0, start - len(owner) - 1) : start - len(owner)]
    is_end_of_line = before in {"+", "/"} and compile_rule(rules.END_OF_BASE64).match(text, end) is not None
    is_noise = len(owner) >= 16 and rules.is_unpronounceable(owner)
    return owner[-1:].isalnum() and (is_end_of_line or is_noise)


def _read_owner(text: str, start: int) -> str:
    """Read what a name begins with, else the word before it: `public` of `public_key` and of `public key`."""
    before = text[max(0, start - 40) : start]
    owner = before[len(before.rstrip(rules.NAME_CHARACTERS)) :]
    if owner or not before.endswith(" "):
        return owner
    return before[len(before[:-1].rstrip(rules.NAME_CHARACTERS)) :]


def _classify_name(owner: str, name: str, tail: str) -> str:
    """Return what a name stands for: "password", "secret", "token", "named-key", "key", or "" for nothing secret."""
    # A plural names secrets, too.
    if tail[:1] in {"s", "S"} and not tail[1:2].isalpha():
        tail = tail[1:]
    if tail[:1].isalpha() and not (tail[0].isupper() and name[-1].islower()):
        return ""
    endings = compile_rule(rules.HUMPS).findall(tail)
    if (endings and f" {endings[-1].lower()} " in rules.PLAIN_ENDINGS) or compile_rule(rules.NAME).search(tail.lower()):
        return ""
    word = name.lower()
    is_glued = owner[-1:].isalpha() and not (name[0].isupper() and owner[-1].islower())
    is_glued_key = is_glued and word == "key" and owner.lower().endswith(rules.GLUED_KEYS)
    if is_glued and word == "key" and not is_glued_key:
        return "" if owner.lower().endswith(rules.GLUED_PLAIN_KEYS) else "key"
    if is_glued and word not in rules.GLUED_WORDS and not is_glued_key:
        return ""
    if word not in rules.TOKEN_WORDS:
        return "password"
    owners = [f" {part.lower()} " for part in compile_rule(rules.HUMPS).findall(owner)]
    is_owned = is_glued_key or any(part in rules.KEY_OWNERS for part in owners)
    is_public = any(part in rules.PUBLIC_OWNERS for part in owners)
    # `image_api_key` and `page access token` are secrets; `image key` and `page token` are not.
    plain_owners = rules.PLAIN_KEY_OWNERS if word == "key" else rules.PLAIN_TOKEN_OWNERS
    is_plain = any(part in plain_owners for part in owners) and not is_owned
    if is_public or is_plain:
        return ""
    if word == "key" and not is_owned:
        return "named-key" if owners and owners[-1] not in rules.COMMON_WORDS else "key"
    if word in rules.AMBIGUOUS_WORDS:
        return "named-key"
    return "secret" if word == "secret" else "token"


def _locate_value(after: re.Match[str]) -> tuple[int, int]:
    group = after.lastgroup or "bare"
    value = after[group]
    value = compile_rule(rules.BARE_END).split(value, 1)[0].rstrip(".:") if group == "bare" else value.rstrip(" \\")
    return after.start(group), after.start(group) + len(value)


def _classify_assignment(owner: str, name: str, after: re.Match[str]) -> str:
    """Return how clearly a value is assigned: "sure" (flag or variable), "stated", "said" (in words) or "unclear"."""
    if after["pair"]:
        return "stated"
    is_flag = owner.startswith("-") and not owner.endswith(" ")
    if after["sign"] is None:
        is_quoted = after.lastgroup != "bare" and name.lower() == "password"
        # The line below a name is its value only where a command printed it: `echo $TOKEN`.
        is_output = after["gap"] == "\n"
        if is_output and not after.string.endswith(
            rules.PRINTED_VARIABLE_STARTS, 0, after.pos - len(name) - len(owner)
        ):
            return "unclear"
        if after["gap"] and (is_flag or is_quoted):
            return "sure"
        is_variable = owner.endswith("_") and f"{owner}{name}{after['tail']}".isupper()
        return "stated" if after["gap"] and is_variable and not is_output else "said"
    if _is_unclear(after):
        return "unclear"
    if after["below"]:
        return "said"
    prefix = "" if owner.endswith(" ") else owner
    is_variable = f"{prefix}{name}{after['tail']}".isupper()
    return "sure" if after["sign"] == "=" and (is_flag or is_variable) else "stated"


def _is_unclear(after: re.Match[str]) -> bool:
    """Whether the sign need not assign: a comparison with a variable, a method call, a union of types."""
    sign = after["sign"]
    if after["below"]:
        is_alone = after.string[after.end() : after.end() + 1] in {"", "\n"}
        return sign != ":" or not is_alone or after[0].endswith(":")
    if sign.strip() in rules.NEEDS_QUOTES and after.lastgroup == "bare":
        return True
    return sign == "|" or (sign.strip() == "(" and "." in after["tail"])


def _is_secret_value(sort: str, sureness: str, value: str, after: re.Match[str]) -> bool:
    """Whether a value is a secret, by what its name stands for and how clearly it is assigned."""
    if len(value) < SHORTEST_TOKEN and (sort in {"key", "named-key"} or (sort == "token" and sureness == "said")):
        return False
    is_next_flag = value.startswith("--") and after["gap"]
    if (
        sureness == "unclear"
        or len(value) < SHORTEST_VALUE
        or is_next_flag
        or " " in value
        or rules.is_placeholder(value)
    ):
        return False
    if rules.is_measure(value):
        shortest = {"password": 6, "token": 15, "secret": 15}.get(sort)
        return shortest is not None and sureness != "said" and value.isdigit() and len(value) >= shortest
    is_random = rules.is_random(value)
    if not is_random and rules.is_reference(value, sort):
        return False
    is_bare = after.lastgroup == "bare"
    if is_bare and sureness == "stated" and _is_code(value, after, is_random):
        return False
    match sort, sureness:
        case "password", "sure":
            return not (after["gap"] and value.isalpha() and after.lastgroup != "single")
        case "password", "stated":
            is_varied = rules.is_mixed(rules.strip_technical_words(value)) or rules.is_jumbled(value)
            return len(value) >= 6 and (is_varied or _is_wordy_password(value, after))
        case "password", "said":
            is_quoted_in_full = not is_bare and len(value) >= 6 and after["said"] is not None
            is_varied = (
                is_quoted_in_full
                and rules.is_mixed(rules.strip_technical_words(value))
                and any(map(str.isdigit, value))
            )
            return is_varied or rules.is_strong(value) or _is_wordy_password(value, after)
        case "secret", "said":
            return rules.is_strong(value)
        case "named-key", _:
            is_value = rules.is_opaque(value) if is_bare else is_random
            return is_value and (len(value) >= 20 or not is_bare) and (sureness != "said" or not rules.is_digest(value))
        case "key", _:
            is_label = rules.is_digest(value) or compile_rule(rules.LABELLED_DIGEST).fullmatch(value)
            return is_random and len(value) >= 24 and (sureness == "sure" or not is_label)
        case _, "said":
            is_uuid_in_passing = "-" in value and is_bare and not after["said"]
            return is_random and not (rules.is_digest(value) and (len(value) < 32 or is_uuid_in_passing))
        case "token", "stated" if is_bare:
            return is_random or (
                len(value) >= 10 and rules.is_chosen_by_person(value) and sum(map(str.isdigit, value)) >= 3
            )
        case _:
            is_noise = (
                len(value) >= 10
                and len(set(value)) >= 7
                and value.isalnum()
                and (rules.is_jumbled(value) or rules.is_unpronounceable(value))
            )
            return is_random or is_noise or (len(value) >= 8 and rules.is_chosen_by_person(value))


def _is_wordy_password(value: str, after: re.Match[str]) -> bool:
    """Whether a password consists of words, but is quoted and clearly assigned: `password is 'blooberry'`."""
    is_quoted = after.lastgroup in {"double", "single"}
    is_stated = after["said"] or (after["sign"] or "").strip() in rules.ASSIGNMENT_SIGNS
    is_closed = after.string[after.end() : after.end() + 1] in {'"', "'"}
    if not (is_quoted and is_stated and is_closed) or compile_rule(rules.NAME).search(value):
        return False
    return compile_rule(rules.WORDY).fullmatch(value) is not None


def _is_code(value: str, after: re.Match[str], is_random: bool) -> bool:
    """Whether a value is an identifier in code: `getpass.getpass(`, `tokens[0]`, `password2`."""
    if not compile_rule(rules.IDENTIFIER).fullmatch(value):
        return False
    following = after.string[after.end() : after.end() + 1]
    if following in {"(", "["}:
        return True
    parts = compile_rule(rules.MEMBER).split(value)
    if len(parts) > 1:
        return not any(rules.is_random(part) and len(part) >= 20 and "_" not in part for part in parts)
    digits = sum(map(str.isdigit, value))
    is_like_a_name = compile_rule(rules.NAME).search(value.lower()) is not None
    if is_random:
        return not (rules.is_jumbled(value) or rules.is_opaque(value)) if digits else is_like_a_name
    if following in {"", "\n"} or compile_rule(rules.END_OF_STRING).match(after.string, after.end()):
        return len(value) < 7 or (is_like_a_name and digits < 2)
    if compile_rule(rules.NEXT_PAIR).match(after.string, after.end()):
        return False
    # `login(user=user1, password=pass2)` passes variables; `password=Tr0ub4dor and` gives a value in running text.
    is_tight = after["sign"] in {"=", ":"} and following not in {",", ")"}
    return digits < (2 if is_tight else 3)
