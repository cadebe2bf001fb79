package convert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	lerobotwrite "github.com/robocache/robocache/dataset/lerobot/write"
)

// LeRobot returns the target for LeRobot datasets. A piece is one dataset. In version 2.1 each episode has its own files, and the
// language columns of LeRobot 0.6 are left out with a note.
//
// Frame i of an episode is at i/FPS. If it was recorded at another time, two kinds of columns keep that time in whole nanoseconds:
// capture_time for the row, and capture_time.<camera> for the camera's frame. The dataset has them if the first episode is
// resampled, or has times other than i/FPS, or if an input has them. An episode without them gets its row times. Videos from
// LeRobot datasets are copied without decoding if each row has the next frame.
//
// Clouds, cameras with more than 8 bits (mostly depth) and video without a decoder are left out with a note. A stream with NaN or
// infinite values in all episodes is left out too, because the statistics for a policy would be NaN. If the options name such a
// stream, or if its name is an observation or action, the episode is refused instead.
//
// The first complete episode defines the dataset's streams. An episode that lost some of them, because they are unreadable,
// unordered, empty or not finite, is refused with that reason in any position. If a later episode reveals the loss, a *SpoiledError
// makes the piece again without the damaged episode.
func LeRobot(opt LeRobotOptions) (Target, error) {
	opt.Cameras, opt.Codec, opt.Extra = cmp.Or(opt.Cameras, Cameras[0]), cmp.Or(opt.Codec, "av1"), cmp.Or(opt.Extra, Extras[0])
	switch {
	case opt.Version != "" && !slices.Contains(lerobotwrite.Versions, opt.Version):
		return nil, refuse("Version", strconv.Quote(opt.Version), strings.Join(lerobotwrite.Versions, ", "))
	case !slices.Contains(Extras, opt.Extra):
		return nil, refuse("Extra", fmt.Sprintf("%q", opt.Extra), strings.Join(Extras, ", "))
	case !slices.Contains(Cameras, opt.Cameras):
		return nil, refuse("Cameras", fmt.Sprintf("%q", opt.Cameras), strings.Join(Cameras, ", "))
	case !slices.Contains(lerobotwrite.Codecs(), opt.Codec):
		return nil, refuse("Codec", fmt.Sprintf("%q", opt.Codec), strings.Join(lerobotwrite.Codecs(), ", "))
	}
	for _, vector := range []struct {
		arg  string
		list []string
	}{{"State", opt.State}, {"Action", opt.Action}} {
		for i, name := range vector.list {
			if slices.Contains(vector.list[:i], name) {
				return nil, refuse(vector.arg, name+" twice", "each stream once")
			}
		}
	}
	for _, name := range opt.State {
		if slices.Contains(opt.Action, name) {
			return nil, refuse("Action", name+", which is of the state too", "each stream in one of them")
		}
	}
	return &toLeRobot{opt}, nil
}

type toLeRobot struct{ opt LeRobotOptions }

// Name returns "lerobot" for version 3.0, and "lerobot-2.1" for that.
func (t *toLeRobot) Name() string {
	if t.is21() {
		return "lerobot-" + t.opt.Version
	}
	return "lerobot"
}

func (t *toLeRobot) is21() bool { return t.opt.Version == lerobotwrite.Versions[1] }

func (t *toLeRobot) Traits() Traits {
	return Traits{Rows: true, Whole: true, Unmasked: true, Integers: true, Lists: !t.is21()}
}

func (t *toLeRobot) Settings() any { return t.opt }

func (t *toLeRobot) Create(_ context.Context, path string, p Piece) (Writer, error) {
	return &leRobotWriter{opt: t.opt, path: path, piece: p}, nil
}

func (l *leRobotWriter) Commit(ctx context.Context) error {
	if l.w == nil {
		return &lerobotwrite.Error{Episode: -1, Kind: lerobotwrite.ErrNoEpisodes, Got: "none", Want: "at least one: LeRobot does not load a dataset without"}
	}
	return l.w.Commit(ctx)
}

// Notes returns the notes about the dataset as a whole, after Commit.
func (l *leRobotWriter) Notes() (list dataset.Notes) {
	list = l.notes
	for _, n := range l.w.Report().Notes {
		if n.Code == dataset.CodeSplitOrder {
			list = append(list, n)
		}
	}
	return list
}

func (l *leRobotWriter) Close() error {
	if l.w == nil {
		return nil
	}
	return l.w.Close()
}

