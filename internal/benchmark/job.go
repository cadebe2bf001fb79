package benchmark

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// Job is one benchmark.
type Job interface {
	// Suite returns the suite's name.
	Suite() string
	// Name returns the job's shape. It is unique in the suite, because figures from several runs are joined by it.
	Name() string
	// Keys returns the shape in benchstat's form.
	Keys() []Key

	check() error
	prepare(r *rig) (*work, error)
}

// Key is one part of a job's shape, such as B=64.
type Key struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func keysOf(pairs ...any) []Key {
	var out []Key
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Key{pairs[i].(string), fmt.Sprint(pairs[i+1])})
	}
	return out
}

// suite is a named list of jobs.
type suite struct {
	name   string
	about  string
	jobs   func() []Job
	empty  func() Job               // returns a job to be filled from a file
	random func(rng *rand.Rand) Job // returns a job for a sweep; nil if the suite has none
}

var suites = []suite{resampleSuite, formsSuite, fuseSuite, backwardSuite, voxelizeSuite, drawSuite, tallySuite, framesSuite, windowsSuite, copiesSuite, launchSuite, pipelineSuite, trainSuite}

// Suites returns each suite's name and description.
func Suites() [][2]string {
	var out [][2]string
	for _, s := range suites {
		out = append(out, [2]string{s.name, s.about})
	}
	return out
}

// InputError reports a suite or shape that cannot be measured.
type InputError struct {
	Where string // "shape 3", "suite"
	Got   string
	Want  string
}

func (e *InputError) Error() string {
	return fmt.Sprintf("benchmark: %s: got %s, want %s", e.Where, e.Got, e.Want)
}

func find(name string) (*suite, error) {
	var names []string
	for i := range suites {
		if suites[i].name == name {
			return &suites[i], nil
		}
		names = append(names, suites[i].name)
	}
	return nil, &InputError{"suite", fmt.Sprintf("%q", name), strings.Join(names, ", ")}
}

// Jobs returns the jobs in the named suites, or in all suites if no name is given.
func Jobs(names ...string) ([]Job, error) {
	var out []Job
	if len(names) == 0 {
		for _, s := range suites {
			out = append(out, s.jobs()...)
		}
	}
	for _, name := range names {
		s, err := find(name)
		if err != nil {
			return nil, err
		}
		out = append(out, s.jobs()...)
	}
	return out, nil
}

// Sweep returns n random jobs, alternating between the named suites, or all suites with random jobs if no name is given. The same seed
// gives the same jobs.
func Sweep(n int, seed uint64, names ...string) ([]Job, error) {
	var from []suite
	for _, s := range suites {
		if s.random != nil && (len(names) == 0 || slices.Contains(names, s.name)) {
			from = append(from, s)
		}
	}
	for _, name := range names {
		if s, err := find(name); err != nil {
			return nil, err
		} else if s.random == nil {
			return nil, &InputError{"sweep", "suite " + name, "a suite with shapes"}
		}
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	var out []Job
	for i := range n {
		out = append(out, from[i%len(from)].random(rng))
	}
	return out, nil
}

// ReadShapes reads jobs from a file, for example:
//
//	{"jobs": [{"suite": "resample", "B": 64, "S": 4096, "T": 1024, "D": 32, "values": "bf16", "times": "f32"}, ...]}
//
// The fields are those in the suite's job type. A missing field has the job's default, and "name" is ignored.
func ReadShapes(in io.Reader) ([]Job, error) {
	var file struct {
		Schema json.RawMessage   `json:"schema"` // from bench --list --json
		Jobs   []json.RawMessage `json:"jobs"`
	}
	if err := strict(in, &file); err != nil {
		return nil, &InputError{"the shapes", err.Error(), `{"jobs": [{"suite": NAME, ...}]}`}
	}
	if len(file.Jobs) == 0 {
		return nil, &InputError{"the shapes", "no jobs", "at least one"}
	}
	var out []Job
	for i, raw := range file.Jobs {
		where := fmt.Sprintf("shape %d", i)
		var head struct {
			Suite string `json:"suite"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			return nil, &InputError{where, err.Error(), "an object with a suite"}
		}
		s, err := find(head.Suite)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		j := s.empty()
		if err := fields(raw, j); err != nil {
			return nil, &InputError{where, err.Error(), "the fields of a " + s.name + " job"}
		}
		if err := j.check(); err != nil {
			var e *InputError
			if errors.As(err, &e) {
				e.Where = where + ", " + e.Where
			}
			return nil, err
		}
		out = append(out, j)
	}
	return out, nil
}

// strict reads one JSON value. Unknown fields are an error.
func strict(in io.Reader, into any) error {
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more after the JSON value")
	}
	return nil
}

// fields reads a job's fields, except the suite's name and the job's name.
func fields(raw json.RawMessage, into Job) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	delete(all, "suite")
	delete(all, "name")
	rest, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return strict(bytes.NewReader(rest), into)
}

// within returns an error if a number is outside its range.
func within(where string, v, lo, hi int) error {
	if v < lo || v > hi {
		return &InputError{where, fmt.Sprint(v), fmt.Sprintf("%d to %d", lo, hi)}
	}
	return nil
}

// logUniform returns a random integer from lo to hi. Each power of two is equally likely.
func logUniform(rng *rand.Rand, lo, hi int) int {
	for {
		bits := 0
		for hi>>bits > 0 {
			bits++
		}
		top := rng.IntN(bits)
		if v := 1<<top | rng.IntN(1<<top); v >= lo && v <= hi {
			return v
		}
	}
}
