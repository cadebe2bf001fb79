package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
)

// foreign returns an *OptionError if the output folder has files and they are not from a conversion with this head, shards aside.
func (p *place) foreign(head Head) error {
	if p.marker == "" {
		return nil
	}
	other, err := atomicfile.Foreign(p.at, func(string) bool { return false })
	switch {
	case err != nil:
		if st, failed := fault.Stat(p.at); failed == nil && !st.IsDir() {
			return refuse("output", p.at+", which is a file", "the name of a folder")
		}
		return err
	case other == "":
		return nil
	}
	heads, err := p.heads()
	if err != nil {
		return err
	}
	for _, is := range heads {
		is.Shard, head.Shard = 0, 0
		if text(is) != text(head) {
			return refuse("output", p.at+", which was converted otherwise: "+otherwise(is, head), "another folder, or that one removed")
		}
	}
	if len(heads) == 0 {
		return refuse("output", p.at+", in which there is "+other+", which is no conversion's", "a new folder, or an empty one")
	}
	return nil
}

// heads returns the heads of all shards with a journal next to the output or a report in it. Journals are read first, because another
// program may finish a shard meanwhile: it writes the report before it removes the journal.
func (p *place) heads() (list []Head, err error) {
	dir, base := filepath.Split(filepath.Clean(p.at))
	look := func(dir, before, after string, read func(b []byte) Head) error {
		names, err := fault.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range names {
			if !strings.HasPrefix(e.Name(), before) || !strings.HasSuffix(e.Name(), after) {
				continue
			}
			b, err := fault.ReadFile(filepath.Join(dir, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if h := read(b); h.Version > 0 {
				list = append(list, h)
			}
		}
		return nil
	}
	err = look(filepath.Clean(dir+"."), "."+base+".convert", ".journal", func(b []byte) Head {
		line, _, _ := bytes.Cut(b, []byte("\n"))
		var o opening
		_ = json.Unmarshal(line, &o) // invalid JSON has no version
		return o.Head
	})
	if err != nil {
		return nil, err
	}
	err = look(p.at, "convert", ".json", func(b []byte) (h Head) {
		_ = json.Unmarshal(b, &h)
		return h
	})
	return list, err
}

// otherwise returns a text that lists the settings in which two heads differ: options of the target and keys of the plan by name. Example:
// "plan rate 10, where 20 is asked for; different plan streams".
func otherwise(is, want Head) string {
	var list []string
	differ := func(name string, got, want any) {
		a, b := setting(got), setting(want)
		switch {
		case text(got) == text(want):
		case a == "" || b == "" || a == b || len(a)+len(b) > 100:
			list = append(list, "different "+name)
		default:
			list = append(list, fmt.Sprintf("%s %s, where %s is asked for", name, a, b))
		}
	}
	keys := func(of string, got, want json.RawMessage) {
		var a, b map[string]any
		_, _ = json.Unmarshal(got, &a), json.Unmarshal(want, &b) // nil without a plan
		both := maps.Clone(a)
		if both == nil {
			both = map[string]any{}
		}
		maps.Copy(both, b)
		delete(both, "version")
		for _, key := range slices.Sorted(maps.Keys(both)) {
			differ(of+key, a[key], b[key])
		}
	}
	if differ("target", is.Target, want.Target); list == nil {
		keys("", is.Settings, want.Settings)
	}
	keys("plan ", is.Plan, want.Plan)
	const all = "all"
	media := func(h Head) string {
		if len(h.Media) == 0 {
			return all
		}
		return strings.Join(h.Media, ", ")
	}
	for _, c := range []struct {
		name      string
		got, want any
	}{
		{"shards", is.Shards, want.Shards}, {"episodes", cmp.Or(is.Selected, all), cmp.Or(want.Selected, all)}, {"number of episodes", is.Episodes, want.Episodes},
		{"listing of the input files", is.Listing, want.Listing}, {"media", media(is), media(want)},
		{"definitions", strings.Join(is.Definitions, ", "), strings.Join(want.Definitions, ", ")},
		{"rate", is.Rate, want.Rate}, {"clock", is.Clock, want.Clock}, {"stretch", is.Stretch, want.Stretch}, {"task_from", is.TaskFrom, want.TaskFrom}, {"task", is.Task, want.Task},
		{"strict", is.Strict, want.Strict}, {"rows that are not valid", is.KeepInvalid, want.KeepInvalid},
	} {
		differ(c.name, c.got, c.want)
	}
	if list == nil {
		return "another version"
	}
	return strings.Join(list, "; ")
}

// setting returns a setting's value for people, or "" if it has keys of its own.
func setting(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return cmp.Or(v, "none")
	case bool:
		return map[bool]string{true: "on", false: "off"}[v]
	case map[string]any:
		return ""
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, setting(e))
		}
		if slices.Contains(list, "") {
			return ""
		}
		return cmp.Or(strings.Join(list, ", "), "none")
	}
	return text(v)
}