func (l *leRobotWriter) Add(ctx context.Context, e *Episode) (Kept, error) {
	if e.Steps {
		return Kept{}, &RefusedError{&lerobotwrite.Error{
			Episode: -1, Kind: lerobotwrite.ErrNotAligned, Got: "times that count steps, because the stream has no rate", Want: "the rate (--rate)",
		}}
	}
	own, names, stamps, kept, err := l.arrange(ctx, e)
	if err == nil {
		err = l.compare(e, own, names, &kept)
	} else {
		err = &RefusedError{err}
	}
	if err != nil {
		return Kept{}, errors.Join(err, l.anew())
	}
	if l.w == nil {
		if err := l.begin(ctx, e); err != nil {
			return Kept{}, err
		}
	}
	if l.columns == nil {
		l.capture = l.captures(e, own, names)
	}
	times := l.captured(e, names, stamps, &kept)
	forget(e)
	for i := range own.Streams {
		s := &own.Streams[i]
		ordered, moved, err := inOrder(s, l.columns[s.Name])
		if err != nil {
			return Kept{}, err
		}
		if moved {
			kept.Notes.Add(dataset.Note{Code: dataset.CodeColumnsReordered, Subject: s.Name, Detail: dataset.Detail{Names: s.ColumnNames()}})
			*s = ordered
		}
	}
	b := lerobotwrite.EpisodeOptions{Splits: e.Splits, Tasks: l.piece.Inputs[e.Input].Tasks, Names: names, Times: times}
	held := kept.undecoded(own)
	b.Undecoded = func(media string, row int, err error) { _ = held(media, row, err) } // the writer has the limit
	l.texts(e, &b)
	before := l.w.Report()
	written := own
	if l.piece.Dry && len(own.Streams) > 0 {
		numbers := *own
		numbers.Media = nil
		written = &numbers
	}
	if err := l.w.AddWith(ctx, written, b); err != nil {
		var bad *lerobotwrite.Error
		if errors.As(err, &bad) && l.w.Err() == nil {
			bad.Episode = -1 // because it counts written episodes, and the report has the episode's own number
			err = errors.Join(&RefusedError{err}, l.anew())
		}
		return Kept{}, err
	}
	if n := len(l.lossy); n > 0 && maps.EqualFunc(l.lossy[n-1].lost, e.Lost, func(a, b dataset.Note) bool { return a.String() == b.String() }) { // as of logs of the same topics
		l.lossy = append(l.lossy, lossy{e.Number, l.lossy[n-1].lost})
	} else if len(e.Lost) > 0 {
		l.lossy = append(l.lossy, lossy{e.Number, e.Lost})
	}
	if l.has == nil {
		for _, name := range slices.Sorted(maps.Keys(l.opt.Names)) {
			if _, there := kept.Samples[name]; !there && kept.Notes.LeftOut(name) == nil {
				kept.Notes.Add(dataset.Note{Code: dataset.CodeNameUnused, Subject: name})
			}
		}
		l.columns = map[string][]string{}
		for i := range own.Streams {
			l.columns[own.Streams[i].Name] = own.Streams[i].ColumnNames()
		}
		l.first, l.has = own.Name, map[string]string{}
		for _, name := range own.Names() {
			l.has[cmp.Or(names[name], name)] = name
		}
		for i := range own.Media {
			l.has[names[own.Media[i].Name]] = own.Media[i].Name
		}
	}
	kept.Notes.Join(changed(before, l.w.Report()))
	return kept, nil
}

// anew discards the dataset that a refused first episode began, because the first written episode defines the features.
func (l *leRobotWriter) anew() error {
	if l.has != nil {
		return nil
	}
	err := l.Close()
	l.w, l.left, l.notes = nil, nil, nil
	return err
}

// forget frees an arranged episode's recorded numbers, and the streams that were joined to states and actions, because they take as much
// memory as the written numbers.
func forget(e *Episode) {
	e.Streams, e.Recorded = nil, nil
	if e.Aligned != nil {
		e.Aligned.Streams = nil
	}
}

// changed returns the notes about an episode that was written, by the reports before and after it.
func changed(before, after lerobotwrite.Report) (notes dataset.Notes) {
	if after.Moved > before.Moved && after.Moved > 100*time.Microsecond {
		notes.Add(dataset.Note{Code: dataset.CodeFramesMoved})
	}
	for i, n := range after.Notes {
		if i >= len(before.Notes) || n.Count > before.Notes[i].Count {
			if i < len(before.Notes) {
				n.Count -= before.Notes[i].Count
			}
			notes = append(notes, n)
		}
	}
	return notes
}

