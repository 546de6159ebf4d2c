"""Skills written from memories: planning them, and finding those that no longer say what the memory says."""

from collections.abc import Iterator

from hivemind.agents.file_changes import FileChange, read_file
from hivemind.context import Context
from hivemind.errors import InvalidInput, NotFound
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Status
from hivemind.store.integrity import Finding
from hivemind.text.clean import plural
from hivemind.transfer import skill_files as skills


def plan_skill(context: Context, memory_id: str) -> tuple[FileChange, ...]:
    """Plan the files that make a procedure a skill in this repository; empty if they are there already."""
    memory = context.memory(memory_id)
    root = context.checkout.root
    # A skill keeps its name when the text changes, or the old one would stay beside the new one.
    names = [file.parent.name for file, _, origin in skills.find_skills(root) if origin["id"] == memory.id]
    name = names[0] if names else skills.name_skill(memory)
    text = skills.render_skill(memory, name)
    changes = []
    # The same text for all agents, because the format of skills is a standard that they share.
    for folder in skills.FOLDERS:
        path = root / folder / name / skills.FILE
        before = read_file(path)
        origin = skills.OWN_SKILL.search(before or "")
        if before and not (origin and origin["id"] == memory.id):
            raise InvalidInput(
                f"{path.relative_to(root)} is a skill of its own; rename it, or give the memory another subject"
            )
        # A link in the repository must not make us write outside of it.
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidInput(f"{path.relative_to(root)} leads out of the repository; remove the link")
        if before != text:
            changes.append(FileChange(path=path, before=before, after=text))
    return tuple(changes)


def examine_skills(context: Context) -> Iterator[Finding]:
    """Report skills of this repository whose memory was changed, withdrawn or put in doubt by the code."""
    # By name, because a skill is one file for Claude Code and one for the other agents.
    names = set[str]()
    problems: dict[str, tuple[str, str]] = {}
    for file, text, origin in skills.find_skills(context.checkout.root):
        name = file.parent.name
        names.add(name)
        if problem := _find_problem(context, name, text, origin["id"]):
            problems[name] = problem
    if problems:
        details = "; ".join(f"{name}: {detail}" for name, (detail, _) in problems.items())
        remedies = "; ".join(remedy for _, remedy in problems.values())
        yield Finding(what="skills", is_well=False, detail=details, remedy=remedies)
    elif names:
        yield Finding(what="skills", is_well=True, detail=f"{plural(len(names), 'skill')} as in memory")


def _find_problem(context: Context, name: str, text: str, memory_id: str) -> tuple[str, str] | None:
    """Return what is wrong with a skill, and what to do about it; None if nothing is."""
    short_id = shorten_id(memory_id)
    try:
        memory = context.memory(memory_id)
    except NotFound:
        folders = " and ".join(f"{folder}/{name}" for folder in skills.FOLDERS)
        return f"its memory {short_id} is gone", f"delete {folders}"
    if memory.status is not Status.ACTIVE:
        return f"its memory {short_id} is {memory.status}", f"hivemind explain {short_id}"
    if any(staleness.must_verify for staleness in context.checkout.judge(memory.anchors)):
        return f"the code of its memory {short_id} has changed", f"hivemind verify {short_id}, or edit it"
    try:
        is_current = text == skills.render_skill(memory, name)
    except InvalidInput:
        # A revision by an agent lowers the trust, or the kind was changed.
        return f"its memory {short_id} is no longer a reviewed procedure", f"hivemind approve {short_id}"
    promote = f"hivemind review promote {short_id} --skill"
    return None if is_current else (f"it differs from its memory {short_id}", promote)
