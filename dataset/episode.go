package dataset

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"

	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/tensor"
)

// Episode is one recording: streams of numbers, camera frames and point clouds, each with its own clock, and the values that
// describe them.
type Episode struct {
	// Name identifies the episode in its dataset: a file name without its extension, "demo_3", "000017".
	Name    string
	Streams []Stream
	Media   []Media
	// Clouds are series of point clouds. CloudStream.Cloud reads one cloud.
	Clouds []CloudStream
	// Texts are texts that belong to steps, such as an instruction that changes. Attributes contains them too.
	Texts []TextStream
	// Lists are LeRobot's language columns, if Options.Lists is set.
	Lists []ListStream
	// Frames is the number of rows or steps, for formats that store tables; 0 for logs.
	Frames int
	// Steps is true if the timestamps count steps of one second, because the format has no times and no rate was given.
	Steps bool
	// Rotation is the usual quaternion order in recordings of this format, for columns that do not declare theirs; RotationNone if
	// there is none.
	Rotation Rotation
	// Attributes are the file's values about the whole episode.
	Attributes Attributes

	// Dropouts lists, in file order, when the recorder itself noted lost data.
	Dropouts []Dropout
	// Notes are facts about damaged, omitted or changed data, and choices that a reader made, such as one of two clocks.
	Notes Notes
	// Empty lists the streams that the recording declares and that have no samples.
	Empty []EmptyStream
	// Record is the size in bytes of the file part that was in memory while the episode was read, for formats that store frames in
	// it; 0 for others.
	Record int64
}

// TextStream is a text that may change within an episode: Values[i] holds from Times[i], ns, to the next time.
type TextStream struct {
	Name   string // as in Attributes.Other
	Task   bool   // the instruction, which replaces Attributes.Task
	Times  []int64
	Values []string
	Later  bool // there is no text before the first time
}

// ListStream is a column of lists of structures, of a row at each of Times, ns.
type ListStream struct {
	Name  string
	Times []int64
	Rows  any // as the format keeps them: its writer takes them unchanged
}

// At returns the text at a time. Before the first time it returns the first text, or "" if Later is set.
func (t *TextStream) At(time int64) string {
	i, found := slices.BinarySearch(t.Times, time)
	if i == 0 && !found && t.Later {
		return ""
	}
	if !found {
		i = max(i-1, 0)
	}
	return t.Values[i]
}

// TakeTask makes the texts with a name the episode's task, for Options.TaskFrom. If no texts have the name, it returns an
// *OptionError that lists names.
func (e *Episode) TakeTask(name string, names []string) error {
	at := slices.IndexFunc(e.Texts, func(t TextStream) bool { return t.Name == name })
	if at < 0 {
		want := "none: the recording has no text topic or column"
		if len(names) > 0 {
			want = "a text topic or column: " + text.Closest(name, names)
		}
		got := name
		if e.Stream(name) != nil || e.MediaStream(name) != nil || e.CloudStream(name) != nil || e.Notes.LeftOut(name) != nil {
			got += ", which is no text"
		}
		return &OptionError{"TaskFrom", got, want}
	}
	for i := range e.Texts {
		e.Texts[i].Task = i == at
	}
	e.Attributes.Task = ""
	if t := e.Texts[at]; len(t.Values) == 1 {
		e.Attributes.Task = t.Values[0]
	}
	return nil
}

// TextNames returns the names of the texts.
func (e *Episode) TextNames() []string {
	names := make([]string, len(e.Texts))
	for i := range e.Texts {
		names[i] = e.Texts[i].Name
	}
	return names
}

// TaskAt returns the task at a time, ns, or "" if there is none.
func (e *Episode) TaskAt(time int64) string {
	for i := range e.Texts {
		if e.Texts[i].Task {
			return e.Texts[i].At(time)
		}
	}
	return e.Attributes.Task
}

