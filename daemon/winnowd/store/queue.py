"""Which files wait to be read. The table of files is the queue; a claim says that a child may be reading one.

Claims are committed before the work begins. After an unclean end the files that were claimed are suspects: they are read one
at a time, so that a file that ends the whole program is found out and does not use up the attempts of its neighbours.
"""

import sqlite3

from winnowd.disk import Mount, loaded
from winnowd.errors import ATTEMPTS
from winnowd.model import Failure, Job, Stamp
from winnowd.store import documents, files, roots

STALE_BATCH = 32
HUGE = "files.size > 50000000"  # bytes; as the index files_queue has it
COLUMNS = (
    "files.id, roots.path AS root, files.directory, files.name, roots.filesystem, files.reason, files.pending_since, "
    "files.size, files.mtime_ns, files.ctime_ns, files.inode"
)


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


def drop_idle_suspects(db: sqlite3.Connection, recipes: dict[str, str]) -> None:
    """Forget suspects that wait for nothing any more: neither pending, nor leading to a document that is stale."""
    rows = db.execute(
        "SELECT claims.file_id, files.state, documents.format, documents.recipe FROM claims "
        "JOIN files ON files.id = claims.file_id LEFT JOIN documents ON documents.id = files.document_id WHERE suspect = 1"
    ).fetchall()
    idle = [r["file_id"] for r in rows if r["state"] != "pending" and recipes.get(r["format"], r["recipe"]) == r["recipe"]]
    unclaim(db, idle)


def wake(db: sqlite3.Connection, now: str) -> int:
    """Let files be claimed again whose time has come: `claim` takes only those that need not wait. How many."""
    first = due(db)
    if first is None or first > now:  # most often: a look, and no write
        return 0
    sql = "UPDATE files SET next_attempt = NULL WHERE state = 'pending' AND next_attempt <= ?"
    return db.execute(sql, (now,)).rowcount


def wake_unsettled(db: sqlite3.Connection, now: str, patience: str) -> None:
    """Let files be claimed that have not settled since `patience`, although their time would come only after `now`."""
    chosen = "state = 'pending' AND next_attempt > ? AND next_attempt < ? AND reason = ? AND pending_since < ?"
    values = (now, roots.OFFLINE, files.SETTLING[0], patience)
    if db.execute(f"SELECT 1 FROM files WHERE {chosen} LIMIT 1", values).fetchone() is not None:
        db.execute(f"UPDATE files SET next_attempt = NULL WHERE {chosen}", values)


def wake_all(db: sqlite3.Connection) -> None:
    """Let all waiting files be claimed: the clock was set, and their times mean nothing any more."""
    sql = "UPDATE files SET next_attempt = NULL WHERE state = 'pending' AND next_attempt IS NOT NULL AND next_attempt <> ?"
    db.execute(sql, (roots.OFFLINE,))


def due(db: sqlite3.Connection) -> str | None:
    """When the first of the waiting files may be claimed."""
    sql = "SELECT min(next_attempt) FROM files WHERE state = 'pending' AND next_attempt < ?"
    found: str | None = db.execute(sql, (roots.OFFLINE,)).fetchone()[0]
    return found


def claim(db: sqlite3.Connection, boot: str, count: int, patience: str = "") -> list[Job]:
    """Claim up to `count` files that need not wait, the newest first. Huge files and second attempts have a lane of their own.

    What has not settled since `patience` (as times are stored) is read as it is.
    """
    return _claimed(db, boot, f"files.attempts = 0 AND ({HUGE}) = 0", count, patience)


def claim_heavy(db: sqlite3.Connection, boot: str, patience: str = "") -> list[Job]:
    """Claim one huge file, or one that ended its child before: it must not delay the others."""
    lanes = (f"files.attempts = 0 AND ({HUGE}) = 1", "files.attempts > 0")
    return next((jobs for lane in lanes if (jobs := _claimed(db, boot, lane, 1, patience))), [])


def _claimed(db: sqlite3.Connection, boot: str, lane: str, count: int, patience: str) -> list[Job]:
    rows = db.execute(
        f"SELECT {COLUMNS} FROM files INDEXED BY files_queue CROSS JOIN roots ON roots.id = files.root_id "
        f"WHERE files.state = 'pending' AND files.next_attempt IS NULL AND {lane} AND roots.state <> 'offline' "
        "AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.file_id = files.id) "
        f"ORDER BY files.attempts, {HUGE}, files.mtime_ns DESC LIMIT ?",
        (count,),
    ).fetchall()
    db.executemany("INSERT INTO claims (file_id, boot) VALUES (?, ?)", [(row["id"], boot) for row in rows])
    return [_job(row, patience) for row in rows]


