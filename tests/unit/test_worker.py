"""One job in a child: what is hashed is what is read, and trouble of any kind is a value."""

import hashlib
import os

from winnowd import reports, worker
from winnowd.config import Config, LimitSettings
from winnowd.model import Content, Document, Failure, Job

CONFIG = Config()


class Parent:
    """The parent's answers, and what may happen to the file while it is asked."""

    def __init__(self, answer=reports.GO_ON, meanwhile=lambda: None):
        self.answer, self.meanwhile, self.asked = answer, meanwhile, []

    def jobs(self):
        return iter(())

    def ask(self, question):
        self.asked.append(reports.unpack_content(question))
        self.meanwhile()
        return self.answer

    def progress(self):
        pass

    def finish(self, result, *, last=False):
        pass


def process(path, parent=None, *, network=False, config=CONFIG):
    job = Job(1, str(path.parent), "", path.name, network)
    return worker.process(job, parent or Parent(), config, worker.recipes(CONFIG))


def write(tmp_path, text="A note about the dunlin and other waders."):
    path = tmp_path / "note.txt"
    path.write_text(text)
    return path


def test_the_digest_is_that_of_the_bytes(tmp_path):
    path = write(tmp_path)
    report = process(path)
    assert report.content.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert isinstance(report.outcome, Document)
    assert report.outcome.digest == report.content.digest


def test_a_file_of_a_network_root_is_read_from_a_private_copy(tmp_path):
    path = write(tmp_path)
    parent = Parent(meanwhile=lambda: os.truncate(path, 0))  # after the copy was made and hashed
    report = process(path, parent, network=True)
    assert (parent.asked[0].stamp.ctime_ns, parent.asked[0].stamp.inode) == (None, None)
    assert isinstance(report, reports.Unread)
    assert report.failure.code == "moved"
    assert isinstance(process(write(tmp_path), network=True).outcome, Document)


def test_a_file_that_changes_while_it_is_read_has_moved(tmp_path):
    path = write(tmp_path)
    report = process(path, Parent(meanwhile=lambda: path.write_text("Another text.")))
    assert report.failure.code == "moved"


def test_a_known_content_is_not_read(tmp_path):
    report = process(write(tmp_path), Parent(answer=reports.KNOWN))
    assert isinstance(report, reports.Linked)


def test_an_empty_file_is_known_by_its_digest_and_fails_as_empty(tmp_path):
    report = process(write(tmp_path, ""))
    assert report.content.digest == hashlib.sha256(b"").hexdigest()
    assert report.outcome.code == "empty"


def test_an_unsupported_format_is_named(tmp_path):
    path = tmp_path / "x.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    report = process(path)
    assert (report.outcome.code, report.outcome.format) == ("unsupported", "png")


def test_a_file_beyond_the_limit_is_not_hashed(tmp_path):
    path = write(tmp_path, "x" * (2 << 20))
    report = process(path, config=Config(limits=LimitSettings(file_mb=1)))
    assert report.failure.code == "too_large"


def test_a_vanished_file_has_moved(tmp_path):
    assert process(tmp_path / "nothing.txt").failure.code == "moved"


def test_reports_travel_as_json_and_come_back_equal(tmp_path):
    report = process(write(tmp_path))
    sent = reports.dump(report)
    assert reports.unpack(sent) == report


def test_a_report_that_makes_no_sense_is_a_failure_not_a_crash():
    for nonsense in (b"", b"{}", b'{"kind": "read"}', b"\xff", b'{"kind": "linked", "content": {"digest": 1}}'):
        report = reports.unpack(nonsense)
        assert isinstance(report, reports.Unread)
        assert report.failure.code == "internal"
    assert reports.unpack_content(b"nonsense") is None


def test_a_job_keeps_the_bytes_of_its_path():

    job = Job(7, "/srv", "a\udce4b", "c\nd", True)
    assert reports.unpack_job(reports.pack(job)) == job


def test_a_failure_is_a_record_like_any_other():
    content = Content("0" * 64, "pdf", worker.Stamp(1, 2), False)
    report = reports.Read(content, Failure("damaged", "Is broken."))
    assert reports.unpack(reports.dump(report)) == report
