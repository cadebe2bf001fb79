package batching

import (
	"github.com/robocache/robocache/dataset"
)

// Watch receives progress and notes. Its functions may be nil.
type Watch struct {
	Step     func(what string) (done func())
	Counting func(what string, of int) (one, done func())
	Note     func(dataset.Note)
}

func (w *Watch) step(what string) func() {
	if w.Step == nil {
		return func() {}
	}
	return w.Step(what)
}

func (w *Watch) note(code dataset.Code, subject string, detail dataset.Detail) {
	w.add(dataset.Note{Code: code, Subject: subject, Detail: detail})
}

func (w *Watch) add(n dataset.Note) {
	if w.Note != nil {
		w.Note(n)
	}
}
