"""After every system test the account is checked: each file in one state, and the indexes true to their tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services import Service
from shares import Share, assert_accounted, assert_sound


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Share]:
    share = Share(tmp_path)
    yield share
    if share.db.exists():
        assert_sound(share.db)
    if share.db.exists() and share.accounted:
        assert_accounted(share)


@pytest.fixture
def service(share: Share) -> Iterator[Service]:
    """`winnow run` on the share, not started yet; stopped afterwards, before the account is checked."""
    service = Service(share)
    try:
        yield service
        service.stop()
    finally:
        service.kill()
