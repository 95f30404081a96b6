"""The time that a refresh takes by itself, measured in a crowd."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from headwater.refresh.crowd import Crowd


class Wall:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_alone_it_is_the_time_on_the_wall() -> None:
    wall = Wall()
    crowd = Crowd(wall)
    for _ in range(2):
        with crowd.joined(2) as own:
            wall.now += 3
            assert own() == pytest.approx(3)
        wall.now += 50


@pytest.mark.parametrize(("processors", "expected"), [(1, 2.0), (2, 4.0), (4, 8.0), (100, 8.0)])
def test_four_at_once_share_the_processors(processors: int, expected: float) -> None:
    wall = Wall()
    crowd = Crowd(wall)
    with ExitStack() as stack:
        told = [stack.enter_context(crowd.joined(processors)) for _ in range(4)]
        wall.now += 8
        assert [own() for own in told] == pytest.approx([expected] * 4)


def test_each_stretch_counts_with_those_that_ran_in_it() -> None:
    wall = Wall()
    crowd = Crowd(wall)
    with crowd.joined(1) as own:
        wall.now += 1
        with crowd.joined(1) as late:
            wall.now += 4
            assert late() == pytest.approx(2)
        wall.now += 1
        assert own() == pytest.approx(1 + 2 + 1)


def test_a_failed_refresh_leaves_the_crowd() -> None:
    wall = Wall()
    crowd = Crowd(wall)
    with pytest.raises(RuntimeError), crowd.joined(1):
        raise RuntimeError
    with crowd.joined(1) as own:
        wall.now += 5
        assert own() == pytest.approx(5)
