# ruff: noqa: E501 - a row of the table reads best as a line
"""Write docs/scorecard.md from the committed results in lab/evals/results, with the figures of other products.

python -m lab.evals.scorecard [--check]
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.evals.peers import FIGURES, PEERS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "scorecard.md"
RESULTS = ROOT / "lab" / "evals" / "results"
NOT_PUBLISHED = "–"
OCCASIONS = ("edits", "failures", "subagents")

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: what is measured, which result it comes from, and its target."""

    key: str
    what: str
    result: str
    says: Callable[[Figures], str]
    aim: str = ""


def _retrieval(measure: str) -> Callable[[Figures], str]:
    """Show our figure, with plain FTS5 and vectors alone where they were in the same run."""

    def says(figures: Figures) -> str:
        ours = f"{figures['hivemind'][measure]:.3f}"
        names = {"words only": "FTS5", "meaning only": "vectors"}
        others = [f"{name} {figures[system][measure]:.3f}" for system, name in names.items() if system in figures]
        return f"{ours} ({', '.join(others)})" if others else ours

    return says


def _own(measure: str, form: str = "{:.0%}") -> Callable[[Figures], str]:
    return lambda figures: form.format(figures["hivemind"][measure])


def _small(name: str, group: str, measure: str) -> Callable[[Figures], str]:
    """Show a figure of our own question sets: of the half for reporting, and of part C, written later, if it has it."""

    def format_parts(figures: Figures) -> str:
        later = figures[name].get("C", {}).get(group)
        share = f"{figures[name]['B'][group][measure]:.0%}"
        return f"{share}; {later[measure]:.0%} on a later set" if later else share

    return format_parts


def _at(size: str, measure: str, form: str = "{:.1f} ms") -> Callable[[Figures], str]:
    return lambda figures: form.format(figures[size][measure])


def _hub_cpu(figures: Figures) -> str:
    """Show the CPU of a recall; how many a second there were depends on what else the machine did."""
    clients = figures["clients: 8"]
    hub, server = clients["hub CPU ms"], clients["Postgres CPU ms"]
    return f"{hub:.0f} + {server:.0f} = {hub + server:.0f} ms"


def _of(group: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures[group]['held']} of {figures[group]['of']} checks pass"


def _tasks(condition: str) -> Callable[[Figures], str]:
    def says(figures: Figures) -> str:
        totals, cold = figures[condition], figures["none"]
        harm = f", {totals['harm']} harmed" if totals["harm"] else ""
        return f"{totals['success']} of {totals['tasks']} (cold {cold['success']}){harm}; {totals['tokens_in']:,} tokens in"

    return says


def _client_tasks(figures: Figures) -> str:
    right = {condition: totals["success"] for condition, totals in figures.items()}
    warm = figures["hivemind"]
    other_conditions = ", ".join(f"{name} {right[name]}" for name in ("superseded", "contradictory", "broken"))
    return (
        f"{warm['success']} of {warm['tasks']} (cold {right['none']}, notes file {right['file']}; {other_conditions});"
        f" notes in {warm['briefed']} of {warm['tasks']} first requests"
    )


def _clients(figures: Figures) -> str:
    """Show in how many of the clients that have such an occasion the model was told."""
    checks = [[client[occasion] for client in figures.values() if occasion in client] for occasion in OCCASIONS]
    return ", ".join(f"{sum(group)} of {len(group)}" for group in checks)


def _survival(what: str) -> Callable[[Figures], str]:
    return lambda figures: f"{figures[what]['tried']:,}, {figures[what]['tried'] - figures[what]['survived']}"


def _seeds(figures: Figures) -> str:
    return f"{figures['seeds']:,}, {figures['broken']}"


def _both_parts(key: str, what: str, name: str, measure: str, aim: str = "") -> tuple[Row, Row]:
    """Return a row for the part that weights were chosen on, and one for the part they were not chosen on."""
    says, validation = _retrieval(measure), f"retrieval-{name}-validation"
    return (
        Row(key=key, what=what, result=f"retrieval-{name}", says=says, aim=aim),
        Row(key=f"{key} validation", what="– the same, validation part", result=validation, says=says, aim=aim),
    )


