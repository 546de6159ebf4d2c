"""Programs that use Python: the example of the package, and asyncio."""

import asyncio
import os
import textwrap
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import hivemind
from hivemind.errors import InvalidInput, NotFound


def test_the_example_of_the_package_runs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (hivemind.__doc__ or "").splitlines()
    example = "\n".join(line for line in lines if not line or line.startswith("    "))

    exec(textwrap.dedent(example), {})

    assert capsys.readouterr().out == "Deploys run from main only\n"


async def _tick(times: list[float]) -> None:
    while True:
        times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0)


async def _work(directory: Path) -> tuple[list[str], int]:
    ticks: list[float] = []
    ticking = asyncio.create_task(_tick(ticks))
    async with hivemind.AsyncHivemind(directory=directory) as mind:
        await mind.remember_all(["Deploys run from main only", "The API listens on port 8080"])
        hits, memories = await asyncio.gather(mind.recall("where do deploys run from?"), mind.list())
        count = await mind.run(lambda opened: len(opened.sessions.list()))
        with pytest.raises(NotFound):
            await mind.show("ffffffff")
    ticking.cancel()
    # While the store worked, the loop went on.
    assert len(ticks) > len(memories)
    return [hit.memory.text for hit in hits], count


def test_a_program_with_asyncio_remembers_and_recalls(home: Path, tmp_path: Path) -> None:
    assert asyncio.run(_work(tmp_path)) == (["Deploys run from main only"], 0)


async def _use_again(directory: Path) -> int:
    mind = hivemind.AsyncHivemind(directory=directory)
    for text in ("Deploys run from main only", "The API listens on port 8080"):
        async with mind:
            await mind.remember(text)
    memories = await mind.list()
    await mind.close()
    return len(memories)


def test_a_closed_object_is_opened_again_by_a_later_call(home: Path, tmp_path: Path) -> None:
    assert asyncio.run(_use_again(tmp_path)) == 2


def test_every_verb_has_its_counterpart() -> None:
    verbs = {name for name in vars(hivemind.AsyncHivemind) if not name.startswith("_")} - {"run", "close"}

    assert verbs <= set(dir(hivemind.Hivemind))
    assert {"remember", "recall", "edit", "forget", "erase"} <= verbs
    assert hivemind.AsyncHivemind.recall.__doc__ == hivemind.Hivemind.recall.__doc__


def test_a_hit_has_the_text_and_the_id_of_its_memory(home: Path, tmp_path: Path) -> None:
    with hivemind.open(directory=tmp_path) as mind:
        memory = mind.remember("Deploys run from main only")

        assert [(hit.id, hit.text) for hit in mind.recall("where do deploys run from?")] == [(memory.id, memory.text)]


def test_a_memory_may_stand_wherever_its_id_may(home: Path, tmp_path: Path) -> None:
    with hivemind.open(directory=tmp_path) as mind:
        first, _, third, fourth, last = mind.remember_all(f"note {name} about ports" for name in "abcde")

        assert mind.list(before=last, limit=1) == mind.list(before=last.id, limit=1)
        mind.erase(third, also=fourth)
        mind.erase(first, also=last.id)

        assert [memory.text for memory in mind.list()] == ["note b about ports"]


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\0b"])
def test_a_directory_whose_name_is_no_text_is_refused(home: Path, tmp_path: Path, name: bytes) -> None:
    with pytest.raises(InvalidInput, match="is not UTF-8"):
        hivemind.open(directory=tmp_path / os.fsdecode(name))


def test_a_name_of_another_library_leads_to_ours(home: Path, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"hivemind\.open"):
        hivemind.Hivemind()
    with pytest.raises(AttributeError, match=r"hivemind\.open"):
        hivemind.PersistentClient  # noqa: B018
    with hivemind.open(directory=tmp_path) as mind:
        names = [("add", "remember"), ("search", "recall"), ("get_all", "list"), ("delete", "forget")]
        for name, ours in [*names, ("create_collection", "hivemind.open"), ("count", "list")]:
            with pytest.raises(AttributeError, match=ours):
                getattr(mind, name)
        assert not hasattr(mind, "nonsense")
        assert str(home) in repr(mind)


def test_a_span_may_be_a_timedelta(home: Path, tmp_path: Path) -> None:
    with hivemind.open(directory=tmp_path) as mind:
        memory = mind.remember("The freeze is on", expires=timedelta(days=3))

    end = datetime.fromisoformat(memory.expires_at) - datetime.now(UTC)
    assert timedelta(days=2) < end <= timedelta(days=3)
