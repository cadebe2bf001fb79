package rlds

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

func TestNumbersOfEveryDTypeAreRead(t *testing.T) {
	for dtype, c := range map[string]struct {
		values  any
		want    []float64
		in      tensor.DType
		integer bool
		inexact int
	}{
		"bool":     {[]int64{0, 1}, []float64{0, 1}, tensor.F32, true, 0},
		"int8":     {[]int64{-128, 127}, []float64{-128, 127}, tensor.F32, true, 0},
		"uint8":    {looseInts{0, 255}, []float64{0, 255}, tensor.F32, true, 0},
		"int16":    {[]int64{-32768, 5}, []float64{-32768, 5}, tensor.F32, true, 0},
		"uint16":   {[]int64{65535, 5}, []float64{65535, 5}, tensor.F32, true, 0},
		"int32":    {[]int64{-1 << 31, 1<<24 + 1}, []float64{-1 << 31, 1<<24 + 1}, tensor.F64, true, 0},
		"uint32":   {[]int64{1<<32 - 1, 0}, []float64{1<<32 - 1, 0}, tensor.F64, true, 0},
		"int64":    {[]int64{1<<53 + 1, -1 << 60}, []float64{1 << 53, -1 << 60}, tensor.F64, true, 1},
		"uint64":   {[]int64{-1, -1 << 63}, []float64{1 << 64, 1 << 63}, tensor.F64, true, 1},
		"float16":  {[]float32{0.5, 65504}, []float64{0.5, 65504}, tensor.F32, false, 0},
		"bfloat16": {[]float32{1, 2}, []float64{1, 2}, tensor.F32, false, 0},
		"float32":  {looseFloats{0.1, -3e38}, []float64{float64(float32(0.1)), float64(float32(-3e38))}, tensor.F32, false, 0},
		"float64":  {[]float32{0.1, 1e-40}, []float64{float64(float32(0.1)), float64(float32(1e-40))}, tensor.F64, false, 0},
	} {
		s := mustOne(t, plainWith("x", array(dtype)), plain.with(example{"steps/x": c.values})).Stream("x")
		assert.Equal(t, c.want, floats(t, s), dtype)
		assert.Equal(t, c.in, s.Values.DType(), dtype)
		assert.Equal(t, []dataset.Column{{Name: "0", Type: dtype, Integer: c.integer}}, s.Columns)
		assert.Equal(t, c.inexact, s.Inexact, dtype)
	}
}

// raw is the bytes of numbers, as a Tensor of encoding bytes has them.
func rawBytes(t *testing.T, v any) string {
	var b bytes.Buffer
	require.NoError(t, binary.Write(&b, binary.LittleEndian, v))
	return b.String()
}

func TestEncodedTensorsAreReadAsTheyWere(t *testing.T) {
	half := func(f float32) uint16 { return uint16(tensor.F16FromF32(f)) }
	for dtype, c := range map[string]struct {
		a, b any
		want []float64
	}{
		"bool":     {[]bool{true, false}, []bool{false, true}, []float64{1, 0, 0, 1}},
		"int8":     {[]int8{-1, 2}, []int8{3, 4}, []float64{-1, 2, 3, 4}},
		"uint16":   {[]uint16{1, 65535}, []uint16{3, 4}, []float64{1, 65535, 3, 4}},
		"int64":    {[]int64{1 << 53, -5}, []int64{0, 1}, []float64{1 << 53, -5, 0, 1}},
		"uint64":   {[]uint64{1 << 63, 2}, []uint64{0, 1}, []float64{1 << 63, 2, 0, 1}},
		"float16":  {[]uint16{half(0.5), half(-2)}, []uint16{half(1), half(2)}, []float64{0.5, -2, 1, 2}},
		"bfloat16": {[]uint16{0x3f80, 0xc000}, []uint16{0, 0x4040}, []float64{1, -2, 0, 3}},
		"float32":  {[]float32{1, 2}, []float32{3, 4}, []float64{1, 2, 3, 4}},
		"float64":  {[]float64{0.1, math.Pi}, []float64{-1, 4}, []float64{0.1, math.Pi, -1, 4}},
	} {
		a, b := rawBytes(t, c.a), rawBytes(t, c.b)
		for encoding, items := range map[string][]string{"bytes": {a, b}, "zlib": {string(deflated([]byte(a))), string(deflated([]byte(b)))}} {
			for _, shape := range [][]int{{2}, {-1}, {1, 2}, {1, -1}} {
				e := mustOne(t, plainWith("x", encoded(encoding, dtype, shape...)), plain.with(example{"steps/x": items}))
				assert.Equal(t, c.want, floats(t, e.Stream("x")), "%s %s %v", encoding, dtype, shape)
				assert.Equal(t, []int{2, 2}, e.Stream("x").Values.Shape())
			}
			e := mustOne(t, plainWith("x", sequence(-1, encoded(encoding, dtype, 2))), plain.with(example{"steps/x/ragged_flat_values": items, "steps/x/ragged_row_lengths_0": []int64{0, 2}}))
			assert.Equal(t, c.want, floats(t, e.Stream("x")))
			assert.Equal(t, []int64{1e9, 1e9}, e.Stream("x").Nanoseconds())
		}
	}
}

