"""Starts `winnow` where odd things happen to order: each file in the folder WINNOW_ORDERS is an order.

`mountinfo` is read in place of the kernel's; `hang` names folders, a line each, at which whoever looks hangs until the order
is taken back; `clock` is by how many seconds the wall clock is wrong; `mock` lets children know the format that misbehaves;
`constants` are times of the package that nobody configures, a line each, as `rounds.PROOF_SECONDS=1`.
Children import this file again, so that orders hold in them too.
"""

import os
import sys
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))

import fakes
from winnowd import disk, look, worker
from winnowd.__main__ import main

ORDERS = Path(os.environ.get("WINNOW_ORDERS", "/nowhere"))
_answer, _time, _time_ns = look.answer, time.time, time.time_ns


def order(name: str) -> str:
    try:
        return (ORDERS / name).read_text(encoding="utf-8")
    except OSError:
        return ""


def answer(ask, tick=lambda: None):
    root = ask.path if isinstance(ask, look.Prove) else ask.root
    while root in order("hang").splitlines():
        time.sleep(0.05)
    return _answer(ask, tick)


look.answer = answer
time.time = lambda: _time() + float(order("clock") or 0)
time.time_ns = lambda: _time_ns() + int(float(order("clock") or 0) * 1e9)
if order("mountinfo"):
    disk.MOUNTINFO = ORDERS / "mountinfo"

if __name__ == "__main__":
    if order("mock"):
        worker.serve = fakes.serve_mock  # by its name: children import it, and would patch it again
    for line in order("constants").splitlines():
        where, _, number = line.partition("=")
        module, _, name = where.partition(".")
        assert hasattr(import_module(f"winnowd.{module}"), name), line
        setattr(import_module(f"winnowd.{module}"), name, float(number))
    main()
