package csv_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/csv"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
)

func write(t testing.TB, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	filetest.Write(t, path, text)
	return path
}

// read reads a text as a table, whether it is recognised or not.
func read(t testing.TB, text string, opt dataset.Options) (*dataset.Episode, dataset.Info) {
	s, err := csv.Open(write(t, "run.csv", text), opt)
	require.NoError(t, err, "%s", text)
	e, err := s.Episode(context.Background(), 0)
	require.NoError(t, err, "%s", text)
	require.NoError(t, e.Streams[0].Check())
	return e, s.Info()
}

var strict = dataset.Options{Strict: true}

func TestTheClockIsFoundByItsName(t *testing.T) {
	for _, c := range []struct{ header, a, b, label string }{
		{"#timestamp [ns],x", "1520530308189679351", "1520530308198012351", "timestamp [ns]"},
		{"timestamp,x", "1520530308.189679351", "1520530308.198012351", "timestamp [s]"},
		{"%time,x", "1520530308189679351", "1520530308198012351", "time [ns]"},
		{"x,time_us", "1520530308189679.351", "1520530308198012.351", "time_us [us]"},
		{"t_ms;x", "1520530308189.679351", "1520530308198.012351", "t_ms [ms]"},
		{"Time (ms)\tx", "1520530308189.679351", "1520530308198.012351", "Time [ms]"},
		{"stamp x", "1520530308.189679351", "1520530308.198012351", "stamp [s]"},
		{"timestampNs,x", "1520530308189679351", "1520530308198012351", "timestampNs [ns]"},
		{"seconds,x", "1520530308.189679351", "1520530308.198012351", "seconds [s]"},
		{"header.stamp,x", "1520530308.189679351", "1520530308.198012351", "header.stamp [s]"},
		{"sec,nsec,x", "1520530308,189679351", "1520530308,198012351", "sec + nsec"},
		{"header.stamp.sec,header.stamp.nanosec,x", "1520530308,189679351", "1520530308,198012351", "header.stamp.sec + header.stamp.nanosec"},
		{"time,x", "2018-03-08T17:31:48.189679351Z", "2018-03-08 18:31:48.198012351+01:00", "time"},
		{"\"time\",\"x\"", "\"2018-03-08T17:31:48.189679351\"", "\"2018-03-08 17:31:48.198012351\"", "time"},
		{"\xef\xbb\xbftimestamp [ns],x", "1520530308189679351", "1520530308198012351", "timestamp [ns]"},
	} {
		sep := ","
		for _, s := range ";\t " {
			if !strings.Contains(c.header, ",") && strings.ContainsRune(c.header, s) {
				sep = string(s)
				break
			}
		}
		if strings.Contains(c.header, "\t") {
			sep = "\t"
		}
		text := c.header + "\n" + c.a + sep + "0.5\n" + c.b + sep + "1.5\n"
		if strings.HasPrefix(c.header, "x") {
			text = c.header + "\n0.5" + sep + c.a + "\n1.5" + sep + c.b + "\n"
		}
		for name, text := range map[string]string{"lf": text, "crlf": strings.ReplaceAll(text, "\n", "\r\n"), "cr": strings.ReplaceAll(text, "\n", "\r")} {
			d, err := dataset.Open(context.Background(), write(t, "run.log", text), strict)
			require.NoError(t, err, "%s: %s", c.header, name)
			assert.Equal(t, c.label, d.Info().Clock, c.header)
			e, err := d.Episode(context.Background(), 0)
			require.NoError(t, err, c.header)
			assert.Equal(t, []int64{1520530308189679351, 1520530308198012351}, e.Stream("data").Nanoseconds(), "%s: %s", c.header, name)
			assert.Equal(t, []float64{0.5, 1.5}, floats(t, e.Stream("data")), c.header)
			assert.Equal(t, []string{"x"}, e.Stream("data").ColumnNames())
			assert.False(t, e.Steps)
		}
	}
}

