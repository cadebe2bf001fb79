package write

import (
	"path/filepath"

	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// taskList holds a dataset's tasks. A task's number is its index in the list.
type taskList struct {
	texts   []string
	numbers map[string]int
}

// numbersOf returns the numbers for an episode's distinct tasks. New tasks get the next numbers.
func (l *taskList) numbersOf(tasks []string) []int {
	next := len(l.texts)
	list := make([]int, len(tasks))
	for i, task := range tasks {
		n, ok := l.numbers[task]
		if !ok {
			n, next = next, next+1
		}
		list[i] = n
	}
	return list
}

// add adds an episode's new tasks.
func (l *taskList) add(tasks []string) {
	for i, n := range l.numbersOf(tasks) {
		if n >= len(l.texts) {
			l.texts = append(l.texts, tasks[i])
			l.numbers[tasks[i]] = n
		}
	}
}

// write writes meta/tasks.parquet: a pandas data frame with the task's text as index.
func (l *taskList) write(in *outputFolder) error {
	out, err := in.create(filepath.FromSlash(layout.TasksFile))
	if err != nil {
		return err
	}
	table := parquet.NewWriter(out, []parquet.Field{{Name: "task_index", Type: dtypeInt64}, {Name: "task", Type: dtypeString}},
		map[string]string{"pandas": pandasTasks})
	s := series{in: in, out: out, table: table}
	numbers := make([]int64, len(l.texts))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	if err := s.write(len(numbers), []parquet.Values{{Int64: numbers}, {Texts: l.texts}}); err != nil {
		s.abandon()
		return err
	}
	return s.finish()
}

// pandasTasks makes "task" the data frame's index in pandas. Without it the task would be an ordinary column, and the index a number.
const pandasTasks = `{"index_columns": ["task"], "column_indexes": [{"name": null, "field_name": null, "pandas_type": "unicode", ` +
	`"numpy_type": "object", "metadata": {"encoding": "UTF-8"}}], "columns": [{"name": "task_index", "field_name": "task_index", ` +
	`"pandas_type": "int64", "numpy_type": "int64", "metadata": null}, {"name": "task", "field_name": "task", "pandas_type": "unicode", ` +
	`"numpy_type": "object", "metadata": null}], "creator": {"library": "robocache", "version": "1"}, "pandas_version": "2.3.3"}`
