"""Write notes like those that developers keep: English sentences with names of services, functions, files and people.

The n-th word of a list is drawn about 1/n as often as the first (Zipf). Names are put together from two or three words,
so that the vocabulary grows with the number of notes, as that of real notes does.
"""

import random
import re
from itertools import accumulate

NOUNS = """
    service test deploy build database request error user server config file cache token client queue job table release
    branch key log session worker migration endpoint field response index version script order account image message
    invoice customer report timeout retry limit pipeline secret password payment email webhook header cluster container
    schema column row query transaction lock backup certificate domain proxy firewall bucket object store stream event
    topic consumer producer partition offset batch schedule window export import upload download document template
    layout component button form page dialog menu list grid chart dashboard metric alert incident runbook owner team
    reviewer manager contractor vendor partner product article price discount tax currency cart basket checkout shipment
    parcel address country language translation locale timezone date calendar reminder holiday permission role policy
    scope group member invitation subscription plan trial quota budget cost license contract library package dependency
    framework compiler interpreter runtime thread process memory disk network socket port packet latency throughput load
    traffic peak outage failover replica shard leader follower election heartbeat snapshot restore archive retention
    audit trail signature checksum hash salt cipher vault credential rotation sandbox staging production preview canary
    flag experiment variant segment cohort funnel tracker pixel search filter sort cursor result ranking synonym
    suggestion spelling embedding model training dataset label feature vector prediction threshold accuracy drift
    fixture mock stub factory assertion coverage flake formatter linter hook commit tag merge rebase conflict review
    comment issue ticket milestone roadmap sprint notebook terminal shell editor plugin extension setting preference
    theme font icon color border margin sensor device firmware battery gateway meter reading unit interval sample buffer
    frame codec bitrate subtitle playlist episode chapter cover thumbnail banner newsletter campaign coupon voucher
    refund chargeback dispute ledger balance entry statement payout bank card wallet fraud risk score claim damage
    repair warehouse shelf pallet barcode scanner printer receipt drawer kiosk clinic patient appointment prescription
    doctor nurse ward bed school course lesson exam grade student teacher classroom loan fine seat booking flight gate
    luggage
"""
VERBS = """
    use run deploy build test check write read store send return fail retry load start stop call update delete create
    merge review release rotate cache log parse validate encode decode encrypt sign verify compress archive restore
    migrate rename move copy split join sort filter group count measure sample trace profile mock patch pin upgrade
    downgrade roll revert tag squash rebase publish subscribe consume produce queue schedule throttle limit block allow
    deny grant revoke expire refresh invalidate warm flush drain scale shrink grow replicate shard balance route proxy
    redirect rewrite render format lint compile bundle minify upload download import export sync poll stream batch lock
    unlock commit abort index query scan truncate drop alter seed anonymise mask redact notify alert page escalate
    document explain announce approve reject assign close reopen charge refund invoice ship pack print
"""
QUALITIES = """
    new old slow fast local remote shared internal external public private daily nightly weekly monthly manual automatic
    default optional required missing broken stale fresh empty full large small long short first last next previous
    single double parallel serial sync async safe unsafe strict loose legacy modern temporary permanent read-only
    primary secondary upstream downstream nested flat sparse dense hot cold idle busy signed unsigned encrypted plain
    compressed regional global european german swiss american verified pending active archived deprecated experimental
"""
PEOPLE = (
    "Ada Grace Linus Margaret Ken Barbara Dennis Radia Donald Frances Edsger Hedy Tim Annie Guido Shafi Bjarne Jean"
)
NUMBERS = "2 3 5 7 8 10 12 14 15 20 24 30 45 50 60 64 80 90 100 120 128 200 256 300 443 500 512 600 900 1000 1024 2000"
UNITS = "seconds minutes hours days times rows requests items megabytes percent retries workers"
FORMS = (
    "The {q} {n} must not {v} the {n} before the {n} of {name} has finished, because {person} saw the {n} {v} twice",
    "We {v} the {n} with {name} and never with the {q} {n}; the {n} takes {number} {unit} otherwise",
    "{person} decided that {name} should {v} {q} {n} settings in the {n}, so that the {n} can {v} without a {n}",
    "If the {n} of {name} fails, {v} the {q} {n} first, then {v} the {n} and wait {number} {unit} for the {n}",
    "{name} reads the {n} from {file}; {v} it there and not in the {q} {n}, or the {n} will {v} the {n}",
    "Use {name} when you {v} a {n}: the {q} {n} has a limit of {number} {unit}, and the {n} does not {v} it",
    "The {n} {n} broke on {name} since the {n} was {q}; {person} set the {n} to {number} {unit} and it could {v} again",
    "Every {n} in {file} needs the {q} {n} and a {n}, which {name} will {v} after {number} {unit} at the {n}",
    "Do not {v} {file} by hand, because {name} would {v} it from the {n} at the next {q} {n} of the {n}",
    "To {v} the {n} on the {q} {n}, call {name} with the {n} and the {n}, then {v} the {n} in the {n}",
)
QUESTION_FORMS = (
    "how do we handle the {} and the {} of {}?",
    "why does the {} {} fail with {}?",
    "what is the {} for the {} in {}?",
    "when should I set the {} and {} with {}?",
    "where does the {} get the {} of {}?",
    "who decided about the {} and the {} of {}?",
)
SLOT = re.compile(r"\{(\w*)\}")


class NoteWriter:
    """Writes notes and questions about them; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._words = {kind: words.split() for kind, words in _WORDS.items()}
        self._weights = {kind: _weigh(len(words)) for kind, words in self._words.items()}

    def write(self, count: int) -> list[str]:
        """Return notes of about twenty words."""
        return [SLOT.sub(lambda slot: self._fill(slot[1]), self._chance.choice(FORMS)) for _ in range(count)]

    def ask(self, note: str) -> str:
        """Return a question of six to nine words that shares three with a note, a name among them."""
        words = [word.strip(",;:") for word in note.split()]
        names = [word for word in words if re.search(r"[_/.-]|[a-z][A-Z]", word)]
        nouns = [word for word in words if word in _NOUNS]
        terms = [*self._chance.sample(nouns, 2), self._chance.choice(names)]
        return self._chance.choice(QUESTION_FORMS).format(*terms)

    def _fill(self, kind: str) -> str:
        match kind:
            case "name":
                return self._name()
            case "file":
                ending = self._chance.choice(("py", "ts", "yaml"))
                return f"{self._draw('n')}s/{self._draw('v')}_{self._draw('n')}.{ending}"
            case _:
                return self._draw(kind)

    def _name(self) -> str:
        """Return the name of a service, function, class, variable or ticket."""
        first, second, third = self._draw("v"), self._draw("n"), self._draw("n")
        names = (
            f"{second}-{third}", f"{first}_{second}", f"{first}_{second}_{third}", f"{second.title()}{third.title()}",
            f"{first}{second.title()}{third.title()}", f"{second}_{third}".upper(),
            f"{third[:3].upper()}-{self._chance.randrange(10_000)}",
        )  # fmt: skip
        return self._chance.choice(names)

    def _draw(self, kind: str) -> str:
        return self._chance.choices(self._words[kind], cum_weights=self._weights[kind])[0]


def _weigh(count: int) -> list[float]:
    return list(accumulate(1 / (place + 10) for place in range(count)))


_WORDS = {"n": NOUNS, "v": VERBS, "q": QUALITIES, "person": PEOPLE, "number": NUMBERS, "unit": UNITS}
_NOUNS = frozenset(NOUNS.split())
