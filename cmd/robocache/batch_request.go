package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
)

// asking is the request and the flags of the batches command.
type asking struct {
	batching.Request
	maxGap                ops.Limit
	state                 string
	out, metrics          string
	asked, spans          []string // --stream and --window
	epochs, number, world int
	steps, devices        int  // devices of this program
	lastSet               bool // --last is given
	signalCode            int
	format                cli.Choice[fileFormat]
	tarSamples            int
	tarBytes              float64
	shardSteps            int // batches per shard, with --format webdataset
	backend               string
	digest, episodes      bool
	run                   string // see runOf
}

// check sets the request's fields from the flags. If a flag is invalid or contradicts another, it returns a usage error.
func (b *asking) check() error {
	switch {
	case b.Batch < 1:
		return usagef("--batch: got %d, want 1 or more", b.Batch)
	case b.epochs < 1:
		return usagef("--epochs: got %d, want 1 or more", b.epochs)
	case len(b.EpisodeWeights) > 0 && len(b.Paths) > 1:
		return usagef("--episode-weights: got %d datasets, want one, because each has its own numbers", len(b.Paths))
	case b.steps < 0:
		return usagef("--steps: got %d, want 0 or more", b.steps)
	case b.format.Value == samplesFormat && b.tarSamples < 1:
		return usagef("--tar-samples: got %d, want 1 or more", b.tarSamples)
	case b.format.Value == samplesFormat && b.out == "":
		return usagef("--format webdataset: got it without --out, want the folder for its files")
	case b.signalCode < 0 || b.signalCode > 125:
		return usagef("--signal-code: got %d, want 0 to 125", b.signalCode)
	}
	if b.format.Value == samplesFormat && !b.lastSet {
		b.Last = ops.LastShort // every window is a sample
	}
	if err := b.readStreams(); err != nil {
		return err
	}
	if b.PlanFile == "" || b.maxGap != align.AutoGap {
		b.SetMaxGap(b.maxGap)
	}
	return errors.Join(batching.Place{Index: b.number, Count: b.world}.Check(b.Spell), b.Check())
}

// readStreams parses --stream and --window. A stream is a name, or a name with columns as in resample. The other forms of
// resample need a plan.
func (b *asking) readStreams() error {
	b.Streams, b.Windows = nil, map[string]align.Window{}
	for _, f := range b.asked {
		s := align.Stream{Name: f}
		if i := strings.LastIndexByte(f, '['); i >= 0 && strings.HasSuffix(f, "]") {
			var err error
			if s, err = parseStream(f, []string{f[:i]}); err != nil {
				return err
			}
		}
		b.Streams = append(b.Streams, s)
	}
	for _, w := range b.spans {
		name, span, _ := cutLast(w, "=")
		list, single := strings.CutPrefix(span, "at:")
		ends := strings.Split(span, ":")
		if single {
			ends = strings.Split(list, ",")
		}
		good := single || len(ends) == 2
		times := make([]time.Duration, len(ends))
		for i, text := range ends {
			at, is := seconds(text)
			times[i], good = at, good && is
		}
		switch {
		case !good:
			return usagef("--window: got %q, want NAME=FROM:TO such as action=0s:1s or state=-500ms:0s, or in seconds, state=-0.5:0, or single times, state=at:-400ms,0s", w)
		case single:
			b.Windows[name] = align.Window{At: times}
		default:
			b.Windows[name] = align.Window{From: times[0], To: times[1]}
		}
	}
	return nil
}

// rank returns the rank of this program's device with an index, and the number of ranks over all programs.
func (b *asking) rank(device int) (rank, ranks int) {
	return b.number*b.devices + device, b.world * b.devices
}

// folder returns the folder for a device's batches: --out itself if there is one rank.
func (b *asking) folder(device int) string {
	rank, ranks := b.rank(device)
	if ranks == 1 {
		return b.out
	}
	return filepath.Join(b.out, rankFolder(rank, ranks))
}

func rankFolder(rank, ranks int) string { return fmt.Sprintf("rank-%05d-of-%05d", rank, ranks) }

// folderRanks returns the rank count in a rank folder's name, or 0 for another name.
func folderRanks(name string) int {
	var rank, of int
	if _, err := fmt.Sscanf(name, "rank-%d-of-%d", &rank, &of); err != nil || name != rankFolder(rank, of) {
		return 0
	}
	return of
}

func (b *asking) batchFile(step int64, device int) string {
	return filepath.Join(b.folder(device), batchName(step))
}

// isOutput reports whether a name is a batch name, or a shard name with --format webdataset.
func (b *asking) isOutput(name string) bool {
	if b.format.Value == samplesFormat {
		return isShardName(name)
	}
	return isBatchFile(name)
}

// index returns the index for this run's batch at a step. begin is the state before it.
func (b *asking) index(begin loader.State, step int64, device int) batchIndex {
	rank, ranks := b.rank(device)
	return batchIndex{Shard: b.shardSteps, Version: 1, Step: step, Seed: begin.Seed, Epoch: begin.Epoch, Taken: begin.Taken, Rank: rank, World: ranks, Batch: b.Batch, Last: b.Last.String(), Run: b.run}
}

// files returns the paths to the batches or shards in a folder, sorted by name.
func (b *asking) files(folder string) (files []string, err error) {
	list, err := fault.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unwritten(err)
	}
	for _, entry := range list {
		if b.isOutput(entry.Name()) {
			files = append(files, filepath.Join(folder, entry.Name()))
		}
	}
	return files, nil
}
