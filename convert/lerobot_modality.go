package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
)

// modalities is a dataset that may have GR00T's meta/modality.json, which assigns columns of state and action to parts of a robot.
type modalities interface {
	Modality(ctx context.Context) ([]byte, error)
}

// modality returns the inputs' meta/modality.json if all are equal; empty if no input has one. If they differ, or one cannot be read, it
// returns a note.
func modality(ctx context.Context, list []input) (text []byte, notes dataset.Notes, err error) {
	for i := range list {
		var own bytes.Buffer
		if m, ok := dataset.Whole(list[i].from).(modalities); ok {
			b, err := m.Modality(ctx)
			var broken *dataset.FormatError
			switch {
			case errors.As(err, &broken) && !dataset.IsSystem(err):
				return nil, dataset.Notes{{Code: dataset.CodeModalityUnread, Detail: dataset.Detail{Cause: err}}}, nil
			case err != nil:
				return nil, nil, err
			case len(b) > 0:
				if err := json.Compact(&own, b); err != nil {
					return nil, nil, err
				}
			}
		}
		if i > 0 && !bytes.Equal(own.Bytes(), text) {
			return nil, dataset.Notes{{Code: dataset.CodeInputsDiffer, Subject: "meta/modality.json"}}, nil
		}
		text = own.Bytes()
	}
	return text, nil, nil
}

// modalityPart is an entry of a modality.json.
type modalityPart struct {
	Start *int   `json:"start"`
	End   *int   `json:"end"`
	Key   string `json:"original_key"`
}

// modality returns the entries of modality.json that name unchanged columns of the first episode, and notes about the entries that are left
// out.
func (l *leRobotWriter) modality(ctx context.Context, e *Episode) (text json.RawMessage, left dataset.Notes, err error) {
	all, left, err := modality(ctx, l.piece.inputs)
	if err != nil {
		return nil, left, err
	}
	if len(all) == 0 {
		all = []byte("{}")
	}
	lost := func(part string, n dataset.Note) {
		n.Subject = part
		left.Add(n)
	}
	sections, err := orderjson.Members(all)
	if err != nil {
		lost("", unreadPart(err))
		return nil, left, nil
	}
	var kept orderjson.Object
	for _, section := range sections {
		parts, err := orderjson.Members(section.Value)
		if err != nil {
			lost(section.Name, unreadPart(err))
			continue
		}
		var those orderjson.Object
		for _, one := range parts {
			value, why := l.partOf(ctx, e, section.Name, one)
			if why.Code != "" {
				lost(section.Name+"."+one.Name, why)
				continue
			}
			those.Add(one.Name, value)
		}
		if those.Len() > 0 {
			kept.Add(section.Name, those)
		}
	}
	if l.opt.Modality {
		made := l.newModality(ctx, e)
		for _, section := range []string{"state", "action", "video", "annotation"} {
			if parts := made[section]; parts.Len() > 0 && !kept.Has(section) {
				kept.Add(section, parts)
			}
		}
	}
	if kept.Len() == 0 {
		return nil, left, nil
	}
	text, err = json.Marshal(kept)
	return text, left, err
}

