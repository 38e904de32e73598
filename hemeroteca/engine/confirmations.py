"""What is asked twice: answers of devices that somebody must confirm before they count, as `fleet.trust` demands.

A visit that waits for another opinion keeps its lease and asks for its host once more. Another owner's device answers,
or the engine; then devices are judged, and the best answer goes on (`FleetAnswers.accept`).
"""

import random
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hemeroteca.engine.runs import Run
from hemeroteca.fetch import Result
from hemeroteca.fleet import agreement, coordinator, dispatch, services, signatures, trust
from hemeroteca.fleet.agreement import Fingerprint
from hemeroteca.fleet.dispatch import Lender, Verdict
from hemeroteca.fleet.models import Answer
from hemeroteca.frontier.robots import origin_of
from hemeroteca.frontier.visit import Visit
from hemeroteca.warc import Capture

if TYPE_CHECKING:
    from hemeroteca.engine.fleet_visits import FleetVisits
    from hemeroteca.engine.loop import Engine

MAX_KNOWN = 50_000  # hosts of which a confirmed answer is remembered
KNOWN_SECONDS = 1800.0  # that an answer is taken for known
SIGNED_SECONDS = 60.0  # for which the engine's own signature to a site is good
SUSPECTED = 20  # results of a device that gave another answer, all of which the engine checks
BLOCKED = (403, 451)  # a client's URL so answered is asked from no other country


@dataclass(eq=False)
class Voice:
    """What one party says of a URL; the engine has no lender."""

    lender: Lender | None
    result: Result
    fingerprint: Fingerprint
    leased_ms: int = 0  # when a device took the block it is of


@dataclass(eq=False)
class Question:
    """A visit whose answer somebody must confirm."""

    run: Run
    by_peer: bool
    voices: list[Voice] = field(default_factory=list)
    at_home: bool = False  # only the country that answered may be asked


