"""Skills written from memories: planning them, and finding those that no longer say what the memory says."""

from collections.abc import Iterator

from hivemind.agents.file_changes import FileChange, read_file
from hivemind.app.context import Context
from hivemind.curate import skills
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Status
from hivemind.store.integrity import Finding


def plan_skill(context: Context, memory_id: str) -> tuple[FileChange, ...]:
    """Plan the files that make a procedure a skill in this repository; empty if they are there already."""
    memory = context.memory(memory_id)
    root, text = context.checkout.root, skills.render_skill(memory)
    changes = []
    # The same text for all agents, because the format of skills is a standard that they share.
    for folder in skills.FOLDERS:
        path = root / folder / skills.name_skill(memory) / skills.FILE
        before = read_file(path)
        origin = skills.OWN_SKILL.search(before or "")
        if before and not (origin and origin["id"] == memory.id):
            raise InvalidInput(
                f"{path.relative_to(root)} is a skill of its own; rename it, or give the memory a subject"
            )
        # A link in the repository must not make us write outside of it.
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidInput(f"{path.relative_to(root)} leads out of the repository")
        if before != text:
            changes.append(FileChange(path=path, before=before, after=text, root=root, what=("skill",)))
    return tuple(changes)


def examine_skills(context: Context) -> Iterator[Finding]:
    """Report skills of this repository whose memory was changed, withdrawn or put in doubt by the code."""
    problems = []
    count = 0
    for file, text, origin in skills.find_skills(context.checkout.root):
        count += 1
        if problem := _find_problem(context, text, origin["id"]):
            problems.append(f"{file.parent.relative_to(context.checkout.root)}: {problem}")
    if problems:
        yield Finding(what="skills", is_well=False, detail="; ".join(problems), remedy="do what stands in brackets")
    elif count:
        yield Finding(what="skills", is_well=True, detail=f"{count} say what their memories say")


def _find_problem(context: Context, text: str, memory_id: str) -> str:
    """Return what is wrong with a skill and how to mend it; empty if nothing is."""
    short_id = shorten_id(memory_id)
    renew = f"(hivemind review promote {short_id} --skill)"
    try:
        memory = context.memory(memory_id)
    except NotFound:
        return f"its memory {short_id} is gone (delete the folder)"
    if memory.status is not Status.ACTIVE:
        return f"its memory {short_id} is {memory.status} (hivemind explain {short_id})"
    if any(staleness.must_verify for staleness in context.checkout.judge(memory.anchors)):
        return f"the code of its memory {short_id} has changed (hivemind verify or edit {short_id})"
    try:
        is_current = text == skills.render_skill(memory)
    except InvalidInput:
        # A revision by an agent lowers the trust, or the kind was changed.
        return f"its memory {short_id} is no longer a reviewed procedure (hivemind review)"
    return "" if is_current else f"it differs from its memory {short_id} {renew}"