func TestAUnitThatTheNameDoesNotSayIsJudgedAndTold(t *testing.T) {
	for _, c := range []struct {
		first, step int64 // in the unit
		unit        string
		nanos       int64
	}{
		{0, 10_000_000, "ns", 1}, {0, 8000, "us", 1e3}, {0, 20, "ms", 1e6}, {0, 1, "s", 1e9},
		{1_520_530_308, 1, "s", 1e9}, {1_520_530_308, 60, "s", 1e9}, {1_520_530_308_123, 33, "ms", 1e6}, {1_520_530_308_123_456, 33_000, "us", 1e3},
		{1_520_530_308_123_456_789, 33_000_000, "ns", 1},
		{1_200_000_000, 4000, "us", 1e3},     // 20 minutes since the start; as seconds it would be a date, and the steps an hour
		{1_200_000_000, 10_000_000, "ns", 1}, // since the start; as seconds it would be a date, and the steps months
	} {
		var text strings.Builder
		text.WriteString("time,x\n")
		for i := range int64(5) {
			fmt.Fprintf(&text, "%d,0.5\n", c.first+i*c.step)
		}
		e, info := read(t, text.String(), strict)
		label := "time [" + c.unit + "]"
		assert.Equal(t, label, info.Clock)
		assert.Equal(t, []string{label, "steps"}, []string{info.Clocks[0], info.Clocks[len(info.Clocks)-1]})
		if c.first == 0 {
			assert.ElementsMatch(t, []string{"time [s]", "time [ms]", "time [us]", "time [ns]", "steps"}, info.Clocks)
		}
		assert.Contains(t, e.Attributes.Other["clock"], label+", a unit that the name does not have: in it")
		assert.Equal(t, (c.first+4*c.step)*c.nanos, e.Stream("data").Nanoseconds()[4])

		e, info = read(t, text.String(), dataset.Options{Clock: "time [ns]"})
		assert.Equal(t, "time [ns]", info.Clock)
		assert.Equal(t, c.first+4*c.step, e.Stream("data").Nanoseconds()[4])
	}
	_, info := read(t, "time_ns,x\n1,0.5\n2,0.5\n", strict)
	assert.Equal(t, []string{"time_ns [ns]", "steps"}, info.Clocks)
	assert.Equal(t, "time_ns [ns]", info.Attributes["clock"])
}

func TestTheCallerChoosesTheClock(t *testing.T) {
	text := "timestamp_us,frame,stamp_ms,x\n1000,1,5,1.5\n2000,2,9,0.5\n"
	e, info := read(t, text, dataset.Options{Clock: "stamp_ms [ms]"})
	assert.Equal(t, []int64{5e6, 9e6}, e.Stream("data").Nanoseconds())
	assert.Equal(t, []string{"timestamp_us", "frame", "x"}, e.Stream("data").ColumnNames())
	assert.Equal(t, "stamp_ms [ms]", info.Clock)
	e, info = read(t, text, dataset.Options{Clock: "steps", Rate: 50})
	assert.Equal(t, []int64{0, 2e7}, e.Stream("data").Nanoseconds())
	assert.Equal(t, []any{false, 50.0, "caller"}, []any{e.Steps, info.Rate, info.RateFrom})
	_, info = read(t, text, dataset.Options{Clock: "frame [ms]"})
	assert.Equal(t, []string{"timestamp_us [us]", "stamp_ms [ms]", "frame [s]", "frame [ms]", "frame [us]", "frame [ns]", "steps"}, info.Clocks)
	for _, bad := range []string{"none", "x [m]", "frame"} {
		_, err := csv.Open(write(t, "run.csv", text), dataset.Options{Clock: bad})
		assert.ErrorIs(t, err, dataset.ErrOption, bad)
		assert.ErrorContains(t, err, "timestamp_us [us] or stamp_ms [ms] or frame [s]")
	}
	e, info = read(t, "5,1.5\n15,1\n", dataset.Options{Clock: "0 [ms]"})
	assert.Equal(t, []string{"steps", "0 [s]", "0 [ms]", "0 [us]", "0 [ns]"}, info.Clocks)
	assert.Equal(t, []int64{5e6, 15e6}, e.Stream("data").Nanoseconds())
}

