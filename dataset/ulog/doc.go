// Package ulog reads ULog files, the flight logs of PX4 (file versions 0 and 1).
//
// Each topic becomes a stream: instance 0 of topic NAME is the stream NAME, instance 1 is NAME_1, and so on. Streams
// come in the order of their first subscription. The topic's own field "timestamp" is the clock, in nanoseconds from the
// recorder's start; it is no column. Nested types and arrays are flattened to names like "control[0]" and "esc[2].rpm";
// fields whose name begins with "_padding" are left out. Values are f32 where every column is float, bool, char or an
// integer of at most 16 bits, else f64, and Inexact counts the integers above 2^53 that f64 could not hold.
//
// What is broken costs itself, and Damage counts it: a message that does not hold what it should is passed over, and where the messages
// do not follow each other, reading goes on where they do again. Messages have no checksums, so one that is not followed by another, or
// by the end of the file, is not trusted; an id that two topics claim gives data to neither. Only a file that is no log, or of an unknown
// version or flag, is an error, unless [Options] are strict: then the first damage is one. Nothing in a file makes the reader take more
// memory than a fixed multiple of the file's size, or more time.
//
// The format is described at https://docs.px4.io/main/en/dev_log/ulog_file_format.html.
package ulog
