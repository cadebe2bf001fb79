// Package message decodes robot messages to columns: ROS 1, ROS 2, protobuf and JSON.
//
// A [Type] is a parsed definition. A [Decoder] is made once for each channel, from its message encoding and schema. It appends each
// message's numbers to [Rows]: one row to the table, which has the fields of fixed length, and one row to each list, an array of variable
// length. Other fields, such as text, become [Shape.Notes] by name. Images and clouds are decoded on demand, to a [Frame] or a
// dataset.Cloud.
//
// Read: ROS 1, where bytes after a message are counted as Surplus and ignored; CDR of version 1 and version 2 of final types, of both
// byte orders, with up to 3 bytes of padding; protobuf with a FileDescriptorSet that has its imports, where identical files count once;
// JSON. Images are JPEG, PNG or raw pixels; packets of video are h264, h265, vp9 and av1. Refused: parameter lists and mutable types of
// CDR, CDR with other bytes after a message, because they show a wrong definition, and descriptor sets with two different files of one
// name.
//
// For ROS 1 and CDR, a definition becomes steps (flatten.go), and the steps become one program for each encoding (program.go). A run of
// numbers has fixed places relative to its beginning, so that it is checked and copied at once: a message of float64 is one copy.
package message
