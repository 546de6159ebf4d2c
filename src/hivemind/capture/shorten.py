"""What is too long, made shorter in its middle: a build log says its errors at the beginning and at the end."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 64 * 1024


def middle_out(text: str, longest: int = LONGEST) -> str:
    """Beginning and end of a text that is too long."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"


def payload(text: str, longest: int = LONGEST) -> str:
    """JSON with its long strings shortened, so that it is still JSON."""
    import json

    return json.dumps(_shorter(json.loads(text), longest), ensure_ascii=False)


def _shorter(held: Any, longest: int) -> Any:
    if isinstance(held, str):
        return middle_out(held, longest)
    if isinstance(held, list):
        return [_shorter(one, longest) for one in held]
    if isinstance(held, dict):
        return {name: _shorter(one, longest) for name, one in held.items()}
    return held
