"""The only looks at watched folders that the parent takes: listings, stamps, mounts. It never opens a file there.

Hides how Linux names mounts, how names that are not UTF-8 travel, and which file systems are shared over a network.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from winnowd.errors import Moved, Unreadable
from winnowd.model import Skip, Stamp

_SHARED = ("nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "ncpfs", "afs", "davfs", "9p", "virtiofs", "vboxsf", "prl_fs")
_CLUSTER = ("ceph", "glusterfs", "lustre", "beegfs", "gpfs", "ocfs2", "gfs2")
NETWORK_FILESYSTEMS = frozenset((*_SHARED, *_CLUSTER))
"""Types on which another host may change files unseen by our kernel. Everything by FUSE counts too (sshfs, rclone, ...)."""

MOUNTINFO = Path("/proc/self/mountinfo")
MOST = 2**63 - 1
_new = tuple.__new__
RACY_NS = 2_000_000_000
RACY_TICK_NS = 20_000_000  # two ticks of the slowest kernel clock (100 Hz)
RACY_NETWORK_NS = 10_000_000_000  # clocks of two hosts differ, and some servers keep whole seconds or two


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of /proc/self/mountinfo (proc(5)): where, what type, and what is mounted."""

    point: str
    filesystem: str
    source: str
    root: str

    @property
    def network(self) -> bool:
        """Whether other hosts can change files there without our kernel seeing it."""
        return self.filesystem in NETWORK_FILESYSTEMS or self.filesystem.startswith("fuse")


@dataclass(frozen=True, slots=True)
class Listing:
    """What one directory shows. Names are as os.fsdecode gives them."""

    files: dict[str, Stamp]
    folders: tuple[str, ...]
    others: dict[str, Skip]  # symbolic links, sockets, devices: never read


def mounts(mountinfo: str) -> tuple[Mount, ...]:
    r"""The mounts in a text of the form of /proc/self/mountinfo, in its order.

    >>> mounts("36 35 98:0 / /mnt/a\\040b rw - nfs4 srv:/x rw")
    (Mount(point='/mnt/a b', filesystem='nfs4', source='srv:/x', root='/'),)
    """
    found = []
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if len(fields) >= 5 and len(tail) >= 2:
            found.append(Mount(_unescape(fields[4]), tail[0], _unescape(tail[1]), _unescape(fields[3])))
    return tuple(found)


def mount_of(path: str, known: tuple[Mount, ...]) -> Mount:
    """The mount that `path` lies on: the deepest mount point above it, the last mounted one where several share it."""
    best = Mount("/", "unknown", "unknown", "/")
    for mount in known:
        covers = path == mount.point or path.startswith(mount.point.rstrip("/") + "/")
        if covers and len(mount.point) >= len(best.point):
            best = mount
    return best


