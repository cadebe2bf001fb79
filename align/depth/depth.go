package depth

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"sort"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ColorWithin is the largest distance in time between a depth image and its colour image.
const ColorWithin = 20 * time.Millisecond

// Far is the distance in metres from which float32 positions have steps of more than 0.1 mm; see Series.Origin.
const Far = 1024

// Options select depth images and replace missing values. The zero value is enough for most recordings.
type Options struct {
	// Stream is one of Episode.DepthNames; it may be empty if there is one.
	Stream string
	// Color is a media stream whose pixels match the depth images. Empty means the one that the recording declares, if any.
	Color string
	// Intrinsics are fx, fy, cx and cy in pixels. All 0 means the recording's.
	Intrinsics [4]float64
	// Scale is the metres per unit. 0 means the recording's, for example 0.001 for 16UC1.
	Scale float64
	// Fixed is the frame of tf in which poses are. Empty means the root above the camera.
	Fixed string
	// MaxGap is the largest time between the two poses around an image. By default it follows from the poses' own rate, as
	// align.AutoGap.
	MaxGap ops.Limit
}

// Series is a stream of depth images.
type Series struct {
	Name       string
	Sources    []string   // the streams of the images, the colours and the poses
	Scale      float64    // metres per unit of Frame.Depth
	Intrinsics [4]float32 // fx, fy, cx and cy in pixels
	Origin     [3]float64 // subtracted from all positions: the first pose's, in whole metres, if one is Far or farther along an axis; else 0
	Posed      bool       // the recording has poses of a moving camera
	Counts     Counts

	images, colors *dataset.Media
	size           []int // height and width in camera_info; nil or zeros if they are unknown
	places         []place
}

// Counts is the account for a stream.
type Counts struct {
	Images    int  // recorded
	NoPose    int  // left out, because they have no pose
	NoColor   int  // no colour image is near enough; counted only if there is a colour stream
	Distorted bool // camera_info has lens distortion, which is not corrected
}

// Frame is a depth image.
type Frame struct {
	Index int            // in the recording's stream
	Time  int64          // ns
	Depth *tensor.Tensor // [H,W] f32, in units of Series.Scale; 0 or NaN without a depth
	Pose  [16]float32    // camera to world less Series.Origin, row-major; the identity if the recording has no poses
	Color *tensor.Tensor // [H,W,3] u8; nil if there is none
}

// place is an image that is kept.
type place struct {
	image, color int // indices in the streams; color is -1 if there is none
	pose         [16]float32
}

// Open joins the depth images of an episode with their cameras. It reads no image. The device interpolates the poses. The error is
// an *dataset.OptionError if a stream, the intrinsics or the fixed frame are missing or unknown, if the images have several frames, or if
// tf has moving frames and connects none with the images' frame, and else one of align.Resample.
func Open(ctx context.Context, device *ops.Device, e *dataset.Episode, opts Options) (*Series, error) {
	names := e.DepthNames()
	if opts.Stream == "" && len(names) == 1 {
		opts.Stream = names[0]
	}
	if !slices.Contains(names, opts.Stream) {
		return nil, &dataset.OptionError{Arg: "Stream", Got: opts.Stream, Want: oneOf(names, "a recording with depth images")}
	}
	m := e.MediaStream(opts.Stream)
	s := &Series{Name: m.Name, Sources: []string{m.Name}, Scale: m.Depth.Scale, images: m, Counts: Counts{Images: m.Len()}}
	if opts.Scale != 0 {
		s.Scale = opts.Scale
	}
	if !(s.Scale > 0 && s.Scale <= 1e6) {
		return nil, &dataset.OptionError{Arg: "Scale", Got: fmt.Sprint(s.Scale), Want: "metres per unit, more than 0"}
	}
	if err := s.intrinsics(e, opts.Intrinsics); err != nil {
		return nil, err
	}
	if opts.Color == "" {
		opts.Color = m.Depth.Color
	}
	if opts.Color != "" {
		if s.colors = e.MediaStream(opts.Color); s.colors == nil || s.colors == m {
			others := slices.DeleteFunc(e.MediaNames(), func(name string) bool { return name == m.Name })
			return nil, &dataset.OptionError{Arg: "Color", Got: opts.Color, Want: oneOf(others, "none, because there are no other images")}
		}
		s.Sources = append(s.Sources, opts.Color)
	}
	poses, err := s.poses(ctx, device, e, opts)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(poses, (*matrix).isFar) {
		first := poses[slices.IndexFunc(poses, func(m *matrix) bool { return m != nil })]
		for k := range s.Origin {
			s.Origin[k] = math.Round(first[4*k+3])
		}
	}
	for i, pose := range poses {
		if pose == nil {
			s.Counts.NoPose++
			continue
		}
		at := place{image: i, color: -1}
		for k, v := range pose {
			if k < 12 && k%4 == 3 {
				v -= s.Origin[k/4]
			}
			at.pose[k] = float32(v)
		}
		if s.colors != nil {
			if at.color = nearest(s.colors.Times, m.Times[i]); at.color < 0 {
				s.Counts.NoColor++
			}
		}
		s.places = append(s.places, at)
	}
	return s, nil
}

