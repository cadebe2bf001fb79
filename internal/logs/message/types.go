package message

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/dataset"
)

const (
	maxDepth = 64      // nested structs
	maxLen   = 1 << 30 // in a fixed array
)

// definition is one type's definition, from .msg or IDL.
type definition struct {
	name   string // "geometry_msgs/Twist"
	fields []rawField
	bad    *dataset.FormatError // the error of an invalid definition, returned when the type is needed
}

// rawField is a field. If its type is not primitive, only the type's name is known.
type rawField struct {
	Field
	ref string // for Struct: the name as written
}

// library resolves names to types.
type library struct {
	format string // for errors
	ros1   bool
	lookup func(name string) string
	defs   map[string]*definition
	asked  map[string]bool      // names that lookup was called for
	types  map[string]*Type     // nil while a type is being resolved
	bare   map[string]string    // full names by short name; "" if the short name is ambiguous
	broken *dataset.FormatError // from the first IDL with a syntax error
}

// shortName returns the ROS name with two parts: "geometry_msgs/Twist" for "geometry_msgs/msg/Twist" and "geometry_msgs::msg::Twist".
func shortName(name string) string {
	parts := strings.Split(strings.ReplaceAll(name, "::", "/"), "/")
	if len(parts) > 2 {
		return parts[0] + "/" + parts[len(parts)-1]
	}
	return strings.Join(parts, "/")
}

func bad(format string, line int, kind error, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: format, Offset: -1, Line: line, Kind: kind, Msg: msg, Got: got, Want: want}
}

// parse returns a ROS schema's type.
func parse(schema Schema, ros1 bool, lookup func(string) string) (*Type, error) {
	format := schema.Encoding
	if format == "" {
		format = "ros2msg"
		if ros1 {
			format = "ros1msg"
		}
	}
	l := &library{format: format, ros1: ros1, lookup: lookup}
	l.defs, l.asked, l.types, l.bare = map[string]*definition{}, map[string]bool{}, map[string]*Type{}, map[string]string{}
	name := shortName(schema.Name)
	if strings.TrimSpace(string(schema.Data)) != "" {
		l.add(name, string(schema.Data), strings.HasSuffix(format, "idl"))
	} else if !l.find(name) {
		return nil, nil
	}
	return l.resolve(name, 0)
}

// find reports whether the library has a definition for a name. It calls lookup if needed.
func (l *library) find(name string) bool {
	if l.defs[name] != nil {
		return true
	}
	if l.lookup != nil && !l.asked[name] {
		l.asked[name] = true
		if text := l.lookup(name); text != "" {
			l.add(name, text, strings.Contains(text, "module "))
			if l.defs[name] != nil {
				return true
			}
		}
	}
	switch name {
	case "builtin_interfaces/Time":
		l.add(name, "int32 sec\nuint32 nanosec", false)
	case "builtin_interfaces/Duration":
		l.add(name, "int32 sec\nuint32 nanosec", false)
	default:
		return false
	}
	return true
}

// add adds the definitions in a text. They are sections between lines of "=". Each section has a name, but the first usually has none.
func (l *library) add(name, text string, idl bool) {
	line, named := 1, false
	for named || len(text) > 0 {
		section, rest, found := cutSection(text)
		if named || strings.TrimSpace(section) != "" {
			if idl {
				l.addIDL(section, line)
			} else {
				l.put(parseMsg(l.format, name, section, line, l.ros1))
			}
		}
		if !found {
			return
		}
		line += strings.Count(text[:len(text)-len(rest)], "\n")
		head, body, _ := strings.Cut(rest, "\n")
		line++
		kind, of, _ := strings.Cut(strings.TrimSpace(head), ":")
		switch kind {
		case "MSG", "IDL":
			named = true
			name, idl, text = shortName(strings.TrimSpace(of)), kind == "IDL", body
		default:
			return // the remaining text has no name
		}
	}
}

// put adds a definition, unless its name already has one.
func (l *library) put(d *definition) {
	if l.defs[d.name] != nil {
		return
	}
	l.defs[d.name] = d
	name := d.name[strings.LastIndexByte(d.name, '/')+1:]
	if _, twice := l.bare[name]; twice {
		l.bare[name] = ""
	} else {
		l.bare[name] = d.name
	}
}

// cutSection cuts a text at the first line that has only "=".
func cutSection(text string) (section, rest string, found bool) {
	for at := 0; at < len(text); {
		end := strings.IndexByte(text[at:], '\n')
		next := at + end + 1
		if end < 0 {
			end, next = len(text)-at, len(text)
		}
		line := strings.TrimSpace(text[at : at+end])
		if len(line) >= 3 && strings.Trim(line, "=") == "" {
			return text[:at], text[next:], true
		}
		at = next
	}
	return text, "", false
}

// resolve returns the type for a name.
func (l *library) resolve(name string, depth int) (*Type, error) {
	if t, ok := l.types[name]; ok {
		if t == nil {
			return nil, bad(l.format, 0, dataset.ErrCorrupt, "definition", name+" within itself", "types that end")
		}
		return t, nil
	}
	if depth > maxDepth {
		return nil, bad(l.format, 0, dataset.ErrTooLarge, "definition", fmt.Sprintf("%d types within each other", depth), fmt.Sprintf("at most %d", maxDepth))
	}
	if !l.find(name) {
		if l.broken != nil {
			return nil, l.broken
		}
		return nil, bad(l.format, 0, dataset.ErrNotFound, "definition", "none of "+name, "one of every type that is used")
	}
	d := l.defs[name]
	if d.bad != nil {
		return nil, d.bad
	}
	l.types[name] = nil
	t := &Type{Name: name, Fields: make([]Field, len(d.fields))}
	for i, f := range d.fields {
		t.Fields[i] = f.Field
		if f.Kind != Struct {
			continue
		}
		sub, err := l.resolve(l.full(f.ref, name), depth+1)
		if err != nil {
			return nil, err
		}
		t.Fields[i].Type = sub
	}
	l.types[name] = t
	return t, nil
}

// full returns the full name for a reference in another definition.
func (l *library) full(ref, from string) string {
	name := shortName(ref)
	if strings.Contains(name, "/") {
		return name
	}
	pkg, _, _ := strings.Cut(from, "/")
	own := pkg + "/" + name
	if name == "Header" && (l.ros1 || l.defs[own] == nil) {
		return "std_msgs/Header"
	}
	if l.find(own) {
		return own
	}
	if only := l.bare[name]; only != "" { // the reference has no package
		return only
	}
	return own
}
