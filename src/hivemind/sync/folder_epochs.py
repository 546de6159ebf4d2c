"""Epochs of a shared folder: begin one, take in those of other devices, and repair their files.

Whoever can write to the folder can write a file that looks like an epoch, also a device that was removed. So a device
takes in an epoch only if a device that belongs signed it, and if its writer knew the secret of the epoch before. Each
epoch says which devices belong from then on, and which were removed. Removing a device begins a new one, with a secret
that the removed device does not get; its file contains the epoch before, so the newest phrase opens everything.
"""

import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.model.codec import from_plain, to_plain
from hivemind.sync import folder_keys
from hivemind.sync.folder_files import HEAD, UNREADABLE, DeviceState, read_epoch_name, unpack_head
from hivemind.sync.folder_keys import Epoch, SealBroken
from hivemind.sync.folders import EPOCHS, Folder
from hivemind.text.untrusted import parse_json

TORN = (ValueError, LookupError, TypeError, AttributeError)
"""What parsing a file may raise that has not arrived whole."""
NEWER_KEY = (
    "the other machines use a newer key than this one. If its file has not arrived yet, wait. If this machine was"
    " removed, or does not know the machine that made the key, join again: hivemind sync setup, with the newest phrase"
    " ('hivemind sync phrase' on another machine shows it). If no machine of yours has the key, delete the file, and"
    " remove again what 'hivemind sync devices' lists and should not"
)
REMOVED_EACH_OTHER = (
    "two of your machines have removed each other, and this one cannot know which of them to follow. Take one that you"
    " still have: hivemind sync setup, with the phrase that 'hivemind sync phrase' shows there"
)
FOREIGN = (
    "no machine that belongs here made this key, so it is not used; somebody else writes to the folder, perhaps a"
    " machine that was removed"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochFile:
    """What an epoch's file says; believed only after its signature and proofs were checked."""

    file: str
    number: int
    name: str
    sealed_secrets: Mapping[str, str]
    """The secret, sealed for each directory."""
    previous: str
    """The epoch before, sealed with the key of this one."""
    members: Mapping[str, tuple[str, str]]
    """The public key and the verify key of each device that belongs, by its directory."""
    removed: tuple[str, ...]
    signer: str = ""
    """The directory of the device that wrote it; empty in files of versions before 0.3."""
    signature: str = ""
    proofs: Mapping[str, str] = field(default_factory=dict)
    """Shows, for the name of each epoch that its writer knew, those who have its secret that the writer had it, too."""

    @property
    def body(self) -> bytes:
        """What the signature and the proofs are made of."""
        signed_values = (self.file, self.sealed_secrets, self.previous, self.members, self.removed, self.signer)
        return json.dumps(signed_values, sort_keys=True).encode()

    def shows_knowledge_of(self, epoch: Epoch) -> bool:
        """Whether its writer knew the secret of an epoch."""
        # Somebody else may have written anything into the file, also text that cannot be encoded.
        proof = str(self.proofs.get(epoch.name)).encode("utf-8", "replace")
        return hmac.compare_digest(_prove(epoch, self.body).encode(), proof)

    def open_for(self, state: DeviceState) -> Epoch | None:
        """Return the epoch, if its secret was sealed for this device."""
        try:
            sealed_secret = bytes.fromhex(self.sealed_secrets[state.directory])
            secret = folder_keys.unseal_with(state.private_key, sealed_secret)
        except (*TORN, SealBroken):
            return None
        if self.name != folder_keys.name_epoch(secret):
            return None
        return Epoch(number=self.number, name=self.name, secret=secret, removed=self.removed, is_signed=True)

    def open_previous(self, epoch: Epoch) -> Epoch | None:
        """Return the epoch before; None for the first one. Raises SealBroken if the secret does not open it."""
        values = json.loads(folder_keys.unseal(epoch.key, bytes.fromhex(self.previous), epoch.name))
        return from_plain(Epoch, values) if values else None


def begin_epoch(folder: Folder, state: DeviceState) -> DeviceState:
    """Begin an epoch with a new secret, which only the devices that belong get."""
    number, secret = state.epoch.number + 1 if state.epochs else 1, folder_keys.new_secret()
    name = folder_keys.name_epoch(secret)
    epoch = Epoch(number=number, name=name, secret=secret, removed=state.removed, is_signed=True)
    state = replace(state, epochs=(*state.epochs, epoch))
    _write(folder, state, epoch)
    return state


def join_epochs(folder: Folder, state: DeviceState, secret: bytes) -> DeviceState:
    """Take in the epoch that a phrase opens, all epochs before it, and the devices that belong."""
    names = sorted(_list_names(folder), reverse=True)
    if not names:
        raise InvalidInput(
            f"the key of the other machines is not in {state.location}; run 'hivemind sync' on one of them, wait until"
            " its files are here, then try again"
        )
    for number, name in names:
        epoch: Epoch | None = Epoch(number=number, name=name, secret=secret)
        epochs: list[Epoch] = []
        try:
            while epoch:
                epochs.insert(0, epoch)
                epoch = _load(folder, epoch.number, epoch.name).open_previous(epoch)
        except (*TORN, SealBroken):
            continue
        newest, file = epochs[-1], _load(folder, number, name)
        if not file.shows_knowledge_of(newest):
            # A file of a version before 0.3, or changed since: only the heads show who belongs.
            return replace(state, epochs=tuple(epochs))
        newest = replace(newest, removed=file.removed, is_signed=True)
        return _note_members(replace(state, epochs=(*epochs[:-1], newest), removed=file.removed), file.members)
    raise InvalidInput(
        "this phrase does not open that folder; use the newest one ('hivemind sync phrase' on another machine shows"
        " it), and check that the folder is the same on both and its files have arrived here"
    )


def take_in_epochs(folder: Folder, state: DeviceState, *, removing: str = "") -> DeviceState:
    """Take in the epochs of devices that belong, and repair their files; refused if this device was left out.

    ``removing`` is a device that is about to be removed, whose key is not waited for.
    """
    state = _believe_older_epochs(state)
    held_names = {epoch.name for epoch in state.epochs}
    new_files = [file for file in _load_all(folder) if file.name not in held_names]
    signed_files = [file for file in new_files if _is_signed_by_member(file, state)]
    state = replace(state, removed=tuple(sorted(_settle_removals(state.removed, signed_files))))
    if state.directory in state.removed:
        file = next(file for file in signed_files if state.directory in file.removed)
        raise Refused(f"{file.file}: {NEWER_KEY}")
    for file in new_files:
        epoch = file.open_for(state)
        is_believed = file in signed_files or (epoch is not None and _is_used_by_member(folder, state, epoch))
        is_ours = is_believed and file.signer not in state.removed and _is_chained(file, state)
        if epoch and is_ours and file.shows_knowledge_of(epoch):
            state = _adopt(state, epoch, file)
    # Before anything is refused, because the others may wait for one of these files.
    state = _repair_epochs(folder, state)
    adopted_names = {epoch.name for epoch in state.epochs}
    used_names = _list_used_names(folder, state, removing)
    for file in (file for file in new_files if file.name not in adopted_names):
        # What is written with an old key could be read by the device that was removed.
        is_newer = file.number > state.epoch.number and _may_be_ours(file, state, is_signed=file in signed_files)
        # Begun beside our own, and not for this device: we would never understand each other again.
        is_beside = file in signed_files and file.name in used_names.values()
        if is_newer or is_beside:
            raise Refused(f"{file.file}: {NEWER_KEY}")
        folder.problems[file.file] = f"{file.file}: {FOREIGN}"
    for directory, name in used_names.items():
        # Rather than go on with an older key.
        if name not in adopted_names:
            raise Unavailable(
                f"the machine {state.names.get(directory, directory)} uses a key whose file has not arrived here;"
                " 'hivemind sync' tries again. If 'hivemind sync' on that machine does not help, run 'hivemind sync"
                " setup' there, with the phrase of this one; if there is no such machine any more, run 'hivemind sync"
                " devices remove' here"
            )
    return state


def _repair_epochs(folder: Folder, state: DeviceState) -> DeviceState:
    """Write the files of epochs again that are lost or damaged, that nobody who belongs signed, or that leave one out.

    Returns the state with what whole files say about removed devices.
    """
    removed_names = set(state.removed)
    known_names = {state.directory, *state.names, *state.removed, *state.gone, *state.former}
    # A device that leaves signs nothing for the others.
    for epoch in state.epochs if not state.has_left else ():
        try:
            file = _load(folder, epoch.number, epoch.name)
            is_whole = file.open_previous(epoch) is not None or not _list_previous(state, epoch.number)
        except (*TORN, SealBroken):
            file, is_whole = None, False
        if file and is_whole and _is_well(file, epoch, state):
            removed_names |= set(file.removed)
        elif not file or not is_whole or file.signer or set(file.sealed_secrets) <= known_names:
            try:
                _write(folder, state, epoch)
            except Unavailable as error:
                # Such as a folder in its place; all other files can be written.
                folder.problems[epoch.file] = f"{epoch.file}: {error}"
            else:
                if not is_whole:
                    folder.problems[epoch.file] = f"{epoch.file}: the file of the key was lost or torn; written again"
    return replace(state, removed=tuple(sorted(removed_names)))


def is_open(state: DeviceState) -> bool:
    """Whether a removed device knows the newest key, because others were removed at the same time."""
    return not set(state.removed) <= set(state.epoch.removed)


def _believe_older_epochs(state: DeviceState) -> DeviceState:
    """Believe the unsigned epochs that a version before 0.3 took in; nobody can tell any more who made them."""
    epochs = tuple(
        epoch
        if epoch.is_signed
        else replace(epoch, is_signed=True, removed=state.removed if epoch.name == state.epoch.name else ())
        for epoch in state.epochs
    )
    return replace(state, epochs=epochs)


def _settle_removals(removed: Iterable[str], files: Iterable[EpochFile]) -> set[str]:
    """Return who was removed; refused if devices removed each other, because one of them may only have answered."""
    removed_names = set(removed)
    while True:
        live_files = [file for file in files if file.signer not in removed_names]
        questioned_names = {name for file in live_files for name in file.removed}
        more_names = {name for file in live_files if file.signer not in questioned_names for name in file.removed}
        if more_names <= removed_names:
            break
        removed_names |= more_names
    if any(file.signer in questioned_names for file in live_files):
        raise Refused(REMOVED_EACH_OTHER)
    return removed_names


def _list_verify_keys(state: DeviceState) -> dict[str, str]:
    """Return the verify key of each device that belongs, with this one."""
    return state.verify_keys | {state.directory: folder_keys.find_verify_key(state.private_key)}


def _is_signed_by_member(file: EpochFile, state: DeviceState) -> bool:
    verify_key = _list_verify_keys(state).get(file.signer, "")
    return file.signer not in state.removed and folder_keys.is_signed(verify_key, file.body, file.signature)


def _is_used_by_member(folder: Folder, state: DeviceState, epoch: Epoch) -> bool:
    """Whether a device that this one knows has taken an epoch in, as when one that it has not met began it.

    It may be this one, before it was put back.
    """
    keys = _list_verify_keys(state)
    for directory in set(keys) - set(state.removed):
        try:
            unpack_head(folder.read(f"{directory}/{HEAD}") or b"", [epoch], directory, keys)
        except UNREADABLE:
            continue
        return True
    return False


def _is_chained(file: EpochFile, state: DeviceState) -> bool:
    """Whether the writer of an epoch knew the one before it; one of them, if two were begun at the same time."""
    return any(file.shows_knowledge_of(epoch) for epoch in _list_previous(state, file.number))


def _list_previous(state: DeviceState, number: int) -> list[Epoch]:
    """List the epochs before one; several if they were begun at the same time."""
    earlier_epochs = [epoch for epoch in state.epochs if epoch.number < number]
    last_number = max((epoch.number for epoch in earlier_epochs), default=0)
    return [epoch for epoch in earlier_epochs if epoch.number == last_number]


def _may_be_ours(file: EpochFile, state: DeviceState, *, is_signed: bool) -> bool:
    """Whether a device of the person may have made an epoch that this one cannot take in."""
    # A version before 0.3 does not sign; once no machine uses one any more, such a file is somebody else's.
    is_older = not file.signer and any(not state.verify_keys.get(directory) for directory in state.names)
    return file.signer not in state.removed and (is_signed or is_older or _is_chained(file, state))


def _list_used_names(folder: Folder, state: DeviceState, removing: str) -> dict[str, str]:
    """Return the name of the epoch that each of the other devices uses, as far as their heads have arrived."""
    directories = set(state.verify_keys) - {*state.removed, *state.gone, *state.former, removing}
    names = {directory: read_epoch_name(folder.read(f"{directory}/{HEAD}") or b"") for directory in sorted(directories)}
    return {directory: name for directory, name in names.items() if name}


def _adopt(state: DeviceState, epoch: Epoch, file: EpochFile) -> DeviceState:
    """Take an epoch in; who belongs is what the newest epoch says."""
    current_number = state.epoch.number
    removed_names = {*state.removed, *file.removed}
    state = replace(state, epochs=(*state.epochs, epoch), removed=tuple(sorted(removed_names)))
    if epoch.number < current_number:
        return state
    # Of two that were begun at the same time, one may name a device that the removed one invented meanwhile.
    is_alone = epoch.number > current_number
    return _note_members(
        state, {name: keys for name, keys in file.members.items() if is_alone or name in state.verify_keys}
    )


def _note_members(state: DeviceState, members: Mapping[str, tuple[str, str]]) -> DeviceState:
    names = [name for name in members if name not in {state.directory, *state.gone, *state.former, *state.removed}]
    # The keys of a device never change, so what is known of them stays.
    return replace(
        state,
        # Their names for people are in their heads.
        names={name: state.names.get(name, name) for name in names},
        public_keys={name: members[name][0] for name in names} | state.public_keys,
        verify_keys={name: members[name][1] for name in names if members[name][1]}
        | {name: key for name, key in state.verify_keys.items() if name in names},
    )


def _is_well(file: EpochFile, epoch: Epoch, state: DeviceState) -> bool:
    is_complete = {state.directory, *state.names} <= set(file.sealed_secrets)
    return is_complete and _is_signed_by_member(file, state) and file.shows_knowledge_of(epoch)


def _prove(epoch: Epoch, body: bytes) -> str:
    return hmac.digest(epoch.key, b"epoch file\x01" + body, "sha256").hex()


def _write(folder: Folder, state: DeviceState, epoch: Epoch) -> None:
    """Write an epoch's file for all devices that belong, signed by this one."""
    previous = max(_list_previous(state, epoch.number), key=lambda other: other.name, default=None)
    members = {name: (state.public_keys[name], state.verify_keys.get(name, "")) for name in state.names}
    members[state.directory] = (
        folder_keys.find_public_key(state.private_key).hex(), folder_keys.find_verify_key(state.private_key),
    )  # fmt: skip
    file = EpochFile(
        file=epoch.file, number=epoch.number, name=epoch.name, members=members, removed=epoch.removed,
        sealed_secrets={
            name: folder_keys.seal_for(bytes.fromhex(public_key), epoch.secret).hex()
            for name, (public_key, _) in members.items()
        },
        previous=folder_keys.seal(epoch.key, json.dumps(to_plain(previous)).encode(), epoch.name).hex(),
        signer=state.directory,
    )  # fmt: skip
    values = {
        "for": file.sealed_secrets, "previous": file.previous, "members": members, "removed": file.removed,
        "by": file.signer, "signature": folder_keys.sign(state.private_key, file.body),
        "proofs": {other.name: _prove(other, file.body) for other in state.epochs},
    }  # fmt: skip
    folder.write(epoch.file, json.dumps(values).encode())


def _load(folder: Folder, number: int, name: str) -> EpochFile:
    """Load an epoch's file; raises one of ``TORN`` if it is not there or not whole."""
    file = f"{EPOCHS}/{number}-{name}"
    values = parse_json(folder.read(file) or b"")
    members = {str(name): (str(keys[0]), str(keys[1])) for name, keys in values.get("members", {}).items()}
    return EpochFile(
        file=file, number=number, name=name, sealed_secrets=dict(values["for"]), previous=str(values["previous"]),
        members=members, removed=tuple(map(str, values.get("removed", ()))), signer=str(values.get("by", "")),
        signature=str(values.get("signature", "")), proofs=dict(values.get("proofs", {})),
    )  # fmt: skip


def _load_all(folder: Folder) -> list[EpochFile]:
    """Load the files of epochs that have arrived whole, the oldest first."""
    files: list[EpochFile] = []
    for number, name in sorted(_list_names(folder)):
        try:
            files.append(_load(folder, number, name))
        except TORN:
            continue
    return files


def _list_names(folder: Folder) -> list[tuple[int, str]]:
    """List the number and name of each epoch's file; carriers add files of their own, such as conflicting copies."""
    names = [file.removeprefix(f"{EPOCHS}/").partition("-") for file in folder.list_names() if file.startswith(EPOCHS)]
    return [(int(number), name) for number, _, name in names if number.isdecimal() and name.isalnum()]