def claim_stale(db: sqlite3.Connection, boot: str, recipes: dict[str, str], after: int) -> tuple[list[Job], int]:
    """Claim one file for each of the next documents, by id beyond `after`, that another recipe made than the present one.

    The id to go on from comes with them.
    """
    found: list[Job] = []
    while not found:
        rows = db.execute("SELECT id, format, recipe FROM documents WHERE id > ? ORDER BY id LIMIT 500", (after,)).fetchall()
        for row in rows:
            after = row["id"]
            if recipes.get(row["format"], row["recipe"]) != row["recipe"] and (job := _job_for(db, row["id"])) is not None:
                found.append(job)
                if len(found) == STALE_BATCH:
                    break
        if not rows:
            break
    db.executemany("INSERT OR IGNORE INTO claims (file_id, boot) VALUES (?, ?)", [(job.file_id, boot) for job in found])
    return found, after


def _job_for(db: sqlite3.Connection, document_id: int) -> Job | None:
    row = db.execute(
        f"SELECT {COLUMNS} FROM files JOIN roots ON roots.id = files.root_id WHERE files.document_id = ? "
        "AND files.state IN ('indexed', 'review', 'rejected') AND roots.state <> 'offline' "
        "AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.file_id = files.id) LIMIT 1",
        (document_id,),
    ).fetchone()
    return _job(row) if row else None


def unclaim(db: sqlite3.Connection, file_ids: list[int]) -> None:
    """Put claimed files back: nothing was done with them."""
    db.executemany("DELETE FROM claims WHERE file_id = ?", [(file_id,) for file_id in file_ids])


def unclaim_all(db: sqlite3.Connection) -> None:
    """Put back what was claimed and is not being read: the loop itself gave it up."""
    db.execute("DELETE FROM claims WHERE suspect = 0")


def is_pending(db: sqlite3.Connection, file_id: int) -> bool:
    """Whether a file waits to be read."""
    return db.execute("SELECT 1 FROM files WHERE id = ? AND state = 'pending'", (file_id,)).fetchone() is not None


def waiting(db: sqlite3.Connection) -> int:
    """How many files wait to be read, now or later."""
    return int(db.execute("SELECT count(*) FROM files WHERE state = 'pending'").fetchone()[0])


def overtaken(db: sqlite3.Connection, job: Job, read: Stamp | None) -> bool:
    """Whether the file of a job was removed, held, or seen with another stamp since it was claimed; `read` is what was read."""
    row = db.execute("SELECT state, size, mtime_ns, ctime_ns, inode FROM files WHERE id = ?", (job.file_id,)).fetchone()
    if row is None or row["state"] in ("gone", "skipped"):
        return True
    now = (row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"])
    return now not in (job.seen, read)


def renew_failures(db: sqlite3.Connection, trials: dict[str, str], largest: int) -> int:
    """Let files wait again that failed by another recipe, or within other limits, than the present ones; how many.

    `largest` is the size in bytes up to which files are read.
    """
    stale = [
        (row["digest"],)
        for row in db.execute("SELECT digest, format, recipe FROM failures")
        if row["recipe"] != trials.get(row["format"], "")
    ]
    renew = "UPDATE files SET state = 'pending', attempts = 0, next_attempt = NULL"
    sql = f"{renew} WHERE digest = ? AND document_id IS NULL AND state IN ('failed', 'skipped')"
    count = sum(db.execute(sql, digest).rowcount for digest in stale)
    return count + db.execute(f"{renew} WHERE state = 'failed' AND reason = 'too_large' AND size <= ?", (largest,)).rowcount


def retry(db: sqlite3.Connection, file_id: int) -> None:
    """Let a file be read again, whatever is known of its content; all copies of a failed one with it."""
    row = db.execute("SELECT digest, document_id, state FROM files WHERE id = ?", (file_id,)).fetchone()
    if row["document_id"] is not None:
        db.execute("UPDATE documents SET recipe = 'retry' WHERE id = ?", (row["document_id"],))
    db.execute("DELETE FROM failures WHERE digest = ?", (row["digest"],))
    db.execute(
        "UPDATE files SET state = 'pending', reason = NULL, message = NULL, attempts = 0, next_attempt = NULL "
        "WHERE (id = ? AND state <> 'gone') OR (digest = ? AND state = 'failed')",
        (file_id, row["digest"]),
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


def _job(row: sqlite3.Row, patience: str = "") -> Job:
    root, directory, name = (loaded(row[key]) for key in ("root", "directory", "name"))
    network = Mount("", row["filesystem"] or "", "", "").network
    settling = row["reason"] == files.SETTLING[0]
    late = settling and (row["pending_since"] or "") < patience
    seen = Stamp(row["size"], row["mtime_ns"], row["ctime_ns"], row["inode"])
    return Job(row["id"], root, directory, name, network, seen, settling=settling and not late, unsettled=late)
