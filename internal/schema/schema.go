package schema

import (
	"bytes"
	"encoding/json"
)

// Name identifies an object format. For example, docs/schema/inspect.json describes "robocache.inspect".
type Name string

// Objects that commands print with --json.
const (
	Alignment   Name = "robocache.alignment" // resample and fuse
	Batches     Name = "robocache.batches"
	Bench       Name = "robocache.bench"
	BenchJobs   Name = "robocache.bench-jobs"
	BenchRuns   Name = "robocache.bench-runs"
	BenchStart  Name = "robocache.bench-start"
	Convert     Name = "robocache.convert"
	Doctor      Name = "robocache.doctor"
	Error       Name = "robocache.error"
	Info        Name = "robocache.info"
	Inspect     Name = "robocache.inspect"
	Launches    Name = "robocache.launches" // bench --explain
	Pack        Name = "robocache.pack"
	Plan        Name = "robocache.plan"
	Policy      Name = "robocache.policy"
	PolicyServe Name = "robocache.policy-serve"
	Profile     Name = "robocache.profile"
	Stats       Name = "robocache.stats"
	Train       Name = "robocache.train"
	TrainStep   Name = "robocache.train-step"
	TSDF        Name = "robocache.tsdf" // voxelize --tsdf
	Tune        Name = "robocache.tune"
	Version     Name = "robocache.version"
	View        Name = "robocache.view"
	Voxelize    Name = "robocache.voxelize"
)

// Objects in files.
const (
	Checkpoint Name = "robocache.checkpoint" // config.json in a checkpoint
	Conversion Name = "robocache.conversion" // convert.json
	Samples    Name = "robocache.samples"    // samples.json, by batches --out
	State      Name = "robocache.state"      // by batches --state
	Statistics Name = "robocache.statistics" // statistics.json, by batches --out
)

// Schema is the value for the key "schema", the first key in each object.
type Schema struct {
	Name    Name `json:"name"`
	Version int  `json:"version"`
}

// Of returns the current schema for a name.
func Of(name Name) Schema { return Schema{name, 1} }

// JSON encodes a struct or a map with its schema as the first key, and ends with a newline. If indent is empty, the object is one line.
func JSON(name Name, v any, indent string) ([]byte, error) {
	var body, out bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	head, err := json.Marshal(map[string]Schema{"schema": Of(name)})
	if err == nil {
		err = e.Encode(v)
	}
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ',' // instead of the brace
	text := append(head, body.Bytes()[1:]...)
	if indent == "" {
		return text, nil
	}
	err = json.Indent(&out, text, "", indent)
	return out.Bytes(), err
}
