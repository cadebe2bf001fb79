package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset/safetensors"
)

// batchKey is the text of the metadata that says which batch a file holds.
const batchKey = "robocache.batch"

// batchIndex is that text. Its JSON names are a contract.
type batchIndex struct {
	Version int    `json:"version"` // 1
	Step    int64  `json:"step"`
	Seed    uint64 `json:"seed"`
	Epoch   int64  `json:"epoch"`
	Taken   int64  `json:"taken"` // positions of the epoch before the batch: row i has the position taken + rank + world*i
	Rank    int    `json:"rank"`
	World   int    `json:"world"`
	Batch   int    `json:"batch"`                   // rows
	Last    string `json:"last"`                    // as --last
	Run     string `json:"run"`                     // the same of all batches of the same plan and datasets
	Shard   int    `json:"shard_batches,omitempty"` // batches of a file of samples
}

func batchName(step int64) string { return fmt.Sprintf("batch-%07d.safetensors", step) }

// isBatchFile reports whether that is the name of a batch.
func isBatchFile(name string) bool {
	number, found := strings.CutPrefix(strings.TrimSuffix(name, ".safetensors"), "batch-")
	step, err := strconv.ParseInt(number, 10, 64)
	return found && err == nil && name == batchName(step)
}

// batchOf is the batch that a file holds.
func batchOf(path string) (index batchIndex, err error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return index, err
	}
	defer f.Close()
	if err := json.Unmarshal([]byte(f.Metadata()[batchKey]), &index); err != nil {
		return index, fmt.Errorf("metadata %s: %w", batchKey, err)
	}
	return index, nil
}

// shardName is what a tar file of samples is called.
func shardName(number int64) string { return fmt.Sprintf("shard-%06d.tar", number) }

func isShardName(name string) bool {
	var number int64
	_, err := fmt.Sscanf(name, "shard-%d.tar", &number)
	return err == nil && name == shardName(number)
}

// sample is a sample's .json. Its JSON names are a contract.
type sample struct {
	Dataset  *int             `json:"dataset,omitempty"` // of several, from 0
	Episode  int              `json:"episode"`           // in the dataset
	Name     string           `json:"name"`              // the episode's
	Tick     int64            `json:"tick"`              // of the anchor, in the episode
	Anchor   int64            `json:"anchor"`            // its time, ns
	Epoch    int64            `json:"epoch"`
	Position int64            `json:"position"` // in the epoch's order
	Pad      map[string][]int `json:"pad"`      // of each target, by the member's name without its ending
	Valid    map[string][]int `json:"valid"`
	Batch    batchIndex       `json:"batch"` // that it was drawn with
}

// samplesFile is what a folder of samples has beside them, and described what it says.
const samplesFile = "samples.json"

type described struct {
	Version int             `json:"version"` // 1
	Members []describedPart `json:"members"`
}

type describedPart struct {
	Member  string   `json:"member"` // "action.npy", "front.jpg"
	Stream  string   `json:"stream,omitempty"`
	Camera  string   `json:"camera,omitempty"`
	Shape   []int    `json:"shape"` // [T,D] of a stream, [T,H,W,3] of a camera
	DType   string   `json:"dtype"`
	Columns []string `json:"columns,omitempty"`
}

// firstBatch is the batch that the first sample of a shard was drawn with.
func firstBatch(path string) (index batchIndex, err error) {
	f, err := os.Open(path)
	if err != nil {
		return index, err
	}
	defer f.Close()
	r := tar.NewReader(f)
	head, err := r.Next()
	if err != nil {
		return index, err
	}
	var s sample
	if err = json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&s); err != nil {
		return index, fmt.Errorf("%s: no JSON of a sample: %w", head.Name, err)
	}
	if s.Batch.Version != 1 {
		return index, fmt.Errorf("%s: got a batch of version %d, want 1", head.Name, s.Batch.Version)
	}
	return s.Batch, nil
}

// quoted is a path as a pattern of itself.
func quoted(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
