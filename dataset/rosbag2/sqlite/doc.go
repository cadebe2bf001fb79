// Package sqlite reads the .db3 files of rosbag2 bags, which are SQLite databases:
//
//	import _ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
//
// The tables are read from the pages of their trees (https://www.sqlite.org/fileformat2.html), through package storage: from a disk, and from an object
// store by ranges, without a copy. Columns are found by their names, in any order, by the CREATE TABLE statements of the schema; columns that ALTER
// TABLE added have their default in older rows. Text is UTF-8 or UTF-16. Tables WITHOUT ROWID are not supported.
//
// Nothing is written next to the recording. The transactions that a recorder left in a write-ahead log, the file whose name ends in -wal, are laid over
// the file's pages as SQLite does, up to the last that is whole. A file that is broken or cut off gives the messages whose pages can be reached, and
// damage names the numbers of the others.
package sqlite
