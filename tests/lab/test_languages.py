"""Pairs in other languages: what is translated, and what the teachers read instead."""

import random
from pathlib import Path

import numpy as np

from lab.training.languages import align, clean_page, gloss, make_dictionaries
from lab.training.queries import expand


def test_a_page_keeps_the_words_of_its_links_and_macros() -> None:
    page = 'Use {{domxref("Map.get()")}} or [a set](/en-US/docs/Set).{{AvailableInWorkers}}'
    assert clean_page(page) == "Use Map.get() or a set."


def test_a_dictionary_has_only_sure_translations_of_known_words(tmp_path: Path) -> None:
    (tmp_path / "pieces.txt").write_text("▁server\n▁сервер\n▁tisch\n▁столы", encoding="utf-8")
    np.save(tmp_path / "vectors.npy", np.array([[1, 0], [0.9, 0.1], [0, 1], [-1, 0.2]], np.float16))
    dictionaries = make_dictionaries(tmp_path, {"server", "tables"})
    assert dictionaries == {"ru": {"server": "сервер"}}


def test_a_text_is_glossed_only_if_most_of_its_words_are_known() -> None:
    dictionary = {"restart": "перезапуск", "server": "сервер", "night": "ночь"}
    assert gloss("Restart the server at night", dictionary, "ru") == "перезапуск сервер ночь"
    assert gloss("Restart the server whenever somebody deploys something", dictionary, "ru") == ""
    assert gloss("Restart the server at night", dictionary, "ja") == "перезапусксерверночь"


def test_the_teachers_read_a_translation_in_english() -> None:
    rows = expand(list(align("other ru", "перезапуск сервера", "restart the server")), random.Random(0))
    own, english = rows.texts.index("перезапуск сервера"), rows.texts.index("restart the server")
    assert rows.text_sources[own] == rows.text_sources[english] == english
    asked = rows.queries.index("перезапуск сервера")
    assert rows.queries[rows.query_sources[asked]] == "restart the server"
