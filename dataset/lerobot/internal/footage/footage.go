package footage

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// File is an open video.
type File struct {
	file  *mp4.File
	Track *mp4.Track
}

// Open opens an MP4 file and finds its video track.
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

// Source reads an episode's frames from a video file. It is the frame source for media in LeRobot datasets.
type Source struct {
	Videos *openfiles.Cache[*File]
	Path   string  // the file's path
	Frames []int32 // indices in the file; with Options.VideoBackend rows may share a frame or step back
	Origin Origin
	Whole  bool // Frames are all frames in the episode, so that the origin's statistics apply to them
	// Levels are the metres for each level of a depth map with 12 bits; nil if the frames are none.
	Levels []float32
}

// Origin identifies the episode's video in its source dataset.
type Origin struct {
	Feature
	Episode int64
}

// Feature is a video feature in a dataset.
type Feature struct {
	Dataset Dataset
	Name    string
}

// Dataset provides a dataset's declarations about its videos. Values for the same dataset compare equal.
type Dataset interface {
	Len() int // episode count
	// Info returns a feature's declared pixel format.
	Info(feature string) Info
	// Stats returns statistics for an episode's video, and false if they are missing or implausible.
	Stats(ctx context.Context, feature string, episode int64) (Stats, bool)
	// Levels returns the levels over all frames for a feature, and false if the dataset has none.
	Levels(ctx context.Context, feature string) (Levels, bool)
}

// Info is a video's info in info.json.
type Info struct {
	Pixels   string // pixel format; empty if not declared
	Channels int    // in the declared shape; 0 if not declared
	Depth    string // the whole JSON object, if is_depth_map is true in it
}

// Stats holds statistics for a video.
type Stats struct {
	Channels []summary.Column // red, green and blue, from 0 to 1
	Frames   int              // frames used
	Bare     bool             // whether quantiles are missing
}

// Levels counts each level in each channel of a video. Its JSON names are part of the file format.
type Levels struct {
	Frames int              `json:"frames"`
	Levels []summary.Levels `json:"levels"` // per channel
}

// Contiguous reports whether the frames are n consecutive frames in the file.
func (s *Source) Contiguous(n int) bool {
	for i, f := range s.Frames {
		if f != s.Frames[0]+int32(i) {
			return false
		}
	}
	return len(s.Frames) == n
}

// Open opens the file with the frames. Call done to release it.
func (s *Source) Open() (track *mp4.Track, done func(), err error) {
	open, err := s.Videos.Get(s.Path)
	if err != nil {
		return nil, nil, err
	}
	return open.File.Track, func() { s.Videos.Give(open) }, nil
}

// VideoPath returns the path of the file with the frames.
func (s *Source) VideoPath() string { return s.Path }

// OpenVideo opens that file for a video player. seconds holds the frames' times.
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

// ReadFrame returns an encoded frame.
func (s *Source) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	track, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	return track.ReadFrame(ctx, int(s.Frames[i]))
}

// Packets returns a source of the frames as packets without the file: see mp4.Track.Packet. ok is false if the track's frames are not
// separable, or if they are a depth map, because messages do not declare one.
func (s *Source) Packets() (packets dataset.FrameSource, ok bool, err error) {
	track, done, err := s.Open()
	if err != nil {
		return nil, false, err
	}
	defer done()
	n := len(s.Frames)
	if n == 0 || !s.Contiguous(n) || s.Origin.Dataset != nil && s.Origin.Dataset.Info(s.Origin.Name).Depth != "" {
		return nil, false, nil
	}
	return packetSource{s}, track.Separable(int(s.Frames[0]), int(s.Frames[n-1])+1), nil
}

// packetSource is the frames of a Source as packets.
type packetSource struct{ from *Source }

func (p packetSource) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	track, done, err := p.from.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	return track.Packet(ctx, int(p.from.Frames[i]))
}

// CheckDecoder implements dataset.DecoderChecker.
func (s *Source) CheckDecoder(context.Context) error {
	track, done, err := s.Open()
	if err != nil {
		return err
	}
	defer done()
	return track.CheckDecoder()
}

