package convert

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/internal/recognise"
	"github.com/robocache/robocache/tensor"
)

// The parts of keys.
const (
	stepsKey    = "steps/"
	seenKey     = stepsKey + "observation/"
	metadataKey = "episode_metadata/"
	validEnd    = "_valid"
	tfdsID      = "tfds_id" // the attribute that every episode from an RLDS dataset has
)

// stepFields are the streams that RLDS has in the step itself, besides action. They are scalars.
var stepFields = map[string]string{"reward": "reward", "rewards": "reward", "next.reward": "reward", "discount": "discount",
	"is_first": "is_first", "is_last": "is_last", "is_terminal": "is_terminal"}

// seen matches the beginning of an observation's name in LeRobot, robomimic and ALOHA.
var seen = regexp.MustCompile(`^(observations?[./]|obs/)`)

// notWord matches the signs that a name in TensorFlow Datasets should not have.
var notWord = regexp.MustCompile(`\W+`)

func rldsWord(name string) string { return notWord.ReplaceAllString(name, "_") }

// columns are an episode's features in RLDS.
type columns struct {
	e     *Episode
	info  dataset.Info // about its input
	isDry bool         // one frame is enough, see Piece.Dry
	kept  Kept
	same  bool // the input is an RLDS dataset, so that its names are keys
	list  rlds.Columns
	names map[string]string // streams and cameras by their keys
}

// columnsOf returns an episode's columns. The result is not nil.
func columnsOf(ctx context.Context, e *Episode, p *Piece) (*columns, error) {
	c := &columns{e: e, info: p.Inputs[e.Input], isDry: p.Dry, kept: Kept{Samples: map[string]int{}}, list: rlds.Columns{}, names: map[string]string{}}
	_, c.same = e.Attributes.Other[tfdsID]
	for i := range e.Streams {
		if err := c.stream(i); err != nil {
			return c, err
		}
	}
	held := c.kept.undecoded(e.Episode)
	for i := range e.Media {
		if err := c.camera(ctx, &e.Media[i], held); err != nil {
			return c, err
		}
	}
	if len(c.list) == 0 {
		return c, &RefusedError{&LostError{c.kept.Notes}}
	}
	c.text(stepsKey+"language_instruction", e.TaskAt)
	for i := range e.Texts {
		if t := &e.Texts[i]; !t.Task {
			c.text(c.key(t.Name), t.At)
		}
	}
	if !e.Steps {
		c.add(rlds.TimeKey, rlds.Column{DType: "int64", Ints: e.Times})
	}
	c.defaults()
	return c, c.facts()
}

// add adds a column unless there is one with its key.
func (c *columns) add(key string, f rlds.Column) {
	if c.list[key] == nil {
		c.list[key] = &f
	}
}

// addMask adds a column like add. If a mask has its key, because one was recorded and a plan makes one, a row is valid if it is in both.
func (c *columns) addMask(key string, f rlds.Column) {
	if old := c.list[key]; old != nil {
		for i := range f.Ints {
			old.Ints[i] &= f.Ints[i]
		}
	}
	c.add(key, f)
}

// named adds the column for a stream or camera, and one for its valid rows. If the key is taken, the stream is left out.
func (c *columns) named(name string, f rlds.Column, valid []uint8) {
	key := c.key(name)
	old := c.list[key]
	if _, taken := c.names[key]; taken || old != nil && (old.DType != f.DType || len(old.Ints) != len(f.Ints)) {
		c.kept.leave(name, len(c.e.Times), dataset.Note{Code: dataset.CodeStreamRefused, Detail: dataset.Detail{
			Cause: &dataset.StreamError{Stream: name, Arg: "Name", Got: "the key " + key + " twice", Want: "one of its own"}}})
		return
	}
	c.names[key], c.kept.Samples[name] = name, len(c.e.Times)
	c.addMask(key, f)
	if valid != nil {
		c.addMask(key+validEnd, rlds.Column{DType: "bool", Ints: tensor.Cast[int64](valid)})
	}
}

// text adds a column with a text for each step.
func (c *columns) text(key string, at func(time int64) string) {
	f := rlds.Column{DType: "string"}
	for _, t := range c.e.Times {
		f.Bytes = append(f.Bytes, []byte(at(t)))
	}
	c.add(key, f)
}

