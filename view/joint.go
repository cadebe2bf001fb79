package view

import (
	"path"
	"regexp"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/recognise"
)

// joint is a column in the action, with the columns that have its name in a state and in the prediction.
type joint struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Parts []member `json:"parts"` // the columns with this name, the state's first
}

// member is a stream's column.
type member struct {
	Role   string `json:"role"` // "state", "action" or "prediction"
	Stream string `json:"stream"`
	Column int    `json:"column"`
}

// numbered matches column names that are only numbers, such as "3".
var numbered = regexp.MustCompile(`^\d+$`)

// joints returns the action's columns that a state or the prediction also has. The first state in order counts. Numbered columns match
// only the prediction's columns.
func (e *entry) joints(order []string) []joint {
	list := []joint{}
	at := slices.IndexFunc(order, func(name string) bool { return recognise.IsAction(path.Base(name)) })
	if at < 0 {
		return list
	}
	action := e.Stream(order[at])
	for k, c := range action.Columns {
		j := joint{Name: c.Name, Unit: unitOf(action, c.Name)}
		add := func(role string, s *dataset.Stream) bool {
			column := s.Column(c.Name)
			if column >= 0 {
				j.Parts = append(j.Parts, member{role, s.Name, column})
			}
			return column >= 0
		}
		for _, name := range order {
			if !numbered.MatchString(c.Name) && recognise.NotState(name) == "" && add("state", e.Stream(name)) {
				break
			}
		}
		j.Parts = append(j.Parts, member{"action", action.Name, k})
		for i := range e.predicted {
			add("prediction", &e.predicted[i])
		}
		if len(j.Parts) > 1 {
			list = append(list, j)
		}
	}
	return list
}
