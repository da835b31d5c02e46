"""What people and programs do to files, by a seed. Knows nothing of Winnow: it only changes folders."""

import os
import random
import shutil
import time
from pathlib import Path

BIRDS = (
    *("avocet", "bittern", "curlew", "dunlin", "eider", "fulmar", "gadwall", "heron"),
    *("ibis", "jackdaw", "kittiwake", "lapwing", "merlin", "nightjar", "osprey"),
)
ENDINGS = (".txt", ".md", ".html", ".bin", ".csv", ".pdf", "", ".tmp")
ODD_NAMES = (
    *(
        b"not \xe4\xff utf-8.txt",
        b"two\nlines.txt",
        b"-rf",
        b"q'u\"o%te\\d.md",
        "caf\u00e9.txt".encode(),
        "cafe\u0301.txt".encode(),
    ),
    *(
        b"n" * 251 + b".txt",
        b" blank .txt",
        b"UPPER.txt",
        b"upper.txt",
        b"dir\xff/inner.txt",
        "\u6e2f/\u6d5a\u6e2b.txt".encode(),
    ),
)


class Deeds:
    """Some folders to which things happen. `outside` is a place of the same file system that nobody watches."""

    def __init__(self, dice: random.Random, folders: list[Path], outside: Path) -> None:
        self.dice, self.folders, self.outside = dice, folders, outside
        self.count = 0
        self.pens: list = []

    def some(self, number: int) -> None:
        for _ in range(number):
            self.create()

    def one(self) -> str:
        """Do something; its name."""
        deed = self.dice.choice(DEEDS)
        try:
            deed(self)
        except FileNotFoundError:  # the folder is away
            return f"{deed.__name__} (in vain)"
        return deed.__name__

    # ---- what there is

    def content(self) -> bytes:
        kind = self.dice.random()
        words = " ".join(self.dice.choice(BIRDS) for _ in range(self.dice.randrange(1, 60)))
        if kind < 0.06:
            return b""
        if kind < 0.12:
            return bytes(self.dice.randrange(256) for _ in range(300))
        if kind < 0.18:
            return b"%PDF-1.7 broken " + words.encode()
        if kind < 0.24:
            return " ".join(f"(cid:{self.dice.randrange(99)})" for _ in range(40)).encode()
        if kind < 0.34:
            return b"The same text in many places."
        if kind < 0.42:
            return f"<!DOCTYPE html><html><head><title>{words[:20]}</title></head><body><p>{words}</p></body></html>".encode()
        return words.encode()

    def place(self) -> Path:
        """A folder for something new, made if need be."""
        folder = self.dice.choice(self.folders) / self.dice.choice(("", "a", "b/c", "d", "b", ".git"))
        if not folder.parent.is_dir() or (not folder.is_dir() and (folder.exists() or folder.is_symlink())):
            folder = self.dice.choice(self.folders)
        folder.mkdir(exist_ok=True)
        return folder

    def new(self) -> Path:
        self.count += 1
        return self.place() / f"file-{self.count}{self.dice.choice(ENDINGS)}"

    def entries(self, wanted) -> list[Path]:
        found = []
        for folder in self.folders:
            for top, folders, files in os.walk(folder):
                found += [Path(top, name) for name in (*folders, *files)]
        return sorted((path for path in found if wanted(path)), key=os.fsencode)

    def file(self) -> Path:
        files = self.entries(_is_file)
        if not files:
            raise FileNotFoundError
        return self.dice.choice(files)

    def tree(self) -> Path:
        trees = self.entries(_is_tree)
        if not trees:
            raise FileNotFoundError
        return self.dice.choice(trees)

    # ---- files

    def create(self) -> None:
        self.new().write_bytes(self.content())

    def create_oddly(self) -> None:
        path = os.path.join(os.fsencode(self.dice.choice(self.folders)), self.dice.choice(ODD_NAMES))
        if not os.path.isdir(os.path.dirname(path)):
            os.mkdir(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(self.content())

    def rewrite(self) -> None:
        self.file().write_bytes(self.content())

    def append(self) -> None:
        with self.file().open("ab") as file:
            file.write(b" and " + self.content())

    def write_slowly(self) -> None:
        """A writer that takes his time: what he writes comes with later deeds."""
        for pen in self.pens:
            pen.write(self.content())
            pen.flush()
        if len(self.pens) < 3:
            self.pens.append(self.new().open("wb"))

    def rewrite_with_the_same_stamp(self) -> None:
        path = self.file()
        seen, size = path.stat(), path.stat().st_size
        path.write_bytes((self.content() * (size + 1))[:size].ljust(size, b"x"))
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    def replace(self) -> None:
        path = self.file()
        draft = path.with_name(f"draft-{self.count}.tmp")
        draft.write_bytes(self.content())
        draft.replace(path)

    def save_with_a_backup(self) -> None:
        path = self.file()
        path.rename(path.with_name(f"backup-{self.count}.bak"))
        path.write_bytes(self.content())

    def set_its_time(self) -> None:
        moment = self.dice.choice((0, 1, time.time() + 86_400 * 400, time.time() - 86_400))
        os.utime(self.file(), (moment, moment))

    def change_its_mode(self) -> None:
        path = self.file()
        path.chmod(0o000)
        time.sleep(self.dice.choice((0, 0.3)))
        path.chmod(self.dice.choice((0o644, 0o600, 0o755)))

    def rename(self) -> None:
        self.file().rename(self.new())

    def rename_over(self) -> None:
        self.file().replace(self.file())

    def copy(self) -> None:
        shutil.copyfile(self.file(), self.new())

    def link_hard(self) -> None:
        os.link(self.file(), self.new())

    def delete(self) -> None:
        self.file().unlink()

    def delete_and_write_again(self) -> None:
        path = self.file()
        path.unlink()
        time.sleep(self.dice.choice((0, 0.1, 0.6)))
        path.write_bytes(self.content())

    # ---- trees

    def new_tree(self) -> None:
        self.count += 1
        tree = self.place() / f"tree-{self.count}"
        for number in range(self.dice.randrange(1, 5)):
            folder = tree / "/".join(f"level-{n}" for n in range(number))
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"leaf-{number}.txt").write_bytes(self.content())

    def rename_tree(self) -> None:
        self.count += 1
        tree = self.tree()
        tree.rename(self.dice.choice((tree.parent, self.place_beside(tree))) / f"tree-{self.count}")

    def place_beside(self, tree: Path) -> Path:
        place = self.place()
        return place if place != tree and tree not in place.parents else tree.parent

    def copy_tree(self) -> None:
        self.count += 1
        tree = self.tree()
        if len(list(tree.rglob("*"))) < 60:
            shutil.copytree(tree, self.place_beside(tree) / f"copy-{self.count}", symlinks=True, ignore=_ignore_odd)

    def delete_tree(self) -> None:
        shutil.rmtree(self.tree())

    def move_out(self) -> None:
        self.count += 1
        self.dice.choice((self.file, self.tree))().rename(self.outside / f"out-{self.count}")

    def move_in(self) -> None:
        self.count += 1
        out = sorted(self.outside.iterdir())
        if out:
            self.dice.choice(out).rename(self.place() / f"in-{self.count}.txt")

    def write_in_what_moved_out(self) -> None:
        for tree in sorted(self.outside.iterdir()):
            if tree.is_dir():
                (tree / "written-outside.txt").write_bytes(self.content())

    def swap_a_file_for_a_folder(self) -> None:
        path = self.file()
        path.unlink()
        path = path.with_suffix("") if path.suffix == ".tmp" else path  # that would be left out as a folder too
        path.mkdir()
        (path / "inside.txt").write_bytes(self.content())

    def swap_a_folder_for_a_file(self) -> None:
        tree = self.tree()
        shutil.rmtree(tree)
        tree.write_bytes(self.content())

    def swap_a_folder_for_a_link_to_it(self) -> None:
        self.count += 1
        tree = self.tree()
        moved = tree.with_name(f"real-{self.count}")
        tree.rename(moved)
        tree.symlink_to(moved.name)

    def swap_names(self) -> None:
        one, other = self.file(), self.file()
        if one != other:
            between = self.outside / "between"
            one.rename(between)
            other.rename(one)
            between.rename(other)

    # ---- what is never read

    def link(self) -> None:
        self.new().symlink_to(self.dice.choice(("nowhere", "/etc/hostname", "..", str(self.outside))))

    def pipe(self) -> None:
        os.mkfifo(self.new())

    # ---- much at once

    def burst(self) -> None:
        folder = self.place() / f"burst-{self.count}"
        folder.mkdir()
        for number in range(150):
            (folder / f"{number}.txt").write_bytes(b"%d " % (number % 40) + b"The same in a burst.")

    def flood(self) -> None:
        """More events than the kernel queues (fs.inotify.max_queued_events) where nobody takes them meanwhile."""
        folder = self.place()
        for number in range(9_000):
            path = folder / f"flood-{number % 2}"
            path.write_bytes(b"")
            path.unlink()

    def move_a_folder_out_and_delete_its_name(self) -> None:
        """What ends the reading thread of watchdog 7.1."""
        self.count += 1
        folder = self.place() / f"deaf-{self.count}"
        folder.mkdir()
        time.sleep(0.3)
        away = self.outside / "deaf"
        folder.rename(away)
        folder.mkdir()
        time.sleep(0.1)
        folder.rmdir()
        away.rmdir()

    def lay_down_the_pens(self) -> None:
        for pen in self.pens:
            pen.close()
        self.pens.clear()


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _is_tree(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _ignore_odd(folder: str, names: list[str]) -> list[str]:
    paths = [os.path.join(folder, name) for name in names]
    return [os.path.basename(path) for path in paths if not (os.path.isfile(path) or os.path.isdir(path))]


DEEDS = [
    *[Deeds.create] * 4,
    *[Deeds.rewrite] * 2,
    *(Deeds.create_oddly, Deeds.append, Deeds.write_slowly, Deeds.rewrite_with_the_same_stamp, Deeds.replace),
    *(Deeds.save_with_a_backup, Deeds.set_its_time, Deeds.change_its_mode, Deeds.rename, Deeds.rename, Deeds.rename_over),
    *(Deeds.copy, Deeds.copy, Deeds.link_hard, Deeds.delete, Deeds.delete, Deeds.delete_and_write_again),
    *(Deeds.new_tree, Deeds.new_tree, Deeds.rename_tree, Deeds.rename_tree, Deeds.copy_tree, Deeds.delete_tree),
    *(Deeds.move_out, Deeds.move_in, Deeds.move_in, Deeds.write_in_what_moved_out, Deeds.swap_a_file_for_a_folder),
    *(Deeds.swap_a_folder_for_a_file, Deeds.swap_a_folder_for_a_link_to_it, Deeds.swap_names, Deeds.link, Deeds.pipe),
    *(Deeds.burst, Deeds.flood, Deeds.move_a_folder_out_and_delete_its_name),
]