// oneOf returns the choices, or none if there are none.
func oneOf(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return fmt.Sprintf("one of %q", names)
}

// nearest returns the index of the time nearest to t, or -1 if it is further away than ColorWithin. Times ascend.
func nearest(times []int64, t int64) int {
	i := sort.Search(len(times), func(i int) bool { return times[i] >= t })
	if i == len(times) || i > 0 && t-times[i-1] <= times[i]-t {
		i--
	}
	if i < 0 || max(times[i]-t, t-times[i]) > int64(ColorWithin) {
		return -1
	}
	return i
}

// Len returns how many images have a pose, or how many there are if the recording has no poses.
func (s *Series) Len() int { return len(s.places) }

// Frame reads an image by its index below Len. The error is a *dataset.RangeError, one of the image's source, or if the image is broken,
// or camera_info or the colour image have another size, a *dataset.FormatError.
func (s *Series) Frame(ctx context.Context, i int) (*Frame, error) {
	if err := dataset.CheckIndex(ctx, "depth image of "+s.Name, i, len(s.places)); err != nil {
		return nil, err
	}
	at := s.places[i]
	f := &Frame{Index: at.image, Time: s.images.Times[at.image], Pose: at.pose}
	var err error
	if f.Depth, err = s.images.DecodeDepth(ctx, at.image); err != nil {
		return nil, err
	}
	if s.size != nil && !slices.Contains(s.size, 0) && !slices.Equal(f.Depth.Shape(), s.size) {
		return nil, misshaped(s.images, at.image, f.Depth, tensor.FormatShape(s.size)+", as camera_info")
	}
	if at.color < 0 {
		return f, nil
	}
	if f.Color, err = s.colors.Decode(ctx, at.color); err != nil {
		return nil, err
	}
	if want := append(f.Depth.Shape(), 3); f.Color.DType() != tensor.U8 || !slices.Equal(f.Color.Shape(), want) {
		return nil, misshaped(s.colors, at.color, f.Color, "u8 "+tensor.FormatShape(want)+", as the depth image")
	}
	return f, nil
}

func misshaped(m *dataset.Media, i int, got *tensor.Tensor, want string) error {
	return &dataset.FormatError{Format: "depth", Offset: -1, Kind: dataset.ErrShape, Msg: fmt.Sprintf("frame %d of %s", i, m.Name),
		Got: fmt.Sprint(got), Want: want}
}

// Frames reads the images in order, several at once. If one cannot be read, it yields the error and continues with the next, unless
// ctx has ended.
func (s *Series) Frames(ctx context.Context) iter.Seq2[*Frame, error] {
	type result struct {
		frame *Frame
		err   error
	}
	return func(yield func(*Frame, error) bool) {
		n := min(runtime.GOMAXPROCS(0), 8)
		read := func(ctx context.Context, i int) (r result) {
			r.frame, r.err = s.Frame(ctx, i)
			return r
		}
		for _, r := range inorder.Each(ctx, len(s.places), n, n, func(result) int { return n }, read) {
			if !yield(r.frame, r.err) || ctx.Err() != nil {
				return
			}
		}
	}
}
