package message

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// jsonRows returns messages as their decoder has them after it saw them all.
func jsonRows(t *testing.T, schema Schema, messages ...string) (*Shape, *Rows) {
	t.Helper()
	d, err := New("json", schema, nil)
	require.NoError(t, err)
	for _, m := range messages {
		require.NoError(t, d.(Learner).Learn([]byte(m)))
	}
	rows := &Rows{}
	for _, m := range messages {
		require.NoError(t, d.Append(rows, []byte(m)), m)
	}
	return d.Shape(), rows
}

func TestJSONMessagesBecomeColumnsAndLists(t *testing.T) {
	s, rows := jsonRows(t, Schema{},
		` {"b" : 1, "a":{"y":-2.5e1,"x":true,"deep":{"z":null}}, "text":"t\"}", "joint":{"name":["l","r\n"],"pos":[1,2]}, "stamp":{"sec":1,"nsec":2}, "list":[{"u":1,"v":[1]}], "e":[], "m":[[1]], "mixed":1}`,
		`{"b":9007199254740993,"a":{"x":false,"deep":{"z":7}},"joint":{"name":["l","r\n"],"pos":[3,null]},"list":[{"w":2,"u":"NaN"}],"mixed":"x","nothing":null}`,
		"{}")
	assert.Equal(t, []string{"b", "a.y", "a.x", "a.deep.z", "stamp.sec", "stamp.nsec"}, columns(s.Columns))
	nan := math.NaN()
	assert.Equal(t, fmt.Sprint([]float64{1, -25, 1, nan, 1, 2, 1 << 53, nan, 0, 7, nan, nan, nan, nan, nan, nan, nan, nan}), fmt.Sprint(rows.F64))
	assert.Equal(t, 1, rows.Inexact)
	var whole []bool
	for _, c := range s.Columns {
		whole = append(whole, c.Integer)
	}
	assert.Equal(t, []bool{false, false, true, false, true, true}, whole, "truth values, and times")
	assert.Equal(t, "boolean", s.Columns[2].Type)
	assert.Equal(t, dataset.Notes{field(dataset.CodeTextFields, "text"), field(dataset.CodeNestedArrays, "list[].v"), field(dataset.CodeArraysWithoutNumbers, "e"), field(dataset.CodeNestedArrays, "m"), field(dataset.CodeNullFields, "nothing"), field(dataset.CodeMixedFields, "mixed")},
		sorted(s.Notes, "text", "list", "e ", "m ", "nothing", "mixed"))
	require.Len(t, s.Lists, 2)
	assert.Equal(t, []string{"joint.pos", "joint.name"}, []string{s.Lists[0].Name, s.Lists[0].Labels})
	assert.Equal(t, []string{"l", "r\n"}, rows.Lists[0].Names[0].List)
	assert.Equal(t, []string{"w", "u"}, columns(s.Lists[1].Columns), "in the order that the messages have them in")
	assert.Equal(t, []int32{2, 2, 0}, rows.Lists[0].Lengths)
	assert.Equal(t, []int32{0, 0, -1}, rows.Lists[0].Named)
	assert.Equal(t, fmt.Sprint([]float64{1, 2, 3, nan}), fmt.Sprint(rows.Lists[0].F64), "messages without elements have none to name")
	assert.True(t, rows.Lists[1].Dropped)
	assert.False(t, s.Stamp)

	s, rows = jsonRows(t, Schema{}, `{"list":[{"u":1},null]}`, `{"list":[{"w":2,"u":3},{}]}`)
	assert.Equal(t, fmt.Sprint([]float64{nan, 1, nan, nan, 2, 3, nan, nan}), fmt.Sprint(rows.Lists[0].F64))
	assert.Empty(t, s.Columns)
}

// sorted puts texts in the order of the prefixes.
func sorted(list dataset.Notes, order ...string) (out dataset.Notes) {
	for _, o := range order {
		for _, n := range list {
			if strings.HasPrefix(n.Subject+" ", o) {
				out = append(out, n)
			}
		}
	}
	return out
}

// field is the note about a field that is left out.
func field(code dataset.Code, path string) dataset.Note {
	return dataset.Note{Code: code, Subject: path}
}

