package message

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// primitives maps ROS type names to kinds. In ROS 1, byte is int8, and time and duration exist.
var primitives = map[string]Kind{
	"bool": Bool, "int8": Int8, "uint8": Uint8, "int16": Int16, "uint16": Uint16, "int32": Int32, "uint32": Uint32, "int64": Int64, "uint64": Uint64,
	"float32": Float32, "float64": Float64, "string": String, "wstring": WString, "char": Uint8, "byte": Uint8, "time": Time, "duration": Duration,
}

// primitive returns the kind for a name, and false if the name is a struct's.
func primitive(name string, ros1 bool) (Kind, bool) {
	kind, ok := primitives[name]
	switch {
	case ros1 && name == "byte":
		kind = Int8
	case ros1 && name == "wstring", !ros1 && (name == "time" || name == "duration"):
		ok = false
	}
	return kind, ok
}

// parseMsg parses one .msg definition, which begins at the given line in the schema.
func parseMsg(format, name, text string, line int, ros1 bool) *definition {
	d := &definition{name: name}
	fail := func(msg, got, want string) {
		if d.bad == nil {
			d.bad = bad(format, line, dataset.ErrCorrupt, msg, got, want)
		}
	}
	seen := map[string]bool{}
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if row != "" && row[0] != '#' {
			typ, rest, _ := strings.Cut(strings.ReplaceAll(row, "\t", " "), " ")
			rest = strings.TrimSpace(rest)
			end := 0
			for end < len(rest) && isWord(rest[end]) {
				end++
			}
			field, after := rest[:end], strings.TrimSpace(rest[end:])
			switch {
			case typ == "---":
				if d.bad == nil {
					d.bad = bad(format, line, dataset.ErrUnsupported, "definition of "+name, "a service's request and response", "a message")
				}
			case field == "" || len(field) > maxName:
				fail("field of "+name, strconv.Quote(clip(row)), "a type and a name")
			case strings.HasPrefix(after, "="): // a constant
			case after != "" && after[0] != '#' && ros1:
				fail("field of "+name, strconv.Quote(clip(row)), "a type and a name")
			case seen[field]:
				fail("field of "+name, strconv.Quote(field)+" twice", "each name once")
			default:
				seen[field] = true
				f, why := parseField(typ, ros1)
				if why != "" {
					fail("type of "+name+"."+field, strconv.Quote(clip(typ)), why)
				}
				f.Name = field
				d.fields = append(d.fields, f)
			}
		}
		line++
	}
	return d
}

// parseField parses a field's type: "float64[<=3]", "string<=22", "geometry_msgs/Point[]". If that fails, want is the expected text.
func parseField(typ string, ros1 bool) (f rawField, want string) {
	base := typ
	if at := strings.IndexByte(typ, '['); at >= 0 {
		n, closed := strings.CutSuffix(typ[at+1:], "]")
		base = typ[:at]
		bounded := false
		f.Array = Fixed
		if n == "" {
			f.Array = Sequence
		} else if n, bounded = strings.CutPrefix(n, "<="); bounded {
			f.Array = Sequence
		}
		if !closed || bounded && ros1 {
			return f, "[], [N] or [<=N]"
		}
		if n != "" {
			v, err := strconv.ParseUint(n, 10, 32)
			if err != nil || v > maxLen || bounded && v == 0 {
				return f, fmt.Sprintf("an array of up to %d", maxLen)
			}
			f.Len = int(v)
		}
	}
	if at := strings.Index(base, "<="); at >= 0 && !ros1 { // a bound for text is ignored
		if _, err := strconv.ParseUint(base[at+2:], 10, 32); err != nil || base[:at] != "string" && base[:at] != "wstring" {
			return f, "string<=N"
		}
		base = base[:at]
	}
	f.Raw = base
	kind, ok := primitive(base, ros1)
	if ok {
		f.Kind = kind
		return f, ""
	}
	f.Kind, f.ref = Struct, base
	for _, part := range strings.Split(base, "/") {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) }) {
			return f, "the name of a type"
		}
	}
	return f, ""
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// clip shortens a text for an error.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}
