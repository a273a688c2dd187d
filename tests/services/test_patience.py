from threading import Event

import pytest

from articles.services.patience import Patience, TooLateError


def test_answer_and_error_of_the_call_are_given():
    patience = Patience()
    assert patience.call(lambda: 7, 10) == 7
    with pytest.raises(ZeroDivisionError):
        patience.call(lambda: 1 / 0, 10)


def test_call_that_takes_too_long_is_left_alone_and_nobody_waits_behind_it():
    patience, end, ran = Patience(), Event(), []
    with pytest.raises(TooLateError, match=r"within 0\.01 s"):
        patience.call(lambda: end.wait(60), 0.01)
    with pytest.raises(TooLateError, match="not done yet"):
        patience.call(lambda: ran.append("behind it"), 60)
    end.set()
    assert patience._late.result(60) is True
    assert patience.call(lambda: "again", 60) == "again"
    assert ran == []


def test_call_that_had_to_wait_for_another_is_dropped():
    patience, begun, end, ran = Patience(), Event(), Event(), []

    def first_call() -> bool:
        begun.set()
        return end.wait(60)

    first = patience._pool.submit(first_call)
    assert begun.wait(60)
    with pytest.raises(TooLateError):
        patience.call(lambda: ran.append("late"), 0.01)
    end.set()
    assert first.result(60) is True
    assert patience.call(lambda: "again", 60) == "again"
    assert ran == []
