package topics

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

// stamped returns messages of a channel whose headers have 1000, 2000, ... ns, logged at first, first+step, ...
func stamped(channel int, first, step int64) (list []Message) {
	for i := range 200 {
		list = append(list, at(channel, first+int64(i)*step, byte(i+1), 2))
	}
	return list
}

func TestHeadersAreComparedWithTheLogTime(t *testing.T) {
	const ms = int64(time.Millisecond)
	note := func(code dataset.Code, got, want, unit string, names ...string) dataset.Note {
		return dataset.Note{Code: code, Subject: "/x", Count: 200, Detail: dataset.Detail{Got: got, Want: want, Unit: unit, Names: names}}
	}
	for name, c := range map[string]struct {
		messages []Message
		want     dataset.Notes
	}{
		"the same":   {stamped(0, 1000, 1000), nil},
		"late":       {stamped(0, 1000+60*ms, 1000), dataset.Notes{note(dataset.CodeHeaderLatency, "60ms", "0s", "", "/y")}},
		"nearly":     {stamped(0, 1000+40*ms, 1000), nil},
		"drift":      {stamped(0, 1000, 20*ms), dataset.Notes{note(dataset.CodeHeaderDrift, "2.99985s", "2.98s", "1e+02")}},
		"epoch":      {stamped(0, 1e18, 1000), dataset.Notes{note(dataset.CodeHeaderEpoch, "1000", "1000000000000000000", "")}},
		"few":        {stamped(0, 1e18, 1000)[:9], nil},
		"in seconds": {stamped(0, 1000*1e9, 1e12), dataset.Notes{note(dataset.CodeHeaderEpoch, "1000", "1000000000000", "seconds")}},
	} {
		log := &fakeLog{channels: channelsOf("/x", "cdr", "pair", "/y", "cdr", "pair"), parts: [][]Message{c.messages, stamped(1, 1000, 1000)}}
		e := readAll(t, log, dataset.Options{})
		var found dataset.Notes
		for _, n := range e.Notes {
			if n.Code != dataset.CodeHeaderFields {
				found = append(found, n)
			}
		}
		assert.Equal(t, c.want, found, name)
	}
}
