package write

import (
	"errors"

	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/summary"
)

// episodeLines writes version 2.1's meta/episodes.jsonl and meta/episodes_stats.jsonl: a line for each episode.
type episodeLines struct {
	features        []*featureTotals // the dataset's
	episodes, stats lines
}

// add adds an episode's lines.
func (t *episodeLines) add(r episodeRow) error {
	stats := orderjson.Object{}
	for i, f := range t.features {
		s := &r.plan.features[i].stats
		columns := s.columns
		if f.visual() && len(columns) == 1 { // LeRobot 2.1 requires three channels
			columns = []summary.Column{columns[0], columns[0], columns[0]}
		}
		if f.statNames() != nil {
			stats.Add(f.name, f.statsJSON(columns, s.frames))
		}
	}
	return errors.Join(
		t.episodes.add(orderjson.Of("episode_index", r.index, "tasks", r.plan.tasks, "length", r.plan.rows)),
		t.stats.add(orderjson.Of("episode_index", r.index, "stats", stats)),
	)
}

// finish completes both files and writes meta/tasks.jsonl.
func (t *episodeLines) finish(tasks []string) error {
	list := lines{in: t.episodes.in, path: layout.TaskLines}
	defer list.abandon()
	for i, task := range tasks {
		if err := list.add(orderjson.Of("task_index", i, "task", task)); err != nil {
			return err
		}
	}
	return errors.Join(list.finish(), t.episodes.finish(), t.stats.finish())
}

// abandon closes the open files.
func (t *episodeLines) abandon() {
	t.episodes.abandon()
	t.stats.abandon()
}
