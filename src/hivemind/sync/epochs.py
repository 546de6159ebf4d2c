"""The epochs of a shared folder: joining by a phrase, learning about new ones, beginning one."""

import json
from collections.abc import Mapping
from dataclasses import replace

from hivemind.errors import InvalidInput, Refused
from hivemind.model.codec import from_plain, to_plain
from hivemind.sync import keys
from hivemind.sync.files import EPOCHS, Epoch, new_name
from hivemind.sync.folders import Folder
from hivemind.sync.state import DeviceState
from hivemind.text.untrusted import parse_json

TORN = (ValueError, KeyError, TypeError, AttributeError)
"""What parsing a file may raise that has not arrived whole."""


def has_epochs(folder: Folder) -> bool:
    """Whether a device has set up this folder before."""
    return any(_parse_name(file) for file in folder.list_names())


def begin_epoch(folder: Folder, previous: Epoch | None, public_keys: Mapping[str, bytes]) -> Epoch:
    """Begin an epoch with a new secret, which only these devices get."""
    epoch = Epoch(number=previous.number + 1 if previous else 1, name=new_name(), secret=keys.new_secret())
    # With the epoch before, so that one phrase opens everything.
    before = keys.seal(epoch.key, json.dumps(to_plain(previous)).encode(), epoch.name)
    secrets = {directory: keys.seal_for(key, epoch.secret).hex() for directory, key in public_keys.items()}
    folder.write(epoch.file, json.dumps({"for": secrets, "previous": before.hex()}).encode())
    return epoch


def join_epochs(folder: Folder, secret: bytes) -> tuple[Epoch, ...]:
    """Find the epoch that a phrase opens, and all epochs before it."""
    for number, name in sorted(filter(None, map(_parse_name, folder.list_names())), reverse=True):
        epoch: Epoch | None = Epoch(number=number, name=name, secret=secret)
        chain: list[Epoch] = []
        try:
            while epoch:
                chain.insert(0, epoch)
                sealed_epoch = bytes.fromhex(parse_json(folder.read(epoch.file) or b"")["previous"])
                before = json.loads(keys.unseal(epoch.key, sealed_epoch, epoch.name))
                epoch = from_plain(Epoch, before) if before else None
        except (*TORN, keys.SealBroken):
            continue
        return tuple(chain)
    raise InvalidInput(
        "this phrase does not open that folder; use the newest one ('hivemind sync phrase' on another machine shows"
        " it), and check that the folder is the same on both and its files have arrived here"
    )


def load_epochs(folder: Folder, state: DeviceState) -> DeviceState:
    """Take in the epochs that other devices began and sealed for this one; refused if it was left out of the newest."""
    known_names = {epoch.name for epoch in state.epochs}
    new_epochs: list[Epoch] = []
    newest = 0
    for file in folder.list_names():
        number, name = _parse_name(file) or (0, "")
        newest = max(newest, number)
        content = folder.read(file) if number and name not in known_names else None
        secret = _find_secret(content, state.directory, state.private_key) if content else None
        if secret:
            new_epochs.append(Epoch(number=number, name=name, secret=secret))
    state = replace(state, epochs=(*state.epochs, *new_epochs))
    # What is written with an old key could be read by the device that was removed.
    if newest > state.epoch.number:
        raise Refused(
            "the other machines use a newer key: this machine was removed, or the key has not arrived yet. To join"
            " again: hivemind sync setup, with the newest phrase ('hivemind sync phrase' on another machine shows it)"
        )
    return state


def list_recipients(content: bytes) -> set[str] | None:
    """List the directories of the devices that an epoch's secret was sealed for; None if the file is torn."""
    try:
        return set(parse_json(content)["for"])
    except TORN:
        return None


def _find_secret(content: bytes, directory: str, private_key: bytes) -> bytes | None:
    """Return the secret of an epoch that was sealed for this device; None if it was left out, or the file is torn."""
    try:
        sealed_secret = parse_json(content)["for"].get(directory)
        return keys.unseal_with(private_key, bytes.fromhex(sealed_secret)) if sealed_secret else None
    except (*TORN, keys.SealBroken):
        return None


def _parse_name(file: str) -> tuple[int, str] | None:
    """Return the number and name of an epoch's file; None for other files."""
    number, _, name = file.removeprefix(f"{EPOCHS}/").partition("-")
    # Carriers add files of their own, such as conflicting copies.
    is_epoch = file.startswith(f"{EPOCHS}/") and number.isdecimal() and name.isalnum()
    return (int(number), name) if is_epoch else None
