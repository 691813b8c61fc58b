"""Makes the data folders of formats that no program came out with, each of one beside it, as the program between them would have
left it.

    store_formats.py Tests/StorageTests/Fixtures
"""

import pathlib
import shutil
import sqlite3
import sys

# Format: the one that its folder is made of, and what tells the two apart. The migrations themselves are in Sources/Storage/Schema.swift.
STEPS = {
    5: (6, "DROP TABLE incoming"),
    7: (6, "CREATE TABLE actions(id TEXT PRIMARY KEY, partition TEXT, finished_at REAL, record BLOB)"),
    10: (11, ""),
    9: (10, "DROP TABLE sending"),
}


def main(fixtures):
    for version, (source, change) in STEPS.items():
        folder = fixtures / f"schema-{version}"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(fixtures / f"schema-{source}", folder)
        database = sqlite3.connect(folder / "holdfast.sqlite")
        database.executescript(f"{change};\nPRAGMA user_version = {version};\nPRAGMA wal_checkpoint(TRUNCATE);")
        database.close()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
