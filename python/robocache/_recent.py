"""A cache of recently used values, as fast as a dict."""

from __future__ import annotations

from typing import Callable, Dict, Generic, Hashable, Iterator, List, Optional, TypeVar

Value = TypeVar("Value")


class Recent(Generic[Value]):
    """A bounded map with two generations.

    New and found values go to the young generation. When it is full, the old generation is dropped and the young one takes its place, so
    values in frequent use stay, and a lookup in `young` records nothing.

    count and weight limit both generations together: the number of values, and the sum of their weights. drop is called with each dropped
    value. The caller holds a lock, except for lookups in `young`.
    """

    def __init__(self, count: int, weight: int, drop: Callable[[Value], object]) -> None:
        self.young: Dict[Hashable, Value] = {}
        self._old: Dict[Hashable, Value] = {}
        self._weights: Dict[Hashable, int] = {}
        self._count, self._weight, self._drop = count // 2, weight // 2, drop
        self._young_weight = 0

    def find(self, key: Hashable) -> Optional[Value]:
        """Returns the value for a key and moves it to the young generation, or returns None."""
        found = self.young.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is not None:
                self._admit(key, found)
        return found

    def put(self, key: Hashable, value: Value, weight: int = 0) -> None:
        """Adds a value under a new key."""
        self._weights[key] = weight
        self._admit(key, value)

    def _admit(self, key: Hashable, value: Value) -> None:
        weight = self._weights[key]
        if self.young and (len(self.young) >= self._count or self._young_weight + weight > self._weight > 0):
            old, self._old, self.young, self._young_weight = self._old, self.young, {}, 0
            self._give_up(old)
        self.young[key] = value
        self._young_weight += weight

    def discard(self, key: Hashable) -> None:
        """Removes a value without a call of drop."""
        if key in self.young:
            self._young_weight -= self._weights.pop(key)
            del self.young[key]
        elif key in self._old:
            del self._weights[key], self._old[key]

    def clear(self) -> bool:
        """Drops all values, and reports whether there were any."""
        both: List[Dict[Hashable, Value]] = [self._old, self.young]
        self._old, self.young, self._young_weight = {}, {}, 0
        for values in both:
            self._give_up(values)
        return bool(both[0] or both[1])

    def _give_up(self, values: Dict[Hashable, Value]) -> None:
        for key, value in values.items():
            del self._weights[key]
            self._drop(value)

    def __len__(self) -> int:
        return len(self.young) + len(self._old)

    def __iter__(self) -> Iterator[Value]:
        return iter(list(self._old.values()) + list(self.young.values()))
