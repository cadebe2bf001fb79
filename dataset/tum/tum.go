package tum

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/texttable"
	"github.com/robocache/robocache/storage"
)

const (
	comments = "#"
	poses    = "groundtruth.txt"
)

// kinects has fx, fy, cx and cy for the benchmark's colour cameras, by the first word that is in the folder's name. Depth images are registered to them.
// Source: the benchmark's page about file formats.
var kinects = []struct {
	word       string
	intrinsics [4]float64
}{
	{"freiburg1", [4]float64{517.3, 516.5, 318.6, 255.3}},
	{"freiburg2", [4]float64{520.9, 521.0, 325.1, 249.7}},
	{"freiburg3", [4]float64{535.4, 539.2, 320.1, 247.6}},
}

// lists are the files of a folder that list frames, and their media's names.
var lists = []struct{ file, name string }{{"rgb.txt", "rgb"}, {"depth.txt", "depth"}}

func init() {
	dataset.Register(dataset.Format{
		Name: "tum", Extensions: []string{".txt", ".tum"}, Text: true,
		Match:  func(head []byte) bool { return match(head, len(head) < dataset.HeadBytes) },
		Folder: isFolder,
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(path, opt)
		},
	})
}

// match reports whether a text begins like a trajectory: most lines have eight numbers, and the last four are a unit quaternion.
func match(head []byte, whole bool) bool {
	h := texttable.HeadOf(head, whole, comments)
	if h == nil || len(h.Lines) == 0 || otherOrder(h.Comments) {
		return false
	}
	poses := 0
	for _, line := range h.Lines {
		if isPose(line) {
			poses++
		}
	}
	return 3*poses >= 2*len(h.Lines)
}

// otherOrder reports whether the last comment names eight columns that are a quaternion in another order, or none.
func otherOrder(comments []string) bool {
	if len(comments) == 0 {
		return false
	}
	names := strings.Fields(comments[len(comments)-1])
	if len(names) != 8 {
		return false
	}
	columns := make([]dataset.Column, 4)
	for i := range columns {
		columns[i].Name = names[4+i]
	}
	texttable.MarkRotations(columns)
	wxyz := strings.ToLower(strings.Join(names, " "))
	return columns[0].Rotation == dataset.RotationWXYZ || columns[0].Rotation == dataset.RotationNone && strings.Contains(wxyz, "qw")
}

func isPose(line []byte) bool {
	var v [8]float64
	for i := range v {
		line = trimLeft(line)
		word, n, _ := texttable.Word(line, ' ', false)
		var ok bool
		if v[i], _, ok = texttable.Value(word); !ok {
			return false
		}
		line = line[n:]
	}
	norm := 0.0
	for _, q := range v[4:] {
		norm += q * q
	}
	return len(trimLeft(line)) == 0 && norm > 0.98 && norm < 1.02
}

func trimLeft(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	return b
}

// isFolder reports whether a folder is one of the benchmark: by a trajectory groundtruth.txt, or a list of frames rgb.txt.
func isFolder(_ context.Context, path string) bool {
	head, whole, _, err := texttable.ReadHead(storage.Join(path, poses), dataset.HeadBytes)
	if err == nil && match(head, whole) {
		return true
	}
	head, whole, _, err = texttable.ReadHead(storage.Join(path, lists[0].file), dataset.HeadBytes)
	if err != nil {
		return false
	}
	h := texttable.HeadOf(head, whole, comments)
	if h == nil || len(h.Lines) == 0 {
		return false
	}
	_, bad := frameOf(texttable.Line{Text: h.Lines[0]})
	return bad == nil
}

// Set is an open trajectory or folder. Its methods may be called from any goroutine.
type Set struct {
	dataset.Dataset
	path   string
	opt    dataset.Options
	tables []source
	media  []media
	info   dataset.Info
}

// source is a file of a stream.
type source struct {
	path, stream string
	columns      []string
}

// Open opens a trajectory, or a folder in the benchmark's layout.
func Open(path string, opt dataset.Options) (*Set, error) {
	st, err := storage.Stat(context.Background(), path)
	if err != nil {
		return nil, err
	}
	s := &Set{path: path, opt: opt}
	s.Dataset = dataset.Single("tum", path, s.episode)
	pose := []string{"tx", "ty", "tz", "qx", "qy", "qz", "qw"}
	if !st.IsDir() {
		s.tables = []source{{path, "pose", pose}}
	} else {
		for _, t := range []source{{poses, "pose", pose}, {"accelerometer.txt", "accelerometer", []string{"ax", "ay", "az"}}} {
			if t.path = storage.Join(path, t.path); isFile(t.path) {
				s.tables = append(s.tables, t)
			}
		}
		for _, l := range lists {
			if file := storage.Join(path, l.file); isFile(file) {
				if err := s.list(file, l.name); err != nil {
					return nil, err
				}
			}
		}
		if len(s.tables)+len(s.media) == 0 {
			return nil, &dataset.FormatError{Format: "tum", Path: path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "folder",
				Got: "none of " + poses + ", accelerometer.txt, rgb.txt and depth.txt", Want: "one"}
		}
	}
	for _, t := range s.tables {
		_, _, ended, err := texttable.ReadHead(t.path, 1)
		if err != nil {
			return nil, err
		}
		if !ended {
			s.info.Notes = append(s.info.Notes, texttable.Unended(t.path))
		}
	}
	return s, nil
}