// ChangingTask returns the texts of a task that may change within the episode: its own, or those for the stream task_index [S,1], which
// has indices into list, such as Info.Tasks. Other numbers leave the task as it was. The result is nil if there is no such text.
func (e *Episode) ChangingTask(list []string) *TextStream {
	for i := range e.Texts {
		if e.Texts[i].Task {
			return &e.Texts[i]
		}
	}
	s := e.Stream("task_index")
	if s == nil || s.Values.Rank() != 2 || s.Values.Dim(1) != 1 || len(list) == 0 {
		return nil
	}
	numbers, err := tensor.Floats(s.Values)
	if err != nil {
		return nil
	}
	t := &TextStream{Name: "task", Task: true}
	for i, from := range s.Nanoseconds() {
		k, n := int(numbers[i]), len(t.Values)
		if k >= 0 && k < len(list) && (n == 0 || t.Values[n-1] != list[k]) {
			t.Times, t.Values = append(t.Times, from), append(t.Values, list[k])
		}
	}
	if t.Values == nil {
		return nil
	}
	return t
}

// Attributes are a file's values about an episode.
type Attributes struct {
	Source  string            // the path or URL of the file; empty if the reader does not know it
	Task    string            // the instruction in words: "lift the cup"
	Success *bool             // whether the task succeeded; nil if the file has no such value
	Other   map[string]string // other values by their names in the file
}

// Say sets Task from the name "task", or Success from the name "success" and the text "true" or "false". It reports whether it set
// one of them. Example: Say("success", "true") returns true, Say("operator", "ann") returns false.
func (a *Attributes) Say(name, text string) bool {
	switch name {
	case "task":
		a.Task = text
		return true
	case "success":
		success, err := strconv.ParseBool(text)
		if err == nil {
			a.Success = &success
		}
		return err == nil
	}
	return false
}

// EmptyStream is a declared stream without samples, such as a silent topic. A note in the episode has the reason.
type EmptyStream struct {
	Name    string
	Columns []Column
	DType   tensor.DType // the type of its values; 0 if unknown
}

// Dropout is a loss of data that the recorder itself noted.
type Dropout struct {
	Time     int64 // the latest timestamp recorded before the loss, nanoseconds
	Duration int64 // nanoseconds
}

// EmptyStream returns the empty stream with a name, or nil.
func (e *Episode) EmptyStream(name string) *EmptyStream {
	if i := slices.IndexFunc(e.Empty, func(s EmptyStream) bool { return s.Name == name }); i >= 0 {
		return &e.Empty[i]
	}
	return nil
}

// Stream returns the stream with a name, or nil.
func (e *Episode) Stream(name string) *Stream {
	for i := range e.Streams {
		if e.Streams[i].Name == name {
			return &e.Streams[i]
		}
	}
	return nil
}

// Bytes returns the memory that the episode's numbers and timestamps occupy, without frames and clouds.
func (e *Episode) Bytes() int64 {
	n := 0
	for i := range e.Streams {
		for _, t := range []*tensor.Tensor{e.Streams[i].Times, e.Streams[i].Values, e.Streams[i].Integers} {
			if t != nil {
				n += t.Len() * t.DType().Size()
			}
		}
	}
	for i := range e.Media {
		n += 8 * e.Media[i].Len()
	}
	for i := range e.Clouds {
		n += 8 * e.Clouds[i].Len()
	}
	return int64(n)
}

// Names returns the names of the numeric streams, in file order.
func (e *Episode) Names() []string {
	names := make([]string, len(e.Streams))
	for i := range e.Streams {
		names[i] = e.Streams[i].Name
	}
	return names
}

// MediaNames returns the names of the media streams, in file order.
func (e *Episode) MediaNames() (names []string) {
	for i := range e.Media {
		names = append(names, e.Media[i].Name)
	}
	return names
}

// CloudNames returns the names of the cloud series, in file order.
func (e *Episode) CloudNames() (names []string) {
	for i := range e.Clouds {
		names = append(names, e.Clouds[i].Name)
	}
	return names
}

// Lengths yields the name and the number of samples of each stream, media stream and cloud series.
func (e *Episode) Lengths() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := range e.Streams {
			if s := &e.Streams[i]; !yield(s.Name, s.Len()) {
				return
			}
		}
		for i := range e.Media {
			if m := &e.Media[i]; !yield(m.Name, m.Len()) {
				return
			}
		}
		for i := range e.Clouds {
			if c := &e.Clouds[i]; !yield(c.Name, c.Len()) {
				return
			}
		}
	}
}

