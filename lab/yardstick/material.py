"""Fetch the public material that is not ours to copy, and cut the cases out of it.

Sessions and prompts are public, but belong to those who wrote them; code is under the licence of its repository. So we
keep where each text is and its checksum, and everybody fetches it for themselves.
"""

import csv
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lab.yardstick.adapter import Turn
from lab.yardstick.histories import Part, Speaker, clean_prompt, compute_checksum, pair_turns, parse_history
from lab.yardstick.transcripts import Message, write_transcript

CASES = Path(__file__).parent / "cases"
CHECKSUMS = CASES / "experience" / "checksums.tsv"
OTHER_SESSIONS = 5
"""Sessions of a repository beside those that decide something, so that all systems can take them in on a laptop."""
LONGEST_MESSAGE = 3_000
"""Characters of a message that are kept; longer ones are pasted logs and files."""
LONGEST_TALK = 2_000_000
"""Characters of all sessions of a repository; one with more would take a laptop an hour with some systems."""
MOST_FILES = 40
"""Files of a commit that are taken; cases whose symbol is in none of them are left out."""
SPECSTORY_SESSION = re.compile(r"Session ([0-9a-f-]{36})(?: \((\d{4}-\d\d-\d\d \d\d:\d\d)[^)]*\))?")


def fetch(folder: Path, clones: Path | None) -> None:
    """Write sessions, prompts and code below a folder, from clones that are there or are made."""
    clones = clones or folder / "clones"
    for repository in list_repositories():
        if not find_clone(clones, repository):
            clone(clones, repository)
    write_sessions(folder / "experience", clones)
    write_prompts(folder / "hearing.jsonl", clones)
    write_changes(folder / "change.jsonl", clones)


def list_repositories() -> list[str]:
    """List the repositories that the cases need, as OWNER/NAME."""
    names = {row["repository"] for row in read_rows(CHECKSUMS)}
    names |= {row["repository"] for row in read_rows(CASES / "hearing" / "prompts.tsv")}
    names |= {case["repo"] for case in read_change_cases()}
    return sorted(names)


def clone(clones: Path, repository: str) -> None:
    """Clone a repository; one that is gone costs its cases, nothing else."""
    target = clones / repository.replace("/", "+")
    command = ["git", "clone", "--quiet", "--bare", f"https://github.com/{repository}", str(target)]
    # For a repository that is gone, GitHub asks for a password.
    if subprocess.run(command, env=os.environ | {"GIT_TERMINAL_PROMPT": "0"}, check=False).returncode:
        print(f"{repository} could not be cloned; its cases are left out")


def find_clone(clones: Path, repository: str) -> Path | None:
    """Find the git directory of a repository."""
    clone = clones / repository.replace("/", "+")
    folders = (clone, clone / "repo", clone / "repo" / ".git", clone / ".git")
    return next((folder for folder in folders if (folder / "HEAD").is_file()), None)


def run_git(directory: Path, *arguments: str) -> bytes:
    """Return what git prints; nothing if it fails."""
    # With the folder named, git does not ask to whom the clone belongs.
    command = ["git", f"--git-dir={directory}", *arguments]
    result = subprocess.run(command, capture_output=True, check=False)
    return b"" if result.returncode else result.stdout


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read a table with tabs between its cells; the first row names the columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


# Sessions


def write_sessions(folder: Path, clones: Path) -> None:
    """Write the sessions that the table of checksums names, as transcripts of Claude Code."""
    by_repository: dict[str, dict[str, str]] = {}
    for row in read_rows(CHECKSUMS):
        by_repository.setdefault(row["repository"], {})[row["session"]] = row["checksum"]
    for repository, checksums in by_repository.items():
        git = find_clone(clones, repository)
        count = 0
        for session, begin, messages in read_sessions(git, checksums) if git else ():
            if compute_session_checksum(messages) == checksums[session]:
                path = folder / repository.replace("/", "__") / f"{session}.jsonl"
                write_transcript(path, messages, cwd=Path("/repo"), begin=begin)
                count += 1
        print(f"{repository}: {count} of {len(checksums)} sessions")


def compute_session_checksum(messages: Iterable[Message]) -> str:
    """Return the first digits of the SHA-256 of a talk."""
    return hashlib.sha256(json.dumps([*messages]).encode()).hexdigest()[:16]


def read_sessions(git: Path, wanted: Iterable[str] | None = None) -> Iterator[tuple[str, str, list[Message]]]:
    """Yield id, begin and talk of sessions that a repository publishes; without ids, of all."""
    for session, (begin, path, text) in sorted((find_entire(git) | find_specstory(git)).items()):
        if wanted is None or session in wanted:
            messages = list(to_messages(parse_history(path, text)))
            if len(messages) > 1:
                yield session, begin, messages


def find_entire(git: Path) -> dict[str, tuple[str, str, str]]:
    """Find transcripts on the branch of Entire; of a session that was saved several times, the longest."""
    branch = "entire/checkpoints/v1"
    names = run_git(git, "ls-tree", "-r", "--name-only", branch).decode().splitlines()
    sessions: dict[str, tuple[str, str, str]] = {}
    for name in names:
        if name.endswith("/full.jsonl"):
            metadata = json.loads(run_git(git, "show", f"{branch}:{Path(name).parent}/metadata.json") or "{}")
            text = run_git(git, "show", f"{branch}:{name}").decode("utf-8", "replace")
            session = metadata.get("session_id", "")
            if session and len(text) > len(sessions.get(session, ("", "", ""))[2]):
                begin = re.search(r'"timestamp": ?"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)', text)
                sessions[session] = (begin[1] if begin else "2026-01-01T00:00:00", name, text)
    return sessions


