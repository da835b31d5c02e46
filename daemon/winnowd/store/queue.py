"""Which files wait to be read. The table of files is the queue; a claim says that a child may be reading one.

Claims are committed before the work begins. After an unclean end the files that were claimed are suspects: they are read one
at a time, so that a file that ends the whole program is found out and does not use up the attempts of its neighbours.
"""

import sqlite3

from winnowd.disk import Mount, loaded
from winnowd.errors import ATTEMPTS
from winnowd.model import Failure, Job
from winnowd.store import documents

COLUMNS = "files.id, roots.path AS root, files.directory, files.name, roots.filesystem"


def recover(db: sqlite3.Connection) -> None:
    """Make suspects of what another run of the loop left claimed. A file that was read alone when it ended is counted."""
    left = db.execute("SELECT file_id FROM claims WHERE suspect = 0").fetchall()
    if len(left) == 1:
        db.execute("UPDATE claims SET interrupted = interrupted + 1 WHERE suspect = 0")
    if left:
        db.execute("UPDATE claims SET suspect = 1 WHERE suspect = 0")
    poisonous = db.execute("SELECT file_id FROM claims WHERE suspect = 1 AND interrupted >= ?", (ATTEMPTS,)).fetchall()
    for row in poisonous:
        failure = Failure("crashed", f"Winnow itself ended {ATTEMPTS} times while it read this file alone.")
        documents.settle_failure(db, row["file_id"], None, failure, ATTEMPTS)


def claim_suspect(db: sqlite3.Connection, boot: str) -> Job | None:
    """Claim one suspect, to be read while nothing else is."""
    row = db.execute(
        f"SELECT {COLUMNS} FROM claims JOIN files ON files.id = claims.file_id JOIN roots ON roots.id = files.root_id "
        "WHERE claims.suspect = 1 ORDER BY files.id LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    db.execute("UPDATE claims SET suspect = 0, boot = ? WHERE file_id = ?", (boot, row["id"]))
    return _job(row)


def drop_idle_suspects(db: sqlite3.Connection) -> None:
    """Forget suspects that wait for nothing any more."""
    db.execute("DELETE FROM claims WHERE suspect = 1 AND file_id NOT IN (SELECT id FROM files WHERE state = 'pending')")


def claim(db: sqlite3.Connection, boot: str, count: int, now: str) -> list[Job]:
    """Claim up to `count` files that wait and whose time has come: first attempts first, huge files last, the newest first."""
    rows = db.execute(
        f"SELECT {COLUMNS} FROM files INDEXED BY files_queue JOIN roots ON roots.id = files.root_id "
        "WHERE files.state = 'pending' AND (files.next_attempt IS NULL OR files.next_attempt <= ?) "
        "AND roots.state <> 'offline' AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.file_id = files.id) "
        "ORDER BY files.attempts, files.size > 50000000, files.mtime_ns DESC LIMIT ?",
        (now, count),
    ).fetchall()
    db.executemany("INSERT INTO claims (file_id, boot) VALUES (?, ?)", [(row["id"], boot) for row in rows])
    return [_job(row) for row in rows]


def claim_stale(db: sqlite3.Connection, boot: str, recipes: dict[str, str], count: int) -> list[Job]:
    """Claim up to `count` files whose document was made by another recipe than the present one of its format."""
    jobs: list[Job] = []
    for name, recipe in recipes.items():
        rows = db.execute(
            f"SELECT {COLUMNS}, min(files.id) FROM documents JOIN files ON files.document_id = documents.id "
            "JOIN roots ON roots.id = files.root_id WHERE documents.format = ? AND documents.recipe <> ? "
            "AND files.state IN ('indexed', 'review', 'rejected') AND roots.state <> 'offline' "
            "AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.file_id = files.id) GROUP BY documents.id LIMIT ?",
            (name, recipe, count - len(jobs)),
        ).fetchall()
        db.executemany("INSERT INTO claims (file_id, boot) VALUES (?, ?)", [(row["id"], boot) for row in rows])
        jobs += [_job(row) for row in rows]
        if len(jobs) >= count:
            break
    return jobs


def unclaim(db: sqlite3.Connection, file_ids: list[int]) -> None:
    """Put claimed files back: nothing was done with them."""
    db.executemany("DELETE FROM claims WHERE file_id = ?", [(file_id,) for file_id in file_ids])


def renew_failures(db: sqlite3.Connection, recipes: dict[str, str]) -> int:
    """Let files wait again whose failure was made by another recipe than the present one; how many."""
    stale = [
        (row["digest"],)
        for row in db.execute("SELECT digest, format, recipe FROM failures")
        if row["recipe"] != recipes.get(row["format"], "")
    ]
    sql = (
        "UPDATE files SET state = 'pending', attempts = 0, next_attempt = NULL "
        "WHERE digest = ? AND document_id IS NULL AND state IN ('failed', 'skipped')"
    )
    return sum(db.execute(sql, digest).rowcount for digest in stale)


def retry(db: sqlite3.Connection, file_id: int) -> None:
    """Let a file be read again, whatever is known of its content."""
    db.execute("DELETE FROM failures WHERE digest = (SELECT digest FROM files WHERE id = ?)", (file_id,))
    db.execute(
        "UPDATE documents SET recipe = 'retry' WHERE id = (SELECT document_id FROM files WHERE id = ?) AND recipe <> 'retry'",
        (file_id,),
    )
    db.execute(
        "UPDATE files SET state = 'pending', reason = NULL, message = NULL, attempts = 0, next_attempt = NULL WHERE id = ?",
        (file_id,),
    )


def pending(db: sqlite3.Connection, now: str) -> tuple[int, int]:
    """How many files wait and may be read now, and their bytes."""
    row = db.execute(
        "SELECT count(*), ifnull(sum(files.size), 0) FROM files JOIN roots ON roots.id = files.root_id "
        "WHERE files.state = 'pending' AND roots.state <> 'offline' "
        "AND (files.next_attempt IS NULL OR files.next_attempt <= ?)",
        (now,),
    ).fetchone()
    return row[0], row[1]


def _job(row: sqlite3.Row) -> Job:
    root, directory, name = (loaded(row[key]) for key in ("root", "directory", "name"))
    network = Mount("", row["filesystem"] or "", "", "").network
    return Job(row["id"], root, directory, name, network=network)
