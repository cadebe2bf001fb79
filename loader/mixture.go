package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// Weighted is one of the stores that a loader draws from together. Weight says how often windows of it are drawn, relative to the weights
// of the others. If all are 0, an epoch draws each window of every store once.
type Weighted struct {
	Store  *Store
	Weight float64
}

// MixtureReport says what is drawn from one of several stores.
type MixtureReport struct {
	Name     string  `json:"name"`     // of the dataset
	Episodes int     `json:"episodes"` // that windows are drawn from
	Windows  int     `json:"windows"`
	Weight   float64 `json:"weight"`
	Share    int     `json:"share"`  // of an epoch's windows, how many are of it
	Epochs   float64 `json:"epochs"` // how often an epoch draws each of its windows: Share/Windows
}

// MixtureState is what the order of a weighted mixture depends on, of one of its stores.
type MixtureState struct {
	Windows int `json:"windows"`
	Share   int `json:"share"`
}

// MixtureError says that a store cannot be drawn from with those before it. It is dataset.ErrOption.
type MixtureError struct {
	Store     int // of the list
	What      string
	Got, Want string
}

func (e *MixtureError) Error() string {
	return fmt.Sprintf("loader: store %d: %s: got %s, want %s", e.Store, e.What, e.Got, e.Want)
}

// Unwrap returns dataset.ErrOption.
func (e *MixtureError) Unwrap() error { return dataset.ErrOption }

// NewMixture prepares a loader as [New] does, of several stores that are put on the device together. They all must have the streams that the
// plan names, or if it names none those of the first store, with the columns that this has, in any order, and the same dtype, and with weights each a
// window to draw: else it is a *MixtureError. Statistics that the plan asks for are over the episodes of all stores. Batches number episodes through all
// stores, in their order: [Loader.StoreOf] has an episode's store.
//
// With weights an epoch has Options.EpochWindows windows, of each store as many as its weight says, and goes through each store in full
// epochs of its own, by the rule of ops.DrawOptions.Window. That is an order of windows, or "none"; the plan's "shards" is an *OptionError.
func NewMixture(ctx context.Context, device *ops.Device, list []Weighted, plan align.Plan, opt Options) (*Loader, error) {
	if len(list) < 1 || len(list) > ops.MaxSources {
		return nil, refuse("stores", fmt.Sprint(len(list)), fmt.Sprintf("1 to %d stores", ops.MaxSources))
	}
	if i := slices.IndexFunc(list, func(s Weighted) bool { return s.Store == nil }); i >= 0 {
		return nil, &MixtureError{i, "store", "none", "one that is open"}
	}
	plan = named(plan, list[0].Store.names())
	weighted := slices.ContainsFunc(list, func(s Weighted) bool { return s.Weight != 0 })
	switch {
	case weighted && plan.Shuffle == "shards":
		return nil, refuse("plan.shuffle", plan.Shuffle, "windows or none, of a weighted mixture")
	case opt.EpochWindows < 0 || opt.EpochWindows > 0 && !weighted:
		return nil, refuse("EpochWindows", fmt.Sprint(opt.EpochWindows), "1 or more, of a weighted mixture, or 0 for as many as there are windows")
	}
	from := make(stores, len(list))
	for i, s := range list {
		from[i] = s.Store
		if !(s.Weight >= 0) || s.Weight-s.Weight != 0 {
			return nil, &MixtureError{i, "weight", fmt.Sprint(s.Weight), "a finite number, not below 0"}
		}
		if err := from.alike(i, &plan); err != nil {
			return nil, err
		}
	}
	if len(opt.Episodes) > len(list) {
		return nil, refuse("Episodes", fmt.Sprintf("those of %d datasets", len(opt.Episodes)), fmt.Sprintf("of %d", len(list)))
	}
	for i, numbers := range opt.Episodes {
		if err := list[i].Store.checkEpisodes(numbers); err != nil {
			return nil, err
		}
	}
	return open(ctx, device, plan, &opt, func(l *Loader, c *chosen) error {
		c.from, c.keep = from, true
		if err := l.choose(ctx, c); err != nil {
			return err
		}
		if err := l.mix(list, weighted, opt.EpochWindows); err != nil {
			return err
		}
		if err := l.count(); err != nil {
			return err
		}
		return from.Guard(func() error {
			for m := range l.parts {
				if err := c.pack(m, from); err != nil {
					return err
				}
			}
			if err := statistics(l.parts, opt.Statistics, c.packedPass(ctx, from)); err != nil {
				return err
			}
			return l.upload(ctx, c, device.Info().Backend == "cpu" && from.built())
		})
	})
}

