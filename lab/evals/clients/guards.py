"""Check in a real client that a guard keeps a command from being run and says why, and lets others be run."""

from lab.evals.clients.agents import Client
from lab.evals.clients.model import Model
from lab.evals.clients.trial import Sandbox, connect, run_session

ANSWERS = {
    "deny": "a guard that denies keeps the command from being run",
    "ask": "a guard that asks keeps the command from being run while nobody answers",
}
"""The checks, by the guard's answer. Nobody can answer here, because each client runs without a terminal."""
TOLD = "the model is told the memory as the reason"


def check_guards(name: str, client: Client, sandbox: Sandbox) -> dict[str, bool]:
    """Connect a client, set a guard of each kind, and check what came of its command and of another one."""
    with connect(name, client, sandbox) as model:
        outcomes = {answer: _try_guard(answer, name, client, sandbox, model) for answer in ANSWERS}
    checks = {what: outcomes[answer][0] for answer, what in ANSWERS.items()}
    # The model of a client that ends its run gets no further request.
    return checks if client.ends_when_refused else checks | {TOLD: all(is_told for _, is_told in outcomes.values())}


def _try_guard(answer: str, name: str, client: Client, sandbox: Sandbox, model: Model) -> tuple[bool, bool]:
    """Return whether the guard stopped its command alone, and whether the model was told why."""
    guarded, free = (sandbox.project / f"{word}-{answer}-{name}.txt" for word in ("guarded", "free"))
    rule = f"Never make {guarded.name} with touch: make {answer}-osprey writes it"
    memory = sandbox.query("remember", rule, "--kind", "convention")["id"]
    sandbox.hivemind("guard", memory, "--command", f"touch {guarded.name}", "--answer", answer, "--yes")
    turns = run_session(name, client, sandbox, model, [client.shell(f"touch {file.name}") for file in (free, guarded)])
    # The brief may have the rule too, in every request.
    is_told = bool(turns) and turns[-1][1].count(rule) > turns[0][1].count(rule)
    return free.exists() and not guarded.exists(), is_told