SECTIONS: dict[str, tuple[Row, ...]] = {
    "Recall": (
        *_both_parts("longmemeval any@5", "LongMemEval-S, recall_any@5", "longmemeval", "recall_any@5", ".98"),
        *_both_parts("longmemeval all@5", "LongMemEval-S, recall_all@5", "longmemeval", "recall_all@5", ".94"),
        *_both_parts("longmemeval ndcg", "LongMemEval-S, NDCG@10", "longmemeval", "NDCG@10", ".92"),
        *_both_parts("longmemeval mrr", "LongMemEval-S, MRR", "longmemeval", "MRR"),
        *_both_parts("locomo any@5", "LoCoMo turns, recall_any@5", "locomo", "recall_any@5"),
        *_both_parts("locomo@10", "LoCoMo turns, recall@10", "locomo", "recall@10", ".80"),
        *_both_parts("beam@10", "BEAM-100K, recall@10", "beam", "recall@10", ".68"),
        *_both_parts("swe@10", "SWE-bench related fixes, recall@10", "swe", "recall@10", ".75"),
        *(
            Row(key=f"plus@{k}", what=f"LoCoMo-Plus, the remark behind what is said now, recall@{k}", result="retrieval-locomo-plus", says=_retrieval(f"recall@{k}"))
            for k in (1, 5, 10)
        ),
        Row(key="cosqa mrr", what="CoSQA, MRR", result="retrieval-cosqa", says=_retrieval("MRR"), aim=".58"),
    ),
    "Precision": (
        Row(key="forbidden locomo", what="LoCoMo, questions with a retracted memory or one of another repository in the first ten", result="retrieval-locomo", says=_retrieval("forbidden@10"), aim="0"),
        Row(key="forbidden beam", what="BEAM, the same", result="retrieval-beam", says=_retrieval("forbidden@10"), aim="0"),
        Row(key="declined foreign", what="LoCoMo, questions about somebody else that are answered with \"no confident match\"", result="retrieval-locomo", says=_own("declined, foreign")),
        Row(key="declined wrongly", what="LoCoMo, questions with an answer that get the same (lower is better)", result="retrieval-locomo", says=_own("declined, answerable", "{:.1%}")),
        Row(key="declined near", what="BEAM, questions on the subject without an answer that get it", result="retrieval-beam", says=_own("declined, unanswerable")),
    ),
    "Small stores, on questions that nothing was tuned on": (
        Row(key="small sure", what="hits marked as sure that are right", result="recall-small", says=_small("small_stores", "all answerable", "sure part right"), aim="70 %"),
        Row(key="small reached", what="right notes that are marked as sure or stand directly below", result="recall-small", says=_small("small_stores", "all answerable", "reached"), aim="95 %"),
        Row(key="small topical", what="short topical questions, the right note first", result="recall-small", says=_small("topical", "topical", "first right"), aim="90 %"),
        Row(key="small languages", what="ten languages, the right note first", result="recall-small", says=_small("languages", "all", "first right"), aim="80 %"),
        Row(key="prompts right", what="prompt hook, tasks for which it tells the rule that governs them (second of two settings measured)", result="recall-small", says=_small("prompts", "prompts", "speaks rightly"), aim="60 %"),
        Row(key="prompts wrong", what="prompt hook, tasks that need no rule but get one (the same)", result="recall-small", says=_small("prompts", "prompts", "speaks where nothing is needed"), aim="5 %"),
    ),
    "Trust": (
        Row(key="corrections", what="corrections on every path", result="governance", says=_of("correction matrix"), aim="all"),
        Row(key="deletion", what="deletion on every path", result="governance", says=_of("deletion walk"), aim="all"),
        Row(key="isolation", what="isolation between scopes", result="governance", says=_of("isolation"), aim="all"),
        Row(key="staleness", what="staleness: symbols followed rightly, renames found", result="staleness", says=lambda figures: f"{figures['precision %']} %, {figures['recall %']} %"),
    ),
    "Does it help an agent?": (
        Row(key="helps", what="scripted agent, five tasks", result="eval", says=_tasks("hivemind"), aim="5"),
        Row(key="helps file", what="the same with a file of notes", result="eval", says=_tasks("file")),
        Row(key="helps superseded", what="the same, with a superseded value in memory", result="eval", says=_tasks("superseded"), aim="5"),
        Row(key="helps contradictory", what="the same, with an agent's contradicting value", result="eval", says=_tasks("contradictory"), aim="5"),
        Row(key="helps adjacent", what="the same, with only unrelated notes", result="eval", says=_tasks("adjacent"), aim="as cold"),
        Row(key="helps broken", what="the same, with an empty memory", result="eval", says=_tasks("broken"), aim="as cold"),
        Row(key="clients", what="real clients in which what concerns an edit, a failure, a subagent reaches the model", result="clients", says=_clients, aim="all"),
        Row(key="played claude-code", what="Claude Code from npm, the script in place of its model", result="played-claude-code", says=_client_tasks, aim="5"),
        Row(key="played codex", what="Codex from npm, the script in place of its model", result="played-codex", says=_client_tasks, aim="5"),
        Row(key="played gemini", what="Gemini CLI from npm, the script in place of its model", result="played-gemini", says=_client_tasks, aim="5"),
        Row(key="played opencode", what="OpenCode from npm, the script in place of its model", result="played-opencode", says=_client_tasks, aim="5"),
        Row(key="played copilot", what="Copilot CLI from npm, the script in place of its model", result="played-copilot", says=_client_tasks, aim="5"),
        Row(key="played qwen", what="Qwen Code from npm, the script in place of its model", result="played-qwen", says=_client_tasks, aim="5"),
    ),
    "Cost": (
        Row(key="capture", what="capture of a tool use, CPU", result="start", says=lambda figures: f"{figures['hook, one tool use of 4 kB']:.0f} ms, {figures['hook, one tool use of 4 kB'] / figures['bare python']:.1f} × bare Python", aim="3 × bare"),
        Row(key="brief", what="brief at session start, CPU", result="start", says=lambda figures: f"{figures['hook, session start with the brief']:.0f} ms", aim="250 ms"),
        Row(key="recall cold", what="recall from the command line, cold, CPU", result="start", says=lambda figures: f"{figures['hivemind recall, by meaning']:.0f} ms", aim="300 ms"),
        Row(key="mcp ready", what="server ready, tools listed, CPU", result="start", says=lambda figures: f"{figures['hivemind mcp, tools listed']:.0f} ms", aim="100 ms"),
        Row(key="recall tokens", what="tokens of a recall, LoCoMo", result="retrieval-locomo", says=_own("tokens per query", "{:.0f}")),
    ),
    "Latency": (
        Row(key="recall 10k", what="warm recall at 10,000, CPU with the question's vector and the receipt", result="recall", says=_at("10,000", "CPU ms"), aim="6 ms"),
        Row(key="recall 10k wall", what="the same in wall time, p50, while another process writes", result="recall", says=_at("10,000", "p50 ms")),
        Row(key="recall 100k", what="warm recall at 100,000, CPU", result="recall", says=_at("100,000", "CPU ms"), aim="12 ms"),
        Row(key="recall 1m", what="warm recall at 1,000,000, CPU", result="recall", says=_at("1,000,000", "CPU ms"), aim="40 ms"),
        Row(key="remember", what="one durable write at 10,000, CPU", result="remember", says=_at("10,000", "CPU ms"), aim="3 ms"),
        Row(key="hub", what="hub, recall at 1,000,000 in 20 teams, eight clients, CPU of hub and Postgres", result="hub", says=_hub_cpu, aim="33 ms (60 a second on two cores)"),
        Row(key="hub found", what="the same, found of the 100 nearest by meaning, in the worst team", result="hub", says=lambda figures: f"{min(figures['found of the 100 nearest'].values()):.3f}", aim=".97"),
        Row(key="erase", what="erasure with proof at 10,000, CPU", result="erase", says=_at("10,000", "CPU ms"), aim="100 ms at 100,000"),
    ),
    "Many writers, other machines and faults": (
        Row(key="storm", what="32 processes write into one store for ten minutes: writes, lost ones", result="faults", says=_survival("writes of 32 agents at once"), aim="none lost"),
        Row(key="join", what="another machine joins and reads 100,000 memories, CPU", result="devices", says=lambda figures: f"{figures['exchange']['join and read all, CPU s']:.0f} s", aim="60 s"),
        Row(key="simulated teams", what="simulated teams, hubs and networks with faults: runs, with a broken promise", result="simulation-team", says=_seeds, aim="0 of 10,000"),
        Row(key="simulated machines", what="simulated machines of one person with faults: runs, with a broken promise", result="simulation-machines", says=_seeds, aim="0 of 10,000"),
    ),
    "Footprint and install": (
        Row(key="install", what="installed size", result="install", says=lambda figures: f"{figures['MB']:.0f} MB in {figures['packages']:.0f} packages", aim="180 MB"),
        Row(key="resident", what="memory of the server with the model loaded", result="install", says=lambda figures: f"{figures['server resident MB']:.0f} MB", aim="110 MB"),
        Row(key="tools", what="tools and their schema", result="install", says=lambda figures: f"{figures['tools']:.0f}, {figures['schema bytes'] / 1000:.1f} kB", aim="8, 5 kB"),
        Row(key="bytes", what="bytes per memory of twenty words", result="remember", says=_at("10,000", "bytes each", "{:,.0f}")),
    ),
}  # fmt: skip

