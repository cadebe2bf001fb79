package calvin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/pickle"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
)

const (
	languageFolder = "lang_annotations"
	languagePrefix = "lang" // of other folders that have some
	languageFile   = "auto_lang_ann.npy"
	scenesFile     = "scene_info.npy"

	maxPickle = 1 << 30 // bytes of a file
	maxText   = 1 << 12 // bytes of an annotation
	maxTexts  = 1 << 26 // bytes of all annotations
)

// span is an annotation of some frames.
type span struct {
	row
	task, text string
}

// scene is a named range of frames in scene_info.npy.
type scene struct {
	row
	name string
}

// readObject reads a file with one Python object: a dictionary.
func readObject(path string) (*pickle.Dict, error) {
	if err := checkFile(path, maxPickle); err != nil {
		return nil, err
	}
	data, err := storage.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	d, err := objectOf(data)
	return d, dataset.InFile(err, path)
}

func objectOf(data []byte) (*pickle.Dict, error) {
	r := bytes.NewReader(data)
	if _, err := npy.ReadObjectHeader(r); err != nil {
		return nil, err
	}
	at := len(data) - r.Len()
	v, n, err := pickle.Load(data[at:], int64(at))
	if err != nil {
		return nil, err
	}
	fail := func(at int, got, want string) error {
		return &dataset.FormatError{Format: format, Offset: int64(at), Kind: dataset.ErrCorrupt, Msg: "object", Got: got, Want: want}
	}
	if at+n < len(data) {
		return nil, fail(at+n, fmt.Sprintf("%d more bytes", len(data)-at-n), "the end")
	}
	a, ok := v.(*pickle.Array)
	if !ok || len(a.Objects) != 1 {
		return nil, fail(at, "another object", "an array of one")
	}
	d, ok := a.Objects[0].(*pickle.Dict)
	if !ok {
		return nil, fail(at, "another object", "a dictionary")
	}
	return d, nil
}

// readLanguage reads the annotations from the first folder that has some. Without a file there are none.
func (p *split) readLanguage(folders []string) {
	for _, folder := range folders {
		if !strings.HasPrefix(folder, languagePrefix) {
			continue
		}
		where := folder + "/" + languageFile
		d, err := readObject(storage.Join(p.dir, folder, languageFile))
		switch {
		case errors.Is(err, fs.ErrNotExist) || err != nil && !isDir(storage.Join(p.dir, folder)):
			continue
		case err != nil:
			p.problem(dataset.CodeUnreadable, where, 1, dataset.Detail{Cause: err})
		default:
			p.annotations(where, d)
		}
		return
	}
}

func isDir(path string) bool {
	st, err := storage.Stat(context.Background(), path)
	return err == nil && st.IsDir()
}

// annotations takes the spans of {language: {ann, task, emb}, info: {indx}}.
func (p *split) annotations(where string, d *pickle.Dict) {
	language, _ := d.Get("language")
	info, _ := d.Get("info")
	texts, tasks := itemsOf(language, "ann"), itemsOf(language, "task")
	places, ok := placesOf(info)
	if !ok || texts == nil {
		p.problem(dataset.CodeUnreadable, where, 1, dataset.Detail{Cause: errors.New("want a dictionary with language/ann, texts, and info/indx, pairs of frames")})
		return
	}
	if len(texts) != len(places) || tasks != nil && len(tasks) != len(texts) {
		p.problem(dataset.CodeAnnotationCounts, where, 1, dataset.Detail{Names: []string{
			text.Count(len(texts), "text"), text.Count(len(tasks), "task"), text.Count(len(places), "place"),
		}})
	}
	inside := within(p.rows)
	total, broken, outside := 0, 0, 0
	for i := range min(len(texts), len(places)) {
		a := span{row: places[i]}
		var isText bool
		a.text, isText = pickle.Text(texts[i])
		if i < len(tasks) {
			a.task, _ = pickle.Text(tasks[i])
		}
		if total += len(a.text) + len(a.task); total > maxTexts {
			p.problem(dataset.CodeItemsBeyond, where, min(len(texts), len(places))-i, dataset.Detail{
				Names: []string{"annotations"}, Want: strconv.Itoa(maxTexts), Unit: "bytes of texts",
			})
			break
		}
		switch {
		case !isText || len(a.text) > maxText || len(a.task) > maxText || !a.valid():
			broken++
			continue
		case !inside(a.row):
			outside++
		}
		p.spans = append(p.spans, a)
	}
	if broken > 0 {
		p.problem(dataset.CodeAnnotationInvalid, where, broken, dataset.Detail{Want: strconv.Itoa(maxText)})
	}
	if outside > 0 {
		p.problem(dataset.CodeAnnotationOutside, where, outside, dataset.Detail{})
	}
	p.leftOut(language, len(texts))
}

