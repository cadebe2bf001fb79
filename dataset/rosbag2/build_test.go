package rosbag2_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// sent is a message that was recorded.
type sent struct {
	topic, kind string // "geometry_msgs/Twist"
	time        int64
	fields      []any
}

// header is std_msgs/Header.
type header struct {
	seq, sec, nsec uint32
	frame          string
}

// encode writes fields as CDR, aligned and with a NUL behind text, or as ROS 1 does.
func encode(cdr bool, fields ...any) []byte {
	var b []byte
	pad := func(n int) {
		for cdr && len(b)%n != 0 {
			b = append(b, 0)
		}
	}
	var put func(v any)
	size := func(n int) { pad(4); b = binary.LittleEndian.AppendUint32(b, uint32(n)) }
	put = func(v any) {
		switch v := v.(type) {
		case header:
			if !cdr {
				put(v.seq)
			}
			put(v.sec)
			put(v.nsec)
			put(v.frame)
		case string:
			if cdr {
				v += "\x00"
			}
			size(len(v))
			b = append(b, v...)
		case []string:
			size(len(v))
			for _, s := range v {
				put(s)
			}
		case []float64:
			size(len(v))
			for _, x := range v {
				put(x)
			}
		case []byte:
			size(len(v))
			b = append(b, v...)
		case [9]float64:
			for _, x := range v {
				put(x)
			}
		case [36]float64:
			for _, x := range v {
				put(x)
			}
		case bool:
			b = append(b, map[bool]byte{true: 1}[v])
		case uint8:
			b = append(b, v)
		case uint32:
			pad(4)
			b = binary.LittleEndian.AppendUint32(b, v)
		case float32:
			put(math.Float32bits(v))
		case float64:
			pad(8)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	for _, f := range fields {
		put(f)
	}
	if cdr {
		return append([]byte{0, 1, 0, 0}, b...)
	}
	return b
}

// schema is of a database: what a version of rosbag2 wrote.
type schema struct {
	qos         bool
	definitions func(kind string) string // of the table message_definitions; nil for versions without
	distro      string
	wal         bool // half of the messages
	compress    bool // each message
	page        int  // bytes; 0 is SQLite's own choice
}

// topicsOf returns the topics in the order of their first messages, and their types.
func topicsOf(list []sent) (names []string, kinds map[string]string) {
	kinds = map[string]string{}
	for _, m := range list {
		if kinds[m.topic] == "" {
			names = append(names, m.topic)
		}
		kinds[m.topic] = m.kind
	}
	return names, kinds
}

// ros2Name is a type as ROS 2 names it.
func ros2Name(kind string) string { return strings.Replace(kind, "/", "/msg/", 1) }

// writeDB writes a .db3 file as rosbag2 does.
func writeDB(t testing.TB, path string, of schema, list []sent) {
	if !of.wal {
		d := beginDB(t, path, of, list)
		d.record(t, of, list)
		d.close()
		return
	}
	// As it is while the recorder runs, whose end would move the log into the database. The second half is in the log, a transaction each.
	var states [][]byte
	for n := len(list) / 2; n <= len(list); n++ {
		d := beginDB(t, path, of, list)
		d.record(t, of, list[:n])
		d.close()
		data := filetest.Read(t, path)
		states = append(states, data)
	}
	page := int(binary.BigEndian.Uint16(states[0][16:]))
	filetest.Write(t, path, states[0])
	filetest.Write(t, path+"-wal", writeAheadLog(page, states...))
}

// beginDB writes all but the messages.
func beginDB(t testing.TB, path string, of schema, list []sent) *databaseFile {
	topics := `CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL`
	if of.qos {
		topics += ", offered_qos_profiles TEXT NOT NULL DEFAULT ''"
	}
	statements := []string{
		topics + `)`,
		`CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL, data BLOB NOT NULL)`,
		`CREATE INDEX timestamp_idx ON messages (timestamp ASC)`,
	}
	if of.distro != "" {
		statements = append(statements, `CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL)`)
	}
	if of.definitions != nil {
		statements = append(statements, `CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL)`)
	}
	d := createDatabase(t, path, of.page, of.wal, statements...)
	if of.distro != "" {
		d.tables["schema"].number = 3
		d.tables["schema"].insert(nil, of.distro)
	}
	names, kinds := topicsOf(list)
	for _, name := range names {
		if kind := kinds[name]; of.definitions != nil {
			d.tables["message_definitions"].insert(nil, ros2Name(kind), "ros2msg", of.definitions(kind))
		}
		d.tables["topics"].insert(nil, name, ros2Name(kinds[name]), "cdr")
	}
	for _, name := range []string{"topics", "schema", "message_definitions"} { // before the pages of messages
		if table, ok := d.tables[name]; ok {
			table.close()
			delete(d.tables, name)
		}
	}
	return d
}

// record writes messages.
func (d *databaseFile) record(t testing.TB, of schema, list []sent) {
	names, _ := topicsOf(list)
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	for _, m := range list {
		data := encode(true, m.fields...)
		if of.compress {
			data = z.EncodeAll(data, nil)
		}
		d.tables["messages"].insert(nil, slices.Index(names, m.topic)+1, int(m.time), data)
	}
}

func le[T uint16 | uint32 | uint64](v T) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

// counted is bytes behind their count.
func counted(b []byte) []byte { return append(le(uint32(len(b))), b...) }

// writeMCAP writes a file without chunks, index or summary. definition returns a type's text.
func writeMCAP(t testing.TB, path string, list []sent, definition func(kind string) string) {
	out := []byte("\x89MCAP0\r\n")
	record := func(op byte, parts ...[]byte) {
		body := []byte{}
		for _, p := range parts {
			body = append(body, p...)
		}
		out = append(append(append(out, op), le(uint64(len(body)))...), body...)
	}
	text := func(s string) []byte { return counted([]byte(s)) }
	record(1, text("ros2"), text(""))
	names, kinds := topicsOf(list)
	ids := map[string]uint16{}
	for i, name := range names {
		ids[name] = uint16(i + 1)
		record(3, le(ids[name]), text(ros2Name(kinds[name])), text("ros2msg"), text(definition(kinds[name])))
		record(4, le(ids[name]), le(ids[name]), text(name), text("cdr"), le(uint32(0)))
	}
	for i, m := range list {
		record(5, le(ids[m.topic]), le(uint32(i)), le(uint64(m.time)), le(uint64(m.time)), encode(true, m.fields...))
	}
	record(15, le(uint32(0)))
	record(2, le(uint64(0)), le(uint64(0)), le(uint32(0)))
	filetest.Write(t, path, append(out, "\x89MCAP0\r\n"...))
}

// writeBag writes a ROS 1 bag of one chunk without an index.
func writeBag(t testing.TB, path string, list []sent, definition func(kind string) string) {
	fields := func(pairs ...any) (b []byte) {
		for i := 0; i < len(pairs); i += 2 {
			value, ok := pairs[i+1].([]byte)
			if !ok {
				value = []byte(pairs[i+1].(string))
			}
			b = append(b, counted(append([]byte(pairs[i].(string)+"="), value...))...)
		}
		return b
	}
	record := func(data []byte, pairs ...any) []byte { return append(counted(fields(pairs...)), counted(data)...) }
	var chunk []byte
	names, kinds := topicsOf(list)
	ids := map[string]uint32{}
	for i, name := range names {
		ids[name] = uint32(i)
		chunk = append(chunk, record(fields("topic", name, "type", kinds[name], "md5sum", "*", "message_definition", definition(kinds[name])),
			"op", []byte{7}, "conn", le(uint32(i)), "topic", name)...)
	}
	for _, m := range list {
		time := append(le(uint32(m.time/1e9)), le(uint32(m.time%1e9))...)
		chunk = append(chunk, record(encode(false, m.fields...), "op", []byte{2}, "conn", le(ids[m.topic]), "time", time)...)
	}
	head := record(nil, "op", []byte{3}, "index_pos", le(uint64(0)), "conn_count", le(uint32(len(names))), "chunk_count", le(uint32(1)))
	out := append([]byte("#ROSBAG V2.0\n"), head[:len(head)-4]...)
	out = append(out, counted([]byte(strings.Repeat(" ", 4096-len(head))))...)
	out = append(out, record(chunk, "op", []byte{5}, "compression", "none", "size", le(uint32(len(chunk))))...)
	filetest.Write(t, path, out)
}
