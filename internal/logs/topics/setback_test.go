package topics

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// written returns messages of a channel in the order of the file: from, from+step and so on.
func written(channel int, from, step int64, n int) (list []Message) {
	for i := range n {
		list = append(list, at(channel, from+int64(i)*step, 1, 2))
	}
	return list
}

// timesOf returns a topic's times, which are in order.
func timesOf(t *testing.T, e *dataset.Episode, topic string) []int64 {
	t.Helper()
	require.NotNil(t, e.Stream(topic))
	times := e.Stream(topic).Nanoseconds()
	assert.IsIncreasing(t, times)
	return times
}

func TestAClockThatIsSetBackSplitsALog(t *testing.T) {
	// Of /slow the step is none in its own channel: 0, 50, then 30 of the second stretch.
	log := &fakeLog{channels: channelsOf("/fast", "", "pair", "/slow", "", "wide", "/other", "", "pair"), parts: [][]Message{
		append(written(0, 0, 1, 70), at(1, 0, 1), at(1, 50, 1)), written(2, 0, 2, 35), append(append(written(0, 30, 1, 60), at(1, 80, 1)), written(2, 31, 2, 29)...)}}
	_, err := read(context.Background(), log, dataset.Options{}, open)
	var back *dataset.SetBackError
	require.ErrorAs(t, err, &back)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.Equal(t, []any{"/fast", 70, int64(69), int64(30), time.Duration(39), 2},
		[]any{back.Subject, back.Message, back.From, back.To, back.Overlap, back.Stretches})
	for n, want := range []struct {
		fast, slow int
		first      int64
		others     int
	}{{70, 2, 0, 90}, {60, 1, 30, 107}} {
		e := readAll(t, log, dataset.Options{Stretch: n + 1})
		fast := timesOf(t, e, "/fast")
		assert.Len(t, fast, want.fast)
		assert.Equal(t, want.first, fast[0])
		assert.Len(t, timesOf(t, e, "/slow"), want.slow)
		assert.Equal(t, &dataset.Note{Code: dataset.CodeOtherStretches, Count: want.others, Detail: dataset.Detail{Got: strconv.Itoa(n + 1), Of: 2}},
			e.Notes.Find(dataset.CodeOtherStretches))
		again, err := back.Read(context.Background(), n+1)
		require.NoError(t, err)
		assert.Equal(t, fast, timesOf(t, again, "/fast"))
	}
	all := readAll(t, log, dataset.Options{Stretch: -1})
	assert.Len(t, all.Stream("/fast").Nanoseconds(), 130)
	assert.Equal(t, 1, all.Notes.Find(dataset.CodeBackSteps).Count)
	_, err = read(context.Background(), log, dataset.Options{Stretch: 3}, open)
	assert.ErrorIs(t, err, dataset.ErrOption)
	_, _, err = Check(context.Background(), dataset.Options{Stretch: -2})
	assert.ErrorIs(t, err, dataset.ErrOption)
}

// One message out of its place, publishers that write one after the other, and a log in any order are no clock that was set.
func TestOtherOrdersAreSortedAndCounted(t *testing.T) {
	shuffled := []Message{}
	for i := range 20 {
		shuffled = append(append(shuffled, written(0, int64(20*i+10), 1, 10)...), written(0, int64(20*i), 1, 10)...)
	}
	for name, c := range map[string]struct {
		messages []Message
		late     int
	}{
		"late":       {append(append(written(0, 0, 1, 30), at(0, 12, 1, 2)), written(0, 30, 1, 30)...), 1},
		"early":      {append(append(written(0, 0, 1, 30), at(0, 99, 1, 2)), written(0, 30, 1, 30)...), 1},
		"publishers": {append(written(0, 0, 2, 30), written(1, 1, 2, 30)...), 1},
		"shuffled":   {shuffled, 20},
	} {
		log := &fakeLog{channels: channelsOf("/x", "", "pair", "/x", "", "pair"), parts: [][]Message{c.messages[:7], c.messages[7:]}}
		e := readAll(t, log, dataset.Options{})
		assert.IsNonDecreasing(t, e.Stream("/x").Nanoseconds(), name)
		assert.Equal(t, c.late, e.Notes.Find(dataset.CodeBackSteps).Count, name)
	}
}

// Headers of another clock keep the order of the file, also where the log time was set back.
func TestHeadersKeepTheOrderOfALogThatWasSetBack(t *testing.T) {
	log := &fakeLog{channels: channelsOf("/x", "", "pair"), parts: [][]Message{append(written(0, 100, 1, 40), written(0, 120, 1, 40)...)}}
	for i := range log.parts[0] {
		log.parts[0][i].Publish = int64(i)
	}
	times := timesOf(t, readAll(t, log, dataset.Options{Clock: "publish"}), "/x")
	assert.Equal(t, []int64{0, 79}, []int64{times[0], times[79]})
}

func TestAClockThatStandsStillIsNoted(t *testing.T) {
	still := written(0, 0, 0, 3)
	for i := range still {
		still[i].Publish = int64(i)
	}
	log := &fakeLog{channels: channelsOf("/x", "", "pair", "/latched", "", "pair"), parts: [][]Message{append(still, written(1, 5, 0, 3)...)}}
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeClockStill, Subject: "/x", Count: 3, Detail: dataset.Detail{Got: "log", Want: "publish", Unit: "0"}}},
		readAll(t, log, dataset.Options{}).Notes)
	e := readAll(t, log, dataset.Options{Clock: "publish"})
	assert.Nil(t, e.Notes.Find(dataset.CodeClockStill))
	for i := range still {
		log.parts[0][i].Log, log.parts[0][i].Publish = int64(i), 0
	}
	e = readAll(t, log, dataset.Options{Clock: "publish"})
	assert.Equal(t, []int64{0, 1, 2}, e.Stream("/x").Nanoseconds(), "publish times that stand still are none")
	assert.Equal(t, "/x", e.Notes.Find(dataset.CodePublishTimeNone).Subject)
}
