"""What an administrator of a team can do to it, as the log names it."""

from hivemind.model.scope import Choice


# Stored by name in the log.
class AdminAction(Choice):
    """An act of administration."""

    TEAM_CREATED = "team created"
    TEAM_RENAMED = "team renamed"
    TEAM_EXPORTED = "team exported"
    SETTING_CHANGED = "setting changed"
    TOKEN_CREATED = "token created"
    TOKEN_REVOKED = "token revoked"
    MEMBER_REMOVED = "member removed"
    DEVICE_REMOVED = "device removed"
    EPOCH_BEGUN = "epoch begun"
