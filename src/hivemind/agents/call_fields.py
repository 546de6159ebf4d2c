"""The names under which agents send the parts of a tool call; light, because a hook reads them at every step."""

FILE_FIELDS = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
COMMAND_FIELDS = ("command", "cmd", "commands", "command_line")
PATCH_HEADER = r"^\*\*\* (Add|Update|Delete) File: (.+)$"
"""The line with which the part of a patch about one file begins."""
