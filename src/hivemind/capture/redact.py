"""Secrets are taken out of every text before its first byte is written.

Several readers look at a text: *formats* know tokens by their shape, *places* know where secrets stand, *names* read
what is given to a word such as `password`, and private keys and Kubernetes secrets are taken whole. Each reads a
bounded stretch per find, so that hostile input costs no more than its length.
"""

import re
from bisect import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache

from hivemind.capture import secret_rules as rules

Span = tuple[int, int, str]
"""Where a secret starts and ends, and its kind."""

PASSES = 8
"""Replacing one secret can uncover another beside it; two passes settle all but contrived text."""

SHORTEST_TOKEN = 16
"""No format is shorter, so its keywords are looked for only in words of this length."""

SHORTEST_KNOWN = 8
"""Shorter values of an environment are too likely to be ordinary words."""

SHORTEST_VALUE = 5
"""What is shorter protects nothing, and words such as `none` and `true` are."""

LONGEST_LOOK = 120
"""A value of this length was not read to its end; the rest is taken along once it is judged a secret."""

MOST_COPIED = 100
"""How many values of one text are looked for a second time."""

MARK = "[redacted:"


def redact(text: str, known: Collection[str] = ()) -> str:
    """The text with each secret replaced by `[redacted:kind]` and each `<private>` passage gone."""
    text = _without_private(text)
    for _ in range(PASSES):
        before, text = text, _cleaned(text, known)
        if text == before:
            break
    return text


def redact_payload(text: str, known: Collection[str] = ()) -> str:
    """The same for JSON as agents send it: a `<private>` that is never closed ends with the string it stands in."""
    if _compiled(rules.PRIVATE_TAG).search(text):
        text = _compiled(rules.JSON_STRING).sub(lambda string: f'"{_without_private(string[1])}"', text)
    return redact(text, known)


def secrets_in(environ: Mapping[str, str]) -> frozenset[str]:
    """The values of an environment that are secret by their name, and the passwords in its addresses."""
    found: set[str] = set()
    for name, value in environ.items():
        if "://" in value:
            found.update(match[1] for match in _compiled(rules.ADDRESS_PASSWORD).finditer(value))
        if name not in rules.PLAIN_VARIABLES and _names_a_secret(name):
            found.add(value.strip())
    return frozenset(filter(_is_worth_knowing, found))


def _names_a_secret(name: str) -> bool:
    words = _compiled(rules.NAME).finditer(_lowered(name))
    return any(
        _sort_of_name(name[: word.start()], word[0], name[word.end() :])
        for word in words
        if word[0] not in rules.AMBIGUOUS_WORDS
    )


def _is_worth_knowing(value: str) -> bool:
    if len(value) < SHORTEST_KNOWN or _is_stand_in(value):
        return False
    is_plain = value.isalpha() or _is_measure(value) or _compiled(rules.PATH).match(value) is not None
    return not is_plain or _is_random(value)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


