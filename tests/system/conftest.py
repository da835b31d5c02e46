"""After every system test the account is checked: each file in one state, and the indexes true to their tables."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from shares import Share, assert_accounted, assert_sound


@pytest.fixture
def share(tmp_path: Path) -> Iterator[Share]:
    share = Share(tmp_path)
    yield share
    if share.db.exists():
        assert_sound(share.db)
    if share.db.exists() and share.accounted:
        assert_accounted(share)
