"""Which feedback is accepted. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import replace

from gateway.audit.model import Feedback
from gateway.sources import is_citation_id
from radref.errors import InvalidInput

MAX_COMMENT_CHARACTERS = 4000
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LINE_END = re.compile(r"\r\n?|[\x85\u2028\u2029]")


def is_request_id(value: str) -> bool:
    """Whether a request can have this id."""
    return _REQUEST_ID.fullmatch(value) is not None


def accepted_feedback(feedback: Feedback) -> Feedback:
    """The feedback with its comment trimmed, its line ends as \\n, and citation ids in lower case.

    Raises:
        InvalidInput: OUT_OF_RANGE (a mark that is not 1-5), INVALID_FIELD (a criterion or passage twice, a
            citation id that is none, control characters in the comment, nothing in it), TEXT_TOO_LONG.
    """
    criteria: set[str] = set()
    for index, (criterion, mark) in enumerate(feedback.ratings):
        if criterion in criteria:
            raise InvalidInput(f"{criterion} is marked twice", field=f"ratings[{index}].criterion")
        criteria.add(criterion)
        _check_mark(mark, f"ratings[{index}].rating")
    passages: dict[str, int] = {}
    for index, (given, mark) in enumerate(feedback.passages):
        citation_id, field = given.strip().lower(), f"passages[{index}].citation_id"
        if not is_citation_id(citation_id):
            raise InvalidInput("a citation id has 20 hexadecimal digits, as answers show it", field=field)
        if citation_id in passages:
            raise InvalidInput(f"passage {citation_id} is marked twice", field=field)
        _check_mark(mark, f"passages[{index}].usefulness")
        passages[citation_id] = mark
    comment = _comment(feedback.comment)
    if not (feedback.ratings or passages or comment):
        raise InvalidInput("the feedback is empty: give a mark or a comment", field="ratings")
    return replace(feedback, passages=tuple(passages.items()), comment=comment)


def check_passages(feedback: Feedback, returned: Collection[str]) -> None:
    """Makes sure that only passages are marked that the request returned.

    Raises:
        InvalidInput: INVALID_FIELD.
    """
    for index, (citation_id, _) in enumerate(feedback.passages):
        if citation_id not in returned:
            raise InvalidInput(
                f"the request did not return passage {citation_id}", field=f"passages[{index}].citation_id"
            )


def _check_mark(mark: int, field: str) -> None:
    if not 1 <= mark <= 5:
        raise InvalidInput("a mark is 1 (worst) to 5 (best)", reason="OUT_OF_RANGE", field=field)


def _comment(text: str) -> str:
    if len(text) > MAX_COMMENT_CHARACTERS:
        raise InvalidInput(
            f"the comment has {len(text)} characters; at most {MAX_COMMENT_CHARACTERS} are kept",
            reason="TEXT_TOO_LONG",
            field="comment",
            metadata={"limit": str(MAX_COMMENT_CHARACTERS)},
        )
    comment = _LINE_END.sub("\n", text).strip()
    if any(unicodedata.category(character) == "Cc" and character not in "\n\t" for character in comment):
        raise InvalidInput("the comment holds control characters", field="comment")
    return comment
