package robomimic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
)

const magic = "\x89HDF\r\n\x1a\n"

func init() {
	dataset.Register(dataset.Format{
		Name: "robomimic", Extensions: []string{".hdf5", ".h5"},
		Match: func(head []byte) bool {
			for at := 0; at+len(magic) <= len(head); at = max(512, 2*at) { // behind a user block
				if string(head[at:at+len(magic)]) == magic {
					return true
				}
			}
			return false
		},
		Open: func(_ context.Context, path string, opt dataset.Options) (dataset.Dataset, error) {
			return Open(path, opt)
		},
	})
}

// Set is an open file of demonstrations. Its methods may be called from any goroutine.
type Set struct {
	path, format string
	file         *hdf5.File
	data         *hdf5.Group
	demos        []string // the groups, in the order of their numbers
	info         dataset.Info
	strict       bool
}

// Open opens a file. A file without a group data that has groups demo_N is an error that is dataset.ErrUnsupported.
func Open(path string, opt dataset.Options) (*Set, error) {
	file, err := hdf5.Open(path)
	if err != nil {
		return nil, err
	}
	s := &Set{path: path, format: "robomimic", file: file, strict: opt.Strict}
	if err := s.read(opt); err != nil {
		file.Close()
		var bad *dataset.FormatError
		if errors.As(err, &bad) && bad.Path == "" {
			bad.Path = path
		}
		return nil, err
	}
	return s, nil
}

func (s *Set) read(opt dataset.Options) error {
	layout := func(got string) error {
		return &dataset.FormatError{Format: "robomimic", Path: s.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "layout", Got: got, Want: "a group data with groups demo_0, demo_1, ..."}
	}
	if !s.file.Root().Has("data") {
		return layout("no group data")
	}
	var err error
	if s.data, err = s.file.Root().Group("data"); err != nil {
		return err
	}
	for _, name := range s.data.Names() {
		if strings.HasPrefix(name, "demo") {
			s.demos = append(s.demos, name)
		}
	}
	if len(s.demos) == 0 {
		return layout("a group data without a demo")
	}
	slices.SortFunc(s.demos, dataset.CompareNames)
	s.info.Attributes = map[string]string{}
	attrs, err := s.data.Attrs()
	if err != nil {
		return err
	}
	for _, a := range attrs {
		if text, ok := textOf(a); ok {
			s.info.Attributes[a.Name] = text
		}
	}
	if _, converted := s.info.Attributes["env_args"]; !converted {
		s.format = "robosuite"
	}
	if err := s.info.ChooseRate(opt.Rate, rateOf(s.info.Attributes["env_args"]), 0); err != nil {
		return err
	}
	for _, w := range s.file.Warnings() {
		s.problem(filepath.Base(s.path), w)
	}
	return s.filters()
}

func (s *Set) problem(where, what string) {
	s.info.Problems = append(s.info.Problems, dataset.Problem{Where: where, What: what})
}

// filters reads the lists of demonstrations in the group mask.
func (s *Set) filters() error {
	if !s.file.Root().Has("mask") {
		return nil
	}
	mask, err := s.file.Root().Group("mask")
	if err != nil {
		return err
	}
	number := make(map[string]int, len(s.demos))
	for i, name := range s.demos {
		number[name] = i
	}
	for _, name := range mask.Names() {
		list, err := mask.Dataset(name)
		if err != nil {
			return err
		}
		demos, err := list.ReadStrings()
		if err != nil {
			return err
		}
		split := dataset.Split{Name: name, Episodes: []int{}}
		for _, demo := range demos {
			if i, there := number[demo]; there {
				split.Episodes = append(split.Episodes, i)
			} else {
				s.problem("mask/"+name, fmt.Sprintf("names %q, which is not there", demo))
			}
		}
		s.info.Splits = append(s.info.Splits, split)
	}
	if s.strict && len(s.info.Problems) > 0 {
		p := s.info.Problems[0]
		return &dataset.FormatError{Format: "robomimic", Path: s.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: p.Where, Got: p.What}
	}
	return nil
}

// textOf returns an attribute that is one text, or one number as text.
func textOf(a *hdf5.Attr) (string, bool) {
	if list, err := a.ReadStrings(); err == nil && len(list) == 1 {
		return list[0], true
	}
	if n, ok := numberOf(a); ok {
		return fmt.Sprint(n), true
	}
	return "", false
}

// rateOf returns the control frequency in a text of env_args, or 0.
func rateOf(envArgs string) float64 {
	var args struct {
		Kwargs struct {
			Rate float64 `json:"control_freq"`
		} `json:"env_kwargs"`
	}
	if json.Unmarshal([]byte(envArgs), &args) != nil {
		return 0
	}
	return args.Kwargs.Rate
}

// Name returns the file's name without its extension.
func (s *Set) Name() string { return dataset.BaseName(s.path) }

// Format returns "robomimic", or "robosuite" for the raw layout, which has no env_args.
func (s *Set) Format() string { return s.format }

// Info returns the rate, the filters as splits, the attributes of the group data, and what is declared and not there.
func (s *Set) Info() dataset.Info { return s.info }

// Len returns the number of demonstrations.
func (s *Set) Len() int { return len(s.demos) }

// Close closes the file. Close twice is fine. Frames of episodes cannot be read after it.
func (s *Set) Close() error { return s.file.Close() }