// mix takes up what the chosen episodes' stores are, and how often they are drawn from.
func (l *Loader) mix(list []Weighted, weighted bool, positions int) error {
	l.numbers = slices.Clone(l.numbers)
	first := 0 // of the store's episodes, in all stores
	for i, s := range list {
		begin := len(l.stores)
		for at := begin; at < len(l.numbers) && l.numbers[at] < first+s.Store.Len(); at++ {
			l.numbers[at] -= first
			l.stores = append(l.stores, i)
		}
		first += s.Store.Len()
		windows := int(l.windows[len(l.stores)] - l.windows[begin])
		r := MixtureReport{Name: s.Store.Name(), Episodes: len(l.stores) - begin, Windows: windows, Weight: s.Weight}
		if weighted && r.Windows == 0 {
			return &MixtureError{i, "windows", "none", "a window at least to draw"}
		}
		r.Share = r.Windows
		l.report.Mixture = append(l.report.Mixture, r)
		if weighted {
			l.order.Sources = append(l.order.Sources, ops.DrawSource{Windows: r.Windows, Weight: r.Weight})
		}
	}
	l.order.Positions = positions
	for i, share := range l.order.Shares() {
		l.report.Mixture[i].Share = share
	}
	for i := range l.report.Mixture {
		r := &l.report.Mixture[i]
		r.Epochs = float64(r.Share) / float64(max(r.Windows, 1))
	}
	if len(list) == 1 && !weighted {
		l.report.Mixture = nil // which says nothing more than the rest
	}
	return nil
}

// StoreOf returns of which of the stores that a loader draws from an episode of a batch is, by its place in the list, and the episode's number
// in it; -1 and -1 for an episode of -1.
func (l *Loader) StoreOf(episode int64) (store, number int) {
	if number = l.EpisodeOf(episode); number < 0 || l.stores == nil {
		return min(number, 0), number
	}
	return l.stores[episode], number
}

// mixtureStates is what a state keeps of a weighted mixture.
func (l *Loader) mixtureStates() (all []MixtureState) {
	if l.order.Sources != nil {
		for _, r := range l.report.Mixture {
			all = append(all, MixtureState{r.Windows, r.Share})
		}
	}
	return all
}

// stores are several, whose episodes are numbered through.
type stores []*Store

func (s stores) Len() int {
	n := 0
	for _, store := range s {
		n += store.Len()
	}
	return n
}

// read reads an episode, whose streams it gives the columns that the first store has.
func (s stores) read(ctx context.Context, i int) (*dataset.Episode, *Episode, error) {
	store, i := s.of(i)
	e, known, err := store.read(ctx, i)
	if err != nil || store == s[0] {
		return e, known, err
	}
	about := *known
	for k := range e.Streams {
		from := &e.Streams[k]
		want := s[0].Stream(from.Name)
		if want == nil {
			continue
		}
		f, why := fit(want.Columns, from.Columns, false)
		if why.Code != "" { // of a stream that is not drawn
			continue
		}
		if from.Values, err = f.of(from.Values); err != nil {
			return nil, known, err
		}
		from.Columns = want.Columns
		about.differ(from.Name, f.differs)
	}
	for k := range e.Empty {
		if want := s[0].Stream(e.Empty[k].Name); want != nil {
			e.Empty[k].Columns = want.Columns
		}
	}
	e.Notes = about.Notes
	return e, &about, nil
}

func (s stores) media(ctx context.Context, i int) ([]dataset.Media, error) {
	store, i := s.of(i)
	return store.media(ctx, i)
}

func (s stores) Format() string { return s[0].Format() }

func (s stores) guard(i int, do func() error) error {
	store, i := s.of(i)
	return store.guard(i, do)
}

// of returns the store of an episode, and its number there.
func (s stores) of(i int) (*Store, int) {
	for ; i >= s[0].Len(); s = s[1:] {
		i -= s[0].Len()
	}
	return s[0], i
}

// Guard calls do under the guards of all.
func (s stores) Guard(do func() error) error {
	if len(s) == 0 {
		return do()
	}
	return s[0].Guard(func() error { return s[1:].Guard(do) })
}

// built reports whether all are in Go's memory, and none in a file that is closed some day.
func (s stores) built() bool {
	return !slices.ContainsFunc(s, func(store *Store) bool { return store.file != nil || store.shards != nil })
}

// whole returns the packed stream of that name if there is one store alone.
func (s stores) whole(name string) *Stream {
	if len(s) > 1 {
		return nil
	}
	return s[0].Stream(name)
}

// alike checks that a store has the streams of the plan as the first one has them.
func (s stores) alike(i int, plan *align.Plan) error {
	if i == 0 {
		return nil
	}
	for _, p := range plan.Streams {
		name := p.From
		if name == "" {
			name = p.Name
		}
		want, got := s[0].Stream(name), s[i].Stream(name)
		var why dataset.Note
		if want != nil && got != nil {
			_, why = fit(want.Columns, got.Columns, false)
		}
		switch {
		case want == nil: // of which Prepare speaks
		case got == nil:
			return &MixtureError{i, "stream " + name, "none", "one, as the first store has it"}
		case why.Code != "":
			return &MixtureError{i, "stream " + name, fmt.Sprintf("%d columns: %s", len(got.Columns), columnNames(got.Columns)),
				fmt.Sprintf("the %d of the first store: %s", len(want.Columns), columnNames(want.Columns))}
		case got.DType() != want.DType():
			return &MixtureError{i, "stream " + name, got.DType().String(), fmt.Sprintf("%s, as the first store has it", want.DType())}
		}
	}
	return nil
}

// columnNames lists the first columns.
func columnNames(columns []dataset.Column) string {
	const most = 8
	text := ""
	for i, c := range columns {
		if i == most {
			return text + ", ..."
		}
		if i > 0 {
			text += ", "
		}
		text += c.Name
	}
	return text
}
