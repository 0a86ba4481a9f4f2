"""The virtual clock: timers fire in the order of their times, without real waiting."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from support.timing import within

from gotlang.models.loops import VirtualTimeLoop
from gotlang.session import run_to_end

T = TypeVar("T")
HOUR = 3600.0


def run(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(main)


def now() -> float:
    return asyncio.get_running_loop().time()


def test_a_thousand_hours_pass_at_once() -> None:
    async def main() -> float:
        for _ in range(1000):
            await asyncio.sleep(HOUR)
        return now()

    assert within(5, lambda: run(main())) == pytest.approx(1000 * HOUR)


def test_sleeps_side_by_side_take_as_long_as_the_longest() -> None:
    async def main() -> tuple[float, list[int]]:
        ended: list[int] = []

        async def sleeper(number: int) -> None:
            await asyncio.sleep((number * 7919) % 1000 + 1)
            ended.append(number)

        await asyncio.gather(*(sleeper(i) for i in range(1000)))
        return now(), ended

    elapsed, ended = run(main())
    assert elapsed == pytest.approx(1000)
    assert ended == sorted(range(1000), key=lambda number: (number * 7919) % 1000)


def test_timeouts_are_virtual() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(HOUR):
                await asyncio.sleep(2 * HOUR)
        async with asyncio.timeout(HOUR):
            await asyncio.sleep(HOUR / 2)
        return now()

    assert run(main()) == pytest.approx(1.5 * HOUR)


def test_call_later_is_virtual_and_can_be_cancelled() -> None:
    async def main() -> list[tuple[str, float]]:
        loop = asyncio.get_running_loop()
        calls: list[tuple[str, float]] = []
        loop.call_later(20, lambda: calls.append(("late", loop.time())))
        loop.call_later(10, lambda: calls.append(("early", loop.time())))
        loop.call_later(15, lambda: calls.append(("never", loop.time()))).cancel()
        await asyncio.sleep(30)
        return calls

    assert run(main()) == [("early", pytest.approx(10)), ("late", pytest.approx(20))]


def test_what_is_ready_goes_before_the_clock() -> None:
    async def main() -> float:
        waiting = asyncio.create_task(asyncio.sleep(HOUR))
        for _ in range(100):
            await asyncio.sleep(0)
        before = now()
        await waiting
        return before

    assert run(main()) == 0


def test_threads_and_sockets_still_work() -> None:
    async def main() -> tuple[int, bytes]:
        return await asyncio.to_thread(sum, [1, 2, 3]), await send()

    assert run(main()) == (6, b"hello")


def test_a_file_that_is_ready_goes_before_the_clock() -> None:
    async def main() -> tuple[bytes, float]:
        waiting = asyncio.create_task(asyncio.sleep(HOUR))
        received, after = await send(), now()
        await waiting
        return received, after

    assert run(main()) == (b"hello", 0)


async def send() -> bytes:
    """Five bytes through a pair of sockets, the reader waiting before they are written."""
    left, right = socket.socketpair()
    with left, right:
        left.setblocking(False)
        right.setblocking(False)
        loop = asyncio.get_running_loop()
        reading = asyncio.create_task(loop.sock_recv(right, 5))
        await asyncio.sleep(0)
        await loop.sock_sendall(left, b"hello")
        return await reading


def test_a_cancelled_sleeper_leaves_nothing_behind() -> None:
    async def main() -> float:
        task = asyncio.create_task(asyncio.sleep(HOUR))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return now()

    assert run(main()) == pytest.approx(1)


def test_threads_are_given_time_to_end() -> None:
    """Python 3.12 and later join threads with a time-out, which must not run on the virtual clock."""
    ended: list[bool] = []

    def work() -> None:
        time.sleep(0.05)
        ended.append(True)

    async def main() -> None:
        asyncio.get_running_loop().run_in_executor(None, work)

    run(main())
    assert ended


@pytest.mark.parametrize("virtual", [False, True])
def test_nobody_asks_a_result_for_its_text(virtual: bool) -> None:
    asked = []

    class Result:
        """One whose text takes long, as an evaluation's does, which has the intervals of its metrics."""

        def __repr__(self) -> str:
            asked.append(self)
            return "a result"

    async def work() -> Result:
        return Result()

    assert isinstance(run_to_end(work(), virtual=virtual), Result)
    assert not asked