func TestRowsWithoutAClockAreSteps(t *testing.T) {
	for name, text := range map[string]string{"a header": "a,b\n1.5,2\n3,4\n", "none": "1.5,2\n3,4\n", "a comment": "# a,b\n1.5,2\n3,4\n"} {
		e, info := read(t, text, strict)
		assert.True(t, e.Steps, name)
		assert.Equal(t, []any{"steps", 0.0}, []any{info.Clock, info.Rate}, name)
		assert.Contains(t, e.Attributes.Other["clock"], "no column is called as a clock", name)
		assert.Equal(t, []int64{0, 1e9}, e.Stream("data").Nanoseconds(), name)
		assert.Equal(t, []float64{1.5, 2, 3, 4}, floats(t, e.Stream("data")), name)
		want := []string{"a", "b"}
		if name == "none" {
			want = []string{"0", "1"}
		}
		assert.Equal(t, want, e.Stream("data").ColumnNames(), name)
		e, info = read(t, text, dataset.Options{Rate: 100})
		assert.False(t, e.Steps)
		assert.Equal(t, "caller", info.RateFrom)
		assert.Equal(t, []int64{0, 1e7}, e.Stream("data").Nanoseconds(), name)
	}
	_, err := csv.Open(write(t, "a.csv", "a,b\n1,2\n"), dataset.Options{Rate: -1})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

func TestColumnsAreWhatTheirFieldsAre(t *testing.T) {
	e, _ := read(t, "time,x,n,ok,note,gone,late,late2,big\n"+
		"0.0,1.5,1,true,a,,,,9007199254740993\n"+
		"0.1,,2,False,b,,,,1\n"+
		"0.2,NA,3,TRUE,\"c, \"\"d\"\"\",,7,x,2\n"+
		"0.3,nan,4,false,1,,8,y,3\n", strict)
	s := e.Stream("data")
	assert.Equal(t, []dataset.Column{{Name: "x", Type: "decimal"}, {Name: "n", Type: "integer", Integer: true}, {Name: "ok", Type: "integer", Integer: true},
		{Name: "late", Type: "integer", Integer: true}, {Name: "big", Type: "integer", Integer: true}}, s.Columns)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeText, Subject: "late2", Count: 4}, {Code: dataset.CodeText, Subject: "note", Count: 4}}, sorted(e.Notes, dataset.CodeText))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmptyColumn, Subject: "gone", Count: 4}}, sorted(e.Notes, dataset.CodeEmptyColumn))
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmptyFields, Subject: "late", Count: 2}, {Code: dataset.CodeEmptyFields, Subject: "x", Count: 2}},
		sorted(e.Notes, dataset.CodeEmptyFields))
	assert.Equal(t, 1, s.Inexact)
	nan := math.NaN()
	assert.Equal(t, fmt.Sprint([]float64{1.5, 1, 1, nan, 9007199254740992, nan, 2, 0, nan, 1, nan, 3, 1, 7, 2, nan, 4, 0, 8, 3}), fmt.Sprint(floats(t, s)))
}