// missing adds a column with empty texts: one for the episode, or one for each step.
func (c *columns) missing(key string) {
	if strings.HasPrefix(key, metadataKey) {
		c.add(key, rlds.Column{DType: "string", Bytes: [][]byte{nil}})
	} else {
		c.text(key, func(int64) string { return "" })
	}
}

// key returns the key of a stream, camera or text.
func (c *columns) key(name string) string {
	switch field := stepFields[name]; {
	case c.same:
		return stepsKey + strings.TrimPrefix(name, stepsKey)
	case field != "":
		return stepsKey + field
	case recognise.IsAction(name):
		return stepsKey + "action"
	}
	return seenKey + rldsWord(strings.Trim(seen.ReplaceAllString(name, ""), "/"))
}

// stream adds the column of stream i.
func (c *columns) stream(i int) (err error) {
	s := &c.e.Streams[i]
	if len(s.Columns) == 0 {
		c.kept.leave(s.Name, s.Len(), dataset.Note{Code: dataset.CodeNoColumns})
		return nil
	}
	f := rlds.Column{Shape: c.e.rowShape(s, c.info.Features), DType: npy.WholeType(s.Columns)}
	if stepFields[s.Name] != "" && len(s.Columns) == 1 {
		f.Shape = nil
	}
	if names := strings.Join(s.ColumnNames(), ", "); strings.Trim(names, "0123456789.[], ") != "" { // more than indices
		f.Doc = names
	}
	var valid []uint8
	whole := f.DType != ""
	if c.e.Aligned != nil {
		a := &c.e.Aligned.Streams[i]
		if valid, err = tensor.Data[uint8](a.Valid); err != nil {
			return err
		}
		whole = whole && !slices.ContainsFunc(a.Channels, between)
	}
	if whole {
		f.Ints, err = wholeNumbers(s, valid != nil)
	}
	if f.Ints == nil && err == nil {
		err = c.floats(s, &f)
	}
	if err == nil {
		c.named(s.Name, f, valid)
	}
	return err
}

// floats sets a column's values to float32, and counts the changed ones.
func (c *columns) floats(s *dataset.Stream, f *rlds.Column) (err error) {
	f.DType = "float32"
	if s.Values.DType() == tensor.F32 {
		f.Floats, err = tensor.Packed[float32](s.Values)
		return err
	}
	values, err := tensor.Floats(s.Values)
	f.Floats = tensor.Cast[float32](values)
	changed := 0
	for i, v := range values {
		if float64(f.Floats[i]) != v && v == v {
			changed++
		}
	}
	if changed > 0 {
		c.kept.Notes.Add(dataset.Note{Code: dataset.CodeValuesCast, Subject: s.Name, Count: changed,
			Detail: dataset.Detail{Of: len(values), Got: "float64", Want: "float32"}})
	}
	return err
}

// wholeNumbers returns a stream's values as whole numbers, or nil if one is none. NaN becomes 0 if the rows without a value are marked.
func wholeNumbers(s *dataset.Stream, marked bool) ([]int64, error) {
	if s.Integers != nil {
		return tensor.Packed[int64](s.Integers)
	}
	values, err := tensor.Floats(s.Values)
	list := make([]int64, len(values))
	for i, v := range values {
		if n := int64(v); float64(n) == v && v < 1<<63 {
			list[i] = n
		} else if v == v || !marked {
			return nil, err
		}
	}
	return list, err
}

// errEnough ends the encoding after one frame.
var errEnough = errors.New("one frame is enough")

// camera adds a camera's column. A frame with another size or type is damage.
func (c *columns) camera(ctx context.Context, m *dataset.Media, held func(media string, row int, err error) error) error {
	if m.Encoding != "png" && m.Encoding != "jpeg" && m.Encoding != rlds.EncodingF32 {
		if why := undecoded(ctx, m); why.Code != "" {
			c.kept.leave(m.Name, m.Len(), why)
			return nil
		}
		c.kept.Notes.Add(dataset.Note{Code: dataset.CodeFramesEncoded, Subject: m.Name, Detail: dataset.Detail{Got: "png"}})
	}
	p, stop := mediaPart(ctx, m, true)
	defer stop()
	var f rlds.Column
	valid := slices.Clone(p.valid)
	err := film(ctx, m, p.next, func(b []byte) error { return sameImage(b, m.Encoding, &f) }, func(name string, row int, err error) error {
		if valid != nil {
			valid[row] = 0
		}
		return held(name, row, err)
	}, func(b []byte) error {
		if f.Bytes = append(f.Bytes, b); c.isDry {
			return errEnough
		}
		return nil
	})
	if err == errEnough {
		err = nil
	}
	if damaged(err) {
		err = &RefusedError{err}
	}
	if err == nil {
		c.named(m.Name, f, valid)
	}
	return err
}

