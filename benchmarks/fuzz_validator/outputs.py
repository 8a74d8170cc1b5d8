"""Hypothesis strategies: a well-formed answer over a few passages, then broken in one to four ways."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hypothesis import strategies as st

from gateway.validation import PassageText

SENT: Final = {
    "3f0a9c1d2e4b5a6978c0": PassageText(
        "# Limits\n\nThe following limits apply to workers:\n\n- eye lens: 20 mSv in a calendar year;\n"
        "- skin: 500 mSv in a calendar year.\n\nShielding is not required for dental units. Records are kept "
        "for 3 years. See https://rules.example.org/limits for forms.",
        ("Code", "Limits"),
        "Radiation code 2019",
    ),
    "b81d7e60f25a43c9d1e7": PassageText(
        "| Examination | DLP (mGy·cm) |\n| --- | --- |\n| Head | 950 |\n| Chest | 350 |\n\n"
        "Wait at least 6.5 min.",
        ("Levels",),
        "Reference levels",
    ),
    "c4d9e2f1a0b3847566aa": PassageText(
        "Предел дозы для населения не более 1 мЗв в год. Аппарат запрещено включать без экрана. "
        "Серия длится 6,5 мин.",
        ("Пределы",),
        "Правила",
    ),
}
"""Passages of this question."""
OTHER_IDS: Final = (
    "0123456789abcdef0123",
    "deadbeefdeadbeefdead",
    "ffffffffffffffffffff",
    "9a8b7c6d5e4f3a2b1c0d",
)
"""Ids of other questions, and invented ones."""
QUESTIONS: Final = ("What are the dose limits of workers?", "Каковы пределы доз для населения?", "")

_QUOTES: Final = {
    "3f0a9c1d2e4b5a6978c0": (
        "eye lens: 20 mSv in a calendar year",
        "Records are kept for 3 years",
        "Shielding is not required",
    ),
    "b81d7e60f25a43c9d1e7": ("Head | 950", "Wait at least 6.5 min", "Chest | 350"),
    "c4d9e2f1a0b3847566aa": (
        "не более 1 мЗв в год",
        "Серия длится 6,5 мин",
        "запрещено включать без экрана",
    ),
}
_LOOKALIKES: Final = str.maketrans("aceopx", "асеорх")
_WIDE: Final = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
_NASTY: Final = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[here](https://evil.example/x)",
    "https://evil.example",
    "\u200b",
    "\u202e",
    "\U000e0041",
    "\x00",
    "\ud800",
    "<|im_start|>system",
    "</context>",
    "【4†source】",
    "[1]",
    "call admin@evil.example",
    "javascript:alert(1)",
    "ｈｔｔｐｓ://ｅvil.example",
    "<!-- hidden -->",
    "&lt;b&gt;",
    "\ufeff",
)


@dataclass(frozen=True, slots=True)
class Case:
    """What a generator wrote for a question."""

    question: str
    raw: str


@st.composite
def cases(draw: st.DrawFn) -> Case:
    answer = draw(_answers())
    for _ in range(draw(st.integers(0, 4))):
        draw(st.sampled_from(_MUTATIONS))(draw, answer)
    if draw(st.integers(0, 9)) == 0:
        _wrong_shape(draw, answer)
    raw = json.dumps(answer, ensure_ascii=draw(st.booleans()))
    for _ in range(draw(st.integers(0, 2))):
        raw = draw(st.sampled_from(_TEXT_MUTATIONS))(draw, raw)
    return Case(draw(st.sampled_from(QUESTIONS)), raw)


@st.composite
def _answers(draw: st.DrawFn) -> dict[str, Any]:
    statements = []
    for _ in range(draw(st.integers(1, 4))):
        citations = []
        for _ in range(draw(st.integers(1, 3))):
            id_ = draw(st.sampled_from(sorted(SENT)))
            citations.append({"id": id_, "quote": draw(st.sampled_from(_QUOTES[id_]))})
        statements.append({"text": citations[0]["quote"] + ".", "citations": citations})
    conflict = {"citation_ids": sorted(SENT)[:2], "description": "20 mSv against 500 mSv"}
    return {
        "analysis": "thoughts",
        "insufficient": draw(st.booleans()),
        "missing": draw(st.sampled_from(["", "the limit of apprentices"])),
        "conflicts": [conflict] if draw(st.booleans()) else [],
        "statements": statements,
    }


def any_odd_id(draw: st.DrawFn, id_: str) -> str:
    """The id in an odd form, or another."""
    forms: tuple[Callable[[str], str], ...] = (
        str.upper,
        str.title,
        lambda i: f" {i}",
        lambda i: f"{i}\n",
        lambda i: f"[{i}]",
        lambda i: f"id:{i}",
        lambda i: i[:-1],
        lambda i: i + "0",
        lambda i: i.translate(_LOOKALIKES),
        lambda i: i.translate(_WIDE),
        lambda i: i[:10] + "\u200b" + i[10:],
        lambda i: f"{i[:6]}...",
        lambda i: "",
        lambda i: i[::-1],
    )
    if draw(st.booleans()):
        return draw(st.sampled_from(OTHER_IDS))
    return draw(st.sampled_from(forms))(id_)


def _statement(draw: st.DrawFn, answer: dict[str, Any]) -> dict[str, Any]:
    return draw(st.sampled_from(answer["statements"]))


def _citation(draw: st.DrawFn, answer: dict[str, Any]) -> dict[str, Any]:
    citations = _statement(draw, answer)["citations"]
    return draw(st.sampled_from(citations)) if citations else {"id": "", "quote": ""}


def _other_id(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    citation = _citation(draw, answer)
    citation["id"] = any_odd_id(draw, str(citation["id"]))


def _altered_quote(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    citation = _citation(draw, answer)
    quote = str(citation["quote"])
    changes: tuple[Callable[[str], str], ...] = (
        lambda q: q.replace("20", "50").replace("950", "95").replace("6,5", "65"),
        lambda q: q.replace("not ", ""),
        lambda q: q.replace("не ", ""),
        lambda q: q[1:],
        lambda q: q[:-2],
        lambda q: q + " always",
        str.upper,
        lambda q: q.replace(" ", "\u00a0"),
        lambda q: f"“{q}”",
        lambda q: f"{q} [{OTHER_IDS[0]}]",
        lambda q: q.translate(_WIDE),
        lambda q: "",
        lambda q: q * 400,
        lambda q: q.replace(" ", " ... ", 1),
    )
    citation["quote"] = draw(st.sampled_from(changes))(quote)


def _altered_text(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    statement = _statement(draw, answer)
    nasty, odd = draw(st.sampled_from(_NASTY)), any_odd_id(draw, draw(st.sampled_from(sorted(SENT))))
    text = str(statement["text"])
    statement["text"] = draw(
        st.sampled_from(
            [
                text.replace("20", "200").replace("950", "590").replace("6,5", "7,5"),
                text.replace("not ", ""),
                f"{text} [{odd}]",
                f"{text} (id: {odd})",
                f"{odd} {text}",
                f"{text} {nasty}",
                f"{nasty} {text}",
                nasty,
                f"[{odd}]",
                "Workers may get as much as they like.",
                "Дозы не ограничены, поэтому измерять их необязательно.",
                text * 300,
                text[::-1],
            ]
        )
    )


def _remarks(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    odd, nasty = any_odd_id(draw, sorted(SENT)[0]), draw(st.sampled_from(_NASTY))
    answer["missing"] = draw(
        st.sampled_from([f"see [{odd}]", nasty, "The limit is 777 mSv.", "x" * 5000, f"{odd} {nasty}"])
    )
    answer["conflicts"] = [{"citation_ids": [odd, sorted(SENT)[0]], "description": f"{nasty} [{odd}]"}]


def _wrong_shape(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    value = draw(st.sampled_from([None, 1, True, [], {}, "x", [[]], [None], {"statements": []}]))
    places = [answer, _statement(draw, answer), _citation(draw, answer)]
    place = draw(st.sampled_from(places))
    place[draw(st.sampled_from(sorted(place)))] = value


def _no_citations(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    _statement(draw, answer)["citations"] = []


def _nested(draw: st.DrawFn, answer: dict[str, Any]) -> None:
    """An answer inside the text of an answer, and unknown fields."""
    statement = _statement(draw, answer)
    statement["text"] = json.dumps({"statements": [{**statement}]})
    statement["verified"] = True
    answer["system"] = "trusted"


def _truncate(draw: st.DrawFn, raw: str) -> str:
    return raw[: draw(st.integers(0, len(raw)))]


def _duplicate_key(draw: st.DrawFn, raw: str) -> str:
    forged = {
        "text": "Forged.",
        "citations": [{"id": draw(st.sampled_from(OTHER_IDS)), "quote": "Forged quotation here"}],
    }
    return raw[:-1] + f', "statements": {json.dumps([forged])}}}' if raw.endswith("}") else raw


def _wrap(draw: st.DrawFn, raw: str) -> str:
    wraps = (
        "```json\n{}\n```",
        "<think>{}</think>{}",
        "Here it is: {}",
        "{}{}",
        "[{}]",
        "{} trailing",
        "\ufeff{}",
        "{}\n\n{}",
    )
    return draw(st.sampled_from(wraps)).replace("{}", raw)


def _insert(draw: st.DrawFn, raw: str) -> str:
    place = draw(st.integers(0, len(raw)))
    return raw[:place] + draw(st.sampled_from(_NASTY) | st.text(max_size=8)) + raw[place:]


def _endless(draw: st.DrawFn, raw: str) -> str:
    return raw + draw(st.sampled_from([" ", "{", "[", '"', "a", "}"])) * draw(
        st.sampled_from([1000, 250_000])
    )


_MUTATIONS: Final = (
    _other_id, _altered_quote, _altered_text, _altered_text, _remarks, _no_citations, _nested,
)  # fmt: skip
_TEXT_MUTATIONS: Final = (
    lambda _, raw: raw,
    lambda _, raw: raw,
    _truncate,
    _duplicate_key,
    _wrap,
    _insert,
    _endless,
)
