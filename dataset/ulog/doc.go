// Package ulog reads ULog files, the flight logs of PX4 (file versions 0 and 1).
//
//	log, err := ulog.ReadFile("flight.ulg", ulog.Options{})
//	attitude := log.Stream("vehicle_attitude") // Times [S] ns since the recorder's start, Values [S,D]
//	gain, ok := log.Parameter("MC_ROLL_P")
//
// Each topic instance becomes a stream: instance 0 of topic NAME is the stream NAME, instance 1 is NAME_1, and so on. Streams have
// the order of their first subscriptions. The topic's own field "timestamp" is the clock, in nanoseconds since the recorder's
// start, and no column. Nested types and arrays are flattened to names such as "control[0]" and "esc[2].rpm"; fields with the
// prefix "_padding" are left out. Values are f32 if every column is float, bool, char or an integer with at most 16 bits, else f64.
// Inexact counts the integers above 2^53 that f64 cannot hold.
//
// Broken data loses only itself, and Notes counts it. A message with invalid content is skipped. If the next message cannot be
// found, reading continues at the next place where messages follow each other. Messages have no checksums, so a message is only
// trusted if another one, or the end of the file, follows it. If two topics use one id, neither gets its data. Only a file that is
// not a log, or has an unknown version or flag, is an error; with Options.Strict every damage is one. The reader's memory is at
// most a fixed multiple of the file size, and so is its time.
//
// The format is described at https://docs.px4.io/main/en/dev_log/ulog_file_format.html.
package ulog
