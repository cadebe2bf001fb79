package texttable

import (
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// AddTo adds the table to an episode, as a float64 stream with the clock times [Rows], ns. It adds notes about columns that are not
// numbers, and attributes about the clock. units are units by column name.
func (t *Table) AddTo(e *dataset.Episode, name string, times []int64, units map[string]string) error {
	var columns []dataset.Column
	for _, c := range t.Columns {
		switch {
		case c.Text:
			e.Notes.Add(dataset.Note{Code: dataset.CodeText, Subject: c.Name, Count: t.Rows})
			continue
		case c.Empty == t.Rows && t.Rows > 0:
			e.Notes.Add(dataset.Note{Code: dataset.CodeEmptyColumn, Subject: c.Name, Count: t.Rows})
			continue
		case c.Empty > 0:
			e.Notes.Add(dataset.Note{Code: dataset.CodeEmptyFields, Subject: c.Name, Count: c.Empty})
		}
		typ := "decimal"
		if c.Integer {
			typ = "integer"
		}
		if unit := units[c.Name]; unit != "" {
			typ += " [" + unit + "]"
		}
		columns = append(columns, dataset.Column{Name: c.Name, Type: typ, Integer: c.Integer})
	}
	MarkRotations(columns)
	values, err := tensor.Of(t.Values, t.Rows, len(columns))
	if err != nil {
		return err
	}
	s, err := dataset.NewStream(name, times, values, columns)
	if err != nil {
		return err
	}
	s.Inexact = t.Inexact
	e.Streams = append(e.Streams, s)
	if t.Rounded > 0 {
		e.Attributes.Other[name+": timestamps rounded to nanoseconds"] = strconv.Itoa(t.Rounded)
	}
	if t.Unended {
		e.Attributes.Other[name+": last line"] = "has no line's end: if the file was cut there, digits of its last number may be missing"
	}
	e.Notes = append(e.Notes, t.Notes...)
	return nil
}

// MarkRotations marks quaternions: four neighbouring columns with names that differ only in their last letter, x, y, z, w or w, x,
// y, z, and with a common beginning that suggests a rotation, as in qx, q_RS_w or orientation.z. A quaternion with whole numbers
// only, from an object that does not turn, is marked too.
func MarkRotations(columns []dataset.Column) {
	for i := 0; i+4 <= len(columns); i++ {
		r := rotationOf(columns[i : i+4])
		if r == dataset.RotationNone {
			continue
		}
		for k := range 4 {
			columns[i+k].Rotation, columns[i+k].Integer = r, false
			if unit, ok := strings.CutPrefix(columns[i+k].Type, "integer"); ok {
				columns[i+k].Type = "decimal" + unit
			}
		}
		i += 3
	}
}

func rotationOf(columns []dataset.Column) dataset.Rotation {
	letters, before := "", ""
	for i, c := range columns {
		name := strings.ToLower(c.Name)
		if name == "" || i > 0 && name[:len(name)-1] != before {
			return dataset.RotationNone
		}
		letters, before = letters+name[len(name)-1:], name[:len(name)-1]
	}
	part := strings.FieldsFunc(before, func(r rune) bool { return strings.ContainsRune("_.- /[", r) })
	named := strings.Contains(before, "quat") || strings.Contains(before, "orientation") || strings.Contains(before, "rotation")
	for _, p := range part {
		named = named || p == "q" || p == "rot"
	}
	switch {
	case named && letters == "xyzw":
		return dataset.RotationXYZW
	case named && letters == "wxyz":
		return dataset.RotationWXYZ
	}
	return dataset.RotationNone
}
