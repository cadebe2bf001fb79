// Package sqlite reads the .db3 files of rosbag2 bags, which are SQLite databases:
//
//	import _ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
//
// It is a package of its own so that only programs that import it link SQLite.
//
// SQLite reads through package storage, page by page: from a disk, and from an object store by ranges, without a copy. Nothing is written beside the
// recording. What a recorder left in a write-ahead log, in the file whose name ends in -wal, is laid over the file's pages as SQLite would, up to the
// last transaction that is whole. A file that is broken or cut off gives the messages that SQLite still finds, and damage names the numbers of the
// others.
package sqlite
