// Package mcap reads and writes MCAP files: recordings of the messages of many topics.
//
// As a dataset, a file is one episode, of which each topic is a stream; docs/robot-logs.md says what messages become, the same for all logs. Files with
// an index are read by it, others are scanned; messages that no index mentions are found too. Chunks are decompressed (zstd, lz4) and checked by their
// CRC, and the summary by its own. That of the data section is not checked, since it would take the whole file at once, nor are those of
// attachments, which are named and not read. What is broken costs itself: a chunk, a record, a message. A file that was cut gives its whole chunks, and
// the whole records of the last one.
//
// [Writer] writes records in chunks, with indexes and a summary, and [Writer.Episode] an episode:
//
//	err := mcap.WriteFile("run.mcap", mcap.WriterOptions{}, func(w *mcap.Writer) error {
//		return w.Episode(ctx, episode, mcap.Protobuf)
//	})
//
// Read: chunks without compression, of zstd and of lz4; schemas ros1msg, ros2msg, ros2idl, omgidl, protobuf and jsonschema, and JSON
// without a schema. Refused with ErrUnsupported: other compressions. Channels of other encodings are left out.
//
// The format is described at https://mcap.dev/spec.
package mcap
