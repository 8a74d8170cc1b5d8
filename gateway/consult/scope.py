"""What denies, suspects or dates a mention: the words around it.

The rules are those of ConText (Harkema et al., J Biomed Inform 2009; NegEx before it): a cue reaches over the
words after or before it until something ends its scope. The cues are data (`terminology/cues.yaml`). Added
for notes of referrers: a denial reaches over a list ("denies fever, weight loss or bladder symptoms"), and
ends where an item of the list tells something of its own ("no fever, back pain for 3 weeks").
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.consult.phrases import Found, PhraseBook
from gateway.consult.terminology.model import Cue
from gateway.consult.words import Kind, Word, key_of

# How far a cue reaches backwards, words: "fever and rigors are absent".
_REACH_BACK = 5


_FORWARD = frozenset(
    {
        Cue.NEGATES_AFTER,
        Cue.SUSPECTS_AFTER,
        Cue.HISTORY_AFTER,
        Cue.HISTORY_LIST,
        Cue.CONFIRMS_AFTER,
        Cue.OTHER_PERSON,
        Cue.FAMILY_LIST,
        Cue.HYPOTHETICAL,
    }
)
# Of a list: "denies fever, weight loss"; "PMH: asthma, migraine". "Previous stroke, headache" is none.
_OVER_LISTS = frozenset({Cue.NEGATES_AFTER, Cue.HISTORY_LIST, Cue.FAMILY_LIST, Cue.HYPOTHETICAL})
_BACKWARD = frozenset({Cue.NEGATES_BEFORE, Cue.SUSPECTS_BEFORE, Cue.HISTORY_BEFORE, Cue.CONFIRMS_BEFORE})
_HISTORY = frozenset({Cue.HISTORY_AFTER, Cue.HISTORY_LIST, Cue.HISTORY_BEFORE})
_DENIES = frozenset(map(key_of, ("denies", "negates")))
_OTHERS = frozenset({Cue.OTHER_PERSON, Cue.FAMILY_LIST})
_LIST_MARKS = (",", "(", ")", ":")


class Polarity(StrEnum):
    """Whether it is so; names as in gateway.v1.FactPolarity."""

    PRESENT = "present"
    ABSENT = "absent"
    SUSPECTED = "suspected"
    HISTORICAL = "historical"


@dataclass(frozen=True, slots=True)
class _Place:
    cue: Cue
    first: int
    last: int


class Scopes:
    """The cues of one text."""

    def __init__(self, words: Sequence[Word], book: PhraseBook[Cue]) -> None:
        self._words = words
        self._cues = _longest(book.find(words))

    def polarity(
        self, first: int, last: int, mentioned: Collection[int], *, asked: bool = True, gapped: bool = True
    ) -> Polarity | None:
        """Of a mention of words [first, last]; None = it is said of another person.

        Args:
            asked: a question mark behind it makes it a suspicion ("PE?"); not of a complaint, about which a
                question is asked ("imaging for back pain?").
            gapped: other words stand between its own, of which one may deny it ("lost no weight"); without
                a gap the denial is a part of the name ("radiograph showed no fracture").
            mentioned: words of the other mentions; a cue that reaches back jumps over another mention only
                where "and" or "or" joins the two.
        """
        before = [
            place
            for place in self._cues
            # "never had this before": a cue may share its last word with what it denies.
            if place.first < first and (first <= place.last <= last or self._reaches(place, first))
        ]
        after = [
            place for place in self._cues if place.first > last and self._reached_back(place, last, mentioned)
        ]
        if gapped and any(
            place.cue is Cue.NEGATES_AFTER and first < place.first and place.last < last
            for place in self._cues
        ):
            # "lost no weight": the denial stands inside.
            return Polarity.ABSENT
        if not asked:
            after = [place for place in after if self._words[place.first].key != "?"]
        kinds = {place.cue for place in (*before, *after)}
        if kinds & _OTHERS or Cue.HYPOTHETICAL in kinds:
            return None
        if self._may_be_anothers(first) and not kinds:
            return Polarity.SUSPECTED
        if Cue.SUSPECTS_AFTER in kinds or Cue.SUSPECTS_BEFORE in kinds:
            denied = max((p.last for p in before if p.cue is Cue.NEGATES_AFTER), default=-1)
            suspected = max((p.last for p in before if p.cue is Cue.SUSPECTS_AFTER), default=-1)
            if denied <= suspected or denied < 0:
                return Polarity.SUSPECTED
        if Cue.NEGATES_AFTER in kinds or Cue.NEGATES_BEFORE in kinds:
            return Polarity.ABSENT
        if kinds & _HISTORY:
            return Polarity.HISTORICAL
        return Polarity.PRESENT

    def _may_be_anothers(self, first: int) -> bool:
        """Another person stands before it, a comma away: "Wife, 15 weeks pregnant, drove him"."""
        words = self._words
        return any(
            place.cue is Cue.OTHER_PERSON
            and place.last < first
            and words[place.last].sentence == words[first].sentence
            and not any(self._is(index, Cue.THE_PATIENT) for index in range(place.last + 1, first))
            and sum(words[index].key == "," for index in range(place.last + 1, first)) == 1
            for place in self._cues
        )

    def is_confirmed(self, first: int, last: int) -> bool:
        """Whether the words around a mention say that it is no suspicion any more."""
        return any(
            (place.cue is Cue.CONFIRMS_AFTER and place.last < first and self._reaches(place, first))
            or (
                place.cue is Cue.CONFIRMS_BEFORE
                and place.first > last
                and self._reached_back(place, last, frozenset())
            )
            for place in self._cues
        )

    def denied_at_once(self, first: int) -> bool:
        """Whether a denial stands directly before word `first` ("not afebrile")."""
        return any(place.cue is Cue.NEGATES_AFTER and place.last == first - 1 for place in self._cues)

    def _reaches(self, place: _Place, first: int) -> bool:
        """Whether a cue before a mention reaches it."""
        words = self._words
        if (
            place.last >= first
            or place.cue not in _FORWARD
            or words[place.last].sentence != words[first].sentence
        ):
            return False
        if words[place.last].kind is Kind.MARK and words[place.last].key == "?":
            # "?PE" asks for the very next words.
            return first == place.last + 1
        between = range(place.last + 1, first)
        # "Mother had a stroke": what she has is hers; it ends where the patient is spoken of again.
        ends = {Cue.THE_PATIENT} if place.cue in _OTHERS else {Cue.ENDS_SCOPE}
        if place.cue in (Cue.NEGATES_AFTER, Cue.SUSPECTS_AFTER):
            ends.add(Cue.ENDS_DENIAL)
        # One that begins inside the cue is its own: "never had a".
        if any(other.cue in ends and place.last < other.first < first for other in self._cues):
            return False
        marks = [index for index in between if words[index].key in _LIST_MARKS]
        if any(self._takes_over(other, place, first, marks) for other in self._cues):
            return False
        if marks and place.cue not in _OVER_LISTS:
            return False
        return all(self._goes_on(mark, place) for mark in marks)

    def _takes_over(self, other: _Place, place: _Place, first: int, marks: Sequence[int]) -> bool:
        """Whether a cue between the two says something else: "no fever, history of cancer"."""
        words = self._words
        if (
            other.cue not in _FORWARD - {Cue.CONFIRMS_AFTER}
            or other.cue is place.cue
            or not place.last < other.first < first
        ):
            return False
        if words[place.first].key in _DENIES and other.cue in _HISTORY:
            # In a list of what is denied, "hx breast cancer" is too.
            return False
        if place.cue is Cue.NEGATES_AFTER and other.cue in _HISTORY:
            # "denies a history of cancer" denies.
            return any(place.last < mark < other.first for mark in marks)
        return True

    def _goes_on(self, mark: int, place: _Place) -> bool:
        """Whether the item behind a comma still belongs to the list that a cue began."""
        words = self._words
        if words[mark].key == ":":
            return mark == place.last + 1
        for index in range(mark + 1, len(words)):
            if words[index].kind is Kind.BREAK or words[index].key in _LIST_MARKS:
                return True
            if words[index].kind is Kind.NUMBER or self._is(index, Cue.ENDS_SCOPE, Cue.OWN_STATEMENT):
                return False
        return True

    def _is(self, index: int, *cues: Cue) -> bool:
        return any(place.cue in cues and place.first <= index <= place.last for place in self._cues)

    def _reached_back(self, place: _Place, last: int, mentioned: Collection[int]) -> bool:
        """Whether a cue behind a mention reaches it."""
        words = self._words
        if place.cue not in _BACKWARD or words[place.first].sentence != words[last].sentence:
            return False
        between = range(last + 1, place.first)
        if len(between) > (0 if words[place.first].key == "?" else _REACH_BACK):
            return False
        if len(between) == 1 and words[between[0]].key == ":":
            # "Haemoptysis: none".
            return True
        joined = any(words[index].key in ("and", "or", "/") for index in between)
        return not any(
            words[index].key in (*_LIST_MARKS, ";")
            or self._is(index, *_FORWARD)
            or words[index].key in ("but", "howev", "although", "with")
            or (index in mentioned and not joined)
            for index in between
        )


def _longest(found: Sequence[Found[Cue]]) -> list[_Place]:
    places = [_Place(hit.value, hit.first, hit.last) for hit in found]
    return [
        place
        for place in places
        if not any(
            other.first <= place.first
            and place.last <= other.last
            and (other.last - other.first) > (place.last - place.first)
            for other in places
        )
    ]
