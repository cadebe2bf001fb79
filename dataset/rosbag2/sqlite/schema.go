package sqlite

import (
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/topics"
)

const mostText = 1 << 24 // bytes of a definition

// definition is a table of the database.
type definition struct {
	name     string
	root     uint32            // its first page
	columns  map[string]column // nil if its CREATE TABLE statement is invalid
	hasRowid bool
}

// master is the table of tables, which has the same columns in every database. https://www.sqlite.org/schematab.html
var master = definition{"sqlite_schema", 1, map[string]column{"type": {at: 0}, "name": {at: 1}, "rootpage": {at: 3}, "sql": {at: 4}}, true}

// readSchema reads all tables except the messages: topics, definitions and the distribution.
func (l *log) readSchema(ctx context.Context, damage *dataset.Notes) error {
	tables := map[string]definition{}
	var broken dataset.Notes
	err := l.scan(ctx, master, []string{"type", "name", "rootpage", "sql"}, &broken, func(v []value) (wrong string) {
		kind, _ := l.image.text(v[0])
		name, _ := l.image.text(v[1])
		statement, ok := l.image.text(v[3])
		d := definition{name: strings.ToLower(name), root: uint32(v[2].number)}
		if _, twice := tables[d.name]; kind != "table" || twice || d.root == 0 { // entries that are no tables, such as views, have no page
			return ""
		}
		if ok && int64(d.root) == v[2].number {
			d.columns, d.hasRowid = parseTable(statement)
		}
		tables[d.name] = d
		return ""
	})
	if err != nil {
		return err
	}
	messages := tables["messages"]
	for _, bad := range []*dataset.FormatError{
		l.unreadable(tables["topics"], "topics", "id", "name", "type", "serialization_format"),
		l.unreadable(messages, "messages", messageColumns[:]...),
	} {
		switch {
		case bad != nil && len(broken) > 0:
			return broken[0].Cause
		case bad != nil:
			return bad
		}
	}
	damage.Join(broken)
	l.messages = table{"messages", l.image, l.path, messages.root}
	for i, name := range messageColumns {
		l.columns[i] = messages.columns[name]
	}
	if err := l.readDistro(ctx, tables["schema"], damage); err != nil {
		return err
	}
	definitions := map[string]message.Schema{}
	if err := l.readDefinitions(ctx, tables["message_definitions"], damage, definitions); err != nil {
		return err
	}
	return l.readTopics(ctx, tables["topics"], damage, definitions)
}

// unreadable returns the reason why a table's columns cannot be read, or nil.
func (l *log) unreadable(d definition, name string, columns ...string) *dataset.FormatError {
	got := ""
	for _, column := range columns {
		if _, ok := d.columns[column]; !ok {
			got = "table " + name + " without " + column
			break
		}
	}
	switch {
	case d.root == 0:
		got = "no table " + name
	case d.columns == nil:
		return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "database schema",
			Got: "a page or a statement of table " + name + " that is none", Want: "CREATE TABLE"}
	case !d.hasRowid:
		got = "table " + name + " WITHOUT ROWID"
	}
	if got == "" {
		return nil
	}
	return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "database", Got: got,
		Want: "one that rosbag2 wrote, with the tables topics and messages"}
}

// scan calls use for the rows in a table other than messages, with some of its columns. An error in a row is damage.
func (l *log) scan(ctx context.Context, d definition, names []string, damage *dataset.Notes, use func(v []value) (wrong string)) error {
	columns, values := make([]column, len(names)), make([]value, len(names))
	for i, name := range names {
		var ok bool
		if columns[i], ok = d.columns[name]; !ok {
			columns[i].at = -1
		}
	}
	t := table{d.name, l.image, l.path, d.root}
	return t.rows(ctx, math.MinInt64, math.MaxInt64, damage, func(number int64, row []byte) error {
		wrong := valuesOf(number, row, columns, values)
		if wrong == "" {
			wrong = use(values)
		}
		if wrong != "" {
			damage.AddDamage(dataset.CodeRecordBroken, int64(len(row)), l.wrong("table "+d.name+": row "+strconv.FormatInt(number, 10), wrong, ""))
		}
		return nil
	})
}

