// Package rosbag reads ROS 1 bags, version 2.0. Each topic becomes one or more streams.
//
//	d, err := rosbag.Open(ctx, "run.bag", dataset.Options{Clock: "header"})
//	e, err := d.Episode(ctx, 0) // e.Stream("/imu"), e.MediaStream("/camera/image_raw/compressed")
//
// A file is one episode. The index at the end of the file locates its chunks (uncompressed, bz2 or lz4), and they are read in
// parallel. If the bag was not closed, is cut or has a broken index, the reader scans its records instead. Log time and publish
// time are equal: the time when a message was received.
//
// Broken data loses only itself, and Notes counts it: bytes in a chunk without whole records, a chunk with a wrong checksum, a
// message with an undefined connection. If the file ends inside a chunk, the messages before the cut are read. Records of unknown
// types are skipped, as the format requires. Bytes after the last field of a message are ignored as in ROS, and counted. Versions
// 1.x and encrypted bags return an error that names them. A chunk may have up to 1 GiB, and not more than its compressed bytes can
// expand to.
//
// The format is described at https://wiki.ros.org/Bags/Format/2.0.
package rosbag