// DecodeFrames implements dataset.FrameDecoder with Planes.
func (s *Source) DecodeFrames(ctx context.Context, from, to int) iter.Seq2[*tensor.Tensor, error] {
	return video.DecodeRange(ctx, from, to, s.Planes)
}

// DecodeDepth implements dataset.DepthDecoder, for a depth map.
func (s *Source) DecodeDepth(ctx context.Context, i int) (depth *tensor.Tensor, err error) {
	fail := func(got string) error {
		return &dataset.FormatError{Format: "mp4", Path: s.Path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "depth map", Got: got, Want: "grey with 12 bits"}
	}
	if s.Levels == nil {
		return nil, fail("a video in colours")
	}
	track, done, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	err = track.Planes(ctx, []int{int(s.Frames[i])}, "", func(_ int64, p *video.Planes, err error) error {
		switch {
		case err != nil:
			return err
		case p.Bits != 12:
			return fail(fmt.Sprintf("%d bits", p.Bits))
		}
		out := make([]float32, 0, p.Width*p.Height)
		for y := range p.Height {
			row := p.Data[0][y*p.Stride[0]:]
			for x := range p.Width {
				out = append(out, s.Levels[min(int(binary.LittleEndian.Uint16(row[2*x:]))>>p.Shift, len(s.Levels)-1)])
			}
		}
		depth, err = tensor.Of(out, p.Height, p.Width)
		return err
	})
	return depth, err
}

// Planes implements video.Clip. A depth map of more than 8 bits is dataset.ErrUnsupported, because its levels are no colours.
func (s *Source) Planes(ctx context.Context, frames []int, device string, show video.Show) error {
	if err := video.CheckNumbers("frame", frames, len(s.Frames)); err != nil {
		return err
	}
	track, done, err := s.Open()
	if err != nil {
		return err
	}
	defer done()
	if track.Bits > 8 && s.Origin.Dataset != nil && s.Origin.Dataset.Info(s.Origin.Name).Depth != "" {
		return &dataset.FormatError{
			Format: "mp4", Path: s.Path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "decode " + track.Codec,
			Got: fmt.Sprintf("a depth map of %d bits", track.Bits), Want: "a video in colours; encoded frames can be read",
		}
	}
	for len(frames) > 0 && err == nil {
		n := 1
		for n < len(frames) && s.Frames[frames[n]] >= s.Frames[frames[n-1]] {
			n++
		}
		err = s.ascending(ctx, track, frames[:n], device, show)
		frames = frames[n:]
	}
	return err
}

// ascending is Planes for frames that ascend in the file.
func (s *Source) ascending(ctx context.Context, track *mp4.Track, frames []int, device string, show video.Show) error {
	inFile := make([]int, len(frames))
	for i, frame := range frames {
		inFile[i] = int(s.Frames[frame])
	}
	return track.Planes(ctx, slices.Compact(slices.Clone(inFile)), device, func(number int64, p *video.Planes, err error) error {
		i, _ := slices.BinarySearch(inFile, int(number))
		for ; i < len(inFile) && inFile[i] == int(number); i++ {
			if err := show(int64(frames[i]), p, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// Group implements video.Clip. A group of the file may belong to several episodes. A frame that is before the last one in the file begins
// another group.
func (s *Source) Group(ctx context.Context, frame int) (from, to int, err error) {
	if err := video.CheckNumbers("frame", []int{frame}, len(s.Frames)); err != nil {
		return 0, 0, err
	}
	track, done, err := s.Open()
	if err != nil {
		return 0, 0, err
	}
	defer done()
	first, end, err := track.Group(ctx, int(s.Frames[frame]))
	from, to = frame, frame+1
	for from > 0 && s.Frames[from-1] >= int32(first) && s.Frames[from-1] <= s.Frames[from] {
		from--
	}
	for to < len(s.Frames) && s.Frames[to] < int32(end) && s.Frames[to] >= s.Frames[to-1] {
		to++
	}
	return from, to, err
}
