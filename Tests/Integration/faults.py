"""Faults of the kernel for a running binary: Tests/Faults, loaded by LD_PRELOAD. faults.h says what rules are like."""

import os
import pathlib
import shutil
import subprocess
import tempfile

SOURCES = pathlib.Path(__file__).parent.parent / "Faults"


class Faults:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-faults-"))
        library = self.folder / "faults.so"
        subprocess.run(["clang", "-O1", "-shared", "-fPIC", "-I", SOURCES / "include", SOURCES / "faults.c",
                        "-o", library], check=True)
        self.rules = self.folder / "rules"
        self.environment = {"LD_PRELOAD": str(library), "HOLDFAST_FAULTS": str(self.rules)}
        self.set()

    def set(self, *rules):
        """Replaces all rules; none: no faults from now on."""
        fresh = self.folder / "rules.new"
        fresh.write_text("".join(rule + "\n" for rule in rules))
        os.rename(fresh, self.rules)

    def remove(self):
        shutil.rmtree(self.folder)

    def fill_disk(self, part="/data/"):
        """No room for anything new in data folders, or where else a path has the part."""
        self.set(*(f"{call} {part} ENOSPC" for call in ("write", "create", "truncate")))

    def protect(self, part="/data/"):
        """The same places can't be written, as on a read-only mount."""
        self.set(*(f"{call} {part} EROFS" for call in ("write", "create", "change", "truncate")))
