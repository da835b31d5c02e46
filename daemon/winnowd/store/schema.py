"""The tables, as they are made and migrated. They are public: docs/querying.md describes them and keeps their promise.

Each migration is one function, applied once and in order by sqlite-utils inside one transaction; `VERSION` counts them and
stands in `PRAGMA user_version`. SQL is written out in full, so that what `.schema` shows is what stands here.
"""

from sqlite_utils import Database, Migrations

VERSION = 2
migrations = Migrations("winnow")

ROOTS = """
CREATE TABLE roots (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path NOT NULL UNIQUE,               -- a BLOB where the path is not UTF-8
    origin TEXT NOT NULL,               -- config, scan
    state TEXT NOT NULL,                -- online, offline, held
    message TEXT,                       -- why it is offline or held, or what could not be listed
    watch TEXT NOT NULL,                -- events, rescan
    watch_reason TEXT NOT NULL,
    filesystem TEXT,
    identity TEXT,                      -- mount source and inode of the folder at the last clean walk
    rules TEXT,                         -- digest of the exclusion rules of that walk
    watermark INTEGER NOT NULL DEFAULT 0, -- the highest files.id at the end of the last clean walk
    walked_at TEXT,                     -- end of the last clean walk, UTC
    walked_files INTEGER,               -- what that walk listed
    unlisted_folders INTEGER NOT NULL DEFAULT 0
)"""

FILES = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    root_id INTEGER NOT NULL REFERENCES roots(id),
    directory NOT NULL,                 -- relative to the root, '' for the root itself; a BLOB where not UTF-8
    name NOT NULL,                      -- a BLOB where not UTF-8
    label TEXT NOT NULL,                -- directory and name, printable, NFC
    size INTEGER,
    mtime_ns INTEGER,
    ctime_ns INTEGER,                   -- NULL on a network root
    inode INTEGER,                      -- NULL on a network root
    racy INTEGER NOT NULL DEFAULT 0,    -- 1: read so soon after it was written that the next walk hashes it again
    digest TEXT,                        -- SHA-256 of the content, as sha256sum prints it
    format TEXT,
    document_id INTEGER REFERENCES documents(id),
    state TEXT NOT NULL,                -- pending, indexed, review, rejected, failed, skipped, gone
    reason TEXT,                        -- a bare code
    message TEXT,                       -- the sentence
    attempts INTEGER NOT NULL DEFAULT 0,
    waits INTEGER NOT NULL DEFAULT 0,   -- how often it was put off after a transient error
    next_attempt TEXT,                  -- UTC, of a pending file that waits
    cjk TEXT,
    UNIQUE (root_id, directory, name)
)"""

DOCUMENTS = """
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again
    digest TEXT NOT NULL,
    format TEXT NOT NULL,
    title TEXT,
    author TEXT,
    created TEXT,
    modified TEXT,
    language TEXT,
    encoding TEXT,
    pages INTEGER,                      -- NULL where the format has no pages
    chars INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    verdict TEXT NOT NULL,              -- accepted, review
    cjk TEXT,
    UNIQUE (digest, format)
)"""

METADATA = """
CREATE TABLE metadata (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    believed INTEGER NOT NULL
)"""

OUTLINE = """
CREATE TABLE outline (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    ordinal INTEGER NOT NULL,
    level INTEGER NOT NULL,
    title TEXT NOT NULL,
    page_index INTEGER,
    page_label TEXT
)"""

PAGES = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    page_index INTEGER NOT NULL,
    page_label TEXT,
    verdict TEXT NOT NULL,
    chars INTEGER NOT NULL,
    words INTEGER,
    furniture_chars INTEGER,
    images INTEGER,
    image_cover REAL,
    drawings INTEGER,
    unreadable INTEGER,
    hidden_share REAL,
    ink REAL,
    alphabetic REAL,
    bad_chars REAL,
    replacement REAL,
    private_use REAL,
    cid_tokens INTEGER,
    cid_share REAL,
    single_letters REAL,
    long_tokens REAL,
    legacy_letters REAL,
    mojibake REAL,
    repeated_lines REAL,
    function_words REAL,
    letter_pairs REAL,
    odd_tokens REAL,
    UNIQUE (document_id, page_index)
)"""

PASSAGES = """
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,             -- document_id << 16 | ordinal
    document_id INTEGER NOT NULL REFERENCES documents(id),
    ordinal INTEGER NOT NULL,
    heading_path TEXT,
    page_index INTEGER,
    page_label TEXT,
    text TEXT NOT NULL,
    cjk TEXT
)"""

FINDINGS = """
CREATE TABLE findings (
    id INTEGER PRIMARY KEY,
    document_id INTEGER REFERENCES documents(id),
    file_id INTEGER REFERENCES files(id), -- for what belongs to a path
    code TEXT NOT NULL,
    page_index INTEGER,
    severity TEXT NOT NULL,             -- info, review
    measure REAL,
    threshold REAL,
    message TEXT NOT NULL
)"""

STEPS = """
CREATE TABLE steps (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents(id),
    ordinal INTEGER NOT NULL,
    step TEXT NOT NULL,
    touched INTEGER NOT NULL,
    lines TEXT NOT NULL                 -- JSON: the lines set aside
)"""

REVIEWS = """
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- append-only
    digest TEXT NOT NULL,
    decision TEXT NOT NULL,             -- accept, keep, reject
    reasons TEXT NOT NULL,              -- JSON: [[code, page_index], ...]
    recipe TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL,
    note TEXT
)"""

