"""Devices: what a destructor may do in the middle of their calls."""

import pytest

from robocache import _device
from test_replay import driver  # noqa: F401


@pytest.mark.parametrize("call", ["context_push", "capture_mode", "context_pop"])
@pytest.mark.parametrize("nth", [0, 1])
def test_a_destructor_in_the_middle_of_entering_or_leaving_changes_nothing(driver, monkeypatch, call, nth):
    device = _device.device(0)
    for at in ("before", "after"):
        calls, inner = [], getattr(device.driver, call)

        def interrupted(*arguments):
            calls.append(arguments)
            mine = len(calls) == nth + 1
            if mine and at == "before":
                device.event()  # which its destructor destroys
            code = inner(*arguments)
            if mine and at == "after":
                device.event()
            return code

        with monkeypatch.context() as m:
            m.setattr(device.driver, call, interrupted)
            for _ in range(2):
                device.memory_info()
        assert driver.count("mode") == 0 and driver.count("depth") == 0
