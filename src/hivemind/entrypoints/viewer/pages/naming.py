"""Erase by description: everything that names something, what of it goes, and the receipt."""

import hashlib

from starlette.responses import Response

from hivemind.entrypoints.viewer.request import Right, Visit
from hivemind.errors import InvalidInput
from hivemind.model.reports import Mentions

SHOWN = 100
"""Lines of each sort that can be left out one by one."""
KEEP = "keep-"


def page(visit: Visit) -> Response:
    """What names something; nothing is changed."""
    visit.must(Right.ERASE)
    about = visit.asked.get("about", "").strip()
    mentions = visit.mind.erasures.find_mentions(about) if about else None
    return visit.page(
        "naming.html", about=about, mentions=mentions, shown=SHOWN, seen=_digest(mentions) if mentions else ""
    )


def erase(visit: Visit) -> Response:
    """Destroy what was on the list and is not left out; the answer is the receipt."""
    visit.must(Right.ERASE)
    about = visit.form.get("about", "").strip()
    mentions = visit.mind.erasures.find_mentions(about)
    if _digest(mentions) != visit.form.get("seen", ""):
        raise InvalidInput("what names it has changed since you looked; look again before you erase")
    left_out = [name.removeprefix(KEEP) for name in visit.form if name.startswith(KEEP)]
    receipt = visit.mind.erasures.erase_mentions(
        about, mentions=mentions, left_out=left_out, reason=visit.form.get("reason", "").strip()
    )
    return visit.page("erased.html", receipt=receipt)


def _digest(mentions: Mentions) -> str:
    """Stands for a list, so that only what somebody has seen is erased."""
    return hashlib.sha256("\n".join(one.id for one in mentions.found).encode()).hexdigest()
