"""Figures of other products, published or measured by us, each with its source and date."""

from dataclasses import dataclass

PEERS = ("agentmemory", "claude-mem", "vexp", "basic-memory", "mem0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure of another product."""

    says: str
    source: str


OURS = "measured by us in an earlier, undated run; bare Python took 7 ms of CPU there"
_AGENTMEMORY = "published: rohitg00/agentmemory, benchmark/LONGMEMEVAL.md, 500 questions, read November 2026"
_BASIC = "published: basicmachines-co/basic-memory-benchmarks, matrix v1.2 of 12 June 2026, 60 questions"
_BASIC_LOCOMO = (
    "published: basic-memory-benchmarks as above, 1,986 questions, branch #994; how it counts hits is not published"
)
_MEM0_BY_BASIC = "measured by basic-memory, matrix v1.2 of 12 June 2026, mem0 without its model's extraction"
_MEM0_JUDGED = "published: arXiv 2504.19413, April 2025; a judge's score of answers, not of retrieval"
_MEM0_P95 = "published: arXiv 2504.19413, April 2025, as quoted by Zep on 6 May 2025"
_VEXP_COST = (
    "published by its developer, r/ClaudeCode, undated, read November 2026: seven tasks on FastAPI, Claude Sonnet 4.6"
)

FIGURES: dict[str, dict[str, Figure]] = {
    "longmemeval any@5": {
        "agentmemory": Figure(says=".952", source=_AGENTMEMORY),
        "basic-memory": Figure(says=".951 (recall@5)", source=_BASIC),
        "mem0": Figure(says=".979 (recall@5)", source=_MEM0_BY_BASIC),
    },
    "longmemeval ndcg": {"agentmemory": Figure(says=".879", source=_AGENTMEMORY)},
    "longmemeval mrr": {
        "agentmemory": Figure(says=".882", source=_AGENTMEMORY),
        "basic-memory": Figure(says=".900", source=_BASIC),
        "mem0": Figure(says=".876", source=_MEM0_BY_BASIC),
    },
    "locomo any@5": {
        "basic-memory": Figure(says=".823 (recall@5)", source=_BASIC_LOCOMO),
        "mem0": Figure(says="answers only", source=_MEM0_JUDGED),
    },
    "staleness": {
        "vexp": Figure(says="by file: a comment makes all stale, a revert stays stale, a rename is lost", source=OURS)
    },
    "capture": {
        "agentmemory": Figure(says="194 ms", source=OURS),
        "claude-mem": Figure(says="430–470 ms", source=OURS),
    },
    "recall 10k": {
        "agentmemory": Figure(says="22 ms", source=OURS),
        "basic-memory": Figure(says="23 ms at 1,000", source=OURS),
        "mem0": Figure(says="p95 200 ms", source=_MEM0_P95),
    },
    "recall cold": {"basic-memory": Figure(says="11.4 s", source=OURS)},
    "brief": {
        "claude-mem": Figure(says="0.4 s", source=OURS),
        "basic-memory": Figure(says="13 s", source=OURS),
    },
    "remember": {"agentmemory": Figure(says="77 ms", source=OURS)},
    "tools": {
        "agentmemory": Figure(says="54, 24 kB", source=OURS),
        "basic-memory": Figure(says="27, 68 kB", source=OURS),
    },
    "helps": {"vexp": Figure(says="cost −58 %, tool calls −90 %", source=_VEXP_COST)},
}
"""A figure that is missing here was searched for and not found; the page shows it as not published."""