def current_mount(path: str) -> Mount:
    """The mount that `path` lies on now. Needs no access to the path itself, so a hung share cannot hang it."""
    return mount_of(os.path.realpath(path), mounts(MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape")))


def identity(path: str) -> str:
    """A name for the folder itself: what is mounted, and its inode. Raises OSError where it cannot be looked at."""
    mount = current_mount(path)
    return f"{mount.filesystem} {mount.source} {mount.root} {os.stat(path).st_ino}"


def stamp(seen: os.stat_result, network: bool) -> Stamp:
    """The stamp of a file from what stat says, its numbers such that SQLite can hold them."""
    mtime, ctime, inode = seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino
    if mtime > MOST or ctime > MOST or inode > MOST:  # a date after 2262, or the inode of some union mounts
        mtime, ctime, inode = _signed(mtime), _signed(ctime), _signed(inode)
    # Not Stamp(...): a walk makes millions, and this takes half the time.
    return _new(Stamp, (seen.st_size, mtime, None, None) if network else (seen.st_size, mtime, ctime, inode))


def is_racy(seen: Stamp, now_ns: int, network: bool) -> bool:
    """Whether the file was written so shortly before `now_ns` that a further write may leave the same stamp.

    A time in the future is a wrong clock, not a fresh write: it would make the file look new for ever. The change time of a
    local file cannot be set by anybody, so that a tick of the kernel's clock is margin enough.
    """
    margin = RACY_NETWORK_NS if network else RACY_NS
    just_written = now_ns - margin < seen.mtime_ns <= now_ns + margin
    return just_written or abs(now_ns - (seen.ctime_ns or 0)) < RACY_TICK_NS


def listing(path: str, network: bool) -> Listing:
    """What the directory `path` shows. Raises OSError where it cannot be listed to its end."""
    files: dict[str, Stamp] = {}
    folders: list[str] = []
    others: dict[str, Skip] = {}
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # vanished since the directory was read
                continue
            if stat.S_ISREG(seen.st_mode):
                files[entry.name] = stamp(seen, network)
            else:
                others[entry.name] = _other(seen)
    return Listing(files, tuple(sorted(folders)), others)


def glance(path: str, names: Iterable[str], network: bool) -> Listing:
    """What the directory `path` shows of these names alone. Raises OSError where one cannot be looked at."""
    files: dict[str, Stamp] = {}
    folders: list[str] = []
    others: dict[str, Skip] = {}
    for name in names:
        try:
            seen = os.lstat(os.path.join(path, name))
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISDIR(seen.st_mode):
            folders.append(name)
        elif stat.S_ISREG(seen.st_mode):
            files[name] = stamp(seen, network)
        else:
            others[name] = _other(seen)
    return Listing(files, tuple(sorted(folders)), others)


def open_beneath(root: str, relative: str) -> int:
    """A read-only descriptor of a regular file, reached from `root` without following any symbolic link.

    Raises Moved where it is gone or no longer a regular file, Unreadable where the system will not let us in.
    """
    folder = -1
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        *parents, name = relative.split("/")
        for parent in parents:
            below = os.open(parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = below
        opened = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise Moved("The file vanished before it could be read") from None
    except NotADirectoryError:
        raise Moved("A folder on the way to the file is now a link or a file") from None
    except OSError as error:
        raise Unreadable(f"Cannot be opened: {error.strerror}") from None
    finally:
        if folder >= 0:
            os.close(folder)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise Moved("The file was replaced by something that is not a file")
    return opened


def join(root: str, directory: str, name: str = "") -> str:
    """The path of `name` in the folder `directory` (relative to `root`); all as os.fsdecode gives them."""
    return "/".join(part for part in (root.rstrip("/") or "", directory, name) if part) or "/"


def printable(path: str) -> str:
    r"""The path as it can be shown on one line: undecodable bytes and control characters as escapes.

    >>> printable("a\udce4b\nc")
    'a\\xe4b\\nc'
    """
    return "".join(_escaped(char) for char in path) if not path.isprintable() else path


def exact(path: str) -> str:
    r"""The path as JSON may hold it: itself where it is UTF-8, else with its undecodable bytes as \xNN.

    >>> exact("a\udce4b\nc")
    'a\\xe4b\nc'
    """
    return path if path.isascii() else re.sub("[\udc80-\udcff]", lambda match: _escaped(match[0]), path)


def label(path: str) -> str:
    """`printable`, in NFC, so that a name typed in composed letters finds one stored decomposed."""
    return unicodedata.normalize("NFC", printable(path))


def stored(path: str) -> str | bytes:
    """The path as the database holds it: text, or its bytes where they are not UTF-8."""
    if path.isascii():
        return path
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def loaded(path: str | bytes) -> str:
    """The reverse of `stored`."""
    return os.fsdecode(path)


def parents(directory: str) -> Iterator[str]:
    """The folders above `directory`, the nearest first, '' last.

    >>> list(parents("a/b/c"))
    ['a/b', 'a', '']
    """
    while directory:
        directory = directory.rpartition("/")[0]
        yield directory


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char.isprintable() or char == " ":
        return char
    return char.encode("unicode_escape").decode("ascii")


def _signed(number: int) -> int:
    """The number as 64 bits with a sign: other numbers stay other numbers."""
    return (number + 2**63) % 2**64 - 2**63


def _unescape(field: str) -> str:
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, char)
    return field


def _other(seen: os.stat_result) -> Skip:
    return Skip("not_a_file", f"is {_kind(seen.st_mode)}, which Winnow does not follow or read")


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
