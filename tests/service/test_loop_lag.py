"""How late the event loop is, also while it is stuck."""

from radref.service.loop_lag import WINDOW_SECONDS, LoopLag


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_largest_delay_of_a_minute() -> None:
    clock = Clock()
    lag = LoopLag(clock)
    assert lag.seconds() == 0
    for delay in (0.0, 2.0, 0.5):
        lag.sleeping(0.5)
        clock.now += 0.5 + delay
        lag.woke()
    assert lag.seconds() == 2.0
    clock.now += WINDOW_SECONDS
    lag.sleeping(0.5)
    clock.now += 0.75
    lag.woke()
    assert lag.seconds() == 0.25


def test_a_loop_that_is_stuck_now() -> None:
    clock = Clock()
    lag = LoopLag(clock)
    lag.sleeping(0.5)
    clock.now += 0.25
    assert lag.seconds() == 0
    clock.now += 8.25
    assert lag.seconds() == 8.0