// newModality returns the sections of a modality.json by their names. A part has the name of a stream or camera, without dots because
// GR00T splits names at them, for example left_arm for /left/arm.
func (l *leRobotWriter) newModality(ctx context.Context, e *Episode) map[string]orderjson.Object {
	sections := map[string]orderjson.Object{}
	add := func(section, name string, value orderjson.Object) {
		parts := sections[section]
		name = strings.TrimPrefix(strings.TrimPrefix(name, "observation."), "images.")
		for name = strings.ReplaceAll(name, ".", "_"); parts.Has(name); name += "_" {
		}
		parts.Add(name, value)
		sections[section] = parts
	}
	for _, vector := range []struct {
		section, feature string
		streams          []string
	}{{"state", "observation.state", l.opt.State}, {"action", "action", l.opt.Action}} {
		streams := vector.streams
		if len(streams) == 0 { // the dataset's own vector
			joined := slices.Concat(l.opt.State, l.opt.Action)
			for _, s := range e.Streams {
				if l.name(s.Name, "") == vector.feature && !slices.Contains(joined, s.Name) {
					streams = []string{s.Name}
				}
			}
		}
		start := 0
		for _, name := range streams {
			end := start + len(e.Stream(name).Columns)
			add(vector.section, l.name(name, ""), orderjson.Of("start", start, "end", end))
			start = end
		}
	}
	for i := range e.Media {
		if _, why := l.media(ctx, &e.Media[i], e.Times); why.Code == "" {
			name := l.camera(&e.Media[i])
			add("video", name, orderjson.Of("original_key", name))
		}
	}
	sections["annotation"] = orderjson.Of("human.task_description", orderjson.Of("original_key", "task_index"))
	return sections
}

// unreadPart returns a note about a part that cannot be read.
func unreadPart(err error) dataset.Note {
	return dataset.Note{Code: dataset.CodeModalityUnread, Detail: dataset.Detail{Cause: err}}
}

// partOf returns an entry for the new dataset, or a note if it cannot be kept.
func (l *leRobotWriter) partOf(ctx context.Context, e *Episode, section string, one orderjson.Member) (value json.RawMessage, why dataset.Note) {
	var part modalityPart
	if err := json.Unmarshal(one.Value, &part); err != nil {
		return nil, unreadPart(err)
	}
	key := part.Key
	if key == "" {
		key = map[string]string{"state": "observation.state", "action": "action", "annotation": "annotation." + one.Name}[section]
	}
	key = cmp.Or(key, one.Name)
	name := ""
	declared := slices.IndexFunc(l.piece.Inputs[e.Input].Features, func(f dataset.Feature) bool { return f.Name == key })
	switch s, m := e.Stream(key), e.MediaStream(key); {
	case key == "task_index":
		name = key
	case e.renamed[key] != "":
		return nil, dataset.Note{Code: dataset.CodeModalityRenamed, Detail: dataset.Detail{Got: key, Want: e.renamed[key]}}
	case m != nil:
		if _, why := l.media(ctx, m, e.Times); why.Code != "" {
			return nil, unreadPart(&dataset.NoteError{Note: why})
		}
		name = l.camera(m)
	case s == nil:
		return nil, dataset.Note{Code: dataset.CodeModalityMissing, Detail: dataset.Detail{Got: key}}
	case key == "observation.state" && len(l.opt.State) > 0 || key == "action" && len(l.opt.Action) > 0 || slices.Contains(l.opt.State, key) || slices.Contains(l.opt.Action, key):
		return nil, dataset.Note{Code: dataset.CodeModalityReplaced, Detail: dataset.Detail{Got: key}}
	case declared < 0 || !slices.Equal(l.piece.Inputs[e.Input].Features[declared].Shape, []int{len(s.Columns)}) ||
		!slices.Equal(s.ColumnNames(), e.Recorded.Stream(key).ColumnNames()),
		part.End != nil && (*part.End > len(s.Columns) || part.Start != nil && (*part.Start < 0 || *part.Start > *part.End)):
		return nil, dataset.Note{Code: dataset.CodeModalityColumns, Detail: dataset.Detail{Got: key}}
	default:
		name = l.name(key, "")
	}
	if name == key {
		return one.Value, why
	}
	members, err := orderjson.Members(one.Value)
	if err != nil {
		return nil, unreadPart(err)
	}
	var renamed orderjson.Object
	for _, m := range members {
		if m.Name != "original_key" {
			renamed.Add(m.Name, m.Value)
		}
	}
	renamed.Add("original_key", name)
	if value, err = json.Marshal(renamed); err != nil {
		return nil, unreadPart(err)
	}
	return value, why
}