// Whatever the numbers of one recording are, those of another may have fractions: what is whole the schema alone says.
func TestAJSONSchemaSaysWhatIsWhole(t *testing.T) {
	schema := Schema{Name: "s", Encoding: "jsonschema", Data: []byte(`{"properties":{"a":{"type":"number"},"i":{"type":["integer","null"]},"o":{"$ref":"#/$defs/q"},
		"l":{"items":{"type":"number"}},"loop":{"$ref":"#/properties/loop"}},
		"$defs":{"q":{"title":"foxglove.Quaternion","properties":{"x":{"type":"number"}}}}}`)}
	s, rows := jsonRows(t, schema, `{"a":1,"i":2,"o":{"x":0,"y":0,"z":0,"w":1},"l":[1,2],"loop":3,"timestamp":{"sec":5,"nsec":6}}`)
	assert.Equal(t, []string{"a", "i", "o.x", "o.y", "o.z", "o.w", "loop"}, columns(s.Columns))
	var whole, turns []bool
	for _, c := range s.Columns {
		whole, turns = append(whole, c.Integer), append(turns, c.Rotation == dataset.RotationXYZW)
	}
	assert.Equal(t, []bool{false, true, false, false, false, false, false}, whole)
	assert.Equal(t, []bool{false, false, true, true, true, true, false}, turns)
	assert.False(t, s.Lists[0].Columns[0].Integer)
	assert.Equal(t, []int64{5000000006}, rows.Stamps)
	_, err := New("json", Schema{Encoding: "ros2msg"}, nil)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

// Of a quaternion in JSON the schema says that it is one, by its title or what references call it, or the name of the field does.
func TestQuaternionsOfJSONAreRotations(t *testing.T) {
	const q = `{"x":0,"y":0.5,"z":0,"w":0.5}`
	schema := func(text string) Schema {
		return Schema{Name: "s", Encoding: "jsonschema", Data: []byte(text)}
	}
	titled := schema(`{"properties":{"turn":{"title":"geometry_msgs/Quaternion"}}}`)
	for _, c := range []struct {
		schema Schema
		text   string
		turns  map[string]dataset.Rotation // of columns with these names before the dot
	}{
		{Schema{Name: "foxglove.FrameTransform"}, `{"translation":{"x":1,"y":2,"z":3},"rotation":` + q + `}`, map[string]dataset.Rotation{"rotation": dataset.RotationXYZW}},
		{Schema{}, `{"pose":{"orientation":` + q + `,"position":{"x":1,"y":2,"z":3}},"q":{"w":1,"x":0,"y":0,"z":0},"Quaternion":` + q + `}`,
			map[string]dataset.Rotation{"pose.orientation": dataset.RotationXYZW, "q": dataset.RotationWXYZ, "Quaternion": dataset.RotationXYZW}},
		{titled, `{"turn":` + q + `,"other":` + q + `}`, map[string]dataset.Rotation{"turn": dataset.RotationXYZW}},
		{schema(`{"properties":{"turn":{"$ref":"#/definitions/MyQuaternion"},"o":{"properties":{"x":{"type":"number"}}}},"definitions":{"MyQuaternion":{}}}`),
			`{"turn":` + q + `,"o":` + q + `}`, map[string]dataset.Rotation{"turn": dataset.RotationXYZW}},
		{Schema{Name: "foxglove.Quaternion"}, q, map[string]dataset.Rotation{"": dataset.RotationXYZW}},
		{Schema{}, `{"rotation":{"x":1,"y":2,"z":3},"orientation":{"x":1,"y":2,"w":3,"z":4},"q":{"x":1,"y":2,"z":3,"w":4,"norm":5},"corner":` + q + `}`, nil},
	} {
		s, _ := jsonRows(t, c.schema, c.text)
		for _, column := range s.Columns {
			of := column.Name[:max(strings.LastIndexByte(column.Name, '.'), 0)]
			assert.Equal(t, c.turns[of], column.Rotation, "%s: %s", c.text, column.Name)
		}
	}
	s, _ := jsonRows(t, Schema{Name: "foxglove.FrameTransforms"}, `{"transforms":[{"child_frame_id":"a","parent_frame_id":"b","translation":{"x":1,"y":2,"z":3},"rotation":`+q+`}]}`)
	require.Len(t, s.Lists, 1)
	for _, column := range s.Lists[0].Columns {
		assert.Equal(t, strings.HasPrefix(column.Name, "rotation."), column.Rotation == dataset.RotationXYZW, column.Name)
	}
}

func TestANullAmongTransformsIsCountedAsOneWithoutNames(t *testing.T) {
	const one = `{"child_frame_id":"a","parent_frame_id":"b","translation":{"x":1,"y":2,"z":3}}`
	for _, odd := range []string{"null", "{}"} {
		s, rows := jsonRows(t, Schema{Name: "foxglove.FrameTransforms"}, `{"transforms":[`+one+`,`+odd+`]}`)
		require.Len(t, s.Lists, 1)
		l := &rows.Lists[0]
		assert.True(t, s.Lists[0].Keyed)
		assert.Equal(t, []int32{2}, l.Lengths, odd)
		assert.Equal(t, []int32{0, -1}, l.Keys, odd)
		assert.Equal(t, fmt.Sprint([]float64{1, 2, 3, math.NaN(), math.NaN(), math.NaN()}), fmt.Sprint(l.F64), odd)
	}
}

func TestTheTimestampOfJSONIsNoColumn(t *testing.T) {
	for text, want := range map[string]int64{
		`{"timestamp":{"sec":1,"nsec":2},"v":1}`:                                    1000000002,
		`{"timestamp":{"nanosec":2,"sec":-1},"v":1}`:                                -999999998,
		`{"timestamp":"1970-01-01T00:00:01.5Z","v":1}`:                              1500000000,
		`{"header":{"seq":3,"stamp":{"secs":1,"nsecs":2},"frame_id":"base"},"v":1}`: 1000000002,
	} {
		s, rows := jsonRows(t, Schema{}, text)
		assert.True(t, s.Stamp, text)
		assert.Equal(t, []string{"v"}, columns(s.Columns), text)
		assert.Equal(t, []int64{want}, rows.Stamps, text)
	}
	s, _ := jsonRows(t, Schema{}, `{"header":{"seq":3,"stamp":{"secs":1,"nsecs":2},"frame_id":"base"}}`)
	assert.Equal(t, dataset.Notes{field(dataset.CodeHeaderRest, "header.seq"), field(dataset.CodeHeaderRest, "header.frame_id")}, s.Notes)
	for _, text := range []string{`{"timestamp":5,"v":1}`, `{"timestamp":{"sec":1.5,"nsec":1},"v":1}`, `{"timestamp":"now","v":1}`, `{"a":{"timestamp":{"sec":1,"nsec":2}},"v":1}`} {
		s, _ := jsonRows(t, Schema{}, text)
		assert.False(t, s.Stamp, text)
	}
}

func TestABrokenJSONMessageLeavesRowsAsTheyWere(t *testing.T) {
	whole := `{"a":1.5,"t":"x\"y","o":{"b":true,"l":[1,2]},"n":null,"timestamp":{"sec":1,"nsec":2},"f":false}`
	d, err := newJSON(Schema{})
	require.NoError(t, err)
	require.NoError(t, d.(Learner).Learn([]byte(whole)))
	var rows Rows
	require.NoError(t, d.Append(&rows, []byte(whole)))
	before := fmt.Sprint(rows)
	for n := range whole {
		err := d.Append(&rows, []byte(whole[:n]))
		require.Error(t, err, whole[:n])
		assert.Error(t, d.(Learner).Learn([]byte(whole[:n])))
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.LessOrEqual(t, bad.Offset, int64(n))
		assert.Equal(t, before, fmt.Sprint(rows))
	}
	for _, text := range []string{`{"a":1}x`, `{"a":01e}`, `{"a":+1}`, `{"a":.5}`, `{"a":tru}`, `{,}`, `{"a":1,}`, `{"a" 1}`, `{"a":1e999}`, strings.Repeat(`{"a":`, 200)} {
		assert.Error(t, d.Append(&rows, []byte(text)), text)
	}
	assert.ErrorIs(t, d.Append(&rows, []byte("5")), dataset.ErrUnsupported, "right, and no object")
	assert.Equal(t, before, fmt.Sprint(rows))
}

// However many look at messages at a time, and in whatever order, the shape is the same.
func TestWhatIsLearntDoesNotDependOnWhoLooks(t *testing.T) {
	message := func(i int) []byte {
		return fmt.Appendf(nil, `{"k%d":1,"all":{"a":1,"b":[%d]}}`, i%37, i)
	}
	var first *Shape
	for round := range 5 {
		d, err := newJSON(Schema{})
		require.NoError(t, err)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := g; i < 400; i += 4 {
					assert.NoError(t, d.(Learner).Learn(message(i*(round+1))))
				}
			})
		}
		wg.Wait()
		if first == nil {
			first = d.Shape()
		}
		assert.Equal(t, first, d.Shape())
	}
}