func isFile(path string) bool {
	st, err := storage.Stat(context.Background(), path)
	return err == nil && st.IsRegular()
}

// Name returns the file's name without its extension, or the folder's.
func (s *Set) Name() string {
	if len(s.tables) == 1 && s.tables[0].path == s.path {
		return dataset.BaseName(s.path)
	}
	path := s.path // "." has no name
	if abs, err := storage.Abs(path); err == nil {
		path = abs
	}
	return storage.Base(path)
}

// Info returns problems with listed files that are missing.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// episode reads the numbers in the episode. Its frames are read when they are needed.
func (s *Set) episode(ctx context.Context) (*dataset.Episode, error) {
	e := &dataset.Episode{Name: s.Name()}
	e.Attributes = dataset.Attributes{Source: s.path, Other: map[string]string{}}
	for _, t := range s.tables {
		if err := s.read(ctx, e, t); err != nil {
			return nil, err
		}
	}
	for _, m := range s.media {
		if m.Len() > 0 {
			if m.Name == "depth" {
				m.Depth = s.camera(e)
			}
			e.Media = append(e.Media, m.Media)
		}
		if m.rounded > 0 {
			e.Attributes.Other[m.Name+": timestamps rounded to nanoseconds"] = strconv.Itoa(m.rounded)
		}
		e.Notes.Join(m.notes)
	}
	return e, nil
}

// camera describes the episode's depth images.
func (s *Set) camera(e *dataset.Episode) *dataset.DepthCamera {
	c := &dataset.DepthCamera{Scale: 1. / 5000}
	for _, k := range kinects {
		if strings.Contains(s.Name(), k.word) {
			c.Intrinsics = k.intrinsics
			break
		}
	}
	if e.Stream("pose") != nil {
		c.Poses = "pose"
	}
	if e.MediaStream("rgb") != nil {
		c.Color = "rgb"
	}
	return c
}

// read adds the stream of a file to an episode.
func (s *Set) read(ctx context.Context, e *dataset.Episode, from source) error {
	head, whole, _, err := texttable.ReadHead(from.path, 64<<10)
	if err != nil {
		return err
	}
	h := texttable.HeadOf(head, whole, comments)
	if h == nil {
		h = &texttable.Head{End: '\n'} // each line has its own error
	}
	layout := texttable.Layout{Format: "tum", Sep: ' ', End: h.End, Comments: comments, Fields: []texttable.Field{{Name: "timestamp", Kind: texttable.Time}}}
	for _, name := range from.columns {
		layout.Fields = append(layout.Fields, texttable.Field{Name: name, Kind: texttable.Number})
	}
	if layout.Clock.Exponent = exponent(h.Lines); layout.Clock.Exponent != 0 {
		e.Attributes.Other["clock"] = fmt.Sprintf("%s: nanoseconds, for as seconds its timestamps are beyond 2^62 ns", from.stream)
	}
	t, err := texttable.ReadFile(ctx, from.path, layout, s.opt.Strict)
	if err != nil {
		return err
	}
	label := "comments"
	if from.stream != "pose" {
		label += " of " + from.stream
	}
	if text := h.Label(); text != "" {
		e.Attributes.Other[label] = text
	}
	if err := t.AddTo(e, from.stream, t.Times, nil); err != nil {
		return err
	}
	columns := e.Stream(from.stream).Columns
	for i := range columns { // of any digits: the format has decimal numbers
		columns[i].Integer, columns[i].Type = false, "decimal"
	}
	return nil
}

// exponent returns that of the timestamps' unit, by those of the first lines.
func exponent(lines [][]byte) int {
	nanos := 0
	for _, line := range lines {
		word, _, _ := texttable.Word(trimLeft(line), ' ', false)
		_, _, seconds := texttable.Clock{}.Read(word)
		if _, _, ok := (texttable.Clock{Exponent: -9}).Read(word); ok && !seconds {
			nanos++
		}
	}
	if 2*nanos > len(lines) {
		return -9
	}
	return 0
}