func TestShapesBecomeColumns(t *testing.T) {
	six, twelve := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	two := []int64{3, 3}
	for name, c := range map[string]struct {
		feature string
		values  example
		columns string
		rows    int
	}{
		"matrix":                      {array("float32", 2, 3), example{"steps/x": twelve}, "0.0 0.1 0.2 1.0 1.1 1.2", 2},
		"open dimension":              {array("float32", -1), example{"steps/x": six}, "0 1 2", 2},
		"open first of two":           {array("float32", -1, 3), example{"steps/x": twelve}, "0.0 0.1 0.2 1.0 1.1 1.2", 2},
		"sequence of a length":        {sequence(3, array("float32")), example{"steps/x/ragged_flat_values": six, "steps/x/ragged_row_lengths_0": two}, "0 1 2", 2},
		"the same without lengths":    {sequence(3, array("float32")), example{"steps/x": six}, "0 1 2", 2},
		"sequence of pairs, a length": {sequence(3, array("float32", 2)), example{"steps/x": twelve}, "0.0 0.1 1.0 1.1 2.0 2.1", 2},
		"sequence of pairs":           {sequence(-1, array("float32", 2)), example{"steps/x/ragged_flat_values": six, "steps/x/ragged_row_lengths_0": []int64{1, 2}}, "0 1", 3},
		"sequence of nothing":         {sequence(-1, array("float32", 2)), example{"steps/x/ragged_flat_values": nil, "steps/x/ragged_row_lengths_0": []int64{0, 0}}, "0 1", 0},
		"dictionary in a sequence": {sequence(-1, dict(map[string]string{"y": array("float32", 3)})),
			example{"steps/x/y/ragged_flat_values": six, "steps/x/y/ragged_row_lengths_0": []int64{2, 0}}, "0 1 2", 2},
		"box":         {class("BBoxFeature", `,"boundingBox":{"shape":{"dimensions":["4"]},"dtype":"float32"}`), example{"steps/x": twelve[:8]}, "ymin xmin ymax xmax", 2},
		"box of old":  {class("BBox", ``), example{"steps/x": twelve[:8]}, "ymin xmin ymax xmax", 2},
		"audio":       {class("Audio", `,"audio":{"shape":{"dimensions":["-1"]},"dtype":"int64","sampleRate":"8000"}`), example{"steps/x": []int64{1, 2, 3, 4}}, "0 1", 2},
		"class label": {class("ClassLabel", `,"classLabel":{"numClasses":"3"}`), example{"steps/x": []int64{1, 2}}, "0", 2},
	} {
		t.Run(name, func(t *testing.T) {
			e := mustOne(t, plainWith("x", c.feature), plain.with(c.values))
			s := e.Stream("x")
			if s == nil {
				s = e.Stream("x/y")
			}
			require.NotNil(t, s, "%v", e.Notes)
			assert.Equal(t, c.columns, strings.Join(s.ColumnNames(), " "))
			assert.Equal(t, c.rows, s.Len())
			for i, v := range floats(t, s) {
				assert.Equal(t, float64(i+1), v)
			}
		})
	}
}

const (
	png  = "\x89PNG\r\n\x1a\n"
	jpeg = "\xff\xd8\xff"
)