func TestJSONOfTooManyMembersIsRefused(t *testing.T) {
	d, err := newJSON(Schema{})
	require.NoError(t, err)
	for i := range maxJSONKeys + 10 {
		require.NoError(t, d.(Learner).Learn(fmt.Appendf(nil, `{"k%d":1}`, i)))
	}
	assert.ErrorIs(t, d.Append(&Rows{}, []byte(`{"k1":1}`)), dataset.ErrUnsupported)
}

func TestATimestampThatInt64DoesNotHoldIsAnError(t *testing.T) {
	d, err := newJSON(Schema{})
	require.NoError(t, err)
	require.NoError(t, d.(Learner).Learn([]byte(`{"timestamp":{"sec":1,"nsec":2},"v":1}`)))
	var rows Rows
	require.NoError(t, d.Append(&rows, []byte(`{"timestamp":{"sec":9223372030,"nsec":4294967295},"v":1}`)))
	assert.Equal(t, []int64{9223372034294967295}, rows.Stamps)
	for _, stamp := range []string{`{"sec":9223372031,"nsec":0}`, `{"sec":9223372030,"nsec":9999999999}`, `{"sec":-9223372030,"nsec":-9999999999}`} {
		assert.ErrorIs(t, d.Append(&rows, []byte(`{"timestamp":`+stamp+`,"v":1}`)), dataset.ErrCorrupt, stamp)
	}
}