// optional reports whether the columns of an optional table can be read. If the table exists but has another form, that is counted as
// damage.
func (l *log) optional(d definition, damage *dataset.Notes, columns ...string) bool {
	if bad := l.unreadable(d, d.name, columns...); bad != nil {
		if d.root > 0 && (d.columns == nil || !d.hasRowid) {
			damage.AddDamage(dataset.CodeRecordBroken, 0, bad)
		}
		return false
	}
	return true
}

// readDistro reads the name of the ROS distribution. Files from ROS 2 Iron on have it.
func (l *log) readDistro(ctx context.Context, d definition, damage *dataset.Notes) error {
	if !l.optional(d, damage, "ros_distro") {
		return nil
	}
	return l.scan(ctx, d, []string{"ros_distro"}, damage, func(v []value) (wrong string) {
		distro, ok := l.image.text(v[0])
		if !ok {
			return "a ros_distro that is no text"
		}
		if l.distro == "" {
			l.distro = distro[:min(len(distro), 100)]
		}
		return ""
	})
}

// readDefinitions reads the message definitions to into, by type name. Files from ROS 2 Iron on have them.
func (l *log) readDefinitions(ctx context.Context, d definition, damage *dataset.Notes, into map[string]message.Schema) error {
	names := []string{"topic_type", "encoding", "encoded_message_definition"}
	if !l.optional(d, damage, names...) {
		return nil
	}
	return l.scan(ctx, d, names, damage, func(v []value) (wrong string) {
		kind, isKind := l.image.text(v[0])
		encoding, isEncoding := l.image.text(v[1])
		definition, isDefinition := l.image.text(v[2])
		if !isKind || !isEncoding || !isDefinition {
			return "columns that are no text"
		}
		if len(definition) > 0 && len(definition) <= mostText {
			into[kind] = message.Schema{Name: kind, Encoding: encoding, Data: []byte(definition)}
		}
		return ""
	})
}

// readTopics reads the topics table to the log's channels.
func (l *log) readTopics(ctx context.Context, d definition, damage *dataset.Notes, definitions map[string]message.Schema) error {
	var broken dataset.Notes
	names := []string{"id", "name", "type", "serialization_format", "offered_qos_profiles"} // the last one not in the oldest bags
	err := l.scan(ctx, d, names, &broken, func(v []value) (wrong string) {
		name, isName := l.image.text(v[1])
		kind, isKind := l.image.text(v[2])
		format, isFormat := l.image.text(v[3])
		profiles, _ := l.image.text(v[4])
		switch {
		case v[0].kind != integer:
			return "an id that is no integer"
		case !isName || !isKind || !isFormat:
			return "columns that are no text"
		}
		id := v[0].number
		if _, twice := l.numbers[id]; twice {
			return ""
		}
		schema, ok := definitions[kind]
		if !ok {
			schema = message.Schema{Name: kind}
		}
		c := topics.Channel{Topic: name, Encoding: format, Schema: schema}
		if profiles != "" {
			c.Metadata = map[string]string{"offered_qos_profiles": profiles}
		}
		l.numbers[id] = len(l.channels)
		l.channels = append(l.channels, c)
		return ""
	})
	if err == nil && len(l.channels) == 0 && len(broken) > 0 {
		return broken[0].Cause
	}
	damage.Join(broken)
	return err
}

// text returns a value as text; ok is false for null and for values without a text form. A database has its text in UTF-8, or in
// UTF-16 with either byte order.
func (m *image) text(v value) (s string, ok bool) {
	switch {
	case v.kind == integer:
		return strconv.FormatInt(v.number, 10), true
	case v.kind == blob, v.kind == text && m.utf16 == nil:
		return string(v.data), true
	case v.kind != text:
		return "", false
	}
	units := make([]uint16, len(v.data)/2)
	for i := range units {
		units[i] = m.utf16.Uint16(v.data[2*i:])
	}
	return string(utf16.Decode(units)), true
}

// utf16Of returns the byte order of UTF-16 text for SQLite's number of an encoding; nil for UTF-8.
func utf16Of(encoding byte) binary.ByteOrder {
	switch encoding & 3 {
	case 2:
		return binary.LittleEndian
	case 3:
		return binary.BigEndian
	}
	return nil
}
