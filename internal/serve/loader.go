package serve

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/failure"
)

// loaderRequest is the arguments for a connection's loader.
type loaderRequest struct {
	Do
	batching.Request
	Rank  *int `json:"rank"` // from the launcher's environment if nil
	World *int `json:"world"`
	// FramesOn is the GPU that decodes and resizes frames, such as "cuda:0". Empty and "cpu" are the CPU.
	FramesOn string `json:"frames_on"`
}

// mostSlots limits the slots of a loader.
const mostSlots = 1024

// mostQuoted limits the quote of an argument with the wrong type, in bytes.
const mostQuoted = 60

// check checks the arguments and sets the rank.
func (r *loaderRequest) check() error {
	if err := r.Check(); err != nil {
		return err
	}
	p, err := batching.PlaceOf(r.Rank, r.World, os.Getenv, nil)
	if err != nil {
		return err
	}
	r.Options.Rank, r.Options.Ranks, r.Options.Apart = p.Index, p.Count, true
	return p.Check(nil)
}

// decodeLoader reads a request for a loader. It returns an *OptionError if an argument has an invalid value.
func (r *Request) decodeLoader(v any) error {
	err := r.Decode(v)
	var fields map[string]json.RawMessage
	if err == nil || json.Unmarshal(r.JSON, &fields) != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, _ := json.Marshal(map[string]json.RawMessage{name: fields[name]}) // cannot fail, because fields was read from JSON
		bad := json.Unmarshal(text, reflect.New(reflect.TypeOf(v).Elem()).Interface())
		if bad == nil {
			continue
		}
		f := failure.Of(bad)
		var kind *json.UnmarshalTypeError
		if errors.As(bad, &kind) {
			if f.Got = string(fields[name]); len(f.Got) > mostQuoted {
				f.Got = kind.Value
			}
			switch f.Want = "a value for " + kind.Type.String(); kind.Type.Kind() {
			case reflect.Int, reflect.Int64, reflect.Uint64:
				f.Want = "a whole number"
			case reflect.Bool:
				f.Want = "true or false"
			}
		}
		return &loaderError{&dataset.OptionError{Arg: name, Got: f.Got, Want: f.Want}}
	}
	return err
}