// A text of which every letter is escaped took the square of its length.
func TestEscapesTakeNoTimeOfTheirOwn(t *testing.T) {
	s := jsonScanner{data: []byte(`"` + strings.Repeat(`\\\"`, 1<<20) + `"`)}
	b, escaped, err := s.text()
	require.NoError(t, err)
	assert.True(t, escaped)
	assert.Len(t, b, 4<<20)
	for _, text := range []string{`"`, `"\`, `"\"`, `"a\"b`, `"\\\`} {
		s := jsonScanner{data: []byte(text)}
		_, _, err := s.text()
		assert.ErrorIs(t, err, dataset.ErrTruncated, text)
	}
}

func TestLongNamesMakeNoMoreThanTheirOwnSize(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	var members, fields strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&members, `"m%d":"text",`, i)
		fmt.Fprintf(&fields, ` field { name: "f%d" number: %d type: TYPE_STRING label: LABEL_OPTIONAL }`, i, i+1)
	}
	text := `{"` + long + `":{` + members.String() + `"v":1}}`
	ofJSON, _ := jsonRows(t, Schema{}, text)
	schema, _ := protoSchema(t, `name: "m.proto" package: "m" syntax: "proto3" message_type { name: "M" field { name: "`+long+
		`" number: 1 type: TYPE_MESSAGE type_name: ".m.N" label: LABEL_OPTIONAL } } message_type { name: "N"`+fields.String()+` }`, "m.M")
	d, err := newProto(schema)
	require.NoError(t, err)
	for _, s := range []*Shape{ofJSON, d.Shape()} {
		size := 0
		for _, left := range s.Notes {
			size += len(left.Subject)
		}
		assert.Positive(t, size)
		assert.Less(t, size, 20<<20)
	}
}

func TestFieldsOverEachOtherMakeNoLargeCloud(t *testing.T) {
	d, err := New("json", Schema{Name: "foxglove.PointCloud", Encoding: "jsonschema"}, nil)
	require.NoError(t, err)
	cloud := func(more int) []byte {
		fields := `{"name":"x","offset":0,"type":1},{"name":"y","offset":0,"type":1},{"name":"z","offset":0,"type":1}`
		for i := range more {
			fields += fmt.Sprintf(`,{"name":"f%d","offset":0,"type":1}`, i)
		}
		return []byte(`{"timestamp":{"sec":1,"nsec":0},"point_stride":1,"fields":[` + fields + `],"data":"AQID"}`)
	}
	c, err := d.Cloud(cloud(1))
	require.NoError(t, err)
	assert.Equal(t, 3, c.Len())
	_, err = d.Cloud(cloud(2))
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

func TestFoxgloveJSONIsFramesAndClouds(t *testing.T) {
	d, err := New("json", Schema{Name: "foxglove.CompressedImage", Encoding: "jsonschema"}, nil)
	require.NoError(t, err)
	data := []byte(`{"timestamp":{"sec":1,"nsec":5},"format":"png","data":"AQID","frame_id":"c"}`)
	f, err := d.Frame(data)
	require.NoError(t, err)
	assert.Equal(t, Frame{Encoding: "png", Data: []byte{1, 2, 3}, Stamp: 1000000005}, f)
	_, err = d.Frame(data[:20])
	assert.ErrorIs(t, err, dataset.ErrCorrupt)

	d, err = New("json", Schema{Name: "foxglove.PointCloud"}, nil)
	require.NoError(t, err)
	var rows Rows
	require.NoError(t, d.Append(&rows, []byte(foxgloveCloud)))
	assert.Equal(t, []int64{1e9}, rows.Stamps)
	for _, text := range []string{foxgloveCloud, strings.NewReplacer(`"type":7`, `"type":"FLOAT32"`, `"type":1`, `"type":"UINT8"`).Replace(foxgloveCloud)} {
		cloud, err := d.Cloud([]byte(text))
		require.NoError(t, err)
		checkFoxgloveCloud(t, cloud)
	}
	for _, bad := range []string{`"point_stride":0`, `"point_stride":12`, `"point_stride":26`} {
		_, err := d.Cloud([]byte(strings.Replace(foxgloveCloud, `"point_stride":13`, bad, 1)))
		if bad != `"point_stride":26` { // a point of 26 bytes, of which these are half
			assert.ErrorIs(t, err, dataset.ErrCorrupt, bad)
		} else {
			assert.NoError(t, err)
		}
	}
}
