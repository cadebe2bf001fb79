package doctor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// trip moves between resting places: with a speed that swells and fades, or at once at full speed as simulated robots do.
func trip(r *rand.Rand, rows, width int, smooth bool, quantum float64) [][]float64 {
	list := make([][]float64, 0, rows)
	from, to := make([]float64, width), make([]float64, width)
	for len(list) < rows {
		for c := range to {
			from[c], to[c] = to[c], 2*r.Float64()-1
		}
		n := 60 + r.IntN(120)
		for i := 1; i <= n; i++ {
			a := float64(i) / float64(n)
			if smooth {
				a = a * a * a * (10 - 15*a + 6*a*a)
			}
			row := make([]float64, width)
			for c := range row {
				if row[c] = from[c] + a*(to[c]-from[c]); quantum > 0 {
					row[c] = math.Round(row[c]/quantum) * quantum
				}
			}
			list = append(list, row)
		}
		for range 40 + r.IntN(80) {
			list = append(list, append([]float64{}, list[len(list)-1]...))
		}
	}
	return list[:rows]
}

// What robots do all day is no fault: they rest, their encoders count in steps, their grippers stay at their limits, contacts come and go, wheels stand.
func TestWhatRobotsDoAllDayIsNoFault(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 9))
		recorded := func(name string, rate float64, rows [][]float64) *tape {
			k := &tape{name: name, rows: rows}
			for i := range rows {
				k.times = append(k.times, epoch+int64(float64(i)*1e9/rate))
			}
			for c := range rows[0] {
				k.columns = append(k.columns, dataset.Column{Name: string(rune('a' + c)), Type: "double"})
			}
			return k
		}
		column := func(n int, f func(i int) []float64) (rows [][]float64) {
			for i := range n {
				rows = append(rows, f(i))
			}
			return rows
		}
		level, voltage := 0., 12.6
		tapes := []*tape{
			recorded("arm", 100, trip(r, 2000, 6, true, 0)),
			recorded("encoders", 100, trip(r, 2000, 6, true, 2*math.Pi/4096)),
			recorded("one_encoder", 100, trip(r, 2000, 1, true, 2*math.Pi/4096)),
			recorded("simulated", 20, trip(r, 400, 2, false, 0)),
			recorded("gripper", 100, column(2000, func(i int) []float64 { return []float64{min(max(2*math.Sin(float64(i)/90), 0.002), 0.085)} })),
			recorded("wrench", 100, column(2000, func(i int) []float64 { // a simulated contact
				if i/300%2 == 0 {
					return make([]float64, 6)
				}
				return []float64{9 + r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
			})),
			recorded("sonar_range", 20, column(400, func(i int) []float64 {
				return []float64{min(4*math.Abs(math.Sin(float64(i)/40))+0.01*r.NormFloat64(), 3)}
			})),
			recorded("battery", 10, column(200, func(i int) []float64 {
				if r.IntN(6) == 0 {
					voltage -= 0.01
				}
				return []float64{math.Round(voltage*100) / 100}
			})),
			recorded("mode", 50, column(1000, func(i int) []float64 {
				if r.IntN(70) == 0 {
					level = float64(r.IntN(5))
				}
				return []float64{level}
			})),
			recorded("odometry", 50, column(1000, func(i int) []float64 {
				sec := float64(i) / 50
				speed := max(0, math.Sin(sec/2))
				return []float64{speed, 0.3 * speed * math.Cos(sec), math.Remainder(0.1*sec, 2*math.Pi)}
			})),
			recorded("zeros", 50, column(1000, func(int) []float64 { return make([]float64, 3) })),
			recorded("constant", 50, column(1000, func(int) []float64 { return []float64{0.5, 1, -2} })),
			recorded("one_hot", 50, column(1000, func(i int) []float64 {
				row := make([]float64, 4)
				row[i/100%4] = 1
				return row
			})),
		}
		events := recorded("events", 20, trip(r, 400, 2, true, 0)) // which come when something happens, and at no rate
		for i := 1; i < len(events.times); i++ {
			events.times[i] = events.times[i-1] + int64(r.ExpFloat64()*5e7)
		}
		tap := recorded("wrist_force", 100, column(2000, func(i int) []float64 { // once, and over within two samples
			f := 0.02 * r.NormFloat64()
			if i == 700 || i == 701 {
				f += 30
			}
			return []float64{f}
		}))
		reset := recorded("reset", 100, trip(r, 2000, 6, true, 0)) // to elsewhere
		for i := 1000; i < 2000; i++ {
			for c := range reset.rows[i] {
				reset.rows[i][c] += 3
			}
		}
		tapes = append(tapes, tap, reset)
		e := &dataset.Episode{}
		for _, k := range append(tapes, events) {
			e.Streams = append(e.Streams, k.stream(t))
		}
		for _, f := range Episode(e, 0, nil, Options{}) {
			assert.Fail(t, "a healthy recording has a finding", "seed %d: %s %s: %s", seed, f.Kind, f.Subject(), f.Why)
		}
	}
}