// sameImage sets first to the declaration for an encoded image if it has none. If the image has another one, that is damage.
func sameImage(b []byte, encoding string, first *rlds.Column) error {
	config, format, err := image.DecodeConfig(bytes.NewReader(b))
	f, channels := rlds.Column{DType: "uint8", Format: format}, 3
	switch config.ColorModel {
	case color.GrayModel:
		channels = 1
	case color.Gray16Model:
		channels, f.DType = 1, "uint16"
	case color.NRGBAModel:
		channels = 4
	}
	switch encoding {
	case "32FC1", "16SC1", rlds.EncodingF32:
		channels, f.DType = 1, "float32"
	}
	f.Shape = []int{config.Height, config.Width, channels}
	if err == nil && first.Shape == nil {
		*first = f
	}
	if got, want := f.Declaration(), first.Declaration(); got != want {
		return &dataset.FormatError{Format: "rlds", Offset: -1, Kind: dataset.ErrShape, Msg: "frame", Got: got, Want: want}
	}
	return nil
}

// defaults adds the fields that a step of RLDS has, unless they are recorded.
func (c *columns) defaults() {
	n := len(c.e.Times)
	first, last := make([]int64, n), make([]int64, n)
	first[0], last[n-1] = 1, 1
	reward := tensor.Cast[float32](last)
	if s := c.e.Attributes.Success; s != nil && !*s {
		reward[n-1] = 0
	}
	for key, f := range (rlds.Columns{
		"is_first": {DType: "bool", Ints: first}, "is_last": {DType: "bool", Ints: last}, "is_terminal": {DType: "bool", Ints: last},
		"reward": {DType: "float32", Floats: reward}, "discount": {DType: "float32", Floats: slices.Repeat([]float32{1}, n)},
	}) {
		c.add(stepsKey+key, *f)
	}
}

// facts adds the values of the whole episode.
func (c *columns) facts() error {
	a := &c.e.Attributes
	for _, name := range slices.Sorted(maps.Keys(a.Other)) {
		text := slices.ContainsFunc(c.e.Texts, func(t dataset.TextStream) bool { return t.Name == name })
		if text || name == "episode_index" || name == tfdsID || strings.HasPrefix(name, stepsKey) {
			continue
		}
		d := dataset.Feature{Name: metadataKey + rldsWord(name), DType: "string"}
		if i := slices.IndexFunc(c.info.Facts, func(f dataset.Feature) bool { return f.Name == name }); i >= 0 {
			d = c.info.Facts[i]
		}
		if err := c.fact(d, a.Other[name]); err != nil {
			return &RefusedError{err}
		}
	}
	if c.same {
		return nil
	}
	c.add(metadataKey+"file_path", rlds.Column{DType: "string", Bytes: [][]byte{[]byte(a.Source)}})
	c.add(metadataKey+"name", rlds.Column{DType: "string", Bytes: [][]byte{[]byte(c.e.Name)}})
	if a.Success != nil {
		return c.fact(dataset.Feature{Name: metadataKey + "success", DType: "bool"}, strconv.FormatBool(*a.Success))
	}
	return nil
}

// fact adds a value of the episode: a text, or the numbers that package rlds prints as "true", "-5" or "[0.5 1]".
func (c *columns) fact(d dataset.Feature, text string) (err error) {
	f := rlds.Column{DType: d.DType, Shape: d.Shape}
	if d.DType == "string" {
		f.Bytes = [][]byte{[]byte(text)}
		text = ""
	}
	for _, word := range strings.Fields(strings.NewReplacer("[", "", "]", "", "false", "0", "true", "1").Replace(text)) {
		var v float64
		var n uint64
		if digits, negative := strings.CutPrefix(word, "-"); strings.Contains(d.DType, "float") {
			v, err = strconv.ParseFloat(word, 32)
			f.Floats = append(f.Floats, float32(v))
		} else if n, err = strconv.ParseUint(digits, 10, 64); negative {
			f.Ints = append(f.Ints, -int64(n))
		} else {
			f.Ints = append(f.Ints, int64(n))
		}
		if err != nil {
			return err
		}
	}
	c.add(d.Name, f)
	return nil
}
