package rlds

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// labelsEnd is the suffix of files with class label names, after the feature: "steps-observation-mode.labels.txt".
const labelsEnd = ".labels.txt"

// maxLabels limits a file with label names, in bytes.
const maxLabels = 1 << 20

// clockOf returns the leaf with the times of the steps, or nil.
func clockOf(leaves []*leaf) *leaf {
	i := slices.IndexFunc(leaves, func(l *leaf) bool {
		return l.key == TimeKey && l.dtype == "int64" && len(l.columns) == 1 && l.encoding == ""
	})
	if i < 0 {
		return nil
	}
	return leaves[i]
}

// declared returns the streams and media streams that features.json declares, and the values of whole episodes. Open dimensions are -1.
func declared(leaves []*leaf) (list, facts []dataset.Feature) {
	clock := clockOf(leaves)
	for _, l := range leaves {
		if !l.perStep() && l.why == "" && l.kind != images {
			facts = append(facts, dataset.Feature{Name: l.key, DType: l.dtype, Shape: l.shape})
		}
		if !l.perStep() || l.kind == texts || l.why != "" || l == clock {
			continue
		}
		f := dataset.Feature{Name: l.name(), DType: l.dtype, Shape: slices.Clone(l.row()), Media: l.kind == images}
		for i, d := range f.Shape {
			if l.kind == images && d == 0 {
				f.Shape[i] = -1
			}
		}
		if strings.HasPrefix(l.class, "BBox") {
			f.Names = []string{"ymin", "xmin", "ymax", "xmax"}
		}
		list = append(list, f)
	}
	return list, facts
}

// readLabels reads class label names, one per line, from the files next to features.json. Each file becomes an attribute with the
// file's name.
func (p *plan) readLabels(leaves []*leaf) {
	for _, l := range leaves {
		name := strings.ReplaceAll(l.key, "/", "-") + labelsEnd
		if l.class != "ClassLabel" || !p.has[name] {
			continue
		}
		labels, err := labelsOf(storage.Join(p.dir, name))
		if err != nil {
			p.problem(dataset.CodeUnreadable, name, dataset.Detail{Cause: err})
			continue
		}
		p.say(name, strings.Join(labels, "\n"))
		if n := int64(l.classes); n > 0 && n != int64(len(labels)) {
			p.info.Notes.Add(dataset.Note{Code: dataset.CodeLabelCount, Subject: name, Count: len(labels), Detail: dataset.Detail{Of: int(n)}})
		}
	}
}

// labelsOf reads a file of names. Empty lines do not count.
func labelsOf(path string) (names []string, err error) {
	st, err := storage.Stat(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if !st.IsRegular() || st.Size > maxLabels {
		return nil, fmt.Errorf("got %v of %d bytes, want a file of at most %d", st.Mode, st.Size, maxLabels)
	}
	b, err := storage.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("got bytes that are no UTF-8")
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			names = append(names, line)
		}
	}
	return names, nil
}
