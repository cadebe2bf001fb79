// Package rosbag2 reads ROS 2 recordings: a folder with .db3 or .mcap files and metadata.yaml, or a single .db3 file.
//
//	import _ "github.com/robocache/robocache/dataset/rosbag2/sqlite" // for .db3
//
//	d, err := rosbag2.Open(ctx, "rosbag2_2024_05_01", dataset.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("/joint_states.position")
//
// A folder is one episode with all its files, in the order in metadata.yaml. Its topics become streams, media and clouds by the
// rules in package topics. A folder without metadata.yaml is a bag if its .db3 files are a single file or numbered pieces:
// run_0.db3, run_1.db3.
//
// Compressed files, .db3.zstd and .mcap.zstd, are decompressed to temporary files, which have no name if the system allows that and
// disappear with the dataset. The eight most recently used files stay, so a bag needs no more disk space than these. Reading images
// in recording order decompresses each file once; reading them at random decompresses again. Messages with their own compression
// are decompressed when read.
//
// [github.com/robocache/robocache/dataset/rosbag2/sqlite] reads .db3 files. A program must import it, as dataset/all does. Files
// from older ROS versions lack message definitions. The reader then uses Options.Definitions, or its built-in definitions for
// common ROS messages from the distribution that wrote the file, if the file names it.
//
// Supported: storage sqlite3 in any text encoding and page size, with a write-ahead log, and mcap; compression_mode FILE and
// MESSAGE with compression_format zstd, and mcap chunks with lz4 and zstd; messages in CDR version 1, and version 2 with final
// types, in both byte orders; definitions in .msg and IDL.
//
// Not supported: other storages such as rosbag_v2; other compression formats; serialization formats other than cdr; CDR with
// mutable or appendable types; topics with an undefined type. They are an error, or a note if other topics can be read. An
// unfinished transaction at the end of a write-ahead log is left out with a note, as SQLite does.
//
// If a file is missing or contradicts metadata.yaml, Info has a problem. If message counts disagree, the episode has a remark.
package rosbag2
