package rosbag2_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/rosbag2"
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
		d, err := dataset.Open(t.Context(), path, dataset.Options{Strict: true})
		require.NoError(t, err)
		_, err = d.Episode(t.Context(), 0)
		assert.ErrorIs(t, err, c.kind, "%v", c.statements)
		assert.ErrorContains(t, err, c.text)
		require.NoError(t, d.Close())
	}
}

// A row of topics that is broken costs its topic's messages, and is counted.
func TestARowOfTopicsThatIsBrokenIsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.db3")
	d := createDatabase(t, path, 0, false, `CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT DEFAULT (1))`,
		`CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)`)
	d.tables["topics"].insert(nil, "/flag", "std_msgs/msg/Bool", "cdr")
	d.tables["topics"].insert(nil, nil, "std_msgs/msg/Bool", "cdr")
	d.tables["topics"].insert(nil, "/no_format", "std_msgs/msg/Bool")
	d.tables["topics"].insert("two", "/no_number", "std_msgs/msg/Bool", "cdr")
	for i := range 8 {
		d.tables["messages"].insert(nil, i%4+1, 100+i, encode(true, true))
	}
	d.close()
	e := episode(t, path, dataset.Options{})
	require.NotNil(t, e.Stream("/flag"))
	assert.Equal(t, 2, e.Stream("/flag").Len())
	counts := map[string]int{}
	for _, damage := range e.Damage {
		counts[damage.What] = damage.Count
	}
	assert.Equal(t, map[string]int{"tables that are broken": 3, "messages of a topic that there is not": 6}, counts)
}

// What SQLite wrote into one file is read to the end of any cut, and in any place where a page is broken, without harm.
func TestBrokenDatabasesOfSQLiteDoNoHarm(t *testing.T) {
	for _, name := range []string{"columns", "utf16le", "vacuum"} {
		db, err := os.ReadFile(filepath.Join("testdata", name+".db3"))
		require.NoError(t, err)
		for at := 0; at < len(db); at += 256 {
			broken := slices.Clone(db)
			clear(broken[at : at+256])
			for _, data := range [][]byte{db[:at], broken} {
				d, err := rosbag2.Open(t.Context(), stored.put("memory://bag/run.db3", data), dataset.Options{})
				if err != nil {
					assert.Zero(t, at, "%s: %v", name, err)
					continue
				}
				e, err := d.Episode(context.Background(), 0)
				var bad *dataset.FormatError
				if err != nil {
					require.ErrorAs(t, err, &bad, "%s at %d", name, at)
				} else if len(data) < len(db) {
					assert.NotEmpty(t, e.Damage, "%s at %d", name, at)
				}
				require.NoError(t, d.Close())
			}
		}
	}
	stored.clear()
}
