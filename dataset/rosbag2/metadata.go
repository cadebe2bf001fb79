package rosbag2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/caught"
	ytext "github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
)

const (
	metadataName = "metadata.yaml"
	mostMetadata = 4 << 20 // bytes, of some thousands of files
	mostDepth    = 200
	mostNested   = 5000 // brackets, although rosbag2 writes none: reading YAML takes time proportional to the square of the depth
)

// metadata is the content of metadata.yaml, in any version so far, 1 to 9.
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
	Count       int64             `yaml:"message_count"`
	Topics      []countedTopic    `yaml:"topics_with_message_count"`
	Compression string            `yaml:"compression_format"`
	Mode        string            `yaml:"compression_mode"` // FILE, MESSAGE, NONE or nothing
	Paths       []string          `yaml:"relative_file_paths"`
	Custom      map[string]string `yaml:"custom_data"`
}

// countedTopic is a topic with its message count.
type countedTopic struct {
	Topic struct {
		Name   string `yaml:"name"`
		Type   string `yaml:"type"`
		Format string `yaml:"serialization_format"`
	} `yaml:"topic_metadata"`
	Count int64 `yaml:"message_count"`
}

// empty reports whether metadata.yaml declares that there are no messages.
func (m *metadata) empty() bool { return m.Count == 0 || m.Start.Nanoseconds == math.MaxInt64 }

// readMetadata reads a folder's metadata.yaml. It returns nil if there is no such file, or if rosbag2 did not write it.
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
		return nil, &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrTooLarge, Msg: metadataName, Got: fmt.Sprintf("%d bytes", info.Size), Want: fmt.Sprintf("at most %d", mostMetadata)}
	}
	text, err := storage.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if !bytes.Contains(text, []byte("rosbag2_bagfile_information")) {
		return nil, nil
	}
	if n := bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{")); n > mostNested || ytext.Depth(text) > mostDepth {
		return nil, &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrTooLarge, Msg: "nesting in " + metadataName,
			Got: fmt.Sprintf("%d brackets, %d deep", n, ytext.Depth(text)), Want: fmt.Sprintf("at most %d, and %d deep", mostNested, mostDepth)}
	}
	var root struct {
		Bag *metadata `yaml:"rosbag2_bagfile_information"`
	}
	// The library panics on some unexpected input, such as a list with a tag.
	if err := caught.Do(func() error { return yaml.Unmarshal(text, &root) }); err != nil {
		bad := &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: metadataName}
		var at yaml.Error // its Error prints a long part of the file
		if fell := (*caught.Panic)(nil); errors.As(err, &fell) {
			bad.Got = "YAML that the reader has no way for: " + fmt.Sprint(fell.Value)
		} else if errors.As(err, &at) {
			if bad.Got = at.GetMessage(); at.GetToken() != nil && at.GetToken().Position != nil {
				bad.Line = at.GetToken().Position.Line
			}
		} else {
			bad.Got, _, _ = strings.Cut(err.Error(), "\n")
		}
		bad.Got = bad.Got[:min(len(bad.Got), 200)]
		return nil, bad
	}
	if root.Bag == nil {
		return nil, &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: metadataName, Got: "nothing",
			Want: "rosbag2_bagfile_information"}
	}
	return root.Bag, nil
}
