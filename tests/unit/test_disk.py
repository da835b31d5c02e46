"""What the parent sees of a disk: mounts, stamps, names, and files that are reached without following a link."""

import os

import pytest

from winnowd import disk
from winnowd.errors import Moved, Unreadable
from winnowd.model import Stamp

MOUNTINFO = """\
22 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw
40 22 0:50 / /srv/share rw - cifs //server/share rw
41 40 0:51 / /srv/share/fast rw - ext4 /dev/vdb1 rw
42 22 0:52 / /mnt/odd\\040name rw - fuse.sshfs user@host:/ rw
43 22 0:53 / /srv/share rw - nfs4 server:/export rw
"""


@pytest.mark.parametrize(
    ("path", "filesystem", "network"),
    [
        ("/home/a.txt", "ext4", False),
        ("/srv/share", "nfs4", True),  # mounted last, on top
        ("/srv/share/fast/x", "ext4", False),
        ("/srv/shared", "ext4", False),
        ("/mnt/odd name/x", "fuse.sshfs", True),
    ],
)
def test_a_path_lies_on_the_deepest_mount_that_was_mounted_last(path, filesystem, network):
    mount = disk.mount_of(path, disk.mounts(MOUNTINFO))
    assert (mount.filesystem, mount.network) == (filesystem, network)


def test_a_path_without_any_mount_is_on_an_unknown_local_one():
    assert disk.mount_of("/x", ()).network is False


NOW = 1_700_000_000_000_000_000


@pytest.mark.parametrize(
    ("age_seconds", "network", "racy"),
    [(1, False, True), (3, False, False), (3, True, True), (11, True, False), (-3600, False, False)],
)
def test_a_file_is_racy_when_it_was_written_just_before_it_was_read(age_seconds, network, racy):
    assert disk.is_racy(Stamp(1, NOW - age_seconds * 10**9), NOW, network) is racy


def test_a_file_whose_date_was_set_back_in_the_same_tick_is_racy():
    assert disk.is_racy(Stamp(1, 0, ctime_ns=NOW - 1_000_000, inode=1), NOW, network=False)


def test_a_network_root_has_no_change_time_and_no_inode_in_its_stamp(tmp_path):
    seen = os.stat(tmp_path)
    assert disk.stamp(seen, network=True) == Stamp(seen.st_size, seen.st_mtime_ns)
    assert disk.stamp(seen, network=False).inode == seen.st_ino


def test_a_listing_tells_files_folders_and_all_else_apart(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    os.symlink("a.txt", tmp_path / "link")
    os.symlink("folder", tmp_path / "link to folder")
    os.mkfifo(tmp_path / "pipe")
    found = disk.listing(str(tmp_path), network=False)
    assert (list(found.files), found.folders) == (["a.txt"], ("folder",))
    assert {name: skip.reason for name, skip in found.others.items()} == dict.fromkeys(
        ("link", "link to folder", "pipe"), "not_a_file"
    )


def test_a_file_is_opened_below_its_root(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("inside")
    descriptor = disk.open_beneath(str(tmp_path), "a/b.txt")
    assert os.read(descriptor, 10) == b"inside"
    os.close(descriptor)


def test_no_link_is_followed_on_the_way_to_a_file(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    os.symlink(outside, root / "folder")
    os.symlink(outside / "secret.txt", root / "file.txt")
    with pytest.raises(Moved):
        disk.open_beneath(str(root), "folder/secret.txt")
    with pytest.raises((Moved, Unreadable)):
        disk.open_beneath(str(root), "file.txt")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Moved):
        disk.open_beneath(str(tmp_path), "pipe")


def test_a_vanished_file_has_moved(tmp_path):
    with pytest.raises(Moved):
        disk.open_beneath(str(tmp_path), "nothing")


@pytest.mark.parametrize("path", ["plain.txt", "Ü.txt", "\udce4.txt", "a\nb"])
def test_paths_are_stored_and_loaded_byte_by_byte(path):
    assert disk.loaded(disk.stored(path)) == path
    disk.label(path).encode("utf-8")


def test_a_label_is_composed_and_stands_on_one_line():
    assert disk.label("U\u0308bersicht\n.txt") == "Übersicht\\n.txt"
