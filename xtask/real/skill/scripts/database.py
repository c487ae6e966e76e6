"""A database with a log in shared memory."""

import sqlite3

database = sqlite3.connect("data.db")
print(database.execute("pragma journal_mode = wal").fetchone()[0])
database.execute("create table numbers (value)")
database.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
database.commit()
print(database.execute("select sum(value) from numbers").fetchone()[0])