// Nanoseconds of today are whole numbers that float64 rounds by less than a microsecond; identifiers of that size are others when they are rounded.
func TestTimesAmongTheValuesAreNotInexact(t *testing.T) {
	for _, c := range []struct {
		first float64
		kinds []Kind
	}{{1.7e18, nil}, {9e18, []Kind{Inexact}}} {
		k := &tape{name: "capture_time", columns: []dataset.Column{{Name: "ns", Integer: true}, {Name: "n", Integer: true}}}
		for i := range 200 {
			k.times = append(k.times, int64(i)*10_000_000)
			k.rows = append(k.rows, []float64{c.first + float64(i)*10_000_000, float64(i)})
		}
		s := k.stream(t)
		s.Inexact = 190
		var kinds []Kind
		for _, f := range Episode(&dataset.Episode{Streams: []dataset.Stream{s}}, 0, nil, Options{}) {
			kinds = append(kinds, f.Kind)
		}
		assert.Equal(t, c.kinds, kinds)
	}
}

// Nine numbers of a covariance may have the length of a quaternion, and say by their name that they are none.
func TestACovarianceIsNoQuaternion(t *testing.T) {
	k := &tape{name: "/imu"}
	for i := range 9 {
		k.columns = append(k.columns, dataset.Column{Name: fmt.Sprintf("orientation_covariance[%d]", i)})
	}
	for i := range 200 {
		a := 0.01 * float64(i)
		k.times = append(k.times, int64(i)*10_000_000)
		k.rows = append(k.rows, []float64{1, math.Sin(a), 0.6 * math.Cos(a), 0.8 * math.Cos(a), 0, 0, 0, 0, 1 + a})
		if i%20 == 0 {
			scale(k.rows[i], -1)
		}
	}
	e := &dataset.Episode{Streams: []dataset.Stream{k.stream(t)}}
	assert.Empty(t, Episode(e, 0, nil, Options{}))
	for i := range 9 {
		e.Streams[0].Columns[i].Name = fmt.Sprintf("orientation[%d]", i)
	}
	assert.NotEmpty(t, Episode(e, 0, nil, Options{}), "as it would be of another name")
}

// eachOddReport runs do for reports on random episodes with extreme clocks and values.
func eachOddReport(t *testing.T, do func(*Report)) {
	r := rand.New(rand.NewPCG(4, 4))
	odd := []float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 1e-40}
	clocks := []int64{math.MinInt64, math.MaxInt64, 0, 1, -1, 1 << 62, -(1 << 62), epoch}
	for n := range 300 {
		e := &dataset.Episode{Steps: n%7 == 0, Frames: n % 3}
		for s := range 1 + r.IntN(4) {
			rows, width := []int{0, 1, 2, 3, 9, 20, 200}[r.IntN(7)], r.IntN(6)
			times, values := make([]int64, rows), make([]float64, rows*width)
			for i := range times {
				switch r.IntN(20) {
				case 0:
					times[i] = clocks[r.IntN(len(clocks))]
				default:
					times[i] = int64(i) * 1_000_000
				}
			}
			for i := range values {
				if values[i] = r.NormFloat64(); r.IntN(8) == 0 {
					values[i] = odd[r.IntN(len(odd))]
				}
			}
			columns := make([]dataset.Column, width)
			for c := range columns {
				columns[c] = dataset.Column{Name: []string{"q[0]", "qx", "", "yaw"}[r.IntN(4)], Integer: r.IntN(5) == 0, Rotation: dataset.Rotation(r.IntN(3))}
			}
			data, err := tensor.Of(values, rows, width)
			require.NoError(t, err)
			if stream, err := dataset.NewStream(string(rune('a'+s)), times, data, columns); err == nil {
				e.Streams = append(e.Streams, stream)
			}
		}
		e.Media = []dataset.Media{{Name: "camera", Times: clocks}, {Name: "none"}}
		m := &memory{info: dataset.Info{Declared: 30}, episodes: []*dataset.Episode{e}}
		do(examined(t, m, Options{}))
	}
}