def find_specstory(git: Path) -> dict[str, tuple[str, str, str]]:
    """Find histories of SpecStory in the newest commit."""
    names = run_git(git, "ls-tree", "-r", "-z", "--name-only", "HEAD", ".specstory/history").decode().split("\0")
    sessions = {}
    for name in filter(None, names):
        text = run_git(git, "show", f"HEAD:{name}").decode("utf-8", "replace")
        if heading := SPECSTORY_SESSION.search(text):
            begin = (heading[2] or f"{Path(name).name[:10]} 00:00").replace(" ", "T") + ":00"
            sessions[heading[1]] = (begin, name, text)
    return sessions


def to_messages(parts: Iterable[Part]) -> Iterator[Message]:
    """Yield what was said, without what clients added, cut to a useful length."""
    for part in parts:
        is_person = part.speaker is Speaker.PERSON
        text = (clean_prompt(part.text) if is_person else part.text).strip()[:LONGEST_MESSAGE]
        if text and part.speaker is not Speaker.BREAK:
            yield Message("user" if is_person else "assistant", text)


def write_checksums(clones: Path) -> None:
    """Choose the sessions of each repository with cases, and write their checksums; for authors of cases."""
    rows = ["repository\tsession\tchecksum"]
    for part in ("development", "test"):
        for path in sorted((CASES / "experience" / part).glob("*.json")):
            cases = json.loads(path.read_text())["cases"]
            needed = {session for case in cases for session in (*case["decides"], *case["amends"])}
            repository = path.stem.replace("__", "/")
            git = find_clone(clones, repository)
            sessions = {session: messages for session, _, messages in read_sessions(git)} if git else {}
            if needed <= sessions.keys():
                # By a digest of the id: at random, and the same every time.
                others = sorted(sessions.keys() - needed, key=lambda name: hashlib.sha256(name.encode()).digest())
                chosen = sorted(needed | {*others[:OTHER_SESSIONS]})
                if sum(len(message.text) for name in chosen for message in sessions[name]) > LONGEST_TALK:
                    continue
                rows += [f"{repository}\t{name}\t{compute_session_checksum(sessions[name])}" for name in chosen]
    CHECKSUMS.write_text("\n".join(rows) + "\n")


# Prompts


def write_prompts(path: Path, clones: Path) -> None:
    """Write each prompt that the clones have as it was labelled, with the end of the reply before it."""
    by_file: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in read_rows(CASES / "hearing" / "prompts.tsv"):
        by_file.setdefault((row["repository"], row["commit"], row["path"]), []).append(row)
    lines = []
    for (repository, commit, name), rows in by_file.items():
        git = find_clone(clones, repository)
        text = run_git(git, "show", f"{commit}:{name}").decode("utf-8", "replace") if git else ""
        turns: Sequence[Turn] = list(pair_turns(parse_history(name, text)))
        for row in rows:
            turn = turns[int(row["turn"]) - 1] if int(row["turn"]) <= len(turns) else None
            if turn and compute_checksum(turn.prompt) == row["checksum"]:
                lines.append(
                    json.dumps({"id": row["id"], "part": row["split"], "prompt": turn.prompt, "reply": turn.reply})
                )
    path.write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(lines)} of {sum(map(len, by_file.values()))} prompts")


# Code


def read_change_cases() -> list[dict[str, Any]]:
    """Read all sentences about code, each with its part."""
    return [
        json.loads(line) | {"part": "development" if path.stem == "development" else "test"}
        for path in sorted((CASES / "change").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]


def write_changes(path: Path, clones: Path) -> None:
    """Write for each pair of commits the files that differ, before and after, and the sentences about them."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for case in read_change_cases():
        groups.setdefault((case["repo"], case["before"], case["after"]), []).append(case)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for (repository, before, after), cases in groups.items():
            git = find_clone(clones, repository)
            names = run_git(git, "diff", "--no-renames", "--name-only", "-z", before, after).decode() if git else ""
            wanted = {case["path"] for case in cases} | {(case["to"] or "").partition("::")[0] for case in cases}
            ordered = sorted(filter(None, names.split("\0")), key=lambda name: name not in wanted)[:MOST_FILES]
            if git and (sides := [read_side(git, commit, {*ordered, *wanted} - {""}) for commit in (before, after)]):
                kept = [case for case in cases if case["path"] in sides[0]]
                count += len(kept)
                group = {"repository": repository, "before": sides[0], "after": sides[1], "cases": kept}
                file.write(json.dumps(group, ensure_ascii=False) + "\n")
    print(f"{count} of {sum(map(len, groups.values()))} sentences about code")


def read_side(git: Path, commit: str, names: Iterable[str]) -> dict[str, str]:
    """Read files of a commit that are text."""
    sources = {name: run_git(git, "show", f"{commit}:{name}") for name in sorted(names)}
    return {
        name: source.decode("utf-8", "replace") for name, source in sources.items() if source and b"\0" not in source
    }
