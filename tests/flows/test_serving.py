"""How the loop of `bufferhouse serve` ends."""

import asyncio

from flows import serving


def test_a_loop_is_ended_once():
    """A second Ctrl-C while it ends does nothing: Prefect's threads would wait for good. Afterwards each ends."""
    ended: list[int] = []

    async def run() -> None:
        for number in range(3):
            serving._between_steps(lambda number=number: ended.append(number))
        await asyncio.sleep(0)

    for _ in range(2):
        asyncio.run(run())
    assert [0, 0] == ended
    serving._between_steps(lambda: ended.append(3))
    assert [0, 0, 3] == ended
