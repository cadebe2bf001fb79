package loader

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Windows returns the number of windows that an episode has in an epoch, one for each anchor. The episode is numbered as in
// Batch.Episodes. For any other number it returns 0.
func (l *Loader) Windows(episode int64) int {
	if l.EpisodeOf(episode) < 0 {
		return 0
	}
	return int(l.windows[episode+1] - l.windows[episode])
}

// Known returns an episode's name and its number in the dataset. The argument is numbered as in Batch.Episodes. For any other
// number it returns "" and -1.
func (l *Loader) Known(episode int64) (name string, number int) {
	if l.EpisodeOf(episode) < 0 {
		return "", -1
	}
	e := &l.entries[episode]
	return e.name, e.number
}

// Tasks returns the tasks in an episode, each with its start time, ns. The episode is numbered as in Batch.Episodes. If it has no
// task, the result is nil.
func (l *Loader) Tasks(episode int64) []store.Task {
	if l.EpisodeOf(episode) < 0 {
		return nil
	}
	return l.entries[episode].tasks
}

// TasksOf returns the task at the anchor of each window in a batch. The batch must be on the host. It is "" without a task, and
// in a row without a window.
func (l *Loader) TasksOf(b *Batch) ([]string, error) {
	episodes, err := tensor.Data[int64](b.Episodes)
	if err != nil {
		return nil, err
	}
	anchors, err := tensor.Data[int64](b.Anchors)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(episodes))
	for row, e := range episodes {
		for _, t := range l.Tasks(e) {
			if t.From <= anchors[row] {
				list[row] = t.Text
			}
		}
	}
	return list, nil
}

// At returns the window at a position in an epoch, from 0 to Report.Windows-1: its episode and tick, as in Batch.Episodes and
// Batch.Ticks. Row i in a batch on rank r, with w ranks and after t taken positions, is at position t + r + w*i.
func (l *Loader) At(epoch, position int64) (episode, tick int64) {
	w := l.order.Window(epoch, position)
	e := sort.Search(len(l.numbers), func(i int) bool { return l.windows[i+1] > w })
	return int64(e), w - l.windows[e]
}

// Begin returns the state at which the next batch starts: the state itself, or the start of the next epoch if the epoch has no more
// batches.
func (l *Loader) Begin(s State) State {
	if l.EpochEnds(s) {
		s.Epoch, s.Taken = s.Epoch+1, 0
	}
	return s
}

// EpisodeOf returns the number in the store for an episode in a batch. For -1 it returns -1.
func (l *Loader) EpisodeOf(episode int64) int {
	if episode < 0 || episode >= int64(len(l.numbers)) {
		return -1
	}
	return l.numbers[episode]
}

// State returns the state after the last batch. Batches that Run enqueued must be done.
func (l *Loader) State(ctx context.Context) (State, error) {
	at, err := l.feed.cursor(ctx)
	return l.StateAt(at.Epoch, at.Taken), err
}

// StateAt returns the state at a position in an epoch. It does not check them.
func (l *Loader) StateAt(epoch, taken int64) State {
	return State{Version: 1, Seed: l.order.Seed, Epoch: epoch, Taken: taken, Windows: l.report.Windows, Shuffle: l.shuffle, Episodes: l.hash,
		ShardWindows: l.report.ShardWindows, MixShards: l.report.MixShards, Mixture: l.mixture}
}

// Resume continues from a state. If the state has another seed, shuffle, number of windows, episodes, shards or mixture, the error is a
// *StateError, because other windows would follow.
func (l *Loader) Resume(ctx context.Context, s State) error {
	if err := l.Check(s); err != nil {
		return err
	}
	if l.reel != nil {
		l.reel.stop() // it starts again at the feed's cursor
		l.reel.failed = nil
	}
	return l.feed.seek(ctx, ops.Cursor{Epoch: s.Epoch, Taken: s.Taken})
}

// Check returns the error that Resume would return for a state. It changes nothing.
func (l *Loader) Check(s State) error {
	switch {
	case s.Version != 1:
		return &StateError{"version", fmt.Sprint(s.Version), "1"}
	case s.Seed != l.order.Seed:
		return &StateError{"seed", fmt.Sprint(s.Seed), fmt.Sprint(l.order.Seed)}
	case s.Windows != l.report.Windows && s.Episodes != "":
		return &StateError{"windows in an epoch", fmt.Sprintf("%d, of episodes with hash %s", s.Windows, s.Episodes), fmt.Sprintf("%d, of %d episodes with hash %s", l.report.Windows, l.report.Episodes, l.hash)}
	case s.Windows != l.report.Windows:
		return &StateError{"windows in an epoch", fmt.Sprint(s.Windows), fmt.Sprint(l.report.Windows)}
	case !slices.Equal(s.Mixture, l.mixture):
		return &StateError{"mixture", fmt.Sprintf("%+v", s.Mixture), fmt.Sprintf("%+v", l.mixture)}
	case s.ShardWindows != l.report.ShardWindows || s.MixShards != l.report.MixShards:
		return &StateError{"shards", shardsOf(s.ShardWindows, s.MixShards), shardsOf(l.report.ShardWindows, l.report.MixShards)}
	case s.Shuffle != "" && s.Shuffle != l.shuffle:
		return &StateError{"shuffle", s.Shuffle, l.shuffle}
	case s.Episodes != "" && s.Episodes != l.hash:
		return &StateError{"episodes", "others, or with other windows: " + s.Episodes, l.hash}
	case s.Epoch < 0 || s.Epoch > mostEpochs || s.Taken < 0 || s.Taken > int64(s.Windows):
		return &StateError{"place", fmt.Sprintf("epoch %d, %d taken", s.Epoch, s.Taken), fmt.Sprintf("epoch 0 to %d, at most %d taken", mostEpochs, s.Windows)}
	}
	return nil
}

