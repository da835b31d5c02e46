"""How the running service finds back to the truth after what no event tells it. Each was a fault that a seeded life found."""

import os
import shutil

import pytest

from reckoning import catalogue, disk
from served import Service

TEXT = "A note about the {}, long enough to be read."


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "place"
    folder.mkdir()
    for bird in ("avocet", "bittern", "curlew"):
        (folder / f"{bird}.txt").write_text(TEXT.format(bird))
    return folder


@pytest.fixture
def service(tmp_path, place):
    service = Service(tmp_path)
    service.roots = {place: "events"}
    yield service
    service.end()


def begin(service, place, **wanted):
    service.configure(**wanted)
    service.start()
    true(service, place)


def true(service, place):
    """Wait until the catalogue says what the disk says."""
    service.wait_for(lambda: catalogue(service, [place]) == disk([place]), "the catalogue is true to the disk")


def test_a_folder_replaced_by_a_link_to_it_is_not_found_through_the_link(service, place):
    (place / "deep" / "er").mkdir(parents=True)
    (place / "deep" / "er" / "dunlin.txt").write_text(TEXT.format("dunlin"))
    begin(service, place)
    (place / "deep").rename(place / "real")
    (place / "deep").symlink_to("real")
    true(service, place)


def test_changes_in_a_folder_that_replaced_the_root_are_seen(service, place):
    begin(service, place)
    shutil.copytree(place, place.with_name("copy"))
    place.rename(place.with_name("old"))
    place.with_name("copy").rename(place)
    service.wait_for(lambda: b"another one than before" in service.log.read_bytes(), "the other folder is noticed")
    (place / "eider.txt").write_text(TEXT.format("eider"))
    true(service, place)


def test_a_scan_goes_on_where_the_configuration_left_a_root_out(service, place):
    begin(service, place)
    service.roots = {}
    service.configure()
    service.reload()
    assert "not in the configuration" in service.ask("scan")["messages"][0]
    service.stop()


def test_a_scan_finds_a_root_that_is_back(service, place):
    begin(service, place)
    away = place.with_name("away")
    place.rename(away)
    assert "offline" in service.ask("scan")["messages"][0]
    away.rename(place)
    assert service.ask("scan")["messages"] == []


def test_a_scan_of_one_file_reads_that_file(service, place):
    service.roots = {place: "rescan"}
    begin(service, place, network_rescan=3600)
    path = place / "eider.txt"
    path.write_text(TEXT.format("eider"))
    service.run("scan", path)
    assert catalogue(service, [place]) == disk([place])


def test_copies_that_change_while_one_of_them_is_read_are_read_again(service, place):
    copies = [place / "one.mock", place / "other.mock"]
    for path in copies:
        path.write_text("mock: sleep 3\nThe same text.")
    service.configure()
    service.start()
    service.wait_for(lambda: len(service.rows("SELECT 1 FROM claims")) == 2, "both are claimed")
    for path in copies:
        path.write_text(f"mock: echo\nAnother text in {path.name}.")
    true(service, place)


@pytest.mark.parametrize("size", [0, 50_000])
def test_a_reload_and_a_stop_outlive_a_database_that_cannot_be_written(service, place, size):
    begin(service, place)
    service.limit_its_files(size)
    (place / "eider.txt").write_text(TEXT.format("eider"))
    service.wait_for(lambda: b"cannot be written" in service.log.read_bytes(), "the trouble is noticed")
    service.roots[place.with_name("other")] = "events"  # a root to be written down
    service.configure()
    service.reload()
    service.reload()
    service.stop()
    assert b"Traceback" not in service.log.read_bytes()


def test_a_service_goes_on_when_its_database_can_be_written_again(service, place):
    begin(service, place)
    service.limit_its_files(0)
    (place / "eider.txt").write_text(TEXT.format("eider"))
    service.wait_for(lambda: b"cannot be written" in service.log.read_bytes(), "the trouble is noticed")
    service.limit_its_files(None)
    true(service, place)
    service.wait_for(lambda: service.rows("SELECT * FROM claims") == [], "nothing is claimed any more")


def test_folders_of_probes_that_a_kill_left_behind_are_cleared_up(service, place):
    begin(service, place)
    service.kill()
    service.roots = {place: "rescan"}
    service.configure()
    service.start()
    service.stop()
    assert not os.path.exists(f"{service.db}.watch")
