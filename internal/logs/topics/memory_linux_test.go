//go:build !race

package topics

import (
	"context"
	"encoding/binary"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/test/memuse"
	"github.com/robocache/robocache/internal/test/thorough"
)

// longLog makes its messages when they are read, so that it takes no memory: part after part the same, but for their log time.
type longLog struct {
	fakeLog
	data  []byte
	parts int
	each  int                            // messages of a part
	time  func(part, i int) int64        // of message i of a part
	frame func(data []byte, part, i int) // what message i has otherwise, unless nil
}

func (l *longLog) Parts() int { return l.parts }

func (l *longLog) Each(_ context.Context, part int, _ *dataset.Notes, use func(m Message) error) error {
	data := append([]byte{}, l.data...)
	for i := range l.each {
		if l.frame != nil {
			l.frame(data, part, i)
		}
		at := l.time(part, i)
		if err := use(Message{Log: at, Publish: at, At: At{part, int64(i)}, Data: data}); err != nil {
			return err
		}
	}
	return nil
}

// countedLog says how many messages it has.
type countedLog struct{ longLog }

func (l *countedLog) Count(int) int { return l.parts * l.each }

const named = `Element[] list
================================================================================
MSG: p/Element
string name
float64[20] v
`

const transform = `string child_frame_id
float64[20] v
`

// Reading takes little memory beside what comes of it, whether the container says how many messages there are, what order they are in, and whether
// they are told apart by names.
func TestReadingTakesLittleMemoryBesideItsResults(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const parts, each, most = 200, 2400, 100e6
	text := func(s string) []byte {
		return append(binary.LittleEndian.AppendUint32(nil, uint32(len(s)+1)), s+"\x00\x00\x00\x00"[:(4-(len(s)+1)%4)%4+1]...)
	}
	doubles := func(head []byte, n int) []byte {
		for len(head)%8 != 0 {
			head = append(head, 0)
		}
		return append([]byte{0, 1, 0, 0}, append(head, make([]byte, 8*n)...)...)
	}
	inOrder := func(part, i int) int64 { return int64(part*each + i) }
	plain := longLog{data: doubles(nil, 42), parts: parts, each: each, time: inOrder}
	plain.channels = []Channel{{Topic: "/odom", Encoding: "cdr", Schema: message.Schema{Name: "p/Odometry", Encoding: "ros2msg", Data: []byte(odometry)}}}
	unsorted := plain
	unsorted.time = func(part, i int) int64 { return inOrder(part, i^1) }
	moving := plain
	moving.data = doubles(text("a"), 20)
	moving.channels = []Channel{{Topic: "/tf", Encoding: "cdr", Schema: message.Schema{Name: "p/Transform", Encoding: "ros2msg", Data: []byte(transform)}}}
	moving.frame = func(data []byte, _, i int) { data[8] = 'a' + byte(i%3) }
	moving.each *= 2
	lists := plain
	lists.data = doubles(append(binary.LittleEndian.AppendUint32(nil, 1), text("a")...), 20)
	lists.channels = []Channel{{Topic: "/arms", Encoding: "cdr", Schema: message.Schema{Name: "p/Arms", Encoding: "ros2msg", Data: []byte(named)}}}
	lists.frame = func(data []byte, _, i int) { data[12] = 'a' + byte(i%3) }
	lists.each *= 2
	for name, log := range map[string]Log{
		"counted": &countedLog{plain}, "uncounted": &plain, "unsorted": &unsorted, "of several frames": &moving, "of several names": &lists,
	} {
		if name == "of several names" && !thorough.Long { // as several frames, and twice as long
			continue
		}
		t.Run(name, func(t *testing.T) {
			debug.FreeOSMemory()
			memuse.Peak(t)
			before := memuse.Peak(t)
			e, err := Read(context.Background(), log, dataset.Options{Strict: true})
			require.NoError(t, err)
			peak := memuse.Peak(t)
			require.NotEmpty(t, e.Streams)
			t.Logf("%d streams, results %.0f MB, before %.0f, peak %.0f", len(e.Streams), float64(e.Bytes())/1e6, float64(before)/1e6, float64(peak)/1e6)
			require.Greater(t, e.Bytes(), int64(1.5*most), "so large that twice as much would be seen")
			assert.Less(t, peak-before-e.Bytes(), int64(most))
		})
	}
}
