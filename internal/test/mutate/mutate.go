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

// Seed is a valid, or nearly valid, input that mutants are made from.
type Seed struct {
	Name string
	Data []byte
	// From and To bound the bytes that three of four faults change, for example a header: From is the first, To follows the last. To
	// may be larger than len(Data); 0 means len(Data).
	From, To int
}

// Mutant is a copy of a seed with faults. The receiver may keep and change Data.
type Mutant struct {
	Seed *Seed
	Data []byte
	N    int // the mutant's number: one number gives the same mutant for the same plan and ROBOCACHE_SEED
}

// Plan describes a test of a reader.
type Plan struct {
	Seeds []Seed
	Words []string // words of a text format, which are inserted at random places; nil for binary formats
	Few   int      // the number of mutants if ROBOCACHE_LONG=1; otherwise half as many
	Most  uint64   // the limit in bytes for all allocations while one mutant is read
	// Try reads a mutant, and fails the test if the reader breaks a promise.
	Try func(Mutant)
}

// slow is the time limit for reading one mutant of some kilobytes on a busy machine.
const slow = 20 * time.Second

// Run tries the mutants of a plan until one fails, and logs the failed mutant's number, seed and name.
func Run(t *testing.T, p Plan) {
	t.Helper()
	first, last := numbers(os.Getenv("ROBOCACHE_MUTANTS"), thorough.Of((p.Few+1)/2, p.Few))
	seed, _ := strconv.ParseUint(os.Getenv("ROBOCACHE_SEED"), 10, 64)
	began, n, name := time.Now(), first, ""
	var most uint64
	var slowest time.Duration
	defer func() {
		if n < last { // a mutant failed or caused a panic
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

// numbers returns the first mutant's number and the one after the last. text is a count such as "1000", or a range such as "17-18";
// any other text gives 0 and few.
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

// taken returns the bytes that the program has allocated since its start.
func taken() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// mutant makes one to four faults in a random seed. A fault changes a bit, a byte or a number, or it removes, repeats or moves a
// range of bytes, or copies one from another seed.
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
		case 11: // overwrites other bytes
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
