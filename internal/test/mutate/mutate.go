package mutate

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robocache/robocache/internal/test/thorough"
)

// Seed is an input that is right, or nearly so, of which mutants are made.
type Seed struct {
	Name string
	Data []byte
	// From and To are the bytes that three of four faults hit, such as those of a header. To may lie behind the end; 0 is the end.
	From, To int
}

// Mutant is a seed with faults. Its Data may be kept and changed.
type Mutant struct {
	Seed *Seed
	Data []byte
	N    int // its number: the same for the same plan and ROBOCACHE_SEED
}

// Plan says how a reader is tried.
type Plan struct {
	Seeds []Seed
	Words []string // what matters in a text of the format, to be put anywhere; nil for binary formats
	Few   int      // how many mutants ROBOCACHE_LONG=1 tries; the default is half as many
	Most  uint64   // bytes that may be taken for a mutant, all allocations together
	// Try reads a mutant, and fails the test where that goes wrong.
	Try func(Mutant)
}

// slow is how long a mutant of some kilobytes may take on a busy machine.
const slow = 20 * time.Second

// Run tries all mutants of a plan, and names the one that fails.
func Run(t *testing.T, p Plan) {
	t.Helper()
	first, last := numbers(os.Getenv("ROBOCACHE_MUTANTS"), thorough.Of((p.Few+1)/2, p.Few))
	seed, _ := strconv.ParseUint(os.Getenv("ROBOCACHE_SEED"), 10, 64)
	began, n, name := time.Now(), first, ""
	var most uint64
	var slowest time.Duration
	defer func() {
		if n < last { // a failure, or a panic
			t.Logf("mutant %d of seed %d, of %s: ROBOCACHE_MUTANTS=%d-%d tries it alone", n, seed, name, n, n+1)
			return
		}
		t.Logf("%d mutants in %v, at most %d kB and %v each", last-first, time.Since(began).Round(time.Millisecond), most>>10, slowest.Round(time.Millisecond))
	}()
	for ; n < last; n++ {
		m := p.mutant(rand.New(rand.NewPCG(seed, uint64(n))))
		m.N, name = n, m.Seed.Name
		before, start := taken(), time.Now()
		p.Try(m)
		took := time.Since(start)
		if bytes := taken() - before; bytes > p.Most {
			t.Fatalf("%d bytes were taken for a mutant of %d, want at most %d", bytes, len(m.Data), p.Most)
		} else {
			most = max(most, bytes)
		}
		if took > slow {
			t.Fatalf("a mutant of %d bytes took %v", len(m.Data), took)
		}
		slowest = max(slowest, took)
		if t.Failed() {
			return
		}
	}
}

// numbers returns the first mutant and the one after the last: "1000", or "17-18".
func numbers(text string, few int) (first, last int) {
	from, to, ok := strings.Cut(text, "-")
	if !ok {
		from, to = "0", text
	}
	first, err1 := strconv.Atoi(from)
	last, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil {
		return 0, few
	}
	return first, last
}

// taken returns the bytes that were allocated since the program began.
func taken() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// mutant makes one to four faults in a seed: bits, bytes, numbers, and stretches that are gone, twice, elsewhere or those of another seed.
func (p *Plan) mutant(r *rand.Rand) Mutant {
	seed := &p.Seeds[r.IntN(len(p.Seeds))]
	b := slices.Clone(seed.Data)
	for range 1 + r.IntN(4) {
		if len(b) == 0 {
			break
		}
		at := r.IntN(len(b))
		end := len(b)
		if seed.To > 0 {
			end = min(end, seed.To)
		}
		if seed.From < end && r.IntN(4) > 0 {
			at = seed.From + r.IntN(end-seed.From)
		}
		to := at + r.IntN(min(len(b)-at, 64)+1)
		kinds := 14
		if p.Words != nil {
			kinds = 18
		}
		switch r.IntN(kinds) {
		case 0, 1:
			b[at] ^= 1 << r.IntN(8)
		case 2, 3:
			b[at] = byte(r.Uint32())
		case 4, 5:
			b[at] = []byte{0, 1, 0x7f, 0x80, 0xfe, 0xff}[r.IntN(6)]
		case 6: // a size or an address
			var word [8]byte
			binary.NativeEndian.PutUint64(word[:], r.Uint64()>>r.IntN(64))
			copy(b[at:to], word[:])
		case 7: // a run of one byte
			run := b[at:to]
			for i := range run {
				run[i] = b[at]
			}
		case 8:
			b = b[:at]
		case 9:
			b = slices.Delete(b, at, to)
		case 10:
			b = slices.Insert(b, r.IntN(len(b)+1), slices.Clone(b[at:to])...)
		case 11: // over what is there
			copy(b[r.IntN(len(b)):], slices.Clone(b[at:to]))
		case 12:
			b = slices.Insert(b, at, binary.AppendUvarint(nil, r.Uint64()>>r.IntN(64))...)
		case 13:
			other := p.Seeds[r.IntN(len(p.Seeds))].Data
			b = append(b[:at], other[r.IntN(len(other)+1):]...)
		default:
			b = slices.Insert(b, at, []byte(p.Words[r.IntN(len(p.Words))])...)
		}
	}
	return Mutant{Seed: seed, Data: b}
}
