package view

import (
	"sync"

	"github.com/robocache/robocache/internal/caught"
)

// lazy is a value that the first call of get computes. A panic in the computation is its error.
type lazy[T any] struct {
	sync.Once
	value T
	err   error
}

func (l *lazy[T]) get(do func() (T, error)) (T, error) {
	l.Do(func() { l.err = caught.Do(func() (err error) { l.value, err = do(); return err }) })
	return l.value, l.err
}
