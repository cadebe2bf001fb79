// Package mcap reads and writes MCAP files: recordings of the messages of many topics.
//
// As a dataset, a file is one episode, of which each topic is a stream. What of messages becomes what is the same for all logs: see docs/formats. Files
// with an index are read by it, others are scanned; messages that no index mentions are found too. Chunks are uncompressed by zstd or lz4 and
// checked by their CRC, and the summary by its own; that of the data section is not, since it takes the whole file at once. What is broken costs
// itself: a chunk, a record, a message. A file that was cut gives its whole chunks, and the whole records of the last one.
//
// [Reader] gives the records of a file one after the other, and checks all CRCs.
//
// The format is described at https://mcap.dev/spec.
package mcap