func TestImagesAreWhatTheirBytesAre(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for name, c := range map[string]struct {
		feature  string
		values   example
		encoding string
		times    []int64
	}{
		"jpeg":                   {picture("uint8", "jpeg", 4, 5, 3), example{"steps/x": []string{jpeg + "a", jpeg + "b"}}, "jpeg", []int64{0, 1e9}},
		"called jpeg and is png": {picture("uint8", "jpeg", 4, 5, 3), example{"steps/x": []string{png + "a", png + "b"}}, "png", []int64{0, 1e9}},
		"no format":              {picture("uint8", "", 4, 5, 3), example{"steps/x": []string{png, png + "b"}}, "png", []int64{0, 1e9}},
		"depth":                  {picture("float32", "png", 4, 5, 1), example{"steps/x": []string{png, png + "b"}}, "png-f32", []int64{0, 1e9}},
		"video": {class("Video", `,"video":{"shape":{"dimensions":["-1","4","5","3"]},"encodingFormat":"png"}`),
			example{"steps/x/ragged_flat_values": []string{png + "a", png + "b", png + "c"}, "steps/x/ragged_row_lengths_0": []int64{1, 2}}, "png", []int64{0, 1e9, 1e9}},
		"video of a length": {class("Video", `,"video":{"shape":{"dimensions":["2","4","5","3"]},"encodingFormat":"png"}`),
			example{"steps/x": []string{png + "a", png + "b", png + "c", png}}, "png", []int64{0, 0, 1e9, 1e9}},
		"sequence of images": {sequence(-1, picture("uint8", "png", 4, 5, 3)),
			example{"steps/x/ragged_flat_values": []string{png}, "steps/x/ragged_row_lengths_0": []int64{0, 1}}, "png", []int64{1e9}},
	} {
		shard := recordsOf(plain.with(c.values).bytes())
		for _, b := range [][]byte{shard, gzipped(shard), deflated(shard)} {
			s := open(t, folder(t, plainWith("x", c.feature), 1, b), Options{})
			e, err := s.Episode(context.Background(), 0)
			require.NoError(t, err, name)
			require.Len(t, e.Media, 1, "%s: %v", name, e.Notes)
			require.NoError(t, s.Close(), "frames can be read after Close")
			m := e.Media[0]
			assert.Equal(t, c.times, m.Times, name)
			assert.Equal(t, []any{"x", c.encoding, 5, 4}, []any{m.Name, m.Encoding, m.Width, m.Height}, name)
			items, _ := c.values["steps/x"].([]string)
			if items == nil {
				items = c.values["steps/x/ragged_flat_values"].([]string)
			}
			for i, want := range items {
				got, err := m.Frame(context.Background(), i)
				require.NoError(t, err)
				assert.Equal(t, want, string(got), name)
				got[0]++ // the caller's own
			}
			_, err = m.Frame(context.Background(), len(items))
			assert.ErrorIs(t, err, dataset.ErrNotFound)
		}
	}
	e := mustOne(t, plainWith("x", picture("uint8", "png", 4, 5, 3)), plain.with(example{"steps/x": []string{"", png}}))
	assert.Equal(t, []int64{1e9}, e.Media[0].Times, "an image without bytes is no frame")
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmptyImages, Subject: "x", Count: 1}}, e.Notes)
}

func TestAFrameOfAFileThatHasChangedIsAnError(t *testing.T) {
	dir := folder(t, plainWith("x", picture("uint8", "png", 4, 5, 3)), 1, recordsOf(plain.with(example{"steps/x": []string{png, png + "here"}}).bytes()))
	e, err := open(t, dir, Options{}).Episode(context.Background(), 0)
	require.NoError(t, err)
	path := filepath.Join(dir, onlyShard)
	b := filetest.Read(t, path)
	filetest.Write(t, path, bytes.Replace(b, []byte("here"), []byte("else"), 1))
	_, err = e.Media[0].Frame(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	require.NoError(t, os.Truncate(path, 20))
	_, err = e.Media[0].Frame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
}

func TestTextsAreTheTaskOrAttributes(t *testing.T) {
	text := class("Text", `,"text":{}`)
	features := map[string]string{"language_instruction": text, "language_instruction_2": text, "note": array("string"), "observation": dict(map[string]string{"natural_language_instruction": text})}
	for name, f := range plainFeatures {
		features[name] = f
	}
	values := plain.with(example{"steps/language_instruction": []string{"lift", "lift"}, "steps/language_instruction_2": []string{"raise", "raise"},
		"steps/note": []string{"", "é"}, "steps/observation/natural_language_instruction": []string{"up", "up"}})
	e := mustOne(t, stepsOf(features), values)
	assert.Equal(t, "lift", e.Attributes.Task)
	assert.Equal(t, map[string]string{"id": "7", "tfds_id": onlyShard + "__0", "steps/language_instruction_2": "raise", "steps/note": "0: \n1: é",
		"steps/observation/natural_language_instruction": "up"}, e.Attributes.Other)
	e = mustOne(t, stepsOf(features), values.with(example{"steps/language_instruction": []string{"lift", "drop"}, "steps/note": []string{"\xff", "x"}}))
	assert.Empty(t, e.Attributes.Task, "a task that changes is none of the episode's")
	assert.Equal(t, "0: lift\n1: drop", e.Attributes.Other["steps/language_instruction"])
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotUTF8, Subject: "note", Count: 2, Row: dataset.At(0)}}, e.Notes)
	e = mustOne(t, stepsOf(features), values.with(example{"steps/language_instruction": []string{"", "drop"}}))
	assert.Equal(t, "drop", e.Attributes.Task, "no text is no other task")
	assert.Equal(t, "0: \n1: drop", e.Attributes.Other["steps/language_instruction"])
	delete(features, "language_instruction")
	delete(values, "steps/language_instruction")
	assert.Equal(t, "up", mustOne(t, stepsOf(features), values).Attributes.Task)
	beside := dict(map[string]string{"steps": class("Dataset", `,"sequence":{"feature":`+dict(plainFeatures)+`}`), "id": array("int32"), "language_instruction": text})
	e = mustOne(t, beside, plain.with(example{"language_instruction": []string{"push"}}))
	assert.Equal(t, []string{"push", ""}, []string{e.Attributes.Task, e.Attributes.Other["language_instruction"]})
}

