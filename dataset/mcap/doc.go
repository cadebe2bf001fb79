// Package mcap reads and writes MCAP files, which record messages on many topics.
//
//	d, err := mcap.Open(ctx, "run.mcap", dataset.Options{Clock: "header"})
//	e, err := d.Episode(ctx, 0) // e.Stream("/imu"), e.MediaStream("/camera/image_raw/compressed")
//
// As a dataset, a file is one episode, and each topic becomes one or more streams. docs/robot-logs.md describes the conversion,
// which is the same for all logs. Files with an index are read by it, others are scanned; messages that the index lacks are found
// too. Chunks are decompressed (zstd, lz4), and their CRC and the summary's CRC are verified. The data section's CRC is not
// verified, because that would require reading the whole file at once. Attachments are listed and not read. Broken data loses only
// itself: a chunk, a record or a message. If a file was cut, its whole chunks are read, and the whole records in the last one.
//
// [Writer] writes records in chunks, with indexes and a summary, and [Writer.Episode] writes an episode:
//
//	err := mcap.WriteFile("run.mcap", mcap.WriterOptions{}, func(w *mcap.Writer) error {
//		return w.Episode(ctx, episode, mcap.Protobuf)
//	})
//
// Supported: chunks without compression, with zstd and with lz4; schemas ros1msg, ros2msg, ros2idl, omgidl, protobuf and
// jsonschema, and JSON without a schema. Other compressions are an error that is ErrUnsupported. Channels with other encodings are
// left out with a note.
//
// The format is described at https://mcap.dev/spec.
package mcap