// MediaStream returns the media stream with a name, or nil.
func (e *Episode) MediaStream(name string) *Media {
	for i := range e.Media {
		if e.Media[i].Name == name {
			return &e.Media[i]
		}
	}
	return nil
}

// CloudStream returns the cloud series with a name, or nil.
func (e *Episode) CloudStream(name string) *CloudStream {
	for i := range e.Clouds {
		if e.Clouds[i].Name == name {
			return &e.Clouds[i]
		}
	}
	return nil
}

// Media is a stream of encoded frames: a camera's images, or a video.
type Media struct {
	Name  string
	Type  string  // the message type, like Stream.Type
	Times []int64 // [S], nanoseconds, one for each frame
	// Encoding is the frame encoding, in lower case: "jpeg", "png", "h264", "av1", or a name such as "rgb8", "bgr8" or "mono8" for
	// raw pixels.
	Encoding      string
	Width, Height int // pixels; 0 if unknown
	// Resized is true if a store has the frames in another size than the recording. Resizing them again would give other pixels than
	// resizing the recording's frames.
	Resized bool
	// Rate is the frame rate by the video's own clock, frames a second, which may differ from Times; 0 without a video, or if it
	// has one frame.
	Rate float64
	// Depth is set if the frames are depth images that DecodeDepth reads; else nil.
	Depth *DepthCamera
	// Source reads the bytes of a frame when Frame or Decode is called.
	Source FrameSource
}

// FrameSource reads the frames of a media stream. Its methods may be called from any goroutine.
type FrameSource interface {
	// ReadFrame returns frame i as it is encoded. The caller may keep and change the bytes.
	ReadFrame(ctx context.Context, i int) ([]byte, error)
}

// VideoFile is a FrameSource with its frames in a file that a video player can play, such as an MP4 file.
type VideoFile interface {
	// VideoPath returns the path of the file, or "" if there is none.
	VideoPath() string
	// OpenVideo returns the file, and the time of each frame on the file's own clock, in seconds. The caller calls done after the last read.
	OpenVideo(ctx context.Context) (file *io.SectionReader, seconds []float64, done func(), err error)
}

// Checker is a FrameSource that does not read its frames when an episode is opened, so their damage is not yet known.
type Checker interface {
	// Check reads all frames, and returns notes about empty and broken ones.
	Check(ctx context.Context) (Notes, error)
}

// Len returns the number of frames.
func (m *Media) Len() int { return len(m.Times) }

// Frame returns the encoded bytes of frame i. If there is no frame i, the error is a *RangeError.
func (m *Media) Frame(ctx context.Context, i int) ([]byte, error) {
	if err := CheckIndex(ctx, "frame of "+m.Name, i, len(m.Times)); err != nil {
		return nil, err
	}
	return m.Source.ReadFrame(ctx, i)
}

// Stats returns the statistics of the frames' clock.
func (m *Media) Stats() Stats { return StatsOf(m.Times) }

// RangeError reports an index out of range.
type RangeError struct {
	What string // "episode", "frame of front_camera"
	Got  int
	Len  int
}

// CheckIndex returns a *RangeError unless i is the index of one of n, and the error of ctx if that has ended.
func CheckIndex(ctx context.Context, what string, i, n int) error {
	if i < 0 || i >= n {
		return &RangeError{What: what, Got: i, Len: n}
	}
	return ctx.Err()
}

// CheckRange returns a *RangeError unless from to to-1 are indices of n, or none.
func CheckRange(what string, from, to, n int) error {
	if from < 0 || from > to {
		return &RangeError{What: what, Got: from, Len: n}
	}
	if to > n {
		return &RangeError{What: what, Got: to - 1, Len: n}
	}
	return nil
}

// Unwrap returns ErrNotFound.
func (e *RangeError) Unwrap() error { return ErrNotFound }

func (e *RangeError) Error() string {
	if e.Len == 0 {
		return fmt.Sprintf("dataset: %s: got %d of none", e.What, e.Got)
	}
	return fmt.Sprintf("dataset: %s: got %d, want 0 to %d", e.What, e.Got, e.Len-1)
}