class Confirmations:
    def __init__(self, engine: "Engine", fleet: "FleetVisits", signer: signatures.Signer | None) -> None:
        self._engine = engine
        self._fleet = fleet
        self._signer = signer
        self._questions: dict[Visit, Question] = {}
        self._to_peers: list[Visit] = []  # handed out again, to be confirmed by a device
        self._caught_ms: dict[int, int] = {}  # device → when it was: what it took before earns it nothing
        self._suspects: Counter[int] = Counter()  # device → how many of its results are still checked for that
        self._known: OrderedDict[int, tuple[str, Fingerprint, float]] = OrderedDict()  # host → URL, answer, until when
        self.reputations: dict[tuple[int, str], trust.Reputation] = {}  # of a device with a version of its worker
        self.verdicts: list[Verdict] = []  # since the last commit

    def __contains__(self, visit: Visit) -> bool:
        return visit in self._questions

    def asked(self, visits: list[Visit]) -> list[Lender]:
        """Devices that have said what they saw of these."""
        voices = [voice for visit in visits if visit in self._questions for voice in self._questions[visit].voices]
        return [voice.lender for voice in voices if voice.lender is not None]

    # asking

    def begin(self, visit: Visit) -> None:
        """Its host may be asked: by another device, or by the engine."""
        question = self._questions[visit]
        run = question.run
        if run.options.for_fleet and (closed := self._fleet.rules.refused(visit, run, origin_of(visit.url))):
            self.drop(visit)  # its owner closed it meanwhile: nobody asks again to confirm anything
            self._engine.visits.exclude(visit, closed)
        elif run.is_over:
            self.drop(visit)
            if visit.lease is not None:
                visit.lease.give_back(visit)
        elif question.by_peer and self._peer(question) is not None:
            self._to_peers.append(visit)
        elif question.at_home:
            self._leave_it(visit)
        else:
            self._ask_ourselves(visit, question)

    def send(self) -> None:
        """Those to be confirmed by another device go out, together."""
        waiting, self._to_peers = self._to_peers, []
        by_peer: dict[tuple[int, str, str], tuple[Lender, list[Visit]]] = {}
        for visit in waiting:
            question = self._questions.get(visit)
            if question is None:
                continue
            peer = self._peer(question)
            if peer is None:
                question.by_peer = False
                self.begin(visit)
            else:
                kind = peer.id, question.run.activity, question.run.options.category
                by_peer.setdefault(kind, (peer, []))[1].append(visit)
        for (_, activity, _), (peer, visits) in by_peer.items():
            most = max(1, min(self._fleet.lenders.settings.max_block, peer.room))
            for start in range(0, len(visits), most):
                self._fleet.blocks.send(visits[start : start + most], activity, time.time(), peer)

    def ask_engine(self, visit: Visit, at: float = 0.0) -> bool:
        """A check that no device made is the engine's: a device that lives and takes nothing must not have the answers
        of others thrown away. False: there is none to be made."""
        question = self._questions.get(visit)
        if question is None or visit.lease is None or question.run.stopping:
            self.drop(visit)
            return False
        question.by_peer = False
        visit.lease.again(visit, at)
        return True

    def drop(self, visit: Visit) -> None:
        """Nobody needs to confirm it any more."""
        question = self._questions.pop(visit, None)
        for voice in question.voices if question is not None else ():
            voice.result.body.discard()

    def _peer(self, question: Question) -> Lender | None:
        """Another owner's device on another network; in the same country where there is one."""
        first = question.voices[0].lender
        assert first is not None
        able = [
            one
            for one in self._fleet.lenders.willing(question.run.activity, question.run.options.category)
            if one.owner != first.owner and (one.network != first.network or not first.network)
        ]
        near = [one for one in able if one.country == first.country and (one.country or not question.at_home)]
        near = near if question.at_home else near or able
        return min(near, key=lambda one: (one.pending, one.id)) if near else None

    def _ask_ourselves(self, visit: Visit, question: Question) -> None:
        question.by_peer = False
        request = self._engine.visits.request(visit, question.run)
        request.headers = (*request.headers, *self._as_a_device(visit))
        if visit.followed and not question.run.options.for_fleet:
            request.etag, request.last_modified = visit.etag, visit.last_modified
        self._engine.fetcher.submit(request, self._engine_answered)

    def _as_a_device(self, visit: Visit) -> list[tuple[str, str]]:
        """The headers by which a site knows the fleet: a page may depend on who asks."""
        named = [("User-Agent", coordinator.agent())]
        if self._signer is not None:
            named += self._signer.sign(origin_of(visit.url).partition("://")[2], time.time(), SIGNED_SECONDS)
        return named

    def _ask_again(self, visit: Visit, result: Result, run: Run) -> None:
        """The visit keeps its lease and asks for its host once more, when that may be asked."""
        lease = visit.lease
        assert lease is not None
        now = time.time()
        wait = self._engine.visits.wait_after(visit, result, run, now)
        lease.answered(visit, now + wait, wait)
        lease.again(visit, now + wait)

    # answers

    def take(self, visit: Visit, run: Run, lender: Lender, result: Result, leased_ms: int) -> bool:
        """A device's answer: the first to a visit, or the second. False: it must be checked, and its crawl is stopped,
        so that nobody will."""
        if visit in self._questions:
            self._second(visit, lender, result, leased_ms)
            return True
        check = self._check(lender)
        if check is trust.Check.NONE:
            self._judge(lender, visit, result, Answer.Verdict.UNCHECKED)
            self._fleet.answers.accept(visit, result, [lender], checked=False)
            return True
        if run.is_over:
            return False
        at_home = bool(run.options.job) and result.status in BLOCKED
        voice = Voice(lender, result, agreement.fingerprint(Capture.fetched(visit.url, result)), leased_ms)
        self._questions[visit] = question = Question(run, check is trust.Check.PEER or at_home, [voice], at_home)
        if at_home and self._peer(question) is None:
            self._leave_it(visit)
        else:
            self._ask_again(visit, result, run)
        return True

    def _check(self, lender: Lender) -> trust.Check:
        """Who must confirm what a device says now."""
        check = trust.check_for(self._reputation(lender), random.random())  # noqa: S311 - not the device's seed
        if self._suspects[lender.id] > 0:
            self._suspects[lender.id] -= 1
            return trust.Check.AUDIT
        return trust.Check.NONE if lender.trusted and check is trust.Check.PEER else check

    def _second(self, visit: Visit, lender: Lender, result: Result, leased_ms: int) -> None:
        question = self._questions[visit]
        found = agreement.fingerprint(Capture.fetched(visit.url, result))
        question.voices.append(Voice(lender, result, found, leased_ms))
        first, second = question.voices[0], question.voices[1]
        if agreement.agree(first.fingerprint, second.fingerprint):
            self._settle(visit, {id(first): Answer.Verdict.VALID, id(second): Answer.Verdict.VALID}, first)
        elif question.at_home:
            self._leave_it(visit)
        else:
            question.by_peer = False
            self._ask_again(visit, result, question.run)

    def _engine_answered(self, result: Result) -> None:
        """The engine asked itself. Where it disagrees it asks twice: the page may differ by itself. Where each of three
        was shown something else, the page depends on where one asks from, and nobody is blamed either."""
        visit: Visit = result.request.tag
        question = self._questions.get(visit)
        if question is None or visit.lease is None or question.run.id not in self._engine.runs:
            self._questions.pop(visit, None)
            result.body.discard()
            return
        if not result.status:
            self.drop(visit)
            self._engine.visits.answered(visit, result)
            return
        voice = Voice(None, result, agreement.fingerprint(Capture.fetched(visit.url, result)))
        question.voices.append(voice)
        own = [one for one in question.voices if one.lender is None]
        theirs = [one for one in question.voices if one.lender is not None]
        right = {id(one): any(agreement.agree(one.fingerprint, mine.fingerprint) for mine in own) for one in theirs}
        if all(right.values()) and theirs:
            self._remember(visit, voice.fingerprint)
            self._settle(visit, dict.fromkeys(right, Answer.Verdict.VALID), theirs[0])
        elif len(own) < 2:
            self._ask_again(visit, result, question.run)
        else:
            stable = agreement.agree(own[0].fingerprint, own[1].fingerprint)
            alone = len(theirs) < 2 or any(right.values())  # two that said the same were believed before
            wrong = Answer.Verdict.INVALID if stable and alone else Answer.Verdict.OPEN
            verdicts = {one: Answer.Verdict.VALID if good else wrong for one, good in right.items()}
            best = next((one for one in theirs if right[id(one)]), own[-1])
            self._settle(visit, verdicts, best)

    def _settle(self, visit: Visit, verdicts: dict[int, Answer.Verdict], best: Voice) -> None:
        """All is said of a visit: devices are judged, and the best answer goes on."""
        question = self._questions.pop(visit)
        good = []
        for voice in question.voices:
            if voice.lender is None:
                continue
            verdict = verdicts[id(voice)]
            others = [one.lender for one in question.voices if one is not voice]
            audited = any(one is None or one.trusted for one in others)
            old = voice.leased_ms <= self._caught_ms.get(voice.lender.id, -1)
            self._judge(voice.lender, visit, voice.result, verdict, audited, old)
            if verdict == Answer.Verdict.VALID:
                good.append(voice.lender)
        for voice in question.voices:
            if voice is not best:
                voice.result.body.discard()
        self._fleet.answers.accept(visit, best.result, good, checked=True)

    def _leave_it(self, visit: Visit) -> None:
        """Nobody else may be asked: the first answer counts, unchecked where there is no other."""
        question = self._questions.pop(visit)
        first, *others = question.voices
        for voice in question.voices:
            if voice.lender is not None:
                verdict = Answer.Verdict.OPEN if others else Answer.Verdict.UNCHECKED
                self._judge(voice.lender, visit, voice.result, verdict)
        for voice in others:
            voice.result.body.discard()
        devices = [first.lender] if first.lender is not None else []
        self._fleet.answers.accept(visit, first.result, devices, checked=False)

    # verdicts

    def _judge(
        self,
        lender: Lender,
        visit: Visit,
        result: Result,
        verdict: Answer.Verdict,
        audited: bool = False,
        old: bool = False,
    ) -> None:
        place = lender.id, lender.version
        reputation = self._reputation(lender)
        if verdict == Answer.Verdict.VALID:
            self.reputations[place] = reputation.confirmed(old)
        elif verdict == Answer.Verdict.INVALID:
            self._caught_ms[lender.id] = services.now_ms()
            self.reputations[place] = reputation.refuted()
            lender.slowed = True
        self.verdicts.append(
            Verdict(
                device=lender.id,
                version=lender.version,
                crawl=visit.crawl,
                key=visit.key,
                status=result.status,
                size=result.body.size,
                verdict=verdict,
                audited=audited,
                checks=self.reputations[place].valid,
            )
        )

    def _reputation(self, lender: Lender) -> trust.Reputation:
        place = lender.id, lender.version
        if place not in self.reputations:
            self.reputations[place] = dispatch.reputations([lender]).get(place, trust.Reputation())
        return self.reputations[place]

    # probes: pages whose answer is known, asked of devices now and then

    def known(self, host: int, now: float) -> tuple[str, Fingerprint] | None:
        """A URL of the host and what it answers."""
        found = self._known.get(host)
        return found[:2] if found is not None and found[2] >= now else None

    def probed(self, lender: Lender, known: Fingerprint, url: str, result: Result | None) -> None:
        """A device was asked for a page whose answer is known."""
        if result is None or not result.status:
            return
        if not agreement.agree(agreement.fingerprint(Capture.fetched(url, result)), known):
            self._suspects[lender.id] = SUSPECTED
        result.body.discard()

    def _remember(self, visit: Visit, answer: Fingerprint) -> None:
        self._known[visit.host] = visit.url, answer, time.time() + KNOWN_SECONDS
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