def _lowered(text: str) -> str:
    """Lower case in which every character keeps its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(char.lower() if char.isascii() else char for char in text)


def _without_private(text: str) -> str:
    """Passages are dropped with all that is nested in them; one that is never closed reaches to the end."""
    for _ in range(PASSES):
        if "private" not in text.lower():
            return text
        kept, depth, position = [], 0, 0
        for tag in _compiled(rules.PRIVATE_TAG).finditer(text):
            if not depth and not tag[1]:
                kept.append(text[position : tag.start()])
            if depth or not tag[1]:
                depth += -1 if tag[1] else 1
                position = tag.end()
        if not kept:
            return text
        text = "".join(kept) + ("" if depth else text[position:])
    # Dropping keeps joining pieces into new tags: somebody is trying, so all from there on goes too.
    return _compiled(rules.PRIVATE_TAG).split(text, maxsplit=1)[0]


def _cleaned(text: str, known: Collection[str]) -> str:
    """One pass, in which what is marked already counts as empty lines."""
    seen = _compiled(rules.MARKER).sub(lambda marker: "\n" * len(marker[0]), text) if MARK in text else text
    pieces: list[str] = []
    position = 0
    spans = _merged(_spans(seen, known))
    for found, last, kind in _merged([*spans, *_copies(seen, spans)]) if spans else ():
        start, end = _without_half_escapes(text, found, last)
        pieces += (text[position:start], f"[redacted:{kind}]" if start < end else "")
        position = max(start, end)
    return "".join(pieces) + text[position:]


def _without_half_escapes(text: str, start: int, end: int) -> tuple[int, int]:
    r"""The span without half of a `\n` or `\"` at its edges, so that what was JSON still is."""
    before, within = text[max(0, start - 8) : start], text[max(start, end - 8) : end]
    if (len(before) - len(before.rstrip("\\"))) % 2:
        start += 5 if text[start] == "u" else 1
    return start, end - (len(within) - len(within.rstrip("\\")))


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Finds that overlap become one, under the kind of the reader that came first."""
    merged: list[tuple[int, int, int, str]] = []
    for start, end, order, kind in sorted((start, end, order, kind) for order, (start, end, kind) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            first, last, earlier, name = merged.pop()
            merged.append((first, max(last, end), *min((earlier, name), (order, kind))))
        else:
            merged.append((start, end, order, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def _spans(text: str, known: Collection[str]) -> Iterator[Span]:
    yield from _known(text, known)
    text = _unescaped(text)
    lowered = _lowered(text)
    yield from _private_keys(text)
    yield from _kubernetes(text)
    words = _words(text)
    yield from _formats(text, words)
    yield from _prefixed(text, words)
    yield from _places(text, lowered)
    yield from _cookies(text, lowered)
    yield from _named(text, lowered)
    yield from _unnamed(text, words)


def _copies(text: str, spans: list[Span]) -> Iterator[Span]:
    """Other places of a value that was found once, such as the log line or the table that repeats it."""
    kinds = {text[start:end].rstrip("="): kind for start, end, kind in spans}
    values = [value for value in kinds if _is_opaque(value) or (len(value) >= 10 and _is_chosen(value))]
    # Each value is looked for on its own, so a text full of them must not cost its square.
    for value in values[:MOST_COPIED]:
        yield from ((start, start + len(value), kinds[value]) for start in _places_of(value, text))


def _places_of(value: str, text: str) -> Iterator[int]:
    start = text.find(value)
    while start >= 0:
        yield start
        start = text.find(value, start + len(value))


def _unescaped(text: str) -> str:
    """Escaped line ends, tabs and quotes as themselves, every character in its place."""
    if "\\" not in text:
        return text
    if '\\\\"' in text or "\\'" in text:
        # JSON within JSON: each level doubles the backslashes before a quote.
        text = _compiled(rules.ESCAPED_QUOTE).sub(lambda escape: " " * len(escape[0]), text)
    return text.replace("\\n", " \n").replace("\\r", " \r").replace("\\t", " \t").replace('\\"', ' "')


def _known(text: str, known: Collection[str]) -> Iterator[Span]:
    for value in known:
        if len(value) < SHORTEST_VALUE or MARK in value:
            continue
        for form in {value, value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")}:
            yield from ((start, start + len(form), "known") for start in _places_of(form, text))


def _private_keys(text: str) -> Iterator[Span]:
    """Whole PEM blocks; one whose end is not shown goes as far as its lines do."""
    start = text.find("-----BEGIN")
    closing = text.find("-----END", start) if start >= 0 else -1
    while start >= 0:
        following = text.find("-----BEGIN", start + 10)
        if 0 <= closing < start:
            closing = text.find("-----END", start)
        if header := _compiled(rules.PEM_HEADER).match(text, start):
            end = _end_of_key(text, header.end(), closing, following)
            if _compiled(rules.PEM_BODY).search(text, header.end(), end):
                yield start, end, "private-key"
        start = following


def _end_of_key(text: str, body: int, closing: int, following: int) -> int:
    is_closed = closing >= body and not body <= following < closing
    pattern, start = (rules.PEM_FOOTER, closing) if is_closed else (rules.PEM_CUT_SHORT, body)
    match = _compiled(pattern).match(text, start)
    return match.end() if match else start


def _kubernetes(text: str) -> Iterator[Span]:
    """Every value of a Kubernetes `Secret`, whatever its key is called."""
    if "Secret" not in text:
        return
    offset = 0
    for document in text.split("\n---"):
        if _compiled(rules.KUBERNETES_SECRET).search(document):
            for block in _compiled(rules.KUBERNETES_DATA).finditer(document):
                for entry in _compiled(rules.KUBERNETES_ENTRY).finditer(document, *block.span()):
                    if not _is_stand_in(entry[1]):
                        yield offset + entry.start(1), offset + entry.end(1), "kubernetes"
        offset += len(document) + len("\n---")


def _met(table: str, text: str) -> Iterable[tuple[str, ...]]:
    """The rows of which the text has a keyword, each once and in order."""
    # One arrow or emoji makes every search three times slower, and keywords have none.
    plain = text if text.isascii() else text.encode("ascii", "ignore").decode("ascii")
    return dict.fromkeys([row for keyword, row in _by_keyword(table) if keyword in plain]) if plain else ()


@cache
def _by_keyword(table: str) -> list[tuple[str, tuple[str, ...]]]:
    rows: tuple[tuple[str, ...], ...] = getattr(rules, table)
    return [(keyword, row) for row in rows for keyword in row[1].split()]


def _formats(text: str, words: str) -> Iterator[Span]:
    for kind, _, pattern in _met("FORMATS", words):
        for match in _compiled(pattern).finditer(text):
            start, end = match.span(match.lastindex or 0)
            if not _is_made_up(text[start:end]):
                yield start, end, kind
    for kind, _, pattern in _met("STANDALONE", words):
        for match in _compiled(pattern).finditer(text):
            is_drawn = any(map(str.isdigit, match[0])) or _is_jumbled(match[0])
            if is_drawn and _starts_a_word(text, match.start()) and not _is_made_up(match[0]):
                yield *match.span(), kind


def _words(text: str) -> str:
    """The words that are long enough for a token and are not plain words or digests, each once."""
    long = " ".join([word for word in text.split() if len(word) >= SHORTEST_TOKEN]).translate(rules.BREAKS)
    has_digit = _compiled(r"\d").search
    words = {word for word in long.split() if len(word) >= SHORTEST_TOKEN and word.strip(rules.HEXADECIMAL)}
    return " ".join([word for word in words if has_digit(word) or not word.islower()])


def _prefixed(text: str, words: str) -> Iterator[Span]:
    """Tokens of any provider that says in a prefix what they are: `acme_live_` and thirty characters drawn by lot."""
    prefixed = [match[0] for match in _compiled(rules.PREFIXED).finditer(words) if _is_prefixed_token(match[0])]
    dotted = [match[0] for match in _compiled(rules.DOTTED).finditer(words) if any(map(_is_noise, match[0].split(".")))]
    for token in {*prefixed, *dotted}:
        yield from ((start, start + len(token), "token") for start in _places_of(token, text))


def _is_noise(part: str) -> bool:
    """A part of a token that nothing else has: long, capitals and digits all over, letters that no word has."""
    return len(part) >= 20 and any(map(str.isdigit, part)) and _is_jumbled(part) and _is_unspeakable(part)


def _unnamed(text: str, words: str) -> Iterator[Span]:
    """Values drawn by lot that are given to a name, whatever it is, unless the name is that of an identifier."""
    values = {match[0] for match in _compiled(rules.UNNAMED).finditer(words) if _is_unnamed_secret(match[0])}
    for run in _compiled(rules.UNNAMED_RUN).finditer(text) if values else ():
        if run[0] in values and (_is_given(text, run.start(), run[0]) or _is_described(text, run.end())):
            yield *run.span(), "token"


def _is_unnamed_secret(value: str) -> bool:
    return _is_opaque(value) and not _is_made_up(value) and not _is_identifier(value)


def _is_given(text: str, start: int, value: str) -> bool:
    """Whether what starts here is given to a name that may be a secret's, or follows it and is noise."""
    name = _compiled(rules.GIVEN_TO).search(text, max(0, start - 80), start)
    if name is None or (name[2].isspace() and not (_is_noise(value) and len(value) >= 24)):
        return False
    words = [f" {word.lower()} " for word in _compiled(rules.HUMPS).findall(name[1])]
    return bool(words) and not any(word in rules.NAMES_OF_THINGS for word in words)


def _is_described(text: str, end: int) -> bool:
    """Whether a comment after a value says that it is a secret."""
    comment = _compiled(rules.COMMENT).match(text, end)
    return comment is not None and _compiled(rules.NAME).search(comment[1].lower()) is not None


def _is_identifier(value: str) -> bool:
    """The name of a thing with a part drawn by lot: a digest, a ULID, `msg_…`, `worker-7d9f8b6c54-x2x4z`."""
    parts = _compiled(rules.PREFIX_END).split(value)
    is_one_case = value.lower() == value or value.upper() == value
    return (
        (len(parts) > 1 and (is_one_case or any(len(part) >= 16 and _is_digest(part) for part in parts)))
        or f" {parts[0].lower()} " in rules.PREFIXES_OF_NAMES
        or _is_checksum(value)
        or _compiled(rules.PUBLIC_VALUE).fullmatch(value) is not None
    )


def _is_prefixed_token(word: str) -> bool:
    *prefixes, body = _compiled(rules.PREFIX_END).split(word)
    first, separator, rest = prefixes[0], word[len(prefixes[0])], word[len(prefixes[0]) + 1 :]
    if f" {first.lower()} " in rules.PREFIXES_OF_NAMES or _is_made_up(word):
        return False
    is_announced = any(f" {part.lower()} " in rules.PREFIXES_OF_TOKENS for part in prefixes)
    is_word = first.islower() or first.isupper()
    if _is_digest(rest) or _is_digest(body):
        is_own_prefix = len(first) <= 6 or not _is_checksum(rest)
        is_short_prefix = is_word and is_own_prefix and separator == "_" and _is_digest(rest)
        return (is_announced or is_short_prefix) and max(len(body), len(rest) if _is_digest(rest) else 0) >= 32
    if is_announced:
        return len(rest) >= 20 and (_is_opaque(rest) or _is_opaque(body))
    # In base64 for addresses two letters and a dash are mere chance.
    is_word = (
        is_word and (len(first) >= 3 or separator != "-") and (first.islower() or separator != "." or len(first) < 3)
    )
    if not is_word or any(map(_is_noise, [rest, *_compiled(rules.PREFIX_END).split(rest)])):
        return is_word
    is_plain_noise = separator == "_" and rest.isalnum() and sum(map(str.isdigit, rest)) >= 6
    is_clear = is_plain_noise or _is_jumbled(rest) or _is_unspeakable(rest)
    return _is_opaque(rest) and len(rest) >= (24 if is_clear else 32)


def _starts_a_word(text: str, start: int) -> bool:
    r"""Escapes such as `\n` and colour codes end in a letter, but a word can start after them."""
    before = text[max(0, start - 2) : start]
    if not (before[-1:].isalnum() or before[-1:] in {"-", "_", "+"}):
        return True
    return before in {"\\n", "\\r", "\\t"} or (before[-1] == "m" and before[0] in "0123456789;[")


def _places(text: str, lowered: str) -> Iterator[Span]:
    for kind, _, pattern, bar in _met("PLACES", lowered):
        for match in _compiled(pattern).finditer(lowered):
            start, end = match.span(1)
            if _clears(bar, text[start:end], lowered[match.start() : start]):
                yield start, end, kind


def _clears(bar: str, value: str, before: str) -> bool:
    """Whether what stands in a place for secrets is one."""
    if bar == "whole" or _is_stand_in(value):
        return bar == "whole"
    if bar == "address":
        return not before.endswith(f"/{value.lower()}:")
    if bar == "segment":
        return any(map(_is_random, value.split("/")))
    judged = {"likely": _is_mixed, "random": _is_random, "strong": _is_strong}.get(bar)
    return judged is None or judged(value)


def _cookies(text: str, lowered: str) -> Iterator[Span]:
    if "cookie" in lowered:
        for header in _compiled(rules.COOKIES).finditer(lowered):
            for pair in _compiled(rules.COOKIE).finditer(text, *header.span()):
                if _clears("likely", pair[1], ""):
                    yield *pair.span(1), "cookie"


def _named(text: str, lowered: str) -> Iterator[Span]:
    """What is assigned to a name, passed to a flag, or said to be the password."""
    if not any(hint in lowered for hint in rules.NAME_HINTS):
        return
    position = 0
    runs = [run.start() for run in _compiled(rules.LONG_RUN).finditer(text)]
    for word in _compiled(rules.NAME).finditer(lowered):
        following = text[word.end() : word.end() + 1]
        is_part_of_a_word = following.isalpha() and following.islower() and following != "s"
        if word.start() < position or is_part_of_a_word:
            continue
        next_run = bisect(runs, word.end())
        is_followed = next_run < len(runs) and runs[next_run] < word.end() + LONGEST_LOOK
        is_ambiguous = word[0] in rules.AMBIGUOUS_WORDS
        if is_ambiguous and not is_followed:
            continue
        owner, name = _owner(text, word.start()), text[word.start() : word.end()]
        if _is_within_base64(text, *word.span(), owner):
            continue
        span = None if is_ambiguous else _assigned(text, owner, name, word.end())
        if is_followed and span is None:
            span = _nearby(text, owner, name, word.end())
        if span:
            start, position, sort = span
            yield start, position, "key" if sort == "named-key" else sort


def _assigned(text: str, owner: str, name: str, position: int) -> Span | None:
    """The value that the grammar of assignments gives to a name, if it is a secret."""
    after = _compiled(rules.ASSIGNED).match(text, position)
    if after is None or len(after[after.lastgroup or 0]) < SHORTEST_VALUE:
        return None
    sort = _sort_of_name(owner, name, after["tail"])
    start, end = _value(after)
    if not sort or not _holds(sort, _sureness(owner, name, after), text[start:end], after):
        return None
    if end - start >= LONGEST_LOOK and (rest := _compiled(rules.REST_OF_VALUE).match(text, end)):
        end = rest.end()
    return start, end, sort


def _nearby(text: str, owner: str, name: str, position: int) -> Span | None:
    """A value drawn by lot that follows a name with little but punctuation in between, whatever the language."""
    after = _compiled(rules.NEARBY).match(text, position)
    if after is None or after["glue"].endswith(rules.ADDRESS_GLUE):
        return None
    sort, value = _sort_of_name(owner, name, after["tail"]), after["value"].rstrip(".")
    if sort in {"", "key"} or text[after.end() : after.end() + 1] in {"(", "["}:
        return None
    parts = _compiled(rules.MEMBER).split(value) if after["glue"][-1:] not in {'"', "'", "`"} else [value]
    if _is_stand_in(value) or not any(map(_is_opaque, parts)) or _is_reference(value, sort):
        return None
    words = _compiled(rules.HUMPS).findall(after["glue"])
    if any(f" {word.lower()} " in rules.DIGEST_WORDS for word in words):
        return None
    # A digest follows many a name in passing; it is meant as a value only right after a sign.
    if _is_digest(value) and (len(value) < 32 or not _compiled(rules.ASSIGNMENT).search(after["glue"])):
        return None
    return after.start("value"), after.start("value") + len(value), sort


def _is_within_base64(text: str, start: int, end: int, owner: str) -> bool:
    """Whether letters that read like a name are a chance find in a certificate or another long value."""
    before = text[max(0, start - len(owner) - 1) : start - len(owner)]
    is_end_of_line = before in {"+", "/"} and _compiled(rules.END_OF_BASE64).match(text, end) is not None
    is_noise = len(owner) >= 16 and _is_unspeakable(owner)
    return owner[-1:].isalnum() and (is_end_of_line or is_noise)


def _owner(text: str, start: int) -> str:
    """What the name begins with, or else the word before it: `public` of `public_key` and of `public key`."""
    before = text[max(0, start - 40) : start]
    owner = before[len(before.rstrip(rules.NAME_CHARACTERS)) :]
    if owner or not before.endswith(" "):
        return owner
    return before[len(before[:-1].rstrip(rules.NAME_CHARACTERS)) :]


def _sort_of_name(owner: str, name: str, tail: str) -> str:
    """What a name promises: a password, a secret, a token, a key of unknown use, or nothing secret."""
    if tail[:1] in {"s", "S"} and not tail[1:2].isalpha():
        tail = tail[1:]
    if tail[:1].isalpha() and not (tail[0].isupper() and name[-1].islower()):
        return ""
    endings = _compiled(rules.HUMPS).findall(tail)
    if (endings and f" {endings[-1].lower()} " in rules.PLAIN_ENDINGS) or _compiled(rules.NAME).search(tail.lower()):
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
    owners = [f" {part.lower()} " for part in _compiled(rules.HUMPS).findall(owner)]
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


def _value(after: re.Match[str]) -> tuple[int, int]:
    group = after.lastgroup or "bare"
    value = after[group]
    value = _compiled(rules.BARE_END).split(value, 1)[0].rstrip(".:") if group == "bare" else value.rstrip(" \\")
    return after.start(group), after.start(group) + len(value)


def _sureness(owner: str, name: str, after: re.Match[str]) -> str:
    """How plainly the value is given: to a flag or variable, by an assignment, or only in words."""
    if after["pair"]:
        return "stated"
    is_flag = owner.startswith("-") and not owner.endswith(" ")
    if after["sign"] is None:
        is_quoted = after.lastgroup != "bare" and name.lower() == "password"
        is_output = after["gap"] == "\n"
        if is_output and not after.string.endswith(rules.PRINTS, 0, after.pos - len(name) - len(owner)):
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
    """Whether the sign says little: a comparison with a variable, a call of a method, a union of types."""
    sign = after["sign"]
    if after["below"]:
        is_alone = after.string[after.end() : after.end() + 1] in {"", "\n"}
        return sign != ":" or not is_alone or after[0].endswith(":")
    if sign.strip() in rules.NEEDS_QUOTES and after.lastgroup == "bare":
        return True
    return sign == "|" or (sign.strip() == "(" and "." in after["tail"])


def _holds(sort: str, sureness: str, value: str, after: re.Match[str]) -> bool:
    """Whether the value is a secret, by what its name promises and how plainly it is given."""
    if len(value) < SHORTEST_TOKEN and (sort in {"key", "named-key"} or (sort == "token" and sureness == "said")):
        return False
    is_next_flag = value.startswith("--") and after["gap"]
    if sureness == "unclear" or len(value) < SHORTEST_VALUE or is_next_flag or " " in value or _is_stand_in(value):
        return False
    if _is_measure(value):
        shortest = {"password": 6, "token": 15, "secret": 15}.get(sort)
        return shortest is not None and sureness != "said" and value.isdigit() and len(value) >= shortest
    is_random = _is_random(value)
    if not is_random and _is_reference(value, sort):
        return False
    is_bare = after.lastgroup == "bare"
    if is_bare and sureness == "stated" and _is_code(value, after, is_random):
        return False
    match sort, sureness:
        case "password", "sure":
            return not (after["gap"] and value.isalpha() and after.lastgroup != "single")
        case "password", "stated":
            is_varied = _is_mixed(_plain(value)) or _is_jumbled(value)
            return len(value) >= 6 and (is_varied or _is_wordy_password(value, after))
        case "password", "said":
            is_quoted_in_full = not is_bare and len(value) >= 6 and after["said"] is not None
            is_varied = is_quoted_in_full and _is_mixed(_plain(value)) and any(map(str.isdigit, value))
            return is_varied or _is_strong(value) or _is_wordy_password(value, after)
        case "secret", "said":
            return _is_strong(value)
        case "named-key", _:
            is_value = _is_opaque(value) if is_bare else is_random
            return is_value and (len(value) >= 20 or not is_bare) and (sureness != "said" or not _is_digest(value))
        case "key", _:
            is_label = _is_digest(value) or _compiled(rules.LABELLED_DIGEST).fullmatch(value)
            return is_random and len(value) >= 24 and (sureness == "sure" or not is_label)
        case _, "said":
            is_uuid_in_passing = "-" in value and is_bare and not after["said"]
            return is_random and not (_is_digest(value) and (len(value) < 32 or is_uuid_in_passing))
        case "token", "stated" if is_bare:
            return is_random or (len(value) >= 10 and _is_chosen(value) and sum(map(str.isdigit, value)) >= 3)
        case _:
            is_noise = (
                len(value) >= 10
                and len(set(value)) >= 7
                and value.isalnum()
                and (_is_jumbled(value) or _is_unspeakable(value))
            )
            return is_random or is_noise or (len(value) >= 8 and _is_chosen(value))


def _is_wordy_password(value: str, after: re.Match[str]) -> bool:
    """Words alone, but quoted and plainly given: `password is 'blooberry'`."""
    is_quoted = after.lastgroup in {"double", "single"}
    is_given = after["said"] or (after["sign"] or "").strip() in rules.GIVES
    is_closed = after.string[after.end() : after.end() + 1] in {'"', "'"}
    if not (is_quoted and is_given and is_closed) or _compiled(rules.NAME).search(value):
        return False
    return _compiled(rules.WORDY).fullmatch(value) is not None


def _is_reference(value: str, sort: str) -> bool:
    """A path, an address or a resource, which says where a secret is."""
    if _compiled(rules.PATH).match(value) or _compiled(rules.EMAIL).fullmatch(value):
        return True
    return sort != "password" and _compiled(rules.RESOURCE).fullmatch(value) is not None


def _is_code(value: str, after: re.Match[str], is_random: bool) -> bool:
    """The name of something else: `getpass.getpass(`, `tokens[0]`, `password2`."""
    if not _compiled(rules.IDENTIFIER).fullmatch(value):
        return False
    following = after.string[after.end() : after.end() + 1]
    if following in {"(", "["}:
        return True
    parts = _compiled(rules.MEMBER).split(value)
    if len(parts) > 1:
        return not any(_is_random(part) and len(part) >= 20 and "_" not in part for part in parts)
    digits = sum(map(str.isdigit, value))
    is_like_a_name = _compiled(rules.NAME).search(value.lower()) is not None
    if is_random:
        return not (_is_jumbled(value) or _is_opaque(value)) if digits else is_like_a_name
    if following in {"", "\n"} or _compiled(rules.END_OF_STRING).match(after.string, after.end()):
        return len(value) < 7 or (is_like_a_name and digits < 2)
    if _compiled(rules.NEXT_PAIR).match(after.string, after.end()):
        return False
    # `login(user=user1, password=pass2)` passes variables; `password=Tr0ub4dor and` gives a value in running text.
    is_tight = after["sign"] in {"=", ":"} and following not in {",", ")"}
    return digits < (2 if is_tight else 3)


def _is_stand_in(value: str) -> bool:
    lowered = value.lower()
    return (
        len(set(value)) < 4
        or f" {lowered} " in rules.TRIVIAL
        or lowered.startswith(rules.STAND_IN_STARTS)
        or _compiled(rules.STAND_IN_PART).search(lowered) is not None
        or _compiled(rules.STAND_IN).fullmatch(value) is not None
    )


def _is_made_up(value: str) -> bool:
    return _is_stand_in(value) or any(part in value.lower() for part in rules.COUNTING)


def _is_measure(value: str) -> bool:
    return _compiled(rules.MEASURE).fullmatch(value.lower()) is not None


def _is_digest(value: str) -> bool:
    """Hexadecimal or a UUID: more often the name of a thing than a secret."""
    return _compiled(rules.DIGEST).fullmatch(value) is not None


def _is_checksum(value: str) -> bool:
    """A digest of a customary length; keys in hexadecimal come in others as well."""
    is_customary = len(value) <= 36 or len(value) in rules.LENGTHS_OF_DIGESTS or value.startswith("0x")
    return is_customary and _is_digest(value)


def _is_jumbled(value: str) -> bool:
    """Capitals all over the place: the humps of `getUserById` are words, these are not."""
    humps = _compiled(rules.HUMPS).findall(value)
    letters = sum(map(len, humps))
    words = len(_compiled(rules.SEPARATOR).findall(value)) + 1
    return letters >= 10 and letters * 2 <= len(humps) * 7 and len(humps) >= words + 3


def _is_unspeakable(value: str) -> bool:
    """Letters that seldom follow each other in words, too often for chance."""
    lowered = value.lower()
    pairs = _compiled(rules.ADJACENT).findall(lowered)
    odd = sum(second not in rules.FOLLOWERS.get(first, "") for first, second in pairs)
    return len(pairs) >= 8 and odd * 5 >= len(pairs) * 2 and "abcdefgh" not in lowered


def _is_random(value: str) -> bool:
    """Drawn by lot: small letters, capitals and digits take turns all the time."""
    if len(value) < 16 or len(set(value)) < 7:
        return False
    if _is_digest(value) or _is_jumbled(value):
        return True
    if _is_unspeakable(value):
        return True
    turns = len(_compiled(rules.CHANGE_OF_CLASS).findall(value))
    is_varied = any(map(str.isdigit, value)) and turns * 5 >= len(value)
    return is_varied and not _compiled(rules.SLUG).fullmatch(value)


def _is_opaque(value: str) -> bool:
    """Drawn by lot beyond doubt, so that less needs to be said about it."""
    is_unspeakable = _is_unspeakable(value)
    if not _is_random(value) or (_compiled(rules.SLUG).fullmatch(value) and not is_unspeakable):
        return False
    digits = sum(map(str.isdigit, value))
    is_one_case = value.lower() == value or value.upper() == value
    is_mixed = digits > 0 and (_is_jumbled(value) or is_unspeakable)
    is_long_noise = is_unspeakable and value.isalnum() and len(value) >= (20 if _is_jumbled(value) else 24)
    return _is_digest(value) or is_mixed or is_long_noise or (is_one_case and digits >= 3)


def _is_mixed(value: str) -> bool:
    """Letters with digits or symbols among them, as passwords have and words have not."""
    others = any(map(str.isdigit, value)) or _compiled(rules.SYMBOL).search(value.strip("?!*="))
    return (any(map(str.isalpha, value)) and bool(others)) or _is_jumbled(value)


def _plain(value: str) -> str:
    """The value in lower case without words such as `sha256`, which carry a number and are no passwords."""
    return _compiled(rules.TECHNICAL).sub("", value.lower())


def _is_chosen(value: str) -> bool:
    """What a person would choose as a secret, rather than the name of one."""
    plain = _plain(value)
    has_symbol = _compiled(rules.SYMBOL).search(plain.strip("?!*=")) is not None
    is_varied = any(map(str.isalpha, plain)) and (has_symbol or sum(map(str.isdigit, plain)) > 1)
    return is_varied and not (_compiled(rules.SLUG).fullmatch(value) or _compiled(rules.REGEX_PART).search(value))


def _is_strong(value: str) -> bool:
    """A password that can be told from a word even in running text."""
    if len(value) < 6 or _is_measure(value) or _compiled(rules.QUERY).search(value):
        return False
    if _is_random(value):
        return not _is_digest(value)
    plain = _plain(value)
    is_varied = any(map(str.isdigit, plain)) and any(map(str.isalpha, plain))
    return is_varied and _compiled(rules.STRONG_PART).search(plain) is not None
