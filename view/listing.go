package view

import (
	"slices"
	"sync"

	"github.com/robocache/robocache/doctor"
)

// summary is an episode in the list.
type summary struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Task     string   `json:"task,omitempty"`
	Success  *bool    `json:"success,omitempty"`
	Seconds  float64  `json:"seconds"`
	Steps    bool     `json:"steps,omitempty"`
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	Kinds    []string `json:"kinds"`           // the findings' kinds, each once
	Error    string   `json:"error,omitempty"` // why it cannot be read
}

// count adds a finding to an episode's counts.
func (n *summary) count(f *doctor.Finding) {
	switch f.Severity {
	case doctor.Error:
		n.Errors++
	case doctor.Warning:
		n.Warnings++
	}
	if !slices.Contains(n.Kinds, string(f.Kind)) {
		n.Kinds = append(n.Kinds, string(f.Kind))
	}
}

// listing has a summary for each episode that scan has read.
type listing struct {
	mu       sync.Mutex
	known    map[int]*summary // by number, if the episode was read
	order    []int            // episode numbers in the order in which they were read or changed
	done     bool             // all episodes were examined
	compared []doctor.Finding // about the dataset; when done also from comparing all episodes
}

func (l *listing) init(compared []doctor.Finding) {
	l.known, l.compared = map[int]*summary{}, compared
}

func (l *listing) add(s *summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.order = append(l.order, s.Number)
	l.known[s.Number] = s
}

// finish adds the findings from comparing all episodes.
func (l *listing) finish(compared []doctor.Finding) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.compared = true, compared
	for _, f := range compared {
		if f.Episode != doctor.Whole {
			l.known[f.Episode].count(&f)
			l.order = append(l.order, f.Episode)
		}
	}
}

// of returns the findings from the comparison about an episode, or about the dataset for doctor.Whole.
func (l *listing) of(episode int) []doctor.Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return (&doctor.Report{Findings: l.compared}).Of(episode)
}
