"""The epochs of a shared folder: joining by a phrase, learning about new ones, beginning one."""

from collections.abc import Mapping
from dataclasses import replace

from hivemind.errors import InvalidInput, Refused
from hivemind.sync import keys
from hivemind.sync.files import Epoch, find_epoch_secret, find_previous_epoch, new_name, pack_epoch, parse_epoch_name
from hivemind.sync.folders import Folder
from hivemind.sync.state import DeviceState


def has_epochs(folder: Folder) -> bool:
    """Whether a device has set up this folder before."""
    return any(parse_epoch_name(file) for file in folder.list_names())


def begin_epoch(folder: Folder, previous: Epoch | None, public_keys: Mapping[str, bytes]) -> Epoch:
    """Begin an epoch with a new secret, which only these devices get."""
    epoch = Epoch(number=previous.number + 1 if previous else 1, name=new_name(), secret=keys.new_secret())
    folder.write(epoch.file, pack_epoch(epoch, previous, public_keys))
    return epoch


def join_epochs(folder: Folder, secret: bytes) -> tuple[Epoch, ...]:
    """Find the epoch that a phrase opens, and all epochs before it."""
    files = {number_and_name: file for file in folder.list_names() if (number_and_name := parse_epoch_name(file))}
    for number, name in sorted(files, reverse=True):
        epoch: Epoch | None = Epoch(number=number, name=name, secret=secret)
        chain: list[Epoch] = []
        try:
            while epoch:
                chain.insert(0, epoch)
                epoch = find_previous_epoch(folder.read(epoch.file) or b"", epoch)
        except keys.SealBroken:
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
        number, name = parse_epoch_name(file) or (0, "")
        newest = max(newest, number)
        content = folder.read(file) if number and name not in known_names else None
        secret = find_epoch_secret(content, state.directory, state.private_key) if content else None
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