// begin creates the dataset with the features of its first episode.
func (l *leRobotWriter) begin(ctx context.Context, e *Episode) (err error) {
	l.fps = cmp.Or(l.piece.Rate, e.Rate)
	robot, _ := l.shared("robot_type")
	opt := lerobotwrite.Options{
		FPS: l.fps, Version: l.opt.Version, RobotType: cmp.Or(l.opt.RobotType, robot), Overwrite: true,
		Codec: l.opt.Codec, KeepImages: l.opt.Cameras == "auto" && e.Aligned == nil,
	}
	if l.opt.Cameras == "image" {
		opt.Codec = ""
	}
	opt.FirstTasks = l.annotated()
	if opt.Modality, l.notes, err = l.modality(ctx, e); err != nil {
		return err
	}
	tools, differ := l.shared("tools")
	if opt.Tools = json.RawMessage(tools); !json.Valid(opt.Tools) {
		opt.Tools = nil
	}
	if differ {
		l.notes = append(l.notes, dataset.Note{Code: dataset.CodeInputsDiffer, Subject: "tools"})
	}
	l.w, err = lerobotwrite.Create(l.path, opt)
	return err
}

// arrange returns the episode to write as own, the dataset's names for its streams as names, the recorded capture times of an input that
// was converted before, ns by column, as stamps, and the counts and notes about the streams of e as kept.
func (l *leRobotWriter) arrange(ctx context.Context, e *Episode) (own *dataset.Episode, names map[string]string, stamps map[string][]int64, kept Kept, err error) {
	kept.Samples = map[string]int{}
	names, stamps = map[string]string{}, map[string][]int64{}
	copied := *e.Episode
	own = &copied
	own.Streams, own.Media = nil, nil
	l.opt.State, l.opt.Action = joined(l.opt.State, e), joined(l.opt.Action, e)
	for _, vector := range []struct {
		name  string
		parts []string
	}{{"observation.state", l.opt.State}, {"action", l.opt.Action}} {
		if len(vector.parts) == 0 {
			continue
		}
		s, err := beside(e, vector.name, vector.parts)
		if err != nil {
			return nil, nil, nil, kept, err
		}
		own.Streams = append(own.Streams, s)
	}
	first := l.left == nil
	if err := l.notFinite(e); err != nil {
		return nil, nil, nil, kept, err
	}
	if first {
		if err := l.unheld(e); err != nil {
			return nil, nil, nil, kept, err
		}
	}
	for _, s := range e.Streams {
		if why, left := l.left[s.Name]; left {
			kept.leave(s.Name, s.Len(), why)
			continue
		}
		if l.knowsTasks(e, s.Name) {
			kept.leave(s.Name, s.Len(), noPlace("task numbers next to the texts", "LeRobot"))
			continue
		}
		kept.Samples[s.Name] = s.Len()
		times, err := l.stamps(&s, e.Times)
		if err != nil {
			return nil, nil, nil, kept, err
		}
		if times != nil {
			stamps[s.Name] = times
			continue
		}
		if slices.Contains(l.opt.State, s.Name) || slices.Contains(l.opt.Action, s.Name) {
			continue
		}
		if isAnnotation(&s) && e.Aligned == nil {
			if s, err = l.renumbered(s, l.piece.Inputs[e.Input].Tasks); err != nil {
				return nil, nil, nil, kept, err
			}
		}
		own.Streams = append(own.Streams, s)
		names[s.Name] = l.name(s.Name, "")
	}
	for i := range e.Media {
		m, why := l.media(ctx, &e.Media[i], e.Times)
		if why.Code != "" {
			kept.leave(m.Name, m.Len(), why)
			continue
		}
		if _, video := lerobot.Cut(&m, 0, m.Len()); !video && l.encodes(&m, e.Aligned != nil) {
			kept.Notes.Add(dataset.Note{Code: dataset.CodeFramesEncoded, Subject: m.Name, Detail: dataset.Detail{Got: string(l.opt.Codec)}})
		}
		own.Media = append(own.Media, m)
		names[m.Name] = l.camera(&e.Media[i])
		kept.Samples[m.Name] = m.Len()
	}
	for _, c := range e.Clouds {
		kept.leave(c.Name, c.Len(), dataset.Note{Code: dataset.CodeNoPlace, Detail: dataset.Detail{Want: "LeRobot", Unit: "point clouds"}})
	}
	return own, names, stamps, kept, nil
}
