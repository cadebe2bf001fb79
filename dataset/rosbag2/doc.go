// Package rosbag2 reads the recordings of ROS 2: a folder of .db3 or .mcap files with metadata.yaml, or a lone .db3 file.
//
// A folder is one episode of all its files, in the order in which metadata.yaml lists them; its topics become streams, media and clouds as the package
// topics says. Without metadata.yaml, a folder is a bag if its .db3 files are one, or the numbered pieces of one: run_0.db3, run_1.db3. Files that are
// compressed, .db3.zstd and .mcap.zstd, are decompressed to temporary files without a name where the system allows that, which are gone with the
// dataset; messages that are compressed one by one are decompressed as they are read. Of the decompressed files the eight that were used last stay, so
// that a bag takes no more room than these: images and clouds that are read here and there in more of them cost a decompressed file each, and in the
// order of the recording each file once.
//
// .db3 files are read by [github.com/robocache/robocache/dataset/rosbag2/sqlite], which a program has to import, as dataset/all does. Those that older
// versions of ROS wrote lack the definitions of their messages: these are then of Options.Definitions, or the built-in ones of ROS' common messages, by
// the distribution that wrote the file, where it says so.
//
// Read: storage sqlite3, of databases in any encoding of text and page size, with a write-ahead log, and mcap; compression_mode FILE and MESSAGE with
// compression_format zstd, and the chunks of mcap with lz4 and zstd; messages in CDR of version 1, and of version 2 of final types, of both byte orders;
// definitions in .msg and in IDL.
//
// Refused with an error, or left out with a note if other topics can be read: other storages, such as rosbag_v2; other compression formats; the
// serialization formats other than cdr; CDR of mutable and appendable types; topics whose type has no definition. A transaction at the end of a write-ahead
// log that did not end is left out with a note, as SQLite leaves it out.
//
// A file that is missing, or that metadata.yaml describes otherwise, is a problem that Info tells; counts that disagree are a remark of the episode.
package rosbag2
