// Package sqlite reads .db3 files in rosbag2 bags, which are SQLite databases. It exports nothing; importing it registers the
// reader:
//
//	import _ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
//
// It reads the B-tree pages (https://www.sqlite.org/fileformat2.html) through package storage: from a disk, and from an object
// store by ranges, without a copy. The CREATE TABLE statements in the schema give the column names, so columns may have any order.
// Older rows use the default for a column that ALTER TABLE added. Text is UTF-8 or UTF-16. Tables WITHOUT ROWID are not supported.
//
// Nothing is written next to the recording. If the recorder left a write-ahead log (a file with the suffix -wal), its committed
// transactions replace pages in the database, as in SQLite. A file that is broken or cut returns the messages on reachable pages,
// and the damage notes list the numbers of the others.
package sqlite
