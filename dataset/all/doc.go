// Package all registers every format of recordings that RoboCache reads, for programs that open whatever they are given:
//
//	import _ "github.com/robocache/robocache/dataset/all"
//
// A program that reads one format imports the package of that one, and links no other.
package all

import (
	_ "github.com/robocache/robocache/dataset/aloha" // each so that dataset.Open knows it
	_ "github.com/robocache/robocache/dataset/calvin"
	_ "github.com/robocache/robocache/dataset/csv"
	_ "github.com/robocache/robocache/dataset/hdf5/plain"
	_ "github.com/robocache/robocache/dataset/isaaclab"
	_ "github.com/robocache/robocache/dataset/lerobot"
	_ "github.com/robocache/robocache/dataset/mcap"
	_ "github.com/robocache/robocache/dataset/npz"
	_ "github.com/robocache/robocache/dataset/rlds"
	_ "github.com/robocache/robocache/dataset/robomimic"
	_ "github.com/robocache/robocache/dataset/rosbag"
	_ "github.com/robocache/robocache/dataset/rosbag2"
	_ "github.com/robocache/robocache/dataset/rosbag2/sqlite"
	_ "github.com/robocache/robocache/dataset/safetensors"
	_ "github.com/robocache/robocache/dataset/tum"
	_ "github.com/robocache/robocache/dataset/ulog"
)
