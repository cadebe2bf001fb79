// Package message has the types of messages that logs of robots hold, ROS 1, ROS 2, protobuf and JSON, and decodes them to columns.
//
// A [Type] is what a definition says. A [Decoder] is made once a channel, from its message encoding and schema, and appends each message's numbers
// to [Rows]: one row to the table of the fields that every message has, and one to each list, an array whose length the message says. What is
// neither, such as text, is in [Shape.Notes] by name. Images and clouds are decoded whole, when asked for, to a [Frame] or a dataset.Cloud.
//
// Of ROS 1 and CDR a definition becomes steps (flatten.go), and these, for each encoding, a program (program.go): runs of numbers whose places follow
// from where the run begins are checked and copied together, so that a message of float64 is one copy.
package message
