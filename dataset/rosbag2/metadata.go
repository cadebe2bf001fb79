package rosbag2

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

const (
	metadataName = "metadata.yaml"
	mostMetadata = 64 << 20 // bytes
)

// metadata is what metadata.yaml says, of any version that there is so far, 1 to 9.
type metadata struct {
	Version  int    `yaml:"version"`
	Storage  string `yaml:"storage_identifier"`
	Distro   string `yaml:"ros_distro"`
	Duration struct {
		Nanoseconds int64 `yaml:"nanoseconds"`
	} `yaml:"duration"`
	Start struct {
		Nanoseconds int64 `yaml:"nanoseconds_since_epoch"` // of no messages, the greatest there is
	} `yaml:"starting_time"`
	Count  int64 `yaml:"message_count"`
	Topics []struct {
		Topic struct {
			Name   string `yaml:"name"`
			Type   string `yaml:"type"`
			Format string `yaml:"serialization_format"`
		} `yaml:"topic_metadata"`
		Count int64 `yaml:"message_count"`
	} `yaml:"topics_with_message_count"`
	Compression string            `yaml:"compression_format"`
	Mode        string            `yaml:"compression_mode"` // FILE, MESSAGE, NONE or nothing
	Paths       []string          `yaml:"relative_file_paths"`
	Custom      map[string]string `yaml:"custom_data"`
}

// empty reports whether it says that there are no messages.
func (m *metadata) empty() bool { return m.Count == 0 || m.Start.Nanoseconds == math.MaxInt64 }

// readMetadata returns nil for a folder without the file, and for one that is not of rosbag2.
func readMetadata(ctx context.Context, folder string) (*metadata, error) {
	path := storage.Join(folder, metadataName)
	info, err := storage.Stat(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size > mostMetadata {
		return nil, &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrTooLarge, Msg: metadataName, Got: "more than 64 MiB"}
	}
	text, err := storage.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(text), "rosbag2_bagfile_information") {
		return nil, nil
	}
	var root struct {
		Bag *metadata `yaml:"rosbag2_bagfile_information"`
	}
	if err := yaml.Unmarshal(text, &root); err != nil {
		bad := &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: metadataName, Got: firstLine(err.Error())}
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
			bad.Line, bad.Got = at.GetToken().Position.Line, at.GetMessage()
		}
		return nil, bad
	}
	if root.Bag == nil {
		return nil, &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: metadataName, Got: "nothing",
			Want: "rosbag2_bagfile_information"}
	}
	return root.Bag, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
