"""Prompts are split into the sentences that a person typed."""

from hivemind.text.prose import split_prompt


def texts(prompt: str) -> list[str]:
    return [sentence.text for sentence in split_prompt(prompt)]


def test_a_prompt_is_split_at_ends_of_sentences_and_lines() -> None:
    prompt = "fix the login. use UTC, e.g. in tests!\n- never mock the database\n2. ship it"

    assert texts(prompt) == ["fix the login.", "use UTC, e.g. in tests!", "never mock the database", "ship it"]
    assert all(prompt[one.begin : one.end].split() == one.text.split() for one in split_prompt(prompt))


def test_code_and_blocks_of_clients_are_left_out_and_text_around_them_stays() -> None:
    prompt = "See this:\n```py\nAlways = 1.\n```\n<system-reminder>Never stop.</system-reminder>\nWe use tabs."

    assert texts(prompt) == ["See this:", "We use tabs."]


def test_a_wrapped_line_is_one_sentence() -> None:
    prompt = "We keep all of the settings in environment variables, never in a\nfile of the repository."

    assert texts(prompt) == [prompt.replace("\n", " ")]
