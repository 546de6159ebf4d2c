"""How far hypothesis searches: the same examples in every run, or others and many more when somebody asks.

``HIVEMIND_WIDER=50 pytest tests/attacks`` searches fifty times as far, from another start each time.
"""

import os

from hypothesis import HealthCheck, Phase, settings

PROFILE = "searching"
WIDER = int(os.environ.get("HIVEMIND_WIDER", "0"))

settings.register_profile(
    PROFILE,
    # A shared machine is slow at random; a property is not false for that.
    deadline=None,
    # A change lands or does not for what is in it, not by a throw of dice.
    derandomize=not WIDER,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def examples(count: int, *, shrink: bool = True) -> settings:
    """So many examples, or as many times more as was asked for."""
    phases = tuple(Phase) if shrink else (Phase.explicit, Phase.reuse, Phase.generate)
    return settings(max_examples=count * max(WIDER, 1), phases=phases)