func TestNumbersThatSpellTheTaskAreTheTask(t *testing.T) {
	for text, want := range map[string]string{"go\x00\x00go\x00\x00": "go", "\xc3\xa9\x00\x00\xc3\xa9\x00\x00": "é", "go\x00\x00no\x00\x00": "", "\xff\x00\x00\x00\xff\x00\x00\x00": ""} {
		var list []int64
		for _, c := range []byte(text) {
			list = append(list, int64(c))
		}
		e := mustOne(t, plainWith("instruction", array("int32", 4)), plain.with(example{"steps/instruction": list}))
		assert.Equal(t, want, e.Attributes.Task)
		assert.Equal(t, []int{2, 4}, e.Stream("instruction").Values.Shape())
	}
	e := mustOne(t, plainWith("instruction", array("int32", 1)), plain.with(example{"steps/instruction": []int64{300, 300}}))
	assert.Empty(t, e.Attributes.Task)
}

func TestWhatIsBesideTheStepsIsAnAttribute(t *testing.T) {
	features := map[string]string{"big": array("uint64"), "f": array("float32"), "d": encoded("bytes", "float64"), "m": array("float64", 2, 2), "success": array("bool"),
		"path": class("Text", ""), "image": picture("uint8", "png", 1, 1, 3), "open": array("float32", -1), "wide": array("int32", 65), "beside": sequence(-1, array("int32"))}
	root := dict(map[string]string{"steps": class("Dataset", `,"sequence":{"feature":`+dict(plainFeatures)+`}`), "id": array("int32"), "meta": dict(features)})
	e := mustOne(t, root, plain.with(example{"meta/big": []int64{-1}, "meta/f": []float32{0.1}, "meta/d": []string{rawBytes(t, []float64{0.1})}, "meta/m": []float32{1, 2.5, 3, -4},
		"meta/success": []int64{1}, "meta/path": []string{"/a"}, "meta/image": []string{png}, "meta/open": []float32{1}, "meta/wide": make([]int64, 65), "meta/beside": []int64{1, 2}}))
	assert.Equal(t, map[string]string{"id": "7", "tfds_id": onlyShard + "__0", "meta/big": "18446744073709551615", "meta/f": "0.1", "meta/d": "0.1",
		"meta/m": "[1 2.5 3 -4]", "meta/success": "true", "meta/path": "/a"}, e.Attributes.Other)
	require.NotNil(t, e.Attributes.Success)
	assert.True(t, *e.Attributes.Success)
	left, codes := map[string]int{}, map[string]dataset.Code{}
	for _, l := range e.Notes {
		left[l.Subject], codes[l.Subject] = l.Count, l.Code
	}
	assert.Equal(t, map[string]int{"meta/image": 1, "meta/open": 1, "meta/wide": 65, "meta/beside": 2}, left)
	assert.Equal(t, map[string]dataset.Code{"meta/image": dataset.CodeEpisodeImage, "meta/open": dataset.CodeEpisodeArray, "meta/wide": dataset.CodeEpisodeArray,
		"meta/beside": dataset.CodeOutsideSteps}, codes)
}

