package convert

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// MostShards is the largest number of shards in an output.
const MostShards = 99999

// Options are the settings of a conversion. The zero value keeps every recording on its own clocks.
type Options struct {
	// Reading is used to open the inputs. With Strict, an episode that cannot be read or aligned is an error; otherwise it is
	// skipped and listed.
	Reading dataset.Options
	// Plan puts every episode on one clock; nil keeps the recorded clocks. Its windows, padding and normalisation have no effect
	// here, because they are for a loader.
	Plan *align.Plan
	// Device runs the interpolation. A plan requires it.
	Device *ops.Device
	// Media are the media streams to take, by their names in the recordings; nil takes all, and a list with one empty name takes
	// none.
	Media []string
	// Task is for episodes without a task.
	Task string
	// KeepInvalid keeps the rows at both ends of a plan's clock where some stream is not valid, for targets that cannot mark them:
	// see Traits.Unmasked.
	KeepInvalid bool
	// Shards is the number of parts of the output. Each part is a run of episodes with about the same number of frames; 0 means 1.
	Shards int
	// Workers is the number of episodes in work at the same time; 0 means one per processor.
	Workers int
	// Name returns the name of an input in reports, for example - for the path to a copy of standard input. Without it the path is the name.
	Name func(path string) string
	// Progress is called when an episode is finished, or was already finished, by one goroutine at a time. It may be nil.
	Progress func(Progress)
}

// Progress is the state of a shard.
type Progress struct {
	Done, Of int // episodes
	Samples  int // samples that were read in Done episodes
	Before   int // episodes in Done that an earlier conversion finished
}

// OptionError reports an invalid option, input or output.
type OptionError = dataset.OptionError

// refuse returns the *OptionError of an option.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }

func (o *Options) check() error {
	if o.Shards == 0 {
		o.Shards = 1
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	switch {
	case o.Shards < 0 || o.Shards > MostShards:
		return refuse("Shards", strconv.Itoa(o.Shards), fmt.Sprintf("1 to %d", MostShards))
	case o.Workers < 0:
		return refuse("Workers", strconv.Itoa(o.Workers), "a number of goroutines, or 0")
	case o.Plan == nil:
		return nil
	case o.Device == nil:
		return refuse("Device", "none", "a device for the plan")
	case o.Plan.Targets != nil:
		return refuse("Plan", "its own targets", "a plan with a rate: episodes have their own times")
	}
	return o.Plan.Check()
}

// planText returns the part of a plan that affects the output, as a plan file has it, so that equal plans have equal text. If a plan file
// cannot express the plan, because a program made it, it is a string.
func planText(p *align.Plan) json.RawMessage {
	if p == nil {
		return nil
	}
	q := *p
	q.Windows, q.Padding, q.PadAfter, q.Shuffle = nil, "", ops.Limit{}, ""
	b, err := planfile.JSON(&q)
	if err != nil {
		b, _ = json.Marshal(fmt.Sprintf("%v %+v %+v %q %+v %+v %s", q.Rate, q.Range, q.Snap, q.Unordered, q.Defaults, q.Streams, text(q.Filter))) // which never fails
	}
	return b
}

// text returns JSON that is equal for equal values.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error() // because the value has no JSON
	}
	return string(b)
}
