"""The ids were written down from the `tokenizers` library with the vocabulary that ships with the model."""

import pytest

from hivemind.embedding.tokenizer import Tokenizer
from hivemind.embedding.weights import Weights

REFERENCE = [
    ("", ""),
    ("a", "68"),
    (" a", "261"),
    ("Hello world", "15500 999"),
    ("hello  world", "12762 82 224 999"),
    (" leading and trailing ", "3760 294 25466 224"),
    ("tabs\tand\nnew\r\nlines\n\n\n", "8662 86 201 396 202 3609 205 202 6619 632 202"),
    ("   three spaces, then    four", "30260 1119 9033 15 792 30517 1444"),
    (
        "it's we're they'd I'll you've I'm don't CAN'T",
        "274 342 360 825 488 1553 318 1187 349 1057 318 1105 840 474 15632 10 55",
    ),
    ("'quoted' 's", "10 425 5195 10 709 86"),
    (
        "def recall(db: Database, query: Query) -> Recall:\n    return fit(rank(candidates(db, query)))",
        "4303 10018 11 9949 29 24051 15 12409 29 2268 1928 12 4617 3315 443 29 30297 1445 4201 11 85 966 "
        "11 70 396 316 693 11 9949 15 12409 22309",
    ),
    (
        "if (x != null && x?.y >= 10) { return `${x}`; }",
        "365 361 91 14516 9246 11409 2128 34 17 92 18193 842 12 1395 1445 4604 7 94 91 96 67 30 1786",
    ),
    (
        "snake_case_name camelCaseName SCREAMING_CASE kebab-case-name",
        "16188 543 66 7446 66 3676 12176 421 20452 5380 6378 2204 2394 2755 66 38 11163 889 69 401 16 7446 16 3676",
    ),
    (
        "src/hivemind/recall/embedder.py:42: error: Incompatible types [arg-type]",
        "10681 18 75 429 10159 18 8348 443 18 20525 1086 17 9082 29 3686 29 4053 29 558 5593 16877 3862 689 857 "
        "16 4910 64",
    ),
    (
        "ValueError: invalid literal for int() with base 10: 'abc'",
        "11399 12335 29 12519 18879 333 497 3423 355 2783 842 29 709 401 70 10",
    ),
    (
        'git commit -m "Fix #1234" && git push origin main',
        "18304 4593 536 80 370 22747 1307 1069 2686 5 11409 17610 4578 8163 1392",
    ),
    (
        "SELECT * FROM memories WHERE id = ? AND forgotten = 0;",
        "5192 16783 1639 16038 9850 7659 9342 4690 800 5637 5361 11568 800 661 30",
    ),
    (
        "http://localhost:8080/api/v1?x=1&y=%20",
        "4027 1382 12005 4778 29 1799 1799 18 15046 18 89 20 34 91 32 20 9 92 32 8 1242",
    ),
    (
        "1234567890 3.14159 1e-12 0xdeadbeef v2.10.3",
        "10167 2235 3138 27 3833 517 17 1419 19711 356 72 16 1069 661 24958 1333 1354 895 414 21 17 944 17 22",
    ),
    ("na\xefve caf\xe9 r\xe9sum\xe9 Z\xfcrich", "2620 26888 307 19949 2638 31710 16349 2638 1172 9120 7531"),
    (
        "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0438 \u0440\u0443\u0441\u0441\u043a\u0438\u0439",
        "142 247 34639 34639 33463 26184 29949 142 122 142 109 30327 224 30826 21731 32871 30919",
    ),
    (
        "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
        "33071 30537 32333 5645 33415",
    ),
    (
        "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8",
        "30415 170 117 259 30641 34169",
    ),
    (
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "31825 32889 12923 30471 23529 30309 31535",
    ),
    ("\U0001f642", "8586 25085"),
    (
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 family \U0001f1e9\U0001f1ea flag",
        "8586 243 106 451 239 8586 243 106 451 239 8586 243 104 1645 12524 233 106 8586 233 107 6060",
    ),
    ("e\u0301 combining", "72 140 227 19775"),
    ("\xbd \u2167 \xb2 numbers", "23145 2347 31981 1591 114 3150"),
    ("no\xa0break\u2003em\u3000wide", "3923 1853 9036 451 229 372 5103 226 4425"),
    ("zero\u200bwidth\ufeffbom", "22574 9529 10398 175 123 127 69 300"),
    ("\x00\x1c\x1f\x7f control", "192 220 223 225 1634"),
    ("\x85 next line", "130 231 1310 1631"),
    (
        "\u201ccurly\u201d \u2014 dashes\u2026 \u2018single\u2019",
        "30538 22023 310 30834 855 292 7469 1403 568 250 29766 31726",
    ),
    ("antidisestablishmentarianism", "419 29211 399 25384 3703 1046"),
    ("aaaaaaaaaaaaaaaaaaaaaaaa", "24798 24798 24798 24798 24798 24798"),
    ("AbCdEfGh1a2b3c", "4830 38 71 40 73 42 75 20 68 21 69 22 70"),
    ("!!!???...;;;", "10189 28362 990 7669 30"),
    ("_ __ ___ ____init____", "66 11597 11597 66 224 1431 15007 1431"),
    ("C++ C# F# .NET", "38 4884 331 6 380 6 768 12888"),
    ("\n", "202"),
    ("\n\n  \n", "632 30260 202"),
    ("    indented\n\tmixed", "30517 777 4718 202 201 80 2970"),
    (
        "\U0001d518\U0001d52b\U0001d526\U0001d520\U0001d52c\U0001d521\U0001d522",
        "176 255 246 250 176 255 246 108 176 255 246 103 176 255 246 258 176 255 246 109 176 255 246 98 176 255 246 99",
    ),
    ("\ufb01 ligature", "175 109 227 26110 1304"),
]


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return Tokenizer(Weights.read().merges)


@pytest.mark.parametrize(("text", "ids"), REFERENCE)
def test_a_text_has_the_pieces_the_model_was_trained_with(pieces: Tokenizer, text: str, ids: str) -> None:
    found = pieces.encode(text, limit=512)

    assert found == [int(number) for number in ids.split()]


def test_a_text_in_the_shape_of_a_marker_is_plain_text(pieces: Tokenizer) -> None:
    markers = {0, 1, 2, 3}

    found = pieces.encode("<s> <pad> </s> <unk> <mask>", limit=512)

    assert len(found) > 5
    assert not markers & set(found)


def test_the_limit_keeps_the_beginning(pieces: Tokenizer) -> None:
    whole = pieces.encode("one two three four", limit=512)

    cut = pieces.encode("one two three four", limit=3)

    assert len(whole) == 4
    assert cut == whole[:3]


def test_half_a_surrogate_pair_is_read_as_a_question_mark(pieces: Tokenizer) -> None:
    assert pieces.encode("a \ud83d b", limit=512) == pieces.encode("a ? b", limit=512)


def test_a_word_that_is_one_token_has_a_rank_and_one_of_several_has_none(pieces: Tokenizer) -> None:
    assert pieces.rank_word("world") == 999
    assert pieces.rank_word("mubaki") is None
