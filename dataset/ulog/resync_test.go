package ulog

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// What is missing or overwritten in a real log costs the samples there and a few around them. No other samples appear, but for the one of a
// message whose end was replaced by as many bytes of another one, which nothing in the file betrays.
func TestBytesMissingFromARealLogCostTheSamplesThere(t *testing.T) {
	whole := filetest.Read(t, "testdata/sample_log_small.ulg")
	want := sampled(t, readBroken(t, whole))
	list := messagesOf(whole)
	first := slices.IndexFunc(list, func(m message) bool { return m.kind == 'D' })
	random := rand.New(rand.NewPCG(1, 2))
	spliced, most := 0, 0
	trials := thorough.Of(30, 60)
	for trial := range trials {
		from := list[first].off + random.IntN(len(whole)-list[first].off-5000)
		to := from + 1 + random.IntN(2000)
		inside := 0
		for _, m := range list[first:] {
			if m.kind == 'D' && m.end() > from && m.off < to {
				inside++
			}
		}
		var data []byte
		if trial%3 == 0 {
			data = slices.Delete(slices.Clone(whole), from, to)
		} else {
			data = slices.Clone(whole)
			for i := from; i < to; i++ {
				data[i] = byte(random.Uint32() * uint32(trial%3-1)) // zeros, or anything
			}
		}
		log := readBroken(t, data)
		lost, strange := compare(want, sampled(t, log))
		assert.LessOrEqual(t, sum(lost), inside+3, "bytes %d to %d, %v", from, to, log.Notes.Damage())
		assert.LessOrEqual(t, strange, 1, "bytes %d to %d, %v", from, to, log.Notes.Damage())
		spliced += strange
		most = max(most, sum(lost)-inside)
	}
	assert.LessOrEqual(t, spliced, trials/20)
	t.Logf("at most %d samples lost besides those that were hit; %d of %d logs have a sample of two halves", most, spliced, trials)
}

func TestAWrongSizeInARealLogCostsAFewSamples(t *testing.T) {
	whole := filetest.Read(t, "testdata/sample_log_small.ulg")
	want := sampled(t, readBroken(t, whole))
	list := messagesOf(whole)
	first := slices.IndexFunc(list, func(m message) bool { return m.kind == 'D' })
	random := rand.New(rand.NewPCG(3, 4))
	most := 0
	for range thorough.Of(30, 60) {
		m := list[first+random.IntN(len(list)-first)]
		data := slices.Clone(whole)
		binary.LittleEndian.PutUint16(data[m.off:], uint16(random.Uint32()))
		log := readBroken(t, data)
		lost, strange := compare(want, sampled(t, log))
		assert.LessOrEqual(t, sum(lost), 3, "byte %d: %v", m.off, log.Notes.Damage())
		assert.Zero(t, strange, "byte %d: %v", m.off, log.Notes.Damage())
		most = max(most, sum(lost))
	}
	t.Logf("at most %d samples lost", most)
}

// A log that was cut keeps all that is before: the message that is not whole is the damage.
func TestACutLogKeepsEachMessageBeforeTheCut(t *testing.T) {
	whole := flight().b
	list := messagesOf(whole)
	for n := headerSize; n <= len(whole); n++ {
		log := readBroken(t, whole[:n])
		samples, start := 0, headerSize
		for _, m := range list {
			if m.end() > n {
				break
			}
			start = m.end()
			if m.kind == 'D' {
				samples++
			}
		}
		got := 0
		for _, s := range log.Streams {
			got += len(s.Nanoseconds())
		}
		assert.Equal(t, samples, got, n)
		assert.Equal(t, int64(n-start), log.Notes.LostBytes(), n)
		if n > start {
			require.Len(t, log.Notes.Damage(), 1, n)
			assert.Equal(t, dataset.CodeRecordCut, log.Notes.Damage()[0].Code, n)
			assert.Equal(t, int64(start), log.Notes.Damage()[0].Cause.(*dataset.FormatError).Offset, n)
		}
	}
}