FAILURES = """
CREATE TABLE failures (                 -- contents that could not be read: a copy is not tried again
    digest TEXT NOT NULL,
    format TEXT NOT NULL,
    code TEXT NOT NULL,
    message TEXT NOT NULL,
    detail TEXT,
    attempts INTEGER NOT NULL,
    recipe TEXT NOT NULL,
    PRIMARY KEY (digest, format)
)"""

CLAIMS = """
CREATE TABLE claims (                   -- files that a child may be reading
    file_id INTEGER PRIMARY KEY REFERENCES files(id),
    boot TEXT NOT NULL,
    suspect INTEGER NOT NULL DEFAULT 0, -- 1: was being read when the loop ended uncleanly
    interrupted INTEGER NOT NULL DEFAULT 0 -- how often the loop ended while this file was read alone
)"""

REQUESTS = """
CREATE TABLE requests (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    verb TEXT NOT NULL,
    argument TEXT,
    who TEXT NOT NULL,
    asked_at TEXT NOT NULL,
    answer TEXT,
    answered_at TEXT
)"""

SERVICE = """
CREATE TABLE service (                  -- one row: what the loop last said of itself
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version TEXT NOT NULL,
    pid INTEGER,
    started_at TEXT,
    said_at TEXT,
    message TEXT
)"""

SERVICE_2 = """
-- UTC, since when a pending file waits to be read
ALTER TABLE files ADD COLUMN pending_since TEXT;
-- the file to which the slow re-hash has come
ALTER TABLE roots ADD COLUMN verified_id INTEGER NOT NULL DEFAULT 0;
-- how often events were lost; each time the folder was walked again
ALTER TABLE roots ADD COLUMN overflows INTEGER NOT NULL DEFAULT 0;
DROP TABLE service;
CREATE TABLE service (                  -- one row: what the loop last said of itself
    id INTEGER PRIMARY KEY CHECK (id = 1),
    version TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    said_at TEXT NOT NULL,
    state TEXT NOT NULL,                -- running, paused (no room on the disk), stopped
    message TEXT NOT NULL,              -- the sentence, as systemctl status shows it
    read INTEGER NOT NULL,              -- files read since the start
    per_minute REAL NOT NULL,           -- of the last minutes
    pending INTEGER NOT NULL,
    running INTEGER NOT NULL,           -- files that children are reading
    crashes INTEGER NOT NULL,           -- children that died since the start
    free_bytes INTEGER NOT NULL,        -- on the disk of the database
    wal_bytes INTEGER NOT NULL
)"""

# `text` stands first: in FTS5 every entry of a later column carries its number, which made the index a fifth larger.
FTS = """
CREATE VIRTUAL TABLE passages_fts USING fts5(
    text, heading_path, cjk, content="passages", content_rowid="id", tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE documents_fts USING fts5(
    title, author, cjk, content="documents", content_rowid="id", tokenize='unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE files_fts USING fts5(
    label, cjk, content="files", content_rowid="id", tokenize='unicode61 remove_diacritics 2')"""

INDEXES = """
CREATE INDEX files_digest ON files(digest);
CREATE INDEX files_document ON files(document_id);
CREATE INDEX files_state ON files(state, next_attempt);
CREATE INDEX files_queue ON files(attempts, size > 50000000, mtime_ns DESC) WHERE state = 'pending' AND next_attempt IS NULL;
CREATE INDEX metadata_document ON metadata(document_id);
CREATE INDEX passages_document ON passages(document_id);
CREATE INDEX withheld_document ON withheld(document_id);
CREATE INDEX outline_document ON outline(document_id, ordinal);
CREATE INDEX findings_document ON findings(document_id);
CREATE INDEX findings_file ON findings(file_id) WHERE file_id IS NOT NULL;
CREATE INDEX findings_code ON findings(code);
CREATE INDEX steps_document ON steps(document_id, ordinal);
CREATE INDEX reviews_digest ON reviews(digest)"""

VIEWS = """
CREATE VIEW all_passages AS
    SELECT substr(d.digest, 1, 16) || '-' || p.ordinal AS passage_id, d.digest, p.ordinal, p.heading_path,
           p.page_index, p.page_label, p.text, 0 AS withheld
    FROM passages p JOIN documents d ON d.id = p.document_id
    UNION ALL
    SELECT substr(d.digest, 1, 16) || '-' || p.ordinal, d.digest, p.ordinal, p.heading_path,
           p.page_index, p.page_label, p.text, 1
    FROM withheld p JOIN documents d ON d.id = p.document_id;
CREATE VIEW review_queue AS
    SELECT f.id AS file_id, f.label, d.digest, d.format, n.code, n.page_index, n.measure, n.threshold, n.message
    FROM files f JOIN documents d ON d.id = f.document_id
    JOIN findings n ON n.document_id = d.id AND n.severity = 'review'
    WHERE f.state = 'review'"""

TUNING = """
INSERT INTO passages_fts(passages_fts, rank) VALUES ('hashsize', 16777216);
INSERT INTO passages_fts(passages_fts, rank) VALUES ('pgsz', 8100)"""


@migrations()
def first_tables(db: Database) -> None:
    """Everything of version 1."""
    withheld = PASSAGES.replace("passages", "withheld")
    tables = (ROOTS, DOCUMENTS, FILES, METADATA, OUTLINE, PAGES, PASSAGES, withheld, FINDINGS, STEPS)
    for statement in (*tables, REVIEWS, FAILURES, CLAIMS, REQUESTS, SERVICE):
        db.execute(statement)
    for batch in (FTS, INDEXES, VIEWS, TUNING):
        for statement in batch.split(";\n"):
            db.execute(statement)


@migrations()
def the_service(db: Database) -> None:
    """What the loop of a service that stays has to remember, and to say of itself."""
    for statement in SERVICE_2.split(";\n"):
        db.execute(statement)