HEAD = """# Scorecard

Generated by `python -m lab.evals.scorecard` from `lab/evals/results/`; do not edit. Each of our figures has its target and links
to the command that measured it. Figures of others have their sources below; "–" means that none is published or
measured, and a product without any figure in a section has no column there. Data and settings differ between products,
so compare with care.

**How to read it.** Recall@k is the share of what is relevant that stands among the first k results; recall_any and
recall_all ask whether one or all of it does; MRR and NDCG also count how far up. FTS5 is SQLite's full-text search with
BM25, vectors are our own embedding model without words; both ran on the same questions. "Cold" is the same agent without
memory. Targets are our own.

**Where we lose**

* Vectors alone find code slightly better than our mixture of words and vectors (CoSQA), and remarks that share no words with
  what is said now (LoCoMo-Plus). No search by similarity finds much there, because its authors left out pairs that BM25 or
  an embedding model rates as similar (arXiv 2602.10715).
* On BEAM, on LoCoMo and on repositories that nothing was chosen on, recall is below our targets.
* Below a million memories a warm recall costs more CPU than its targets, and a machine that joins slightly more.
* In a repository as small as the one of these tasks, a plain file of notes costs fewer tokens, as long as nothing in it
  becomes stale or has to be erased.

**Limits of these figures**

* Question sets are development sets, on which weights were chosen, unless a row says "validation part"; those parts were
  looked at between changes of the ranking, so they are not quite unseen. LoCoMo-Plus was run once, after everything was
  chosen.
* LongMemEval's validation part was run once as a whole, after everything was chosen; 50 of its 150 questions were run once
  before (recall_all@5 .82).
* The later set of small stores has 40 topical and 45 other questions, of which 30 are rambling on purpose.
* Of an earlier 5,250 simulated runs of one person's machines 18 broke a promise; the five causes were mended, and the row
  counts runs of the mended code.
* The scripted agent was written together with its five tasks and understands two forms of notes. So 5 of 5 shows that the
  right notes arrive with the right labels, not how clever an agent becomes. What one small model gained on held-out tasks
  is in `lab/evals/gain/PLAN.md`.
* Six real clients ran the same tasks with that script in place of their model, which shows that notes arrive through their
  own hooks, tools and permissions too. Not run: Cline, which takes notes only after its first tool call and which
  our tasks do not connect, and Continue, Cursor, Windsurf and Zed, which are used inside an editor.
* Checks are tests of our own suite, counted. Times are CPU times unless a row says otherwise, measured beside other work,
  which can add a half.
"""


