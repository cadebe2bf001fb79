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
	"github.com/robocache/robocache/internal/fault"
)

// batchKey is the metadata key of a batch's index.
const batchKey = "robocache.batch"

// batchIndex is a batch's index in its file. Its JSON names are a contract.
type batchIndex struct {
	Version int    `json:"version"` // 1
	Step    int64  `json:"step"`
	Seed    uint64 `json:"seed"`
	Epoch   int64  `json:"epoch"`
	Taken   int64  `json:"taken"` // positions of the epoch before the batch: row i has the position taken + rank + world*i
	Rank    int    `json:"rank"`
	World   int    `json:"world"`
	Batch   int    `json:"batch"`                   // rows
	Last    string `json:"last"`                    // as in --last
	Run     string `json:"run"`                     // the same for all batches of the same plan, datasets and episodes
	Shard   int    `json:"shard_batches,omitempty"` // batches in a file of samples
}

func batchName(step int64) string { return fmt.Sprintf("batch-%07d.safetensors", step) }

// isBatchFile reports whether a name is a batch's name.
func isBatchFile(name string) bool {
	number, found := strings.CutPrefix(strings.TrimSuffix(name, ".safetensors"), "batch-")
	step, err := strconv.ParseInt(number, 10, 64)
	return found && err == nil && name == batchName(step)
}

// batchOf returns the index in a batch file. If the file has none, or is no batch, it returns an error.
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

// shardName returns the name for a tar file with samples.
func shardName(number int64) string { return fmt.Sprintf("shard-%06d.tar", number) }

func isShardName(name string) bool {
	var number int64
	_, err := fmt.Sscanf(name, "shard-%d.tar", &number)
	return err == nil && name == shardName(number)
}

// sample is a sample's .json member. Its JSON names are a contract.
type sample struct {
	Dataset  *int             `json:"dataset,omitempty"` // with several datasets, from 0
	Episode  int              `json:"episode"`           // in the dataset
	Name     string           `json:"name"`              // the episode's name
	Tick     int64            `json:"tick"`              // the anchor's tick in the episode
	Anchor   int64            `json:"anchor"`            // the anchor's time, ns
	Epoch    int64            `json:"epoch"`
	Position int64            `json:"position"` // index of the window in the epoch's order
	Pad      map[string][]int `json:"pad"`      // per target, by the member's name without its extension
	Valid    map[string][]int `json:"valid"`
	Batch    batchIndex       `json:"batch"` // the batch of the sample
}

// statisticsFile is the file with statistics in each folder.
const statisticsFile = "statistics.json"

// samplesFile is a JSON file next to the tar files. It lists the files in each sample, for example action.npy, with shape and
// dtype. Its content has the type described.
const samplesFile = "samples.json"

type described struct {
	Version int             `json:"version"` // 1
	Members []describedPart `json:"members"`
}

type describedPart struct {
	Member  string   `json:"member"` // "action.npy", "front.jpg"
	Stream  string   `json:"stream,omitempty"`
	Camera  string   `json:"camera,omitempty"`
	Shape   []int    `json:"shape"` // [T,D] for a stream, [T,H,W,3] for a camera
	DType   string   `json:"dtype"`
	Columns []string `json:"columns,omitempty"`
}

// firstBatch returns the batch index in a shard's first sample.
func firstBatch(path string) (index batchIndex, err error) {
	f, err := fault.OpenFile(path, os.O_RDONLY, 0)
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
