package doctor

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// swapped is a recording whose joints are in another order.
func swapped(seed uint64) map[string]*tape {
	tapes := recording(seed)
	j := tapes["joints"]
	j.columns[0], j.columns[2] = j.columns[2], j.columns[0]
	for _, row := range j.rows {
		row[0], row[2] = row[2], row[0]
	}
	return tapes
}

// halved is a recording of half the rate.
func halved(seed uint64) map[string]*tape {
	tapes := recording(seed)
	j := tapes["joints"]
	for i := range len(j.rows) / 2 {
		j.rows[i], j.times[i] = j.rows[2*i], j.times[2*i]
	}
	j.rows, j.times = j.rows[:len(j.rows)/2], j.times[:len(j.times)/2]
	return tapes
}

func without(seed uint64, names ...string) map[string]*tape {
	tapes := recording(seed)
	for _, n := range names {
		delete(tapes, n)
	}
	return tapes
}

// What differs between the episodes of a folder is found once, and so is what differs between recordings of one command.
func TestRecordingsThatBelongTogetherAreCompared(t *testing.T) {
	for _, c := range []struct {
		name, stream, why string
		kind              Kind
		other             map[string]*tape
	}{
		{"another order", "joints", "in another order", Schema, swapped(2)},
		{"another rate", "joints", "it comes at ", MixedRates, halved(2)},
		{"streams lacking", "tracker", "heading", Schema, without(2, "tracker", "heading")},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := &memory{}
			for i := range uint64(4) {
				e := episodeOf(t, recording(i))
				if i == 2 {
					e = episodeOf(t, c.other)
				}
				e.Attributes.Source = fmt.Sprintf("folder/%d.bag", i)
				folder.episodes = append(folder.episodes, e)
			}
			one := examined(t, folder, Options{Path: "folder"})
			both := examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, recording(1))}}, Options{Path: "first"})
			both.Add(examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, c.other)}}, Options{Path: "second"}))
			for where, list := range map[string][]Finding{"folder": one.Findings, "second": both.Findings} {
				require.Len(t, list, 1, where)
				f := list[0]
				assert.Equal(t, []any{c.kind, Warning, c.stream, where, Whole, 1}, []any{f.Kind, f.Severity, f.Subject(), f.Path, f.Episode, f.Count})
				assert.Contains(t, f.Why, c.why)
				assert.NotEmpty(t, f.WhatToDo)
				if where == "folder" {
					assert.Contains(t, f.Why, "episode 2 (2.bag)")
				}
			}
		})
	}
}

// Datasets of different robots may be examined with one command, and a stream that most episodes lack is one that is used now and then.
func TestWhatDoesNotBelongTogetherIsNotCompared(t *testing.T) {
	r := examined(t, &memory{episodes: []*dataset.Episode{episodeOf(t, recording(1))}}, Options{Path: "first"})
	other := swapped(2)
	for _, k := range other {
		if k.name != "joints" {
			k.name = "/" + k.name
		}
	}
	e := &dataset.Episode{}
	for _, k := range other {
		e.Streams = append(e.Streams, k.stream(t))
	}
	r.Add(examined(t, &memory{episodes: []*dataset.Episode{e}}, Options{Path: "second"}))
	r.Add(Unopened("third", fmt.Errorf("broken")))
	for _, f := range r.Findings {
		assert.Equal(t, Unreadable, f.Kind, f.Why)
	}
	folder := &memory{}
	for i := range uint64(5) {
		tapes := without(i, "tracker")
		if i == 3 {
			tapes = recording(i)
		}
		folder.episodes = append(folder.episodes, episodeOf(t, tapes))
	}
	assert.Empty(t, examined(t, folder, Options{}).Findings)
}

// The streams that a damaged episode lacks are in its lost parts, so the topics were recorded.
func TestDamagedEpisodesAreNotBlamedForMissingStreams(t *testing.T) {
	folder := &memory{}
	damage := dataset.Notes{{Code: dataset.CodeNotClosed, Count: 1}}
	for i := range uint64(5) {
		e := episodeOf(t, recording(i))
		if i%3 == 0 {
			e = &dataset.Episode{Notes: damage}
		}
		folder.episodes = append(folder.episodes, e)
	}
	r := examined(t, folder, Options{Path: "folder"})
	part := episodeOf(t, without(2, "tracker"))
	part.Notes = damage
	r.Add(examined(t, &memory{episodes: []*dataset.Episode{part}}, Options{Path: "part"}))
	require.Len(t, r.Findings, 3)
	for _, f := range r.Findings {
		assert.Equal(t, Damaged, f.Kind, f.Why)
	}
}
