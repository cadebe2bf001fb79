package rosbag2_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// The databases of scripts/gen_rosbag2_sqlite.py, which SQLite wrote, all have the same messages.
func TestDatabasesOfAllFormsAreRead(t *testing.T) {
	for _, name := range []string{"plain", "utf16le", "utf16be", "vacuum", "log", "columns"} {
		e := episode(t, filepath.Join("testdata", name+".db3"), dataset.Options{Strict: true})
		flag, odom := e.Stream("/flag"), e.Stream("/odom")
		require.NotNil(t, flag, name)
		require.NotNil(t, odom, name)
		require.Equal(t, []int{16, 16}, []int{flag.Len(), odom.Len()}, name)
		require.Len(t, odom.Columns, 85)
		numbers := floats(t, odom)
		for i, odd := range floats(t, flag) {
			assert.Equal(t, float64(i%2), odd, "%s: message %d", name, i)
			assert.Equal(t, float64(1000*i+84), numbers[85*i+84], "%s: message %d", name, i)
		}
		assert.Equal(t, []int64{1e18, 1e18 + 15e9}, []int64{odom.Stats().First, odom.Stats().Last}, name)
	}
}

// A bag's tables have the columns that their statements declare. What keeps one from being read is an error, or damage where there is more to read.
func TestStatementsThatAreBrokenAreErrors(t *testing.T) {
	const topics = `CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)`
	const messages = `CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)`
	for _, c := range []struct {
		statements []string
		kind       error
		text       string
	}{
		{[]string{`CREATE TABLE songs(id INTEGER PRIMARY KEY)`}, dataset.ErrUnsupported, "no table topics"},
		{[]string{topics, `CREATE VIEW messages AS
			WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT 1 topic_id, x timestamp, '' data FROM n`}, dataset.ErrUnsupported, "no table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id INTEGER, timestamp INTEGER, data BLOB AS (zeroblob(1000000000)))`}, dataset.ErrUnsupported, "table messages without data"},
		{[]string{topics, `CREATE TABLE messages(topic_id INTEGER, timestamp INTEGER, data BLOB, PRIMARY KEY (topic_id, timestamp)) WITHOUT ROWID`},
			dataset.ErrUnsupported, "table messages WITHOUT ROWID"},
		{[]string{topics, `CREATE TABLE messages AS SELECT 1`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id, timestamp, data`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id, timestamp, data,)`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id, timestamp, "data)`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id, timestamp /*, data)`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, `CREATE TABLE messages(topic_id, timestamp -- , data` + "\n)"}, dataset.ErrUnsupported, "table messages without data"},
		{[]string{topics, `CREATE TABLE messages(` + strings.Repeat("c,", 40_000) + `topic_id, timestamp, data)`}, dataset.ErrCorrupt, "statement of table messages"},
		{[]string{topics, messages, `CREATE TABLE schema(ros_distro TEXT PRIMARY KEY) WITHOUT ROWID`}, dataset.ErrUnsupported, "table schema WITHOUT ROWID"},
	} {
		path := filepath.Join(t.TempDir(), "other.db3")
		createDatabase(t, path, 0, false, c.statements...).close()
		for _, strict := range []bool{true, strings.Contains(c.text, "table schema")} { // which is damage to others
			d, err := dataset.Open(t.Context(), path, dataset.Options{Strict: strict})
			require.NoError(t, err)
			_, err = d.Episode(t.Context(), 0)
			assert.ErrorIs(t, err, c.kind, "%v", c.statements)
			assert.ErrorContains(t, err, c.text)
			require.NoError(t, d.Close())
		}
	}
}

// A row that is broken costs itself, and one of topics its topic's messages, which are counted.
func TestRowsThatAreBrokenCostThemselves(t *testing.T) {
	flag := encode(true, true)
	for _, c := range []struct {
		topics, messages [][]any
		want             map[dataset.Code]int
	}{
		{nil, [][]any{{nil, 1, "never", flag}}, map[dataset.Code]int{dataset.CodeMessageType: 1}},
		{nil, [][]any{{nil, 99, 105, flag}}, map[dataset.Code]int{dataset.CodeMessageWithoutTopic: 1}},
		{nil, [][]any{{nil, 1, 105, []byte("\x28\xb5\x2f\xfdno frame")}}, map[dataset.Code]int{dataset.CodeMessageCompression: 1}},
		{[][]any{{nil, nil, "std_msgs/msg/Bool", "cdr"}, {nil, "/no_format", "std_msgs/msg/Bool"}, {"two", "/no_number", "std_msgs/msg/Bool", "cdr"}},
			[][]any{{nil, 2, 105, flag}, {nil, 3, 106, flag}, {nil, 4, 107, flag}, {nil, 2, 108, flag}, {nil, 3, 109, flag}, {nil, 4, 110, flag}},
			map[dataset.Code]int{dataset.CodeRecordBroken: 3, dataset.CodeMessageWithoutTopic: 6}},
	} {
		path := filepath.Join(t.TempDir(), "run.db3")
		d := createDatabase(t, path, 0, false, `CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT DEFAULT (1))`,
			`CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)`)
		for _, row := range append([][]any{{nil, "/flag", "std_msgs/msg/Bool", "cdr"}}, c.topics...) {
			d.tables["topics"].insert(row...)
		}
		for i := range 5 {
			d.tables["messages"].insert(nil, 1, 100+i, flag)
		}
		for _, row := range c.messages {
			d.tables["messages"].insert(row...)
		}
		d.close()
		e := episode(t, path, dataset.Options{})
		counts := map[dataset.Code]int{}
		for _, n := range e.Notes.Damage() {
			counts[n.Code] += n.Count
		}
		assert.Equal(t, c.want, counts)
		require.NotNil(t, e.Stream("/flag"))
		assert.Equal(t, 5, e.Stream("/flag").Len())
	}
}

// What SQLite wrote into one file is read to the end of any cut, and in any place where a page is broken, without harm.
func TestBrokenDatabasesOfSQLiteDoNoHarm(t *testing.T) {
	for _, name := range []string{"columns", "utf16le", "vacuum"} {
		db := filetest.Read(t, filepath.Join("testdata", name+".db3"))
		assert.True(t, read(t, map[string][]byte{"run.db3": db}), name)
		for at := 0; at < len(db); at += 256 {
			broken := slices.Clone(db)
			clear(broken[at : at+256])
			read(t, map[string][]byte{"run.db3": broken})
			assert.False(t, read(t, map[string][]byte{"run.db3": db[:at]}), "%s at %d", name, at)
		}
	}
}
