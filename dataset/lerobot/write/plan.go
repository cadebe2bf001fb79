package write

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/internal/parquet"
)

// plan fills p with an episode: it checks its streams, reads its images, and encodes its videos. If LeRobot cannot hold the episode, the
// error is an *Error with the episode and the feature.
func (next *planner) plan(ctx context.Context, e *dataset.Episode, b EpisodeOptions, p *episodePlan) error {
	p.tasks, p.names = []string{e.Attributes.Task}, map[string]string{}
	fail := func(name string, err *Error) error {
		err.Episode, err.Feature = next.episode, name
		return err
	}
	if err := p.clock(next.opt.FPS, e); err != nil {
		return fail(err.Feature, err)
	}
	tasks := b.Tasks
	if tasks == nil {
		tasks = next.opt.Tasks
	}
	for i := range e.Streams {
		s := &e.Streams[i]
		if s.Name == "task_index" && tasks != nil {
			if bad := p.rowTasks(s, tasks); bad != nil {
				return fail(s.Name, bad)
			}
			continue
		}
		name, bad := next.opt.featureName(s.Name, b.Names)
		if bad != nil {
			return fail(s.Name, bad)
		}
		p.names[s.Name] = name
		if err := p.addStream(name, s); err != nil {
			return fail(name, err)
		}
	}
	if b.RowTasks != nil && p.taskOf == nil {
		p.setRowTasks(b.RowTasks)
	}
	for _, t := range b.Texts {
		if bad := p.addText(t); bad != nil {
			return fail(t.Name, bad)
		}
	}
	if name, bad := p.addTimes(next.opt, b.Times); bad != nil {
		return fail(name, bad)
	}
	for i := range e.Media {
		m := &e.Media[i]
		name, bad := next.opt.featureName(m.Name, b.Names)
		if bad == nil && m.Source == nil {
			bad = &Error{Kind: dataset.ErrMissing, Got: "no source for its frames", Want: "one"}
		}
		if bad != nil {
			return fail(m.Name, bad)
		}
		p.names[m.Name] = name
		var err error
		switch source, ok := m.Source.(*footage.Source); {
		case ok && (next.opt.Codec == "" || next.copies(source, p.rows)):
			err = p.addVideo(ctx, next, name, m, source)
		case next.opt.Codec != "" && m.Encoding != "tiff" && !(next.opt.KeepImages && (m.Encoding == "png" || m.Encoding == "jpeg")):
			if ok {
				codec := dataset.Detail{Got: next.opt.Codec}
				p.notes.Add(dataset.Note{Code: dataset.CodeFramesEncoded, Subject: m.Name, Count: p.rows, Detail: codec})
			}
			err = p.encodeVideo(ctx, next, name, m)
		default:
			err = p.addImages(ctx, name, m)
		}
		var failed *Error
		if errors.As(err, &failed) {
			return fail(name, failed)
		}
		if err != nil {
			return err // ctx ended
		}
	}
	for _, task := range p.tasks {
		if !utf8.ValidString(task) {
			return fail("", &Error{Kind: dataset.ErrOption, Got: fmt.Sprintf("the task %q", task), Want: "UTF-8"})
		}
	}
	if err := p.order(next.features); err != nil {
		return fail(err.Feature, err)
	}
	p.addStandard(next)
	p.addLists(next, e)
	if err := p.summarise(); err != nil {
		return fail(err.Feature, err)
	}
	p.leave(e, b)
	return ctx.Err()
}

// addStandard creates the columns in every dataset.
func (p *episodePlan) addStandard(next *planner) {
	numbers := next.tasks.numbersOf(p.tasks)
	for _, f := range standardFeatures() {
		if f.dtype == dtypeFloat32 {
			seconds := make([]float32, p.rows)
			for i := range seconds {
				seconds[i] = float32(float64(i) / next.opt.FPS)
			}
			p.addNumbers(f, parquet.Values{Float32: seconds})
			continue
		}
		values := make([]int64, p.rows)
		for i := range values {
			switch f.name {
			case "frame_index":
				values[i] = int64(i)
			case "episode_index":
				values[i] = int64(next.episode)
			case "index":
				values[i] = int64(next.frames + i)
			case "task_index":
				values[i] = int64(numbers[0])
				if p.taskOf != nil {
					values[i] = int64(numbers[p.taskOf[i]])
				}
			}
		}
		p.addNumbers(f, parquet.Values{Int64: values})
	}
}

// leave records content that the format cannot store.
func (p *episodePlan) leave(e *dataset.Episode, b EpisodeOptions) {
	if p.start != 0 && len(b.Times) == 0 {
		p.left = append(p.left, "the time of the first row")
	}
	if e.Attributes.Success != nil {
		p.left = append(p.left, "success")
	}
	for name := range e.Attributes.Other {
		written := slices.ContainsFunc(b.Texts, func(t TextFeature) bool { return t.Attribute == name }) ||
			b.RowTasks != nil && slices.ContainsFunc(e.Texts, func(t dataset.TextStream) bool { return t.Task && t.Name == name })
		if name != "episode_index" && !written { // belongs to the source dataset
			p.left = append(p.left, name)
		}
	}
	sort.Strings(p.left)
}
