package batching

import "github.com/robocache/robocache/dataset"

// Absent says how many of the episodes that an input declares are not there. Its JSON names are a contract.
type Absent struct {
	Input string `json:"input"` // its path
	dataset.Absent
}

// AbsentOf returns what is not there of an input that was opened, nil if all that it declares is.
func AbsentOf(path string, d dataset.Dataset) *Absent {
	if a := d.Info().Absent; a.Episodes > 0 {
		return &Absent{path, a}
	}
	return nil
}

// String says it as the commands do: "dataset/: 11 of 25 declared episodes are not there: ...".
func (a *Absent) String() string { return a.Input + ": " + a.Absent.String() }
