package rosbag2

import (
	"context"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/mcap" // which opens logs
	"github.com/robocache/robocache/dataset/rosbag2/internal/store"
	"github.com/robocache/robocache/internal/logs/mcaplog"
	"github.com/robocache/robocache/storage"
)

func init() { store.Register(".mcap", openMCAP) }

// mcapFile is an open MCAP file in a bag.
type mcapFile struct {
	mcaplog.Log
	file storage.File
}

func openMCAP(ctx context.Context, from store.Source, damage *dataset.Notes) (store.File, error) {
	log, err := mcaplog.Open(ctx, from.File, from.Path, damage)
	if err != nil {
		return nil, err
	}
	return &mcapFile{log, from.File}, nil
}

// Distro returns the ROS distribution that wrote the file; empty before ROS 2 Iron, because rosbag2 did not record it.
func (f *mcapFile) Distro() string { return f.Note("rosbag2", "ROS_DISTRO") }

func (f *mcapFile) Close() error { return f.file.Close() }