// sorted returns those of a code, by name.
func sorted(list dataset.Notes, code dataset.Code) (out dataset.Notes) {
	for _, l := range list {
		if l.Code == code {
			out = append(out, l)
		}
	}
	if len(out) == 2 && out[0].Subject > out[1].Subject {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

func TestTextLateInAColumnThatBeganEmptyCostsNoLine(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,x,note,late\n")
	for i := range 50_000 {
		note, late := "", ""
		if i > 40_000 && i%100 == 0 {
			note, late = "\"operator\nspoke\"", "5"
		}
		fmt.Fprintf(&text, "%d.%d,%d.5,%s,%s\n", i/10, i%10, i, note, late)
	}
	e, _ := read(t, text.String(), strict)
	s := e.Stream("data")
	assert.Equal(t, []int{50_000, 2}, s.Values.Shape())
	assert.Equal(t, []string{"x", "late"}, s.ColumnNames())
	v := floats(t, s)
	assert.Equal(t, []float64{40_100.5, 5}, v[2*40_100:2*40_100+2])
	assert.Equal(t, 49_999.5, v[2*49_999])
	assert.Equal(t, int64(4_999_900_000_000), s.Nanoseconds()[49_999])
}

func TestNamesAreEachOnceAndUnitsAreKept(t *testing.T) {
	e, _ := read(t, "t [s],pos [m],pos [ft],v [m/s],v [m/s],,\n0,1.5,1,2,3,4\n1,1,1,2,3.5,4\n", strict)
	assert.Equal(t, []string{"pos [m]", "pos [ft]", "v [m/s]", "v [m/s]_2", "5"}, e.Stream("data").ColumnNames())
	assert.Equal(t, "decimal [m/s]", e.Stream("data").Columns[3].Type)
	e, _ = read(t, "time(s),q[0],f(x),g (N)\n0,1.5,1,2\n1,1,1,2\n", strict)
	assert.Equal(t, []string{"q[0]", "f(x)", "g"}, e.Stream("data").ColumnNames())
	e, _ = read(t, "time,a,b,\n0,1,2,\n1,3,4,\n", strict)
	assert.Equal(t, []string{"a", "b"}, e.Stream("data").ColumnNames(), "separators at lines' ends")
	e, _ = read(t, "time,a,b\n0,1,2,\n1,3,4,\n", strict)
	assert.Equal(t, []string{"a", "b"}, e.Stream("data").ColumnNames(), "separators at rows' ends")
	e, _ = read(t, ",time,a\n0,5,1.5\n1,6,2.5\n", strict)
	assert.Equal(t, []string{"0", "a"}, e.Stream("data").ColumnNames(), "an index without a name")
}

func TestQuaternionsAreMarked(t *testing.T) {
	for header, want := range map[string]dataset.Rotation{
		"q_RS_w [], q_RS_x [], q_RS_y [], q_RS_z []": dataset.RotationWXYZ,
		"qx,qy,qz,qw":                 dataset.RotationXYZW,
		"q_x,q_y,q_z,q_w":             dataset.RotationXYZW,
		"Quat.W,Quat.X,Quat.Y,Quat.Z": dataset.RotationWXYZ,
		"pose.orientation.x,pose.orientation.y,pose.orientation.z,pose.orientation.w": dataset.RotationXYZW,
		"x,y,z,w":                             dataset.RotationNone,
		"qx,qy,qw,qz":                         dataset.RotationNone,
		"eqx,eqy,eqz,eqw":                     dataset.RotationNone,
		"qx,qy,qz,rw":                         dataset.RotationNone,
		"torque.x,torque.y,torque.z,torque.w": dataset.RotationNone,
	} {
		e, _ := read(t, "time,before,"+header+"\n0.5,1,0,0,0,1\n1,1,0,0,0,1\n", strict)
		for i, c := range e.Stream("data").Columns {
			rotation := want
			if i == 0 {
				rotation = dataset.RotationNone
			}
			assert.Equal(t, rotation, c.Rotation, "%s: %s", header, c.Name)
			assert.Equal(t, rotation == dataset.RotationNone, c.Integer, "whole numbers of a rotation are rounded: %s", header)
		}
	}
}

func TestOpenRefusesWhatIsNoTable(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "one column": "time\n1\n2\n", "text": "a,b\nc,d\n", "only a clock and text": "time,note\n1,a\n2,b\n", "binary": "a,b\n1,2\n\x00",
		"ragged": "a,b\n1,2\n1\n1,2,3\n1,2,3,4\n",
	} {
		_, err := csv.Open(write(t, "run.csv", text), dataset.Options{})
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
		assert.NotEmpty(t, bad.Path)
	}
	_, err := csv.Open(filepath.Join(t.TempDir(), "none.csv"), dataset.Options{})
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestAHeaderAloneIsNoRows(t *testing.T) {
	e, _ := read(t, "time,x\n", strict)
	assert.Equal(t, []int{0, 1}, e.Stream("data").Values.Shape())
}

func TestAFieldThatSaysThatNothingIsThereIsNoComment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	filetest.Write(t, path, "a,time,b\n1,0.0,2\n#N/A,0.1,4\n# a comment\n#N/A too\n3,0.2,6\n")
	s, err := csv.Open(path, dataset.Options{Strict: true})
	require.NoError(t, err)
	e := settest.Episode(t, s, 0)
	assert.Equal(t, 3, e.Frames)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeEmptyFields, Subject: "a", Count: 1}}, e.Notes)
}

func TestAWideTableIsOpenedInTimeOfItsWidth(t *testing.T) {
	const columns = 16_000 // the square of the width took five seconds
	thorough.InProportion(t, columns, func(columns int) func() {
		path := filepath.Join(t.TempDir(), "wide.csv")
		var text strings.Builder
		text.WriteString("time")
		for i := range columns {
			fmt.Fprintf(&text, ",%d", i)
		}
		for row := range 3 {
			text.WriteString("\n" + strings.Repeat(fmt.Sprint(row, ","), columns) + fmt.Sprint(row))
		}
		filetest.Write(t, path, text.String()+"\n")
		return func() {
			s, err := csv.Open(path, dataset.Options{})
			require.NoError(t, err)
			assert.Equal(t, "time [s]", s.Info().Clock)
		}
	})
}