// EpochEnds reports whether a state is at its epoch's end, so that the next batch is in another epoch.
func (l *Loader) EpochEnds(s State) bool {
	begin, _ := l.order.Next(ops.Cursor{Epoch: s.Epoch, Taken: s.Taken})
	return begin.Epoch != s.Epoch
}

// Window returns a row of a batch as a stream with the target times, and also the window's recorded episode from the store or
// dataset. It is for plots and comparisons. If the row has no window, or the stream does not exist, it returns an error.
func (l *Loader) Window(ctx context.Context, store dataset.Dataset, b *Batch, row int, stream string) (*dataset.Episode, *dataset.Stream, error) {
	host, err := b.Host(ctx)
	if err != nil {
		return nil, nil, err
	}
	episodes, err := tensor.Data[int64](host.Episodes)
	if err != nil {
		return nil, nil, err
	}
	s := host.Stream(stream)
	if s == nil || row < 0 || row >= len(episodes) || episodes[row] < 0 {
		return nil, nil, refuse("Window", fmt.Sprintf("row %d of stream %q", row, stream), "a row that holds a window, and a stream in the batch")
	}
	e, err := store.Episode(ctx, l.EpisodeOf(episodes[row]))
	if err != nil {
		return nil, nil, err
	}
	anchors, err := tensor.Data[int64](host.Anchors)
	if err != nil {
		return nil, nil, err
	}
	var times []int64
	for i := range l.parts {
		if l.parts[i].name == stream {
			for _, d := range l.parts[i].deltas {
				times = append(times, anchors[row]+d)
			}
		}
	}
	values, err := s.Values.Slice(0, row, row+1)
	if err != nil {
		return nil, nil, err
	}
	if values, err = values.Reshape(len(times), len(s.Columns)); err != nil {
		return nil, nil, err
	}
	made, err := dataset.NewStream(stream, times, values, s.Columns)
	return e, &made, err
}

// StoreOf returns the index of an episode's store in the list of stores, and the episode's number in that store. For episode -1
// it returns -1 and -1.
func (l *Loader) StoreOf(episode int64) (store, number int) {
	if number = l.EpisodeOf(episode); number < 0 || l.stores == nil {
		return min(number, 0), number
	}
	return l.stores[episode], number
}

// State is a loader's place in its order. A loader that resumes from it draws the same windows, also on another device, with
// another number of ranks, or with another batch size. Its JSON names are a contract.
type State struct {
	Version int    `json:"version"` // always 1
	Seed    uint64 `json:"seed"`
	Epoch   int64  `json:"epoch"`
	Taken   int64  `json:"taken"`             // positions in the epoch that all ranks have taken together
	Windows int    `json:"windows"`           // windows in an epoch
	Shuffle string `json:"shuffle,omitempty"` // the plan's shuffle; empty is not compared
	// Episodes is a hash of the drawn episodes' names, numbers and windows, in their order; not compared if it is empty.
	Episodes string `json:"episodes,omitempty"`
	// ShardWindows and MixShards are set if the order has shards.
	ShardWindows int `json:"shard_windows,omitempty"`
	MixShards    int `json:"mix_shards,omitempty"`
	// Mixture lists a weighted mixture's stores, or with Options.EpisodeWeights the episodes of one weight in each.
	Mixture []MixtureState `json:"mixture,omitempty"`
}

// StateError means that a state belongs to another order of windows, so the loader cannot resume from it. Got is from the state, Want
// is from the loader. Example: What "seed", Got "7", Want "8".
type StateError struct{ What, Got, Want string }

func (e *StateError) Error() string {
	return fmt.Sprintf("loader: state: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// Unwrap returns ops.ErrOption.
func (e *StateError) Unwrap() error { return ops.ErrOption }

// mostEpochs is the last epoch that Resume accepts. As many epochs follow it.
const mostEpochs = 1 << 62

// shardsOf formats an order's shards.
func shardsOf(windows, mix int) string {
	if windows == 0 {
		return "none"
	}
	return fmt.Sprintf("of %d windows, %d mixed at a time", windows, mix)
}
