package view

import (
	"sync"
)

// summary is an episode in the list.
type summary struct {
	Number   int      `json:"number"`
	Name     string   `json:"name"`
	Task     string   `json:"task,omitempty"`
	Success  *bool    `json:"success,omitempty"`
	Seconds  float64  `json:"seconds"`
	Steps    bool     `json:"steps,omitempty"`
	Streams  int      `json:"streams"`
	Cameras  int      `json:"cameras"`
	Clouds   int      `json:"clouds,omitempty"`
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	Kinds    []string `json:"kinds"`           // of the findings, each once
	Error    string   `json:"error,omitempty"` // why it cannot be read
}

// listing has the summaries of the episodes that scan has read.
type listing struct {
	mu    sync.Mutex
	known []*summary // nil if an episode is not read yet
	order []int      // in which they were read
}

func (l *listing) init(n int) { l.known = make([]*summary, n) }

func (l *listing) add(s *summary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[s.Number] == nil {
		l.order = append(l.order, s.Number)
		l.known[s.Number] = s
	}
}

func (l *listing) has(i int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known[i] != nil
}
