"""What a text and a question are searched by beside their words: parts of foreign words, concepts, corrections."""

import pytest

from hivemind.recall.candidates import list_slips
from hivemind.text.search_terms import (
    fold,
    is_beyond_latin,
    measure_coverage,
    split_grams,
    split_identifiers,
    split_pairs,
)
from hivemind.text.thesaurus import FILE, expand_question, expand_text, find_concepts, name_concepts


def test_scripts_without_spaces_are_split_into_overlapping_pairs() -> None:
    assert split_pairs("数据库在哪里") == ["数据", "据库", "库在", "在哪", "哪里"]
    assert split_pairs("배포 Redis 서버") == ["배포", "서버"]
    assert split_pairs("库") == ["库"]
    assert split_pairs("where is the database") == []


def test_forms_of_a_foreign_word_share_grams() -> None:
    assert set(split_grams("Freitags")) & set(split_grams("am Freitag"))
    assert set(split_grams("в базе данных")) & set(split_grams("базы данных"))
    assert set(split_grams("النسخ")) & set(split_grams("والنسخ"))


def test_english_text_has_no_grams_but_foreign_names_in_it_do() -> None:
    assert split_grams("Deploys run from the main branch") == []
    assert split_grams("the host is called Екатерина") != []


def test_accents_do_not_make_another_word_but_voicing_marks_do() -> None:
    assert fold("Übersetzung Ärger é") == "ubersetzung arger e"
    assert fold("が") != fold("か")


def test_an_accent_does_not_split_an_identifier() -> None:
    assert split_identifiers("Oberfläche") == ""
    assert split_identifiers("preisÄndern").split() == ["preisandern", "preis", "andern"]


def test_a_question_in_a_script_without_spaces_is_covered_by_a_text_that_answers_it() -> None:
    assert measure_coverage("数据库在哪里", "数据库在上海机房") >= 0.5
    assert measure_coverage("数据库在哪里", "周五禁止上线") == 0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("ip", "block these IPs"),
        ("ip", "log client_ip"),
        ("ip", "clientIp is a string"),
        ("db", "dbUrl names the server"),
        ("db", "we use MongoDB"),
        ("log", "logging goes to stderr"),
        ("k8s", "the k8s cluster is in Frankfurt"),
        ("c++", "C++ for the encoder"),
        ("port 80", "it listens on port 80"),
        ("Öl", "kein öl in der Werkstatt für ÄRGER"),
        ("ip", "die IP für Büro Ärger"),
    ],
)
def test_a_short_word_is_found_by_itself_and_in_identifiers(question: str, text: str) -> None:
    assert measure_coverage(question, text) == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("ip", "a short description"),
        ("ip", "IPHONE"),
        ("log", "the catalogue is old"),
        ("c++", "US English in code"),
        ("k8s", "tasks run at 18:00"),
        ("80", "it takes 1800 seconds"),
        ("8", "80 seconds"),
        ("1", "v12"),
        ("ip", "die Beschriftung für den Schipper"),
    ],
)
def test_a_short_word_is_not_found_inside_another_one(question: str, text: str) -> None:
    assert measure_coverage(question, text) == 0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("package manager", "We use pnpm, not npm"),
        ("database", "Postgres 16 on RDS"),
        ("k8s", "Kubernetes upgrades happen in March"),
        ("CI", "Continuous integration takes nine minutes"),
        ("i18n", "Internationalisation uses lingui"),
        ("PR approvals", "Pull requests need two approvals"),
        ("где база", "Datenbank auf zwei Servern"),
        ("Wo ist die Datenbank?", "Die Produktivdatenbank liegt in Nürnberg"),
        ("密码", "Passwords are in Vault"),
        ("كلمة المرور", "contraseñas"),
    ],
)
def test_words_abbreviations_products_and_languages_share_a_concept(question: str, text: str) -> None:
    assert set(find_concepts(question)) & set(find_concepts(text))


@pytest.mark.parametrize("text", ["rapid update", "the embedded board", "Circus", "print", "mouse", ""])
def test_a_short_expression_inside_a_word_is_no_concept(text: str) -> None:
    assert not {"database", "ci", "code review"} & set(find_concepts(text))


def test_every_line_of_the_thesaurus_is_a_concept_with_different_expressions() -> None:
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines()]

    assert len({name for name, _ in lines}) == len(lines)
    for name, written in lines:
        expressions = written.split(", ")
        assert len(set(expressions)) == len(expressions) > 1, name
        assert all(len(expression) > 1 and "*" not in expression[:-1] for expression in expressions), name
        assert all(find_concepts(expression.removesuffix("*")) for expression in expressions), name


def test_concepts_and_grams_are_no_words_of_a_text() -> None:
    terms = set(expand_text("Wir installieren Pakete mit pnpm").split())

    assert "ǁpackagemanager" in terms
    assert "pake" not in terms
    assert {"ǀpake", "ǁpackagemanager"} <= set(expand_question("Welchen Paketmanager nehmen wir?"))


def test_the_model_reads_concepts_in_english_unless_the_text_names_them() -> None:
    assert name_concepts("密码在 Vault") == "密码在 Vault (secret)"
    assert name_concepts("We use pnpm") == "We use pnpm (package manager)"
    assert name_concepts("The database is down") == "The database is down"
    assert name_concepts("Blue kettles") == "Blue kettles"


def test_a_script_is_told_from_a_few_foreign_letters() -> None:
    assert is_beyond_latin("где находится PostgreSQL")
    assert not is_beyond_latin("Übersetzungen pflegt Jana")
    assert not is_beyond_latin("the host 北京 is down again")


def test_one_slip_reaches_the_word_that_was_meant() -> None:
    assert "error" in list_slips("eror")
    assert "typescript" in list_slips("typsecript")
    assert "tests" in list_slips("testts")
    assert "browse" in list_slips("browze")
    assert "error" not in list_slips("error")
    assert not any(slip.startswith("t") for slip in list_slips("error"))
