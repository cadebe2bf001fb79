package footage

import (
	"context"
	"io"
	"iter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// File is an open video.
type File struct {
	file  *mp4.File
	Track *mp4.Track
}

// Open opens a file of MP4 and finds its video.
func Open(path string) (opened *File, err error) {
	defer dataset.WatchedOpen(path, &opened, &err)()
	file, err := mp4.Open(path)
	if err != nil {
		return nil, err
	}
	track, err := file.Video()
	if err != nil {
		file.Close()
		return nil, err
	}
	return &File{file, track}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Source reads an episode's frames of a video. It is the source of the media of LeRobot datasets.
type Source struct {
	Videos *openfiles.Cache[*File]
	Path   string  // of the file
	Frames []int32 // of the file, ascending
	Origin Origin
	Whole  bool // Frames are all frames of the episode, so that the statistics of its origin are true of them
}

// Origin is the episode's video in the dataset that it was read from.
type Origin struct {
	Feature
	Episode int64
}

// Feature is a feature of video of a dataset.
type Feature struct {
	Dataset Dataset
	Name    string
}

// Dataset provides a dataset's declarations about its videos. Values from one dataset are equal.
type Dataset interface {
	Len() int // episodes
	// Info returns the declared pixel format of a feature.
	Info(feature string) Info
	// Stats returns the statistics of an episode's video, and false if they are missing or implausible.
	Stats(ctx context.Context, feature string, episode int64) (Stats, bool)
	// Levels returns the levels of all frames of a feature, and false if the dataset has none.
	Levels(ctx context.Context, feature string) (Levels, bool)
}

// Info is the info of a video in info.json.
type Info struct {
	Pixels   string // the format of its pixels, empty if it is not stated
	Channels int    // of the declared shape, 0 if it is not stated
	Depth    string // the whole object, if it has is_depth_map true
}

// Stats are statistics of a video.
type Stats struct {
	Channels []summary.Column // red, green and blue, from 0 to 1
	Frames   int              // how many they are of
	Bare     bool             // there are no quantiles
}

// Levels counts each level of each channel of a video. Its JSON names are a contract.
type Levels struct {
	Frames int              `json:"frames"`
	Levels []summary.Levels `json:"levels"` // of each channel
}

// Contiguous reports whether there is a frame for each of n rows, and no other between them.
func (s *Source) Contiguous(n int) bool {
	for i, f := range s.Frames {
		if f != s.Frames[0]+int32(i) {
			return false
		}
	}
	return len(s.Frames) == n
}

// Open opens the file that the frames are in. done gives it back.
func (s *Source) Open() (track *mp4.Track, done func(), err error) {
	open, err := s.Videos.Get(s.Path)
	if err != nil {
		return nil, nil, err
	}
	return open.File.Track, func() { s.Videos.Give(open) }, nil
}

// VideoPath returns the path of the file that the frames are in.
func (s *Source) VideoPath() string { return s.Path }

// OpenVideo opens that file for a video player.
func (s *Source) OpenVideo(context.Context) (file *io.SectionReader, seconds []float64, done func(), err error) {
	open, err := s.Videos.Get(s.Path)
	if err != nil {
		return nil, nil, nil, err
	}
	seconds = make([]float64, len(s.Frames))
	for i, frame := range s.Frames {
		ticks, timescale := open.File.Track.Time(int(frame))
		seconds[i] = float64(ticks) / float64(timescale)
	}
	return open.File.file.Bytes(), seconds, func() { s.Videos.Give(open) }, nil
}

// ReadFrame returns a frame as it is encoded.
func (s *Source) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	track, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	return track.ReadFrame(ctx, int(s.Frames[i]))
}

// DecodeFrames decodes the frames from to to-1. Frames that are adjacent in the file are decoded together.
func (s *Source) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return func(yield func(*tensor.Tensor, error) bool) {
		track, done, err := s.Open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer done()
		for from < to {
			end := from + 1
			for end < to && s.Frames[end] == s.Frames[end-1]+1 {
				end++
			}
			for t, err := range track.DecodeFrames(ctx, int(s.Frames[from]), int(s.Frames[end-1])+1) {
				if !yield(t, err) || err != nil {
					return
				}
			}
			from = end
		}
	}
}
