// Package message decodes robot messages to columns: ROS 1, ROS 2, protobuf and JSON.
//
// A [Type] is a parsed definition. A [Decoder] is made once for each channel, from its message encoding and schema. It appends each
// message's numbers to [Rows]: one row to the table, which has the fields of fixed length, and one row to each list, an array of variable
// length. Other fields, such as text, become [Shape.Notes] by name. Images and clouds are decoded on demand, to a [Frame] or a
// dataset.Cloud.
//
// For ROS 1 and CDR, a definition becomes steps (flatten.go), and the steps become one program for each encoding (program.go). A run of
// numbers has fixed places relative to its beginning, so that it is checked and copied at once: a message of float64 is one copy.
package message
