"""Somebody who has the keys of a removed machine, and can still write any file into the shared folder."""

import json
import random
from dataclasses import replace

from hivemind.sync import folder_epochs, folder_keys
from hivemind.sync.folder_files import HEAD, DeviceState, Head, pack_head
from hivemind.sync.folder_keys import Epoch
from hivemind.sync.folders import EPOCHS, Folder, new_name


class Attacker:
    """Writes forged, old and broken files with the keys of a removed machine."""

    def __init__(self, state: DeviceState, folder: Folder, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.identities = [state]
        """The removed machine, and machines that the attacker invents."""
        self.epochs = dict.fromkeys(state.epochs)
        """Its keys; first those that it was given, because some that it makes have the names of others."""
        self.old_files = {name: folder.read(name) or b"" for name in folder.list_names()}

    def forge_epoch(self, *, count: int = 1, removed: tuple[str, ...] = ()) -> None:
        """Begin epochs that leave nobody out, signed by the removed machine and chained to the keys it has."""
        self._begin(self.identities[0], count, removed)

    def forge_epoch_of_stranger(self, *, count: int = 1) -> None:
        """Begin epochs in the name of a machine that does not exist."""
        self._begin(self._invent_machine(), count, ())

    def forge_unsigned_epoch(self) -> None:
        """Write an epoch as versions before 0.3 did."""
        before = self.folder.list_names()
        self._begin(self.identities[0], 1, ())
        for name in sorted(set(self.folder.list_names()) - set(before)):
            values = json.loads(self.folder.read(name) or b"{}")
            content = json.dumps({key: values[key] for key in ("for", "previous")})
            self.folder.write(name, content.encode())

    def overwrite_epochs(self) -> None:
        """Write its own secret into the files of epochs that others made."""
        for name in self._list_epochs():
            number, _, epoch_name = name.removeprefix(f"{EPOCHS}/").partition("-")
            epoch = Epoch(number=int(number), name=epoch_name, secret=folder_keys.new_secret(), is_signed=True)
            state = self.identities[0]
            folder_epochs._write(self.folder, replace(state, epochs=(*state.epochs, epoch)), epoch)
            self.epochs[epoch] = None

    def break_epochs(self) -> None:
        """Delete or truncate the files of epochs."""
        for name in self._list_epochs():
            content = self.folder.read(name) or b""
            if self.chance.random() < 0.5:
                self.folder.delete(name)
            else:
                self.folder.write(name, content[: len(content) // 2])

    def invent_machine(self, gone: tuple[str, ...] = ()) -> None:
        """Publish the head of a machine that does not exist, which calls others gone and removed."""
        self._write_head(self._invent_machine(), gone=gone)

    def forge_heads(self) -> None:
        """Replace the heads of the others by heads with its own key."""
        for directory in self.identities[0].names:
            self._write_head(replace(self.identities[0], directory=directory))

    def put_back_files(self) -> None:
        """Put back the files that were there when the machine was removed."""
        for name, content in self.old_files.items():
            self.folder.write(name, content)

    def list_keys(self) -> tuple[Epoch, ...]:
        """Return all epochs that the attacker has: made, kept, or sealed for one of its identities."""
        opened = [
            file.open_for(identity) for file in folder_epochs._load_all(self.folder) for identity in self.identities
        ]
        return tuple(epoch for epoch in (*self.epochs, *opened) if epoch)

    def list_names(self) -> set[str]:
        """Return the directories of the removed machine and of those that the attacker invented."""
        return {identity.directory for identity in self.identities}

    def _begin(self, state: DeviceState, count: int, removed: tuple[str, ...]) -> None:
        state = replace(state, removed=removed)
        for _ in range(count):
            state = folder_epochs.begin_epoch(self.folder, state)
        self.epochs |= dict.fromkeys(state.epochs)

    def _invent_machine(self) -> DeviceState:
        state = replace(
            self.identities[0], directory=new_name(), device=new_name(), private_key=folder_keys.new_private_key()
        )
        self.identities.append(state)
        return state

    def _write_head(self, state: DeviceState, gone: tuple[str, ...] = ()) -> None:
        public_key = folder_keys.find_public_key(state.private_key).hex()
        head = Head(
            counter=1 << 30, device=state.device, name="printer", public_key=public_key, generation=1 << 30,
            written_at="", gone=gone, removed=gone,
        )  # fmt: skip
        name = f"{state.directory}/{HEAD}"
        self.folder.write(name, pack_head(head, state.epoch, state.directory, state.private_key))

    def _list_epochs(self) -> list[str]:
        return [
            name
            for name in self.folder.list_names()
            if name.startswith(f"{EPOCHS}/") and "." not in name and name[-1].isalnum()
        ]
