#!/usr/bin/env python3
"""Bags as SQLite itself writes them, in forms that recorders do not use: dataset/rosbag2/testdata/*.db3.

    scripts/gen_rosbag2_sqlite.py

Each holds 16 messages of /flag (std_msgs/msg/Bool: whether i is odd) and 16 of /odom (nav_msgs/msg/Odometry, longer than a page: 1000*i + the place of
the number), a second apart from 10^18 ns on.
"""
import pathlib
import shutil
import sqlite3
import struct

FOLDER = pathlib.Path(__file__).parent.parent / "dataset/rosbag2/testdata"
TOPICS = "CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL)"
MESSAGES = "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)"
INDEX = "CREATE INDEX timestamp_idx ON messages (timestamp ASC)"
FLAG, ODOM = ("/flag", "std_msgs/msg/Bool"), ("/odom", "nav_msgs/msg/Odometry")


def messages():
    for i in range(16):
        time = 10**18 + i * 10**9
        yield 7, time, b"\0\1\0\0" + bytes([i % 2])
        head = struct.pack("<iII2s2xI2s2x", time // 10**9, 0, 2, b"a\0", 2, b"b\0")
        yield 9, time, b"\0\1\0\0" + head + struct.pack("<85d", *(1000 * i + k for k in range(85)))


def write(name, *pragmas, topics=TOPICS, table=MESSAGES, between=(), insert="INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)", log=False):
    path = FOLDER / name
    for suffix in ("", "-wal", "-shm"):
        pathlib.Path(f"{path}{suffix}").unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    for p in ("page_size=512", *pragmas):
        db.execute("PRAGMA " + p)
    for s in (topics, table, INDEX):
        db.execute(s)
    columns, marks = ("id, name, type, serialization_format", "?, ?, ?, 'cdr'") if "serialization_format" in topics else ("id, name, type", "?, ?, ?")
    for topic, (at, kind) in ((7, FLAG), (9, ODOM)):
        db.execute(f"INSERT INTO topics({columns}) VALUES ({marks})", (topic, at, kind))
    for s in between:
        db.execute(s)
    for i, m in enumerate(messages()):
        if log and i == 16:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute(insert, m)
        if i % 10 == 5:  # rows that go, whose pages are used again
            db.execute(insert, (9, 5, b"x" * 3000))
            db.execute("DELETE FROM messages WHERE timestamp = 5")
    if log:
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{path}.copy{suffix}")
    db.close()
    if log:
        for suffix in ("", "-wal"):
            shutil.move(f"{path}.copy{suffix}", f"{path}{suffix}")


write("plain.db3")
write("utf16le.db3", "encoding='UTF-16le'")
write("utf16be.db3", "encoding='UTF-16be'")
write("vacuum.db3", "auto_vacuum=FULL")
write("log.db3", "journal_mode=WAL", "wal_autocheckpoint=0", log=True)
# Columns in another order, quoted, computed, and added after the rows of topics were written.
write(
    "columns.db3",
    topics="""CREATE TABLE "topics" ( -- (names, and types
        half AS (id / 2), [name] TEXT /* , */ NOT NULL CHECK (length(name) > 0), "type" VARCHAR(20) DEFAULT 'it''s', id INTEGER, PRIMARY KEY ("id" DESC))""",
    table="""CREATE TABLE messages(data BLOB, twice INTEGER AS (topic_id * 2) STORED, `timestamp` INTEGER DEFAULT (1 + (2)),
        note TEXT REFERENCES topics(name) ON DELETE SET DEFAULT, Topic_ID INTEGER CONSTRAINT c NOT NULL, CHECK (1), UNIQUE (topic_id, timestamp))""",
    between=("ALTER TABLE topics ADD COLUMN serialization_format TEXT DEFAULT 'cdr'", "ALTER TABLE topics RENAME TO t", "ALTER TABLE t RENAME TO topics",
             "ALTER TABLE topics ADD COLUMN offered_qos_profiles TEXT NOT NULL DEFAULT ''"),
)
