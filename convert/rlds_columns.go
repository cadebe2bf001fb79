package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rlds"
	"github.com/robocache/robocache/internal/inorder"
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
	first rlds.Columns // the first episode's; nil before it
	kept  Kept
	same  bool // the input is an RLDS dataset, so that its names are keys
	list  rlds.Columns
	names map[string]string // streams and cameras by their keys
}

// columnsOf returns an episode's columns. The result is not nil.
func columnsOf(ctx context.Context, e *Episode, info dataset.Info, first rlds.Columns) (*columns, error) {
	c := &columns{e: e, info: info, first: first, kept: Kept{Samples: map[string]int{}}, list: rlds.Columns{}, names: map[string]string{}}
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
		return c, &RefusedError{fmt.Errorf("nothing that RLDS has a place for; left out: %w", &LostError{c.kept.Notes})}
	}
	c.text(stepsKey+"language_instruction", e.TaskAt)
	for i := range e.Texts {
		if t := &e.Texts[i]; !t.Task {
			key := t.Name
			if !c.same {
				key = c.key(t.Name)
			}
			c.text(key, t.At)
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

// named adds the column for a stream or camera, and one for its valid rows. If the key is taken, or err is not nil, the stream is left
// out.
func (c *columns) named(name, key string, f rlds.Column, valid []uint8, err error) {
	if other, taken := c.names[key]; taken {
		err = &dataset.StreamError{Stream: name, Arg: "Name", Got: "the key " + key + ", which " + other + " has", Want: "one of its own"}
	}
	if old := c.list[key]; err == nil && old != nil && (old.DType != f.DType || len(old.Ints) != len(f.Ints)) {
		err = &dataset.StreamError{Stream: name, Arg: "Name", Got: "a mask with the key " + key, Want: "one of its own"}
	}
	if err != nil {
		why := dataset.Note{Code: dataset.CodeStreamRefused, Subject: name, Detail: dataset.Detail{Cause: err}}
		c.e.Lost[name] = why
		c.kept.leave(name, len(c.e.Times), why)
		return
	}
	c.names[key], c.kept.Samples[name] = name, len(c.e.Times)
	c.addMask(key, f)
	if valid != nil {
		c.addMask(key+validEnd, rlds.Column{DType: "bool", Ints: tensor.Cast[int64](valid)})
	}
}

// text adds a column with a text for each step, or with one for the episode.
func (c *columns) text(key string, at func(time int64) string) {
	times := c.e.Times
	if !strings.HasPrefix(key, stepsKey) {
		times = times[:1]
	}
	f := rlds.Column{DType: "string"}
	for _, t := range times {
		f.Bytes = append(f.Bytes, []byte(at(t)))
	}
	c.add(key, f)
}

// key returns the key of a stream or camera.
func (c *columns) key(name string) string {
	field, ok := stepFields[name]
	switch {
	case ok:
		return stepsKey + field
	case recognise.IsAction(name):
		return stepsKey + "action"
	case c.same:
		return stepsKey + name
	}
	return seenKey + rldsWord(strings.Trim(seen.ReplaceAllString(name, ""), "/"))
}

// stream adds the column of stream i.
func (c *columns) stream(i int) error {
	s := &c.e.Streams[i]
	if len(s.Columns) == 0 {
		c.kept.leave(s.Name, s.Len(), dataset.Note{Code: dataset.CodeNoColumns})
		return nil
	}
	key, f := c.key(s.Name), rlds.Column{Shape: []int{len(s.Columns)}, DType: typeOf(s)}
	recorded := cmp.Or(c.e.renamed[s.Name], s.Name)
	for _, d := range c.info.Features {
		if size := 1; d.Name == recorded && !d.Media {
			for _, n := range d.Shape {
				size *= n
			}
			if size == len(s.Columns) {
				f.Shape = d.Shape
			}
		}
	}
	if stepFields[s.Name] != "" && len(s.Columns) == 1 {
		f.Shape = nil
	}
	if names := strings.Join(s.ColumnNames(), ", "); strings.Trim(names, "0123456789., ") != "" { // more than indices
		f.Doc = names
	}
	var valid []uint8
	var err error
	if c.e.Aligned != nil {
		if valid, err = tensor.Data[uint8](c.e.Aligned.Streams[i].Valid); err != nil {
			return err
		}
	}
	types := []string{f.DType, "int64", "float64"}
	if first := c.first[key]; first != nil {
		types = []string{first.DType}
	}
	for _, f.DType = range types {
		if rlds.IsFloat(f.DType) {
			var changed int
			if f.Floats, changed, err = narrowed(s.Values); err == nil && changed > 0 {
				c.kept.Notes.Add(dataset.Note{Code: dataset.CodeValuesCast, Subject: s.Name, Count: changed,
					Detail: dataset.Detail{Of: len(f.Floats), Got: "float64", Want: "float32"}})
			}
			break
		}
		if f.Ints, err = wholeNumbers(s, f.DType, valid); f.Ints != nil || err != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	if f.Ints == nil && f.Floats == nil && s.Len() > 0 {
		err = &dataset.StreamError{Stream: s.Name, Arg: "Values", Got: "numbers that it does not hold", Want: f.DType + ", as in the first episode"}
	}
	c.named(s.Name, key, f, valid, err)
	return nil
}

// typeOf returns a stream's type in features.json: the columns' own if they have one that fits.
func typeOf(s *dataset.Stream) string {
	name := strings.TrimSuffix(s.Columns[0].Type, "_t")
	one := !slices.ContainsFunc(s.Columns, func(c dataset.Column) bool { return c.Type != s.Columns[0].Type })
	_, _, whole := rlds.IntRange(name)
	switch {
	case s.AllInteger() && one && whole:
		return name
	case s.AllInteger():
		return "int64"
	case one && rlds.IsFloat(name):
		return name
	case s.Values.DType() == tensor.F64:
		return "float64"
	}
	return "float32"
}

// narrowed returns values as float32, and how many of them change.
func narrowed(t *tensor.Tensor) (list []float32, changed int, err error) {
	if t.DType() == tensor.F32 {
		list, err = tensor.Packed[float32](t)
		return list, 0, err
	}
	values, err := tensor.Floats(t)
	list = make([]float32, len(values))
	for i, v := range values {
		if list[i] = float32(v); float64(list[i]) != v && v == v {
			changed++
		}
	}
	return list, changed, err
}

// wholeNumbers returns a stream's values as whole numbers, or nil if the type does not hold one in a valid row. In other rows such
// values become 0.
func wholeNumbers(s *dataset.Stream, dtype string, valid []uint8) ([]int64, error) {
	low, high, _ := rlds.IntRange(dtype)
	values, err := tensor.Floats(s.Values)
	var exact []int64
	if s.Integers != nil && err == nil {
		exact, err = tensor.Packed[int64](s.Integers)
	}
	list := make([]int64, len(values))
	for i, v := range values {
		n := int64(v)
		if exact != nil && float64(exact[i]) == v { // unless a plan changed it
			n = exact[i]
		}
		if float64(n) == v && n >= low && n <= high {
			list[i] = n
		} else if valid == nil || valid[i/len(s.Columns)] != 0 {
			return nil, err
		}
	}
	return list, err
}

// camera adds the column of a camera.
func (c *columns) camera(ctx context.Context, m *dataset.Media, held func(media string, row int, err error)) error {
	kept := m.Encoding == "png" || m.Encoding == "jpeg" || m.Encoding == rlds.EncodingF32
	if !kept {
		why := undecoded(ctx, m)
		if !m.Decodes() {
			why = dataset.Note{Code: dataset.CodeFramesUndecoded, Detail: dataset.Detail{Got: m.Encoding}}
		}
		if why.Code != "" {
			c.kept.leave(m.Name, m.Len(), why)
			return nil
		}
	}
	var valid []uint8
	if p, picked := m.Source.(*Picked); picked {
		valid = slices.Clone(p.Valid)
	}
	list, err := frames(ctx, m, func(row int, err error) {
		held(m.Name, row, err)
		if valid != nil {
			valid[row] = 0
		}
	})
	if damaged(err) {
		err = &RefusedError{err}
	}
	if err != nil {
		return err
	}
	var f rlds.Column
	for i, b := range list {
		g, bad := imageColumn(b, m.Encoding)
		if i == 0 {
			f = g
		} else if got, want := g.Declaration(), f.Declaration(); got != want && bad == nil {
			bad = &dataset.StreamError{Stream: m.Name, Arg: "Frames", Got: got, Want: want + ", as the first"}
		}
		err = cmp.Or(err, bad)
	}
	if f.Bytes = list; !kept {
		c.kept.Notes.Add(dataset.Note{Code: dataset.CodeFramesEncoded, Subject: m.Name, Detail: dataset.Detail{Got: "png"}})
	}
	c.named(m.Name, c.key(m.Name), f, valid, err)
	return nil
}

// imageColumn returns the declaration for an encoded image.
func imageColumn(b []byte, encoding string) (f rlds.Column, err error) {
	config, format, err := image.DecodeConfig(bytes.NewReader(b))
	channels := 3
	f.DType, f.Format = "uint8", format
	switch config.ColorModel {
	case color.GrayModel:
		channels = 1
	case color.Gray16Model:
		channels, f.DType = 1, "uint16"
	case color.NRGBAModel, color.CMYKModel:
		channels = 4
	case color.RGBA64Model:
		f.DType = "uint16"
	case color.NRGBA64Model:
		channels, f.DType = 4, "uint16"
	}
	switch encoding {
	case "32FC1", "16SC1", rlds.EncodingF32:
		channels, f.DType = 1, "float32"
	}
	f.Shape = []int{config.Height, config.Width, channels}
	return f, err
}

// frames returns a camera's encoded frames. A damaged frame shows the one before it, or else the first good one, after a call of held. If
// more than half are damaged, it returns the error.
func frames(ctx context.Context, m *dataset.Media, held func(row int, err error)) ([][]byte, error) {
	type encoded struct {
		data []byte
		err  error
	}
	p, stop := mediaPart(ctx, m, true)
	defer stop()
	list, bad := make([][]byte, m.Len()), 0
	for first := 0; first < m.Len(); first += atOnce {
		n := min(atOnce, m.Len()-first)
		jobs := make([]func() ([]byte, error), n)
		for k := range jobs {
			job, err := p.next()
			if err != nil {
				job = func() ([]byte, error) { return nil, err }
			}
			jobs[k] = job
		}
		for k, made := range inorder.Each(ctx, n, runtime.GOMAXPROCS(0), n, func(encoded) int { return n }, func(_ context.Context, k int) (made encoded) {
			made.data, made.err = jobs[k]()
			return made
		}) {
			switch bad++; {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case made.err == nil:
				list[first+k] = made.data
				bad--
			case !damaged(made.err) || 2*bad > m.Len():
				return nil, made.err
			default:
				held(first+k, made.err)
			}
		}
	}
	good := list[slices.IndexFunc(list, func(b []byte) bool { return b != nil })]
	for i, b := range list {
		if b == nil {
			list[i] = good
		}
		good = list[i]
	}
	return list, nil
}

// defaults adds the fields that a step of RLDS has, unless they are recorded.
func (c *columns) defaults() {
	n := len(c.e.Times)
	ends := [2][]int64{make([]int64, n), make([]int64, n)}
	ends[0][0], ends[1][n-1] = 1, 1
	reward, discount := make([]float32, n), slices.Repeat([]float32{1}, n)
	if s := c.e.Attributes.Success; s == nil || *s {
		reward[n-1] = 1
	}
	all := rlds.Columns{
		"is_first": {DType: "bool", Ints: ends[0]}, "is_last": {DType: "bool", Ints: ends[1]}, "is_terminal": {DType: "bool", Ints: ends[1]},
		"reward": {DType: "float32", Floats: reward}, "discount": {DType: "float32", Floats: discount},
	}
	for key, f := range all {
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
		key := name
		if !c.same {
			key = metadataKey + rldsWord(name)
		}
		i := slices.IndexFunc(c.info.Facts, func(f dataset.Feature) bool { return f.Name == name })
		if i < 0 || !c.same || c.info.Facts[i].DType == "string" {
			c.text(key, func(int64) string { return a.Other[name] })
			continue
		}
		f := rlds.Column{DType: c.info.Facts[i].DType, Shape: c.info.Facts[i].Shape}
		if err := numbersIn(&f, a.Other[name]); err != nil {
			return &RefusedError{err}
		}
		c.add(key, f)
	}
	if c.same {
		return nil
	}
	c.text(metadataKey+"file_path", func(int64) string { return a.Source })
	c.text(metadataKey+"name", func(int64) string { return c.e.Name })
	if a.Success != nil {
		f := rlds.Column{DType: "bool", Ints: []int64{0}}
		if *a.Success {
			f.Ints[0] = 1
		}
		c.add(metadataKey+"success", f)
	}
	return nil
}

// numbersIn reads numbers as package rlds prints them: "true", "-5" or "[0.5 1]".
func numbersIn(f *rlds.Column, text string) error {
	for _, word := range strings.Fields(strings.Trim(text, "[]")) {
		if rlds.IsFloat(f.DType) {
			v, err := strconv.ParseFloat(word, 32)
			if err != nil {
				return err
			}
			f.Floats = append(f.Floats, float32(v))
			continue
		}
		n, err := strconv.ParseInt(word, 10, 64)
		if word == "true" || word == "false" {
			n, err = int64(len("false")-len(word)), nil
		} else if errors.Is(err, strconv.ErrRange) {
			var v uint64
			v, err = strconv.ParseUint(word, 10, 64)
			n = int64(v)
		}
		if err != nil {
			return err
		}
		f.Ints = append(f.Ints, n)
	}
	return nil
}
