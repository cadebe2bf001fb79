package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// modalities is a dataset that may have GR00T's meta/modality.json: which columns of a state and action are of which part of a robot.
type modalities interface {
	Modality(ctx context.Context) ([]byte, error)
}

// modality returns the meta/modality.json of the inputs, if all have the same, and what is to be said where one has another.
func modality(ctx context.Context, list []input) (text []byte, remark string, err error) {
	for i := range list {
		var own bytes.Buffer
		if m, ok := list[i].from.(modalities); ok {
			b, err := m.Modality(ctx)
			var broken *dataset.FormatError
			switch {
			case errors.As(err, &broken):
				return nil, "left out: meta/modality.json: " + err.Error(), nil
			case err != nil:
				return nil, "", err
			case len(b) > 0:
				if err := json.Compact(&own, b); err != nil {
					return nil, "", err
				}
			}
		}
		if i > 0 && !bytes.Equal(own.Bytes(), text) {
			return nil, "left out: meta/modality.json: the inputs have not the same", nil
		}
		text = own.Bytes()
	}
	return text, "", nil
}

// modalityPart is an entry of a modality.json.
type modalityPart struct {
	Start *int   `json:"start"`
	End   *int   `json:"end"`
	Key   string `json:"original_key"`
}

// modality is the piece's modality.json as far as what it names is in the dataset as it was, by the first episode, with what is left out of it and why.
func (l *leRobotWriter) modality(ctx context.Context, e *Episode) (text json.RawMessage, left []string, err error) {
	all, remark, err := modality(ctx, l.piece.inputs)
	if remark != "" {
		left = append(left, remark)
	}
	if err != nil || len(all) == 0 {
		return nil, left, err
	}
	lost := func(what, why string) { left = append(left, "left out: "+what+" of meta/modality.json: "+why) }
	sections, err := membersOf(all)
	if err != nil {
		lost("all", err.Error())
		return nil, left, nil
	}
	var kept []jsonMember
	for _, section := range sections {
		parts, err := membersOf(section.value)
		if err != nil {
			lost(section.key, err.Error())
			continue
		}
		var those []jsonMember
		for _, one := range parts {
			value, why := l.partOf(e, section.key, one)
			if why != "" {
				lost(section.key+"."+one.key, why)
				continue
			}
			those = append(those, jsonMember{one.key, value})
		}
		if len(those) > 0 {
			kept = append(kept, jsonMember{section.key, objectOf(those)})
		}
	}
	if len(kept) == 0 {
		return nil, left, nil
	}
	return objectOf(kept), left, nil
}

// partOf returns an entry as it is in the dataset, or why it is not.
func (l *leRobotWriter) partOf(e *Episode, section string, one jsonMember) (value json.RawMessage, why string) {
	var part modalityPart
	if err := json.Unmarshal(one.value, &part); err != nil {
		return nil, err.Error()
	}
	key := part.Key
	if key == "" {
		key = map[string]string{"state": "observation.state", "action": "action", "annotation": "annotation." + one.key}[section]
	}
	key = cmp.Or(key, one.key)
	name := ""
	declared := slices.IndexFunc(l.piece.Inputs[e.Input].Features, func(f dataset.Feature) bool { return f.Name == key })
	switch s, m := e.Stream(key), e.MediaStream(key); {
	case key == "task_index":
		name = key
	case e.renamed[key] != "":
		return nil, key + " is " + e.renamed[key] + " by the plan"
	case m != nil:
		if _, reason := l.media(m, e.Times); reason != "" {
			return nil, reason
		}
		name = l.camera(m)
	case s == nil:
		return nil, "there is no " + key
	case key == "observation.state" && len(l.opt.State) > 0 || key == "action" && len(l.opt.Action) > 0 || slices.Contains(l.opt.State, key) || slices.Contains(l.opt.Action, key):
		return nil, key + " is made anew"
	case declared < 0 || !slices.Equal(l.piece.Inputs[e.Input].Features[declared].Shape, []int{len(s.Columns)}) ||
		!slices.Equal(s.ColumnNames(), e.Recorded.Stream(key).ColumnNames()):
		return nil, key + " has other columns"
	case part.End != nil && (*part.End > len(s.Columns) || part.Start != nil && (*part.Start < 0 || *part.Start > *part.End)):
		return nil, fmt.Sprintf("%s has %d columns", key, len(s.Columns))
	default:
		name = l.name(key, "")
	}
	if name == key {
		return one.value, ""
	}
	members, err := membersOf(one.value)
	if err != nil {
		return nil, err.Error()
	}
	text, err := json.Marshal(name)
	if err != nil {
		return nil, err.Error()
	}
	members = slices.DeleteFunc(members, func(m jsonMember) bool { return m.key == "original_key" })
	return objectOf(append(members, jsonMember{"original_key", text})), ""
}

// jsonMember is one of a JSON object's.
type jsonMember struct {
	key   string
	value json.RawMessage
}

// membersOf returns an object's members in their order.
func membersOf(text []byte) (list []jsonMember, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return nil, fmt.Errorf("got %.20s, want a JSON object", strings.TrimSpace(string(text)))
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := jsonMember{key: key.(string)} // which an object's keys are
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// objectOf writes members in their order.
func objectOf(list []jsonMember) json.RawMessage {
	b := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(m.key) // of a text
		b = append(append(append(b, key...), ':'), m.value...)
	}
	return append(b, '}')
}