// leftOut adds notes about the embeddings and other unused annotations.
func (p *split) leftOut(language any, n int) {
	d, ok := language.(*pickle.Dict)
	if !ok {
		return
	}
	if emb, there := d.Get("emb"); there {
		p.embedding = "of another form"
		if a, isArray := emb.(*pickle.Array); isArray && len(a.Shape) > 0 && a.Shape[0] == n {
			each := pickle.Array{Descr: a.Descr, Shape: a.Shape[1:]}
			p.embedding = each.String()
		}
	}
	var more []string
	for _, key := range d.Keys {
		if name, _ := pickle.Text(key); !slices.Contains([]string{"ann", "task", "emb"}, name) && len(more) < 20 {
			more = append(more, fmt.Sprintf("%.40s", name))
		}
	}
	if len(more) > 0 {
		p.attributes[p.name+"/language left out"] = strings.Join(more, ", ")
	}
}

// itemsOf returns a list in a dictionary, or nil.
func itemsOf(dict any, key string) []any {
	d, ok := dict.(*pickle.Dict)
	if !ok {
		return nil
	}
	v, _ := d.Get(key)
	items, ok := pickle.Items(v)
	if ok && items == nil {
		items = []any{}
	}
	return items
}

// placesOf returns the frame ranges in info/indx: pairs, or an array [n,2]. An invalid pair becomes a row that is not valid.
func placesOf(info any) ([]row, bool) {
	d, ok := info.(*pickle.Dict)
	if !ok {
		return nil, false
	}
	v, _ := d.Get("indx")
	if a, isArray := v.(*pickle.Array); isArray && a.Objects == nil {
		list, ok := pickle.Ints(v)
		if !ok || len(a.Shape) != 2 || a.Shape[1] != 2 {
			return nil, false
		}
		rows := make([]row, len(list)/2)
		for i := range rows {
			rows[i] = row{list[2*i], list[2*i+1]}
		}
		return rows, true
	}
	items, ok := pickle.Items(v)
	if !ok {
		return nil, false
	}
	rows := make([]row, len(items))
	for i, item := range items {
		rows[i] = rowOf(item)
	}
	return rows, true
}

// rowOf returns a pair of frames, or a row that is not valid.
func rowOf(v any) row {
	switch v := v.(type) {
	case *pickle.List:
		if len(v.Items) != 2 {
			return row{-1, -1}
		}
	case *pickle.Array:
		if len(v.Shape) != 1 || v.Shape[0] != 2 {
			return row{-1, -1}
		}
	}
	list, ok := pickle.Ints(v)
	if !ok || len(list) != 2 {
		return row{-1, -1}
	}
	return row{list[0], list[1]}
}

// readScenes reads the scenes of the frames. Without the file there are none.
func (p *split) readScenes() {
	d, err := readObject(storage.Join(p.dir, scenesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		p.problem(dataset.CodeUnreadable, scenesFile, 1, dataset.Detail{Cause: err})
		return
	}
	const most = 1000
	var invalid []string
	for i, key := range d.Keys[:min(len(d.Keys), most)] {
		name, ok := pickle.Text(key)
		s := scene{rowOf(d.Values[i]), name}
		if !ok || len(name) > maxText || !s.valid() {
			invalid = append(invalid, fmt.Sprintf("%.40q", name))
			continue
		}
		p.scenes = append(p.scenes, s)
	}
	if n := len(invalid); n > 0 {
		p.problem(dataset.CodeSceneInvalid, scenesFile, n, dataset.Detail{Names: invalid[:1]})
	}
	if n := len(d.Keys) - most; n > 0 {
		p.problem(dataset.CodeItemsBeyond, scenesFile, n, dataset.Detail{Names: []string{"scenes"}, Want: strconv.Itoa(most)})
	}
}

// sceneOf returns the scenes of a row's frames, joined.
func (p *split) sceneOf(r row) string {
	var names []string
	for _, s := range p.scenes {
		if s.first <= r.last && s.last >= r.first && !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, ", ")
}

// describe adds an episode's annotations to its attributes. Rows are indices of the frames that were read.
func (p *split) describe(a *dataset.Attributes, e *dataset.Episode, at place, ids []int64) {
	type told struct {
		Task  string `json:"task"`
		Text  string `json:"text"`
		First int    `json:"first"`
		Last  int    `json:"last"`
	}
	list, count, none := []told{}, 0, 0
	spans := p.spans
	if at.span != nil {
		spans = []span{*at.span}
	}
	var texts []string
	seen := map[string]bool{}
	for _, s := range spans {
		if s.first < at.first || s.last > at.last {
			continue
		}
		count++
		first, _ := slices.BinarySearch(ids, s.first)
		after, _ := slices.BinarySearch(ids, s.last+1)
		if first == after {
			none++
			continue
		}
		list = append(list, told{s.task, s.text, first, after - 1})
		if !seen[s.text] {
			seen[s.text] = true
			texts = append(texts, s.text)
		}
	}
	a.Task = strings.Join(texts, "; ")
	if none > 0 {
		e.Notes.Add(dataset.Note{Code: dataset.CodeAnnotationsWithoutFrames, Subject: "language/ann", Count: none})
	}
	if count > 0 && p.embedding != "" {
		e.Notes.Add(dataset.Note{Code: dataset.CodeEmbeddings, Subject: "language/emb", Count: count, Detail: dataset.Detail{Got: p.embedding}})
	}
	if len(list) > 0 {
		text, err := json.Marshal(list)
		if err == nil { // there is nothing in it that cannot be JSON
			a.Other["language"] = string(text)
		}
	}
	if at.span != nil {
		a.Other["task"] = at.span.task
	}
}
