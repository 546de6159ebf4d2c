"""The ids were written down from the `tokenizers` library with the vocabulary that ships with the model."""

import pytest

from hivemind.recall.tokenizer import Tokenizer
from hivemind.recall.weights import Weights, find_weights

REFERENCE = [
    ("", ""),
    ("a", "102"),
    (" a", "10"),
    ("Hello world", "31414 232"),
    ("hello  world", "42891 1437 232"),
    (" leading and trailing ", "981 8 12564 1437"),
    ("tabs\tand\nnew\r\nlines\n\n\n", "34108 29 50117 463 50118 4651 50121 50118 11723 50140 50118"),
    ("   three spaces, then    four", "1437 1437 130 5938 6 172 1437 1437 1437 237"),
    (
        "it's we're they'd I'll you've I'm don't CAN'T",
        "405 18 52 214 51 1017 38 581 47 348 38 437 218 75 12471 108 565",
    ),
    ("'quoted' 's", "108 2253 11367 108 128 29"),
    (
        "def recall(db: Database, query: Query) -> Recall:\n    return fit(rank(candidates(db, query)))",
        "9232 6001 1640 33845 35 37875 6 25860 35 44489 43 43839 35109 35 50118 1437 1437 1437 671 2564 "
        "1640 40081 1640 32503 24143 1640 33845 6 25860 47619",
    ),
    (
        "if (x != null && x?.y >= 10) { return `${x}`; }",
        "1594 36 1178 49333 23796 48200 3023 116 4 219 49095 158 43 25522 671 22209 49316 1178 24303 12905 131 35524",
    ),
    (
        "snake_case_name camelCaseName SCREAMING_CASE kebab-case-name",
        "22617 5113 1215 11173 1215 13650 35579 38834 31723 4998 28057 1862 1215 347 24199 7321 428 873 "
        "12 11173 12 13650",
    ),
    (
        "src/hivemind/recall/embedder.py:42: error: Incompatible types [arg-type]",
        "45692 73 298 2088 28583 73 13139 1250 73 35804 3624 4 17163 35 3714 35 5849 35 96 41799 3505 "
        "646 5384 12 12528 742",
    ),
    (
        "ValueError: invalid literal for int() with base 10: 'abc'",
        "33977 30192 35 21567 27856 13 6979 43048 19 1542 158 35 128 36822 108",
    ),
    (
        'git commit -m "Fix #1234" && git push origin main',
        "20901 6225 111 119 22 35660 849 1092 3079 113 48200 45996 1920 9813 1049",
    ),
    (
        "SELECT * FROM memories WHERE id = ? AND forgotten = 0;",
        "49179 1009 11974 6180 29919 13561 5457 17487 4248 9885 5457 321 131",
    ),
    (
        "http://localhost:8080/api/v1?x=1&y=%20",
        "8166 640 48770 35 2940 2940 73 30602 73 705 134 116 1178 5214 134 947 219 5214 207 844",
    ),
    (
        "1234567890 3.14159 1e-12 0xdeadbeef v2.10.3",
        "19644 1898 37628 3248 155 4 1570 27129 112 242 12 1092 321 46140 19928 1610 4550 748 176 4 698 4 246",
    ),
    ("na\xefve caf\xe9 r\xe9sum\xe9 Z\xfcrich", "2133 48350 26059 15367 18581 1140 525 2768 5691"),
    (
        "\u0395\u03bb\u03bb\u03b7\u03bd\u03b9\u03ba\u03ac \u0438 \u0440\u0443\u0441\u0441\u043a\u0438\u0439",
        "41335 15722 48191 48191 41335 18400 47118 46399 48103 41335 11582 18697 18537 1437 24269 42488 "
        "36709 36709 41171 35328 25417 9253",
    ),
    (
        "\u65e5\u672c\u8a9e\u306e\u30c6\u30ad\u30b9\u30c8",
        "47954 8210 44636 11582 48537 17772 48018 49312 49587 49615",
    ),
    (
        "\ud55c\uad6d\uc5b4 \ud14d\uc2a4\ud2b8",
        "48589 48 46873 8906 12410 43998 25448 20024 1437 47649 5782 8384 43998 27969 10470 47649 27969 18537",
    ),
    (
        "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
        "33070 29434 21593 12410 41117 29438 25790 11423 43321 41688 43321 33070",
    ),
    ("\U0001f642", "6569 48985"),
    (
        "\U0001f469\u200d\U0001f469\u200d\U0001f467 family \U0001f1e9\U0001f1ea flag",
        "31193 15375 17 8384 31193 15375 17 8384 31193 6248 284 8103 6382 15375 6569 6382 10278 3794",
    ),
    ("e\u0301 combining", "242 44025 10172 15224"),
    ("\xbd \u2167 \xb2 numbers", "14989 14333 5782 6248 5505 14292 1530"),
    ("no\xa0break\u2003em\u3000wide", "2362 50141 10339 17 862 991 48516 7471 6445"),
    ("zero\u200bwidth\ufeffbom", "18556 13635 36097 43251 2023 9470 428 1075"),
    ("\x00\x1c\x1f\x7f control", "50108 50136 50139 49802 797"),
    ("\x85 next line", "4056 5782 220 516"),
    (
        "\u201ccurly\u201d \u2014 dashes\u2026 \u2018single\u2019",
        "17 48 17742 352 17 46 93 385 14829 1174 44 711 25382 17 27",
    ),
    ("antidisestablishmentarianism", "927 22831 30439 9063 1809"),
    ("aaaaaaaaaaaaaaaaaaaaaaaa", "44172 44172 44172 44172 44172 44172"),
    ("AbCdEfGh1a2b3c", "13112 347 417 717 506 28916 134 102 176 428 246 438"),
    ("!!!???...;;;", "16506 38713 734 48640 131"),
    ("_ __ ___ ____init____", "1215 27148 2165 1437 28784 25153 28784"),
    ("C++ C# F# .NET", "347 42964 230 10431 274 10431 479 13548"),
    ("\n", "50118"),
    ("\n\n  \n", "50140 1437 1437 50118"),
    ("    indented\n\tmixed", "1437 1437 1437 9473 9663 50118 50117 119 24194"),
    (
        "\U0001d518\U0001d52b\U0001d526\U0001d520\U0001d52c\U0001d521\U0001d522",
        "40756 10674 711 40756 10674 4958 40756 10674 18164 40756 10674 21402 40756 10674 11582 40756 "
        "10674 5543 40756 10674 7258",
    ),
    ("\ufb01 ligature", "43251 11582 10172 14038 18830"),
]


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    vocabulary = Weights.read(find_weights()).vocabulary
    return Tokenizer(vocabulary["vocab"], vocabulary["merges"])


@pytest.mark.parametrize(("text", "ids"), REFERENCE)
def test_a_text_has_the_pieces_the_model_was_trained_with(pieces: Tokenizer, text: str, ids: str) -> None:
    found = pieces.encode(text, limit=512)

    assert found == [int(number) for number in ids.split()]


def test_a_text_in_the_shape_of_a_marker_is_plain_text(pieces: Tokenizer) -> None:
    markers = {0, 1, 2, 3, 50264}

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
