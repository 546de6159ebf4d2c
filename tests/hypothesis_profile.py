"""Settings of hypothesis: the same examples in every run, or more and different ones on request.

``HIVEMIND_WIDER=50 pytest tests/property`` tries fifty times as many, from another start each time.
Test modules with properties import ``examples`` from here, which loads the profile.
"""

import os

from hypothesis import HealthCheck, Phase, settings

PROFILE = "hivemind"
FACTOR = int(os.environ.get("HIVEMIND_WIDER", "0"))

settings.register_profile(
    PROFILE,
    # A shared machine is slow at random; a property is not false because of that.
    deadline=None,
    # Whether a change passes must depend on the change, not on chance.
    derandomize=not FACTOR,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile(PROFILE)


def examples(count: int, *, shrink: bool = True) -> settings:
    """Try this many examples, or as many times more as HIVEMIND_WIDER says."""
    phases = tuple(Phase) if shrink else (Phase.explicit, Phase.reuse, Phase.generate)
    return settings(max_examples=count * max(FACTOR, 1), phases=phases)