def main() -> None:
    """Write the page, or with --check fail if it does not match the results."""
    page = render_page(RESULTS)
    if "--check" not in sys.argv:
        PAGE.write_text(page)
    elif not PAGE.exists() or PAGE.read_text() != page:
        sys.exit("docs/scorecard.md does not match the results; run python -m lab.evals.scorecard")


def render_page(folder: Path) -> str:
    """Render the page for the results in a folder."""
    results = {file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}
    sources: dict[str, int] = {}
    parts = [HEAD]
    for title, rows in SECTIONS.items():
        # A column for each product that has a figure in this section.
        peers = [peer for peer in PEERS if any(peer in FIGURES.get(row.key, {}) for row in rows)]
        columns = ["", "Hivemind", "target", *peers, "measured by"]
        parts.append(
            f"## {title}\n\n|{'|'.join(f' {name} '.replace('  ', ' ') for name in columns)}|\n|{'---|' * len(columns)}\n"
        )
        parts[-1] += "".join(_render_row(row, results, peers, sources) for row in rows)
    parts.append("## Sources\n\n" + "".join(f"{number}. {source}\n" for source, number in sources.items()))
    parts.append(
        "## How we measured\n\n| result | command | data | configuration | version | machine | date |\n|---|---|---|---|---|---|---|\n"
    )
    parts[-1] += "".join(_describe_result(name, result) for name, result in results.items())
    return "\n".join(parts)


def _render_row(row: Row, results: Mapping[str, Any], peers: Sequence[str], sources: dict[str, int]) -> str:
    cells = [row.what, row.says(results[row.result]["figures"]), row.aim, *_list_peers(row.key, peers, sources)]
    return f"| {' | '.join(cells)} | [{row.result}](#how-we-measured) |\n"


def _list_peers(key: str, peers: Sequence[str], sources: dict[str, int]) -> Iterator[str]:
    for peer in peers:
        figure = FIGURES.get(key, {}).get(peer)
        yield f"{figure.says} [{sources.setdefault(figure.source, len(sources) + 1)}]" if figure else NOT_PUBLISHED


def _describe_result(name: str, result: Mapping[str, Any]) -> str:
    fields = (result[field] for field in ("data", "configuration", "version", "machine", "date"))
    return f"| [{name}](../lab/evals/results/{name}.json) | `{result['command']}` | {' | '.join(fields)} |\n"


if __name__ == "__main__":
    main()
