"""Claude Code: hook payloads on standard input, one JSON object each."""

import json
from collections.abc import Mapping
from typing import Any

from hivemind.model.ids import SessionId, derived
from hivemind.model.session import Observation, Seen

NAME = "claude-code"


def decode(event: str, payload: Mapping[str, Any], at: str) -> Observation | None:
    """What a hook payload says happened; nothing, where we do not care."""
    session = str(payload.get("session_id") or "")
    what: dict[str, Any]
    match event or payload.get("hook_event_name"):
        case "SessionStart":
            seen, own_id, what = Seen.STARTED, f"start {at}", {"text": str(payload.get("source") or "")}
        case "UserPromptSubmit":
            prompt = str(payload.get("prompt") or "")
            seen, own_id, what = (
                Seen.PROMPT,
                str(payload.get("prompt_id") or f"{at} {prompt}"),
                {"text": prompt},
            )
        case "PostToolUse" | "PostToolUseFailure":
            seen, own_id, what = Seen.TOOL, str(payload.get("tool_use_id") or at), _tool(payload)
        case "Stop":
            reply = str(payload.get("last_assistant_message") or "")
            seen, own_id, what = Seen.REPLY, f"{at} {reply}", {"text": reply}
        case "PreCompact" | "PostCompact":
            seen, own_id, what = Seen.COMPACTED, at, {"text": str(payload.get("compact_summary") or "")}
        case "SessionEnd":
            seen, own_id, what = Seen.ENDED, "end", {"text": str(payload.get("reason") or "")}
        case _:
            return None
    return Observation(
        agent=NAME,
        session_id=SessionId(session),
        seen=seen,
        source_id=derived(NAME, session, seen, own_id),
        directory=str(payload.get("cwd") or ""),
        at=at,
        **what,
    )


def _tool(payload: Mapping[str, Any]) -> dict[str, Any]:
    called = payload.get("tool_input")
    file = called.get("file_path") if isinstance(called, dict) else ""
    return {
        "tool": str(payload.get("tool_name") or ""),
        "input": _text(called),
        "output": _text(payload.get("tool_response") or payload.get("error")),
        "file": str(file or ""),
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
