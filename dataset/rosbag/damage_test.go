package rosbag

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

func TestMessagesOfAnUnknownConnectionAreCounted(t *testing.T) {
	w := newBuild().connection(0, "/a", "p/F", float).message(9, 10, []byte("x")).message(0, 20, []byte("y")).message(9, 30, []byte("z")).end("lz4")
	list, damage := parse(t, w.close())
	assert.Equal(t, []told{{"/a", "p/F", 20, "y"}}, list)
	require.Len(t, damage, 1)
	assert.Contains(t, damage[0].String(), "message-without-topic: 2, 2 bytes")
	assert.Contains(t, damage[0].String(), "got connection 9")
}

func TestConnectionsThatAreBrokenOrDefinedTwiceAreCounted(t *testing.T) {
	w := newBuild().connection(0, "/a", "p/F", float).message(0, 20, []byte("y")).end("none")
	w.defined = append(w.defined, connectionOf(0, "/other", "p/F", float)...)
	w.defined = append(w.defined, recordOf([]byte("no fields"), "op", opConnection, "conn", uint32(1), "topic", "/b")...)
	w.conns += 2
	list, damage := parse(t, w.close())
	assert.Equal(t, []told{{"/a", "p/F", 20, "y"}}, list)
	require.Len(t, damage, 2, "%v", damage)
	assert.Equal(t, dataset.CodeTopicRedefined, damage[0].Code)
	assert.Equal(t, dataset.CodeRecordBroken, damage[1].Code)
}

func TestWhatIsBrokenCostsItselfAndIsCounted(t *testing.T) {
	put := func(data []byte, at int, b ...byte) { copy(data[at:], b) }
	nth := func(data []byte, text string, n int) int {
		at := -1
		for range n {
			next := bytes.Index(data[at+1:], []byte(text))
			require.GreaterOrEqual(t, next, 0)
			at += 1 + next
		}
		return at
	}
	cases := []struct {
		name, compression string
		spoil             func(data []byte) []byte
		lost              []int // of the five messages
		what              dataset.Code
	}{
		{"message's length", "none", func(d []byte) []byte { put(d, nth(d, "two", 1)-4, 255, 255); return d }, []int{1}, dataset.CodeNoRecords},
		{"message's header", "none", func(d []byte) []byte { put(d, nth(d, "time=", 2), 'x'); return d }, []int{1}, dataset.CodeNoRecords},
		{"length of a field", "none", func(d []byte) []byte { put(d, nth(d, "time=", 2)-4, 200); return d }, []int{1}, dataset.CodeNoRecords},
		{"packed bytes", "lz4", func(d []byte) []byte { put(d, nth(d, "four", 1), 'x'); return d }, []int{3, 4}, dataset.CodeChunkBroken},
		{"compression", "none", func(d []byte) []byte { put(d, nth(d, "compression=none", 2)+12, 'l', 'z', 'm', 'a'); return d }, []int{3, 4}, dataset.CodeChunkBroken},
		{"chunk's header", "lz4", func(d []byte) []byte { put(d, nth(d, "compression=", 2), 'x'); return d }, []int{3, 4}, dataset.CodeChunkBroken},
		{"index_pos", "lz4", func(d []byte) []byte { put(d, nth(d, "index_pos=", 1)+10, 255, 255); return d }, nil, dataset.CodeIndexBroken},
		{"index_pos of another record", "lz4", func(d []byte) []byte { put(d, nth(d, "index_pos=", 1)+10, 13, 0); return d }, nil, dataset.CodeIndexBroken},
		{"number of chunks", "lz4", func(d []byte) []byte { put(d, nth(d, "chunk_count=", 1)+12, 3); return d }, nil, dataset.CodeIndexBroken},
		{"a chunk's place", "none", func(d []byte) []byte { put(d, nth(d, "chunk_pos=", 1)+10, 255, 255, 255); return d }, nil, dataset.CodeIndexBroken},
		{"bag header", "lz4", func(d []byte) []byte { put(d, len(magic), 255, 255, 255); return d }, nil, dataset.CodeHeaderBroken},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w, want := two(c.compression)
			list, damage := parse(t, c.spoil(w.close()))
			var whole []told
			for i, m := range want {
				if !slices.Contains(c.lost, i) {
					whole = append(whole, m)
				}
			}
			assert.Equal(t, whole, list)
			require.NotEmpty(t, damage)
			assert.Equal(t, c.what, damage[0].Code)
			assert.Equal(t, "rosbag", damage[0].Cause.(*dataset.FormatError).Format)
			assert.Equal(t, "test.bag", damage[0].Cause.(*dataset.FormatError).Path)
		})
	}
}

// ends are where a bag's records end, outside chunks.
func ends(t *testing.T, data []byte) map[int]bool {
	list := map[int]bool{}
	var r record
	for at := len(magic); at < len(data); {
		_, n, wrong, _ := r.whole(data[at:])
		require.Empty(t, wrong)
		at += n
		list[at] = true
	}
	return list
}

// A bag that is cut anywhere gives the first messages, and says that it is cut. Of the bag that ROS packed with bz2, which takes long, every 29th length.
func TestABagThatIsCutAnywhereGivesTheMessagesBefore(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	packed := filetest.Read(t, "testdata/small-bz2.bag")
	none, _ := two("none")
	lz4, _ := two("lz4")
	for name, data := range map[string][]byte{"bz2": packed, "none": none.close(), "lz4": lz4.close()} {
		want, damage := parse(t, data)
		require.Empty(t, damage)
		step, before, wholeRecords := 1, 0, ends(t, data)
		if name == "bz2" {
			step = 29
		}
		for n := len(magic); n < len(data); n += step {
			list, damage := read(t, data[:n:n])
			require.NotEmpty(t, damage, "%d bytes", n)
			if n > 4200 && len(list) < len(want) && !wholeRecords[n] {
				require.Positive(t, damage.LostBytes(), "%s of %d bytes: %v", name, n, damage)
			}
			require.LessOrEqual(t, len(list), len(want))
			require.True(t, slices.Equal(want[:len(list)], list), "%s of %d bytes", name, n)
			require.GreaterOrEqual(t, len(list), before, "%s of %d bytes", name, n)
			before = len(list)
		}
		assert.Len(t, want, before, "the index is behind all messages")
	}
}