func TestWhatIsNotReadIsLeftOutByName(t *testing.T) {
	for name, c := range map[string]struct {
		feature string
		values  example
		count   int
		why     string // the code, and what was got and wanted
	}{
		"dtype":      {array("complex64"), example{"steps/x": []float32{1, 2}}, 2, dataset.CodeValueType.String() + `: got "complex64"`},
		"class":      {class("Translation", `,"translation":{}`), example{"steps/x": []string{"a", "b", "c"}}, 3, dataset.CodeFeatureClass.String() + ": got Translation"},
		"encoding":   {encoded("brotli", "int8", 1), example{"steps/x": []string{"a", "b"}}, 2, dataset.CodeValueEncoding.String() + `: got "brotli"`},
		"open twice": {encoded("zlib", "int8", -1, -1), example{"steps/x/shape": []int64{1, 1, 1, 1}, "steps/x/value": []string{"a", "b"}}, 2, dataset.CodeOpenShape.String()},
		"texts":      {sequence(-1, class("Text", "")), example{"steps/x/ragged_flat_values": []string{"a"}, "steps/x/ragged_row_lengths_0": []int64{1, 0}}, 1, dataset.CodeNestedSequence.String()},
		"deep": {sequence(-1, sequence(-1, array("int8"))), example{"steps/x/ragged_flat_values": []int64{1, 2}, "steps/x/ragged_row_lengths_0": []int64{1, 0}, "steps/x/ragged_row_lengths_1": []int64{2}}, 2,
			dataset.CodeNestedSequence.String()},
		"nothing":       {array("float32", 0), example{"steps/x": nil}, 0, dataset.CodeNoValues.String()},
		"wide":          {array("uint8", 1024, 1025), example{"steps/x": nil}, 0, dataset.CodeTooWide.String() + ": want 1048576, columns of all features"},
		"bitmap":        {picture("uint8", "", 2, 2, 3), example{"steps/x": []string{"BM\x01", "BM\x02"}}, 2, dataset.CodeImageFormat.String() + ": got 42 4d 01"},
		"mixed":         {picture("uint8", "", 2, 2, 3), example{"steps/x": []string{png, jpeg}}, 2, dataset.CodeMixedImages.String()},
		"text of 2":     {array("string", 2), example{"steps/x": []string{"a", "b", "c", "d"}}, 4, dataset.CodeTextLists.String()},
		"not a feature": {array("int8"), example{"steps/x": []int64{1, 2}, "steps/y": []float32{1, 2, 3}}, 3, dataset.CodeUndeclared.String() + ": want features.json"},
	} {
		e, subject := mustOne(t, plainWith("x", c.feature), plain.with(c.values)), "x"
		if name == "not a feature" {
			subject = "steps/y"
		}
		require.Len(t, e.Notes, 1, name)
		n := e.Notes[0]
		assert.Equal(t, []any{subject, c.count}, []any{n.Subject, n.Count}, name)
		n.Count = 0
		if assert.Equal(t, c.why, n.Reason(), name); name == "not a feature" {
			continue
		}
		assert.Equal(t, []string{"action", "is_first", "reward"}, e.Names())
	}
	optional := class("Tensor", `,"tensor":{"dtype":"int8","optional":true,"shape":{}}`)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotInEpisode, Subject: "x"}}, mustOne(t, plainWith("x", optional), plain).Notes)
}

