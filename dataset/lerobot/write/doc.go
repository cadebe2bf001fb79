// Package write writes LeRobot datasets of version 3.0. Package lerobot reads them.
//
// A [Writer] adds one episode after the other to a folder next to the dataset's name, and Commit gives the folder that name. An episode is
// planned first: the streams become columns of one clock, images are read and videos are encoded, so that an episode that cannot be written
// costs itself only. Then its rows are a row group of data/, its videos follow others in their files, and its statistics are a row of
// meta/episodes.
//
// Memory is bounded by an episode. Calls block while they read, encode and write.
package write
