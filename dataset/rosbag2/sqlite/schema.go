package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/topics"
)

const mostText = 1 << 24 // bytes of a definition

// reading is a log whose schema, topics and definitions are read by SQLite.
type reading struct {
	*log
	db *sql.DB
}

// readSchema reads all but the messages.
func (l *log) readSchema(ctx context.Context, damage *dataset.Notes) (err error) {
	db, release, err := connect(l.image)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, db.Close())
		release()
	}()
	r := &reading{l, db}
	return r.read(ctx, damage)
}

// broken is SQLite's error as one of the file, unless reading it failed or ctx ended.
func (l *reading) broken(ctx context.Context, what string, err error) error {
	if err := cmp.Or(ctx.Err(), l.image.failure()); err != nil {
		return err
	}
	bad := &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: what, Got: err.Error()}
	var of *driver.Error
	if errors.As(err, &of) {
		bad.Got = "SQLite's " + of.Error()
	}
	return bad
}

// columns returns those of a table by name, with where they are in a row, and the table's first page; nil if there is no such table. What only looks like
// one, such as a view, would run the file's own SQL.
func (l *reading) columns(ctx context.Context, table string) (at map[string]int, root uint32, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT s.rootpage, x.name, x.hidden FROM sqlite_schema s, pragma_table_xinfo(?1) x
		WHERE s.name = ?1 AND s.type = 'table' AND s.rootpage > 0 ORDER BY x.cid`, table)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		var name string
		var hidden int
		if err := rows.Scan(&root, &name, &hidden); err != nil {
			return nil, 0, err
		}
		if at == nil {
			at = map[string]int{}
		}
		switch hidden {
		case 0:
			at[name] = n
		case 2: // computed, and so in no row
			n--
		}
	}
	return at, root, rows.Err()
}

// read reads all but the messages.
func (l *reading) read(ctx context.Context, damage *dataset.Notes) error {
	for _, t := range []struct{ table, want string }{{"topics", "id name type serialization_format"}, {"messages", "topic_id timestamp data"}} {
		have, root, err := l.columns(ctx, t.table)
		if err != nil {
			return l.broken(ctx, "schema of the database", err)
		}
		for _, column := range strings.Fields(t.want) {
			if _, ok := have[column]; ok {
				continue
			}
			got := "no table " + t.table
			if have != nil {
				got = fmt.Sprintf("table %s without %s", t.table, column)
			}
			return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "database", Got: got,
				Want: "one that rosbag2 wrote, with the tables topics and messages"}
		}
		l.messages, l.at = table{l.image, l.path, root}, [3]int{have["topic_id"], have["timestamp"], have["data"]} // of the last, messages
	}
	if err := l.readDistro(ctx); err != nil {
		if err := l.damaged(ctx, damage, "table schema", err); err != nil {
			return err
		}
	}
	definitions := map[string]message.Schema{}
	if err := l.readDefinitions(ctx, definitions); err != nil {
		if err := l.damaged(ctx, damage, "table message_definitions", err); err != nil {
			return err
		}
	}
	if err := l.readTopics(ctx, definitions); err != nil {
		if len(l.channels) == 0 {
			return l.broken(ctx, "table topics", err)
		}
		if err := l.damaged(ctx, damage, "table topics", err); err != nil {
			return err
		}
	}
	return nil
}

// damaged counts a table that is broken.
func (l *reading) damaged(ctx context.Context, damage *dataset.Notes, what string, err error) error {
	bad := l.broken(ctx, what, err)
	if found, ok := dataset.AsBroken(bad); ok {
		damage.AddDamage(dataset.CodeRecordBroken, 0, found)
		return nil
	}
	return bad
}

// readDistro reads the distribution, which files have from ROS 2 Iron on.
func (l *reading) readDistro(ctx context.Context) error {
	have, _, err := l.columns(ctx, "schema")
	if _, ok := have["ros_distro"]; err != nil || !ok {
		return err
	}
	err = l.db.QueryRowContext(ctx, `SELECT substr(ros_distro, 1, 100) FROM schema LIMIT 1`).Scan(&l.distro)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

// readDefinitions reads the messages' types, which files have from Iron on.
func (l *reading) readDefinitions(ctx context.Context, into map[string]message.Schema) error {
	have, _, err := l.columns(ctx, "message_definitions")
	if err != nil {
		return err
	}
	for _, column := range []string{"topic_type", "encoding", "encoded_message_definition"} {
		if _, ok := have[column]; !ok {
			return nil
		}
	}
	rows, err := l.db.QueryContext(ctx, `SELECT topic_type, encoding, encoded_message_definition FROM message_definitions`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s message.Schema
		if err := rows.Scan(&s.Name, &s.Encoding, &s.Data); err != nil {
			return err
		}
		if len(s.Data) > 0 && len(s.Data) <= mostText {
			into[s.Name] = s
		}
	}
	return rows.Err()
}

// readTopics reads the channels.
func (l *reading) readTopics(ctx context.Context, definitions map[string]message.Schema) error {
	have, _, err := l.columns(ctx, "topics")
	if err != nil {
		return err
	}
	qos := "''"
	if _, ok := have["offered_qos_profiles"]; ok {
		qos = "offered_qos_profiles"
	}
	rows, err := l.db.QueryContext(ctx, `SELECT id, name, type, serialization_format, `+qos+` FROM topics ORDER BY rowid`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name, kind, format, profiles string
		if err := rows.Scan(&id, &name, &kind, &format, &profiles); err != nil {
			return err
		}
		if _, twice := l.numbers[id]; twice {
			continue
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
	}
	return rows.Err()
}
