// Package all registers every recording format in RoboCache, for programs that open any of them:
//
//	import _ "github.com/robocache/robocache/dataset/all"
//
// A program for one format imports that format's package instead, such as dataset/ulog, and is smaller because it links no other
// reader.
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
	_ "github.com/robocache/robocache/dataset/zarr"
)
