package rosbag

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// Limits for the time between the end of one piece of a split recording and the start of the next, ns. It may be slightly negative, because
// messages are not written exactly in time order. If a bag begins more than mostApart later, it is another recording.
const (
	mostOverlap = 1e9
	mostApart   = 2e9
)

// baseOf returns a bag's name without its extension, .bag or the .bag.active of a bag that the recorder did not close.
func baseOf(name string) (base string, ok bool) {
	base, ok = strings.CutSuffix(strings.TrimSuffix(name, ".active"), ".bag")
	return base, ok && !strings.HasPrefix(name, ".")
}

// pieces returns the bags in a folder if they are the pieces of one recording, as `rosbag record --split` writes them: numbered
// under one name, each beginning where the previous one ends, without other recordings or folders.
func pieces(ctx context.Context, folder string) (names []string, err error) {
	list, err := storage.ReadDir(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		switch _, ok := baseOf(f.Name); {
		case ok && f.IsRegular():
			names = append(names, f.Name)
		case !strings.HasPrefix(f.Name, ".") && (f.IsDir() || slices.ContainsFunc(dataset.Formats(), func(o dataset.Format) bool {
			return !o.Text && slices.Contains(o.Extensions, strings.ToLower(path.Ext(f.Name)))
		})):
			return nil, nil
		}
	}
	slices.SortFunc(names, dataset.CompareNames)
	bases := make([]string, len(names))
	for i := range names {
		bases[i], _ = baseOf(names[i])
	}
	if len(names) < 2 || !topics.ArePieces(bases) {
		return nil, nil
	}
	var end int64
	whole, broken := 0, false
	for _, name := range names {
		first, last, err := spanOf(ctx, storage.Join(folder, name))
		if _, bad := dataset.AsBroken(err); bad || err == nil && first > last {
			broken = true
			continue
		}
		if err != nil || whole > 0 && (first < end-mostOverlap || first > end+mostApart && !broken) {
			return nil, err
		}
		end, broken = last, false
		whole++
	}
	if whole == 0 {
		return nil, nil
	}
	return names, nil
}

// openSource opens a bag and its file.
func openSource(ctx context.Context, path string) (*source, *bag, error) {
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	s := &source{file: file}
	log, err := open(ctx, s, path)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, log, nil
}

// spanOf returns the approximate first and last log time of a bag, ns.
func spanOf(ctx context.Context, path string) (first, last int64, err error) {
	s, log, err := openSource(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	return topics.Ends(ctx, log)
}

// joined is the log of a recording in several bags, its pieces. It implements topics.Log.
type joined struct {
	bags     []*bag
	channels []topics.Channel
	counts   []int       // number of messages by channel
	numbers  [][]int     // for each bag: the index in channels of each of its channels
	parts    []topics.At // for each part: the bag's index, as Part, and the part's index in that bag, as Offset
}

// openPieces opens the pieces in a folder. A broken piece loses only itself.
func openPieces(ctx context.Context, folder string, names []string, d *bagDataset) error {
	j, known := &joined{}, map[string]int{}
	d.log = j
	for _, name := range names {
		s, log, err := openSource(ctx, storage.Join(folder, name))
		if bad, broken := dataset.AsBroken(err); broken {
			d.damage.AddDamage(dataset.CodeFileLost, 0, bad)
			continue
		} else if err != nil {
			return err
		}
		d.sources = append(d.sources, s)
		d.damage.Join(log.damage)
		var numbers []int
		for k, c := range log.channels {
			key := fmt.Sprintf("%q %q %q", c.Topic, c.Schema.Name, c.Schema.Data)
			n, ok := known[key]
			if !ok {
				n = len(j.channels)
				known[key], j.channels, j.counts = n, append(j.channels, c), append(j.counts, 0)
			}
			numbers = append(numbers, n)
			j.counts[n] += log.Count(k)
		}
		for k := range log.parts {
			j.parts = append(j.parts, topics.At{Part: len(j.bags), Offset: int64(k)})
		}
		j.bags, j.numbers = append(j.bags, log), append(j.numbers, numbers)
	}
	return nil
}

func (j *joined) Channels() []topics.Channel { return j.channels }

func (j *joined) Parts() int { return len(j.parts) }

// Count returns the number of messages on a channel, from the indexes.
func (j *joined) Count(channel int) int { return j.counts[channel] }

func (j *joined) Each(ctx context.Context, part int, damage *dataset.Notes, use func(m topics.Message) error) error {
	at := j.parts[part]
	return j.bags[at.Part].Each(ctx, int(at.Offset), damage, func(m topics.Message) error {
		m.Channel, m.At.Part = j.numbers[at.Part][m.Channel], part
		return use(m)
	})
}

func (j *joined) Message(ctx context.Context, at topics.At) ([]byte, error) {
	of := j.parts[at.Part]
	return j.bags[of.Part].Message(ctx, topics.At{Part: int(of.Offset), Offset: at.Offset})
}
