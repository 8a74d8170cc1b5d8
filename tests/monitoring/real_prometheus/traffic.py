"""What people do in an hour, in a few seconds: answers, abstentions, refusals and overload."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from radref.errors import InvalidInput, NotFound, Overloaded, Unauthenticated
from tests.e2e.secured_stack import Secured

ANSWERED = "How much may the eyes of an adult radiographer receive per year?"
UNANSWERED = "What is the parking fee for visitors of the MRI department?"
# More than the settings of the test have places for.
AT_ONCE = 12


async def some_traffic(stack: Secured) -> None:
    """One round of everything."""
    async with stack.client("reader", "curator", "admin") as client:
        answer = await client.generate(ANSWERED)
        await client.generate(UNANSWERED)
        async for _ in client.stream_generate(ANSWERED):
            pass
        await client.search("dose limit")
        await client.get_source(answer.ranked_parents[0].passage.citation_id)
        async for _ in client.kb.list_audit_events():
            break
        with suppress(InvalidInput):
            await client.search("")
        with suppress(NotFound):
            await client.get_source("0" * 20)
        with suppress(InvalidInput, NotFound):
            await client.kb.get_document("no-such-document")
        await asyncio.gather(*(_overload(client.search("dose")) for _ in range(AT_ONCE)))
    async with stack.client() as nobody:
        with suppress(Unauthenticated):
            await nobody.search("dose limit")


async def _overload(call: object) -> None:
    with suppress(Overloaded):
        await call  # type: ignore[misc]
