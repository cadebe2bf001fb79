// Package rosbag reads ROS 1 bags, version 2.0, as streams of their topics.
//
// A file is one episode. Its chunks, uncompressed, bz2 or lz4, are found by the index at the file's end, and read in parallel; of a bag that was not
// closed, is cut, or whose index is broken, by a scan of its records. Log and publish time are the same: when a message was received.
//
// What is broken costs itself, and Damage counts it: a stretch of a chunk without whole records, a chunk that fails its checksum, a message whose
// connection nobody defines. A chunk that the file's end cuts gives the messages before the cut. Records of an unknown kind are passed over, as the
// format asks. Bytes after a message of its type are ignored, as ROS does, and counted. Versions 1.x and encrypted bags are refused by name. A chunk may take 1 GiB, and no more than its bytes can be unpacked to.
//
// The format is described at https://wiki.ros.org/Bags/Format/2.0.
package rosbag