func TestFeaturesOfBefore2022AreTheSame(t *testing.T) {
	old := `{"type":"tensorflow_datasets.core.features.features_dict.FeaturesDict","content":{
		"id":{"type":"t.feature.Tensor","content":{"shape":[],"dtype":"int32","encoding":"none"}},
		"steps":{"type":"t.dataset_feature.Dataset","content":{"length":null,"feature":{"type":"t.FeaturesDict","content":{
			"action":{"type":"t.feature.Tensor","content":{"shape":[3],"dtype":"float32"}},
			"reward":{"type":"t.Scalar","content":{"dtype":"float32"}},
			"is_first":{"type":"t.feature.Tensor","content":{"shape":[],"dtype":"bool","encoding":"none"}},
			"image":{"type":"t.image_feature.Image","content":{"shape":[null,5,3],"dtype":"uint8","encoding_format":"jpeg"}},
			"label":{"type":"t.ClassLabel","content":{"num_classes":3}},
			"box":{"type":"t.BBoxFeature","content":{"shape":[4],"dtype":"float32"}},
			"audio":{"type":"t.Audio","content":{"file_format":null,"shape":[null],"dtype":"int64"}},
			"video":{"type":"t.Video","content":{"shape":[null,4,5,3],"encoding_format":"png","ffmpeg_extra_args":[]}},
			"touch":{"type":"t.Sequence","content":{"length":-1,"feature":{"type":"t.Tensor","content":{"shape":[2],"dtype":"float32"}}}},
			"text":{"type":"t.Text","content":{"use_encoder":null}}
		}}}}}}`
	e := mustOne(t, old, plain.with(example{"steps/image": []string{jpeg, jpeg}, "steps/label": []int64{1, 2}, "steps/text": []string{"a", "a"}, "steps/box": make([]float32, 8),
		"steps/audio": []int64{1, 2, 3, 4}, "steps/video/ragged_flat_values": []string{png}, "steps/video/ragged_row_lengths_0": []int64{0, 1},
		"steps/touch/ragged_flat_values": []float32{1, 2}, "steps/touch/ragged_row_lengths_0": []int64{0, 1}}))
	assert.Equal(t, []string{"action", "audio", "box", "is_first", "label", "reward", "touch"}, e.Names())
	assert.Equal(t, []int{2, 3}, e.Stream("action").Values.Shape())
	assert.Equal(t, []int{1, 2}, e.Stream("touch").Values.Shape())
	assert.Equal(t, "a", e.Attributes.Other["steps/text"])
	require.Len(t, e.Media, 2)
	assert.Equal(t, []int{5, 0}, []int{e.Media[0].Width, e.Media[0].Height})
	assert.Equal(t, []int{5, 4}, []int{e.Media[1].Width, e.Media[1].Height})
	assert.Empty(t, e.Notes)
}

func TestBrokenFeaturesAreNamed(t *testing.T) {
	for text, says := range map[string]string{
		`{`:                                      "JSON",
		`null`:                                   "no pythonClassName",
		`{"pythonClassName":"a.FeaturesDict"}`:   "no featuresDict",
		dict(map[string]string{"steps": "null"}): `feature "steps": corrupt: got null`,
		dict(map[string]string{"steps": "{}"}):   "no pythonClassName",
		dict(map[string]string{"steps": class("Dataset", "")}):                                          "no sequence",
		dict(map[string]string{"steps": class("Dataset", `,"sequence":{}`)}):                            "got null, want a feature",
		stepsOf(map[string]string{"x": class("Tensor", "")}):                                            `feature "steps/x": corrupt: got no content`,
		stepsOf(map[string]string{"x": array("int8", -2)}):                                              "got -2, want lengths",
		stepsOf(map[string]string{"x": `{"pythonClassName":"Tensor","tensor":{"shape":["a"]}}`}):        "JSON",
		stepsOf(map[string]string{"x": `{"pythonClassName":"Sequence","sequence":{"length":"x"}}`}):     "want a whole number",
		stepsOf(map[string]string{"x/y": array("int8"), "x": dict(map[string]string{"y": array("x")})}): `feature "steps/x/y": corrupt: got a second one`,
		stepsOf(map[string]string{"x": `{"type":"a.Tensor","content":[1]}`}):                            `feature "steps/x"`,
		dict(map[string]string{"image": picture("uint8", "png", 2, 2, 3)}):                              "no sequence that is called steps",
	} {
		_, err := Open(context.Background(), folder(t, text, 1, recordsOf(plain.bytes())), Options{})
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, text)
		assert.ErrorContains(t, err, says)
		assert.Equal(t, featuresFile, filepath.Base(bad.Path))
	}
}

func TestOneImageThatIsBrokenCostsItself(t *testing.T) {
	for at := range 2 {
		items := []string{png, png}
		items[at] = "BM\x01"
		e := mustOne(t, plainWith("x", picture("uint8", "", 2, 2, 3)), plain.with(example{"steps/x": items}))
		require.Len(t, e.Media, 1)
		assert.Equal(t, 1, e.Media[0].Len())
		assert.Equal(t, dataset.Notes{{Code: dataset.CodeImageFormat, Subject: "x", Count: 1, Row: dataset.At(at), Detail: dataset.Detail{Got: "42 4d 01"}}}, e.Notes)
		frame, err := e.Media[0].Frame(context.Background(), 0)
		require.NoError(t, err)
		assert.Equal(t, png, string(frame))
	}
}
