package rosbag2_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// ranges are messages of a type that has had a variance since Iron.
func ranges(variance bool) (list []sent) {
	for i := range 5 {
		fields := []any{header{0, 1, uint32(i), "sonar"}, uint8(0), float32(.1), float32(.2), float32(4), float32(i)}
		if variance {
			fields = append(fields, float32(.5))
		}
		list = append(list, sent{"/range", "sensor_msgs/Range", int64(1e18) + int64(i), fields})
	}
	return list
}

func TestTheDistributionIsTheOneWhoseMessagesTheseAre(t *testing.T) {
	for _, c := range []struct {
		distro   string
		variance bool
		columns  int
		code     dataset.Code
		is       string
	}{
		{"", true, 6, dataset.CodeDefinitionsNewest, "Rolling"},
		{"", false, 5, dataset.CodeDefinitionsFitting, "Humble"},
		{"humble", false, 5, dataset.CodeDefinitionsAssumed, "Humble"},
		{"iron", true, 6, dataset.CodeDefinitionsAssumed, "Iron"},
		{"zeppelin", false, 5, dataset.CodeDefinitionsFitting, "Humble"},
	} {
		path := filepath.Join(t.TempDir(), "run.db3")
		writeDB(t, path, schema{distro: c.distro}, ranges(c.variance))
		e := episode(t, path, dataset.Options{Strict: true})
		require.NotNil(t, e.Stream("/range"), "%+v: %v", c, e.Notes)
		assert.Len(t, e.Stream("/range").Columns, c.columns, "%+v", c)
		assert.Equal(t, 5, e.Stream("/range").Len())
		n := e.Notes.Find(c.code)
		require.NotNil(t, n, "%v", e.Notes)
		assert.Equal(t, c.is, n.Got)
		assert.Equal(t, c.distro == "zeppelin", n.Want == "zeppelin")
	}
}

// A bag may have another definition than the one that its messages were written with.
func TestADefinitionThatTheMessagesDoNotFitIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db3")
	writeDB(t, path, schema{qos: true, distro: "humble", definitions: func(string) string { return "float64[1000] other\n" }}, ranges(false))
	e := episode(t, path, dataset.Options{})
	n := e.Notes.Find(dataset.CodeDefinitionReplaced)
	require.NotNil(t, n, "%v", e.Notes)
	assert.Equal(t, []string{"/range", "sensor_msgs/msg/Range"}, []string{n.Subject, n.Got})
	assert.Len(t, e.Stream("/range").Columns, 5)
}

func TestDefinitionsOfTheCallerDecodeWhatIsNotBuiltIn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.db3")
	writeDB(t, path, schema{distro: "humble"}, []sent{
		{"/own", "my_msgs/Own", 5, []any{1.5, uint32(7), uint8(3)}},
		{"/own", "my_msgs/Own", 6, []any{2.5, uint32(8), uint8(4)}},
	})
	e := episode(t, path, dataset.Options{})
	assert.Nil(t, e.Stream("/own"))
	require.NotEmpty(t, e.Notes)
	assert.Equal(t, 2, e.Notes[0].Count)
	assert.Equal(t, []any{dataset.CodeUndefinedType, "my_msgs/msg/Own"}, []any{e.Notes[0].Code, e.Notes[0].Got})

	msg := filepath.Join(dir, "share", "my_msgs", "msg")
	require.NoError(t, os.MkdirAll(msg, 0o777))
	filetest.Write(t, filepath.Join(msg, "Own.msg"), "# ours\nfloat64 x\nPart part\n")
	filetest.Write(t, filepath.Join(msg, "Part.msg"), "uint32 a\nuint8 b 5\nint8 C=3\n")
	e = episode(t, path, dataset.Options{Strict: true, Definitions: []string{filepath.Join(dir, "share")}})
	s := e.Stream("/own")
	require.NotNil(t, s, "%v", e.Notes)
	assert.Equal(t, []float64{1.5, 7, 3, 2.5, 8, 4}, floats(t, s))
	assert.Equal(t, "part.a", s.Columns[1].Name)

	_, err := dataset.Open(t.Context(), path, dataset.Options{Definitions: []string{filepath.Join(dir, "none")}})
	assert.ErrorIs(t, err, dataset.ErrOption)
}
