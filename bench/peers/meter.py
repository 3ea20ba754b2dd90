"""What a repetition costs: seconds, CPU seconds and memory of the whole process tree."""

from __future__ import annotations

import os
import threading
import time

import psutil


def cpu_seconds() -> float:
    """CPU used so far by this process and its children, the living and the reaped."""
    total = 0.0
    for process in _tree():
        try:
            used = process.cpu_times()
        except psutil.Error:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total


def resident_bytes() -> int:
    """Memory held by this process and its children; pages that they share count for each."""
    total = 0
    for process in _tree():
        try:
            total += process.memory_info().rss
        except psutil.Error:
            continue
    return total


def _tree() -> list[psutil.Process]:
    me = psutil.Process()
    try:
        return [me, *me.children(recursive=True)]
    except psutil.Error:
        return [me]


class Meter:
    """A stopwatch; `begin` again leaves out what was before, such as the submission of a job."""

    def __init__(self, every: float = 0.2) -> None:
        """Memory is looked at every so many seconds."""
        self._every = every
        self.begin()

    def begin(self) -> None:
        """From here on."""
        self.load = os.getloadavg()
        self.cpu = 0.0
        self.peak_bytes = resident_bytes()
        self._cpu_before, self._began = cpu_seconds(), time.perf_counter()

    def __enter__(self) -> Meter:
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self.begin()
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.perf_counter() - self._began
        self.cpu = cpu_seconds() - self._cpu_before
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            self.peak_bytes = max(self.peak_bytes, resident_bytes())
