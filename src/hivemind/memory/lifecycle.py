"""The life of a memory: remember, edit, tag, forget, restore, approve, reject."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.code.repository import identify, normalise_remote
from hivemind.context import Context, validate_reason
from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.memory import verdicts
from hivemind.memory.claims import (
    ClaimRefused,
    accept_claim,
    check_confidence,
    make_fact,
    parse_claim,
    read_claim,
    record_claim,
)
from hivemind.model import timestamps
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor
from hivemind.model.events import Fact, MemoryAnchored, MemoryAnnotated, MemoryRevised, MemoryTagged
from hivemind.model.ids import MemoryId
from hivemind.model.memory import CURRENT_STATUSES, Kind, Memory, Status
from hivemind.model.metadata import MetadataValue, check_mapping, validate_metadata
from hivemind.model.scope import Scope
from hivemind.model.timestamps import When
from hivemind.store import sync_state
from hivemind.store.projections import memories
from hivemind.text.clean import parse_tags, validate_label, validate_text


class Memories:
    """Stores claims and changes memories."""

    def __init__(self, context: Context, *, scope: Scope | None = None) -> None:
        """With ``scope``, every claim is of that scope: on a hub everything is the team's."""
        self._context = context
        self._scope = scope

    def remember_all(self, items: Iterable[Claim | Mapping[str, Any] | str]) -> tuple[Memory, ...]:
        """Store several claims: all of them, or none if one is refused."""
        context, claims = self._context, self._read_claims(items)
        anchors = context.checkout.find_anchors(claims, context.list_edited_files)
        # Asking git starts a process, so only where a source file is named.
        commit = context.checkout.read_head() if any(claim.sources for claim in claims) else ""
        stored_ids: list[MemoryId] = []
        try:
            with context.store.db.transaction():
                for claim, claim_anchors in zip(claims, anchors, strict=True):
                    stored_ids.append(self._remember(claim, claim_anchors, commit))
        except (InvalidInput, Refused) as error:
            if isinstance(error, ClaimRefused):
                # Only now: within the transaction it would have been rolled back with the claims.
                context.record(error.events)
            if len(claims) == 1:
                raise
            shape = Refused if isinstance(error, Refused) else InvalidInput
            raise shape(f"items[{len(stored_ids)}]: {error}") from None
        stored_memories = tuple(memories.get(context.store.db, memory_id) for memory_id in stored_ids)
        context.checkout.note_unlinked(stored_memories)
        return stored_memories

    def _remember(self, claim: Claim, anchors: tuple[Anchor, ...], commit: str) -> MemoryId:
        context = self._context
        fact = make_fact(
            claim, writer=context.author, owner=context.settings.person, now=context.clock(),
            commit=commit if context.checkout.is_meant_by(claim) else "",
            replaces=[context.resolve(memory_id) for memory_id in claim.replaces],
        )  # fmt: skip
        repo = "" if claim.scope is Scope.USER or not context.repository.id else claim.repo or context.repository.id
        if claim.scope is Scope.TEAM and repo.startswith("path:"):
            self._check_path()
        result = accept_claim(
            context.store, context.factory, fact, claim.scope, repo, anchors=anchors, said_by_person=context.is_person
        )
        return record_claim(context, result)

    def _check_path(self) -> None:
        """Refuse to tell a team something about a path, which nobody else has and which may name a customer."""
        context = self._context
        if problem := context.repository.problem:
            raise Unavailable(f"this repository cannot be identified, so the team would not find it there: {problem}")
        if context.store.directory is None or context.store.membership:
            raise InvalidInput("a directory without git cannot be shared with a team; add a first commit or a remote")

    def _read_claims(self, items: Iterable[Claim | Mapping[str, Any] | str]) -> tuple[Claim, ...]:
        """Parse claims and resolve the repositories they name."""
        if isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise InvalidInput(f"items must be a list, not {type(items).__name__}; one memory is stored by 'remember'")
        root = self._context.repository.root
        claims = [
            read_claim(item if isinstance(item, Claim) else parse_claim(item, place, root))
            for place, item in enumerate(items)
        ]
        ids = {name: self._resolve_repository(name) for name in {claim.repo for claim in claims if claim.repo}}
        if self._scope and any(claim.scope is Scope.USER for claim in claims):
            raise Refused("a hub stores only what is the team's; keep what is the user's on their own machine")
        places = (replace(claim, repo=ids.get(claim.repo, ""), scope=self._scope or claim.scope) for claim in claims)
        return tuple(map(self._context.checkout.complete, places))

    def _resolve_repository(self, name: str) -> str:
        """Return the id of a repository given by id, URL or directory; any other name is its own id."""
        if name.startswith(("remote:", "commit:", "path:")):
            repo = name
        elif "://" in name or "@" in name:
            repo = f"remote:{normalise_remote(name)}"
        else:
            repo = identify(Path(name)).id if Path(name).is_absolute() else name
        # An agent works in one repository and must not leave notes in others.
        if repo not in self._context.checkout.names:
            self._context.require_person("writing about another repository")
        return repo

    def edit(
        self,
        memory_id: str,
        text: str,
        *,
        kind: Kind | str | None,
        subject: str,
        expires: When,
        verify_by: When,
        valid_from: When,
        valid_to: When,
        confidence: float | None,
        reason: str,
        metadata: Mapping[str, MetadataValue | None],
        everywhere: bool,
    ) -> Memory:
        """Edit a memory: its text, its dates, its metadata."""
        context = self._context
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        no_change = MemoryRevised(
            memory_id=memory.id,
            base=memory.version,
            head=memory.head,
            # Whoever edits has seen the conflicting edits, so this edit decides between them.
            settles=tuple(rival.id for rival in memory.rivals),
            reason=validate_text(reason, "the reason") if reason else "",
        )
        revision = replace(
            no_change,
            text=validate_text(text) if text else "",
            kind=Kind.parse(kind) if kind else None,
            subject=validate_label(subject, "the subject") if subject else "",
            confidence=None if confidence is None else check_confidence(confidence),
            valid_from=timestamps.parse_date(valid_from) if valid_from else "",
            valid_to=timestamps.parse_date(valid_to) if valid_to else "",
            expires_at=timestamps.parse_deadline(expires, context.clock()) if expires else "",
            verify_by=timestamps.parse_deadline(verify_by, context.clock()) if verify_by else "",
        )
        facts: list[Fact] = [*([revision] if revision != no_change else ()), *_make_annotations(memory, metadata)]
        if not facts:
            raise InvalidInput("nothing to change; give a new text that is not empty, or an option")
        self._require_trust(memory, f"a revision of {memory.id[:8]}")
        facts += self._accept_text(memory, revision.text)
        return context.change(memory, [context.factory.about(memory, fact) for fact in facts])

    def _accept_text(self, memory: Memory, text: str) -> list[MemoryAnchored]:
        """Return the anchors of a new text if they differ; refuses a text that was rejected or erased."""
        context = self._context
        if not text:
            return []
        gate = context.store.load_gate()
        if refusal := gate.find_refusal([("text", text)], memory.repo, by_person=context.is_person):
            context.refuse("a memory", refusal.rule, Scope.PROJECT if memory.repo else Scope.USER, memory.repo)
        anchors = context.checkout.find_current_anchors(replace(memory, text=text), context.list_edited_files)
        return [MemoryAnchored(memory_id=memory.id, anchors=anchors)] if anchors != memory.anchors else []

    def tag(self, memory_id: str, add: Sequence[str], remove: Sequence[str], *, everywhere: bool) -> Memory:
        """Add tags to a memory or remove them."""
        memory = self._context.find_memory_to_change(memory_id, everywhere=everywhere)
        fact = MemoryTagged(memory_id=memory.id, added=parse_tags(add), removed=parse_tags(remove))
        if not fact.added and not fact.removed:
            raise InvalidInput("name at least one tag to add or remove")
        return self._context.change(memory, [self._context.factory.about(memory, fact)])

    def forget(self, memory_id: str, reason: str, *, everywhere: bool) -> Memory:
        """Retract a memory."""
        context = self._context
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        self._require_trust(memory, f"retracting {memory.id[:8]}")
        return context.change(memory, verdicts.retract(context.store, context.factory, memory, validate_reason(reason)))

    def restore(self, memory_id: str, reason: str, *, everywhere: bool) -> Memory:
        """Restore a memory that was retracted, rejected or superseded."""
        context = self._context
        context.require_person("restoring a memory")
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        if memory.status not in (Status.RETRACTED, Status.SUPERSEDED):
            what = f"{memory.id[:8]} is {memory.status}"
            raise InvalidInput(f"{what}; only what was taken back or replaced can be restored")
        events = verdicts.restore(context.store, context.factory, memory, validate_reason(reason))
        memory_now = context.change(memory, events)
        # The team may have said the same meanwhile, and it was kept out.
        if context.store.membership:
            sync_state.reset_cursor(context.store.db)
        return memory_now

    def approve(self, memory_id: str, reason: str, *, everywhere: bool) -> Memory:
        """Approve a memory; it supersedes what contradicts it."""
        context = self._context
        context.require_person("an approval")
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        if memory.status not in CURRENT_STATUSES:
            by = f" by {memory.superseded_by[:8]}" if memory.superseded_by else ""
            remedy = f"to bring it back: hivemind restore {memory.id[:8]}"
            raise InvalidInput(f"{memory.id[:8]} is {memory.status}{by}; {remedy}")
        sight = context.limit_changes(everywhere=everywhere)
        events = verdicts.approve(context.store, context.factory, memory, validate_reason(reason), sight)
        return context.change(memory, events)

    def reject(self, memory_id: str, reason: str, *, everywhere: bool) -> Memory:
        """Reject a memory, and keep its value out."""
        context = self._context
        context.require_person("a rejection")
        memory = context.find_memory_to_change(memory_id, everywhere=everywhere)
        return context.change(memory, verdicts.reject(context.store, context.factory, memory, validate_reason(reason)))

    def _require_trust(self, memory: Memory, what: str) -> None:
        """Refuse agents that change memories of higher trust than their own."""
        if self._context.author.channel.trust < memory.trust:
            self._context.require_person(f"{what}, which is of higher trust,")


def _make_annotations(memory: Memory, changes: Mapping[str, MetadataValue | None]) -> list[MemoryAnnotated]:
    """Make the fact that sets and removes metadata; none if nothing would change."""
    new_values = {name: value for name, value in check_mapping(changes).items() if value is not None}
    new = validate_metadata(new_values)
    removed_names = tuple(name for name, value in changes.items() if value is None)
    if unknown := [name for name in removed_names if name not in memory.metadata]:
        raise InvalidInput(f"{memory.id[:8]} has no metadata {unknown[0]!r} to remove")
    annotation = MemoryAnnotated(memory_id=memory.id, metadata=new, removed=removed_names)
    is_change = validate_metadata(memory.metadata.with_changes(new, removed_names)) != memory.metadata
    return [annotation] if is_change else []
