package benchmark

import "math/rand/v2"

// formsSuite has resample options that the suite resample does not cover. Its jobs are resample jobs under another suite name.
var formsSuite = suite{
	name: "forms", about: "other dtypes, clocks, odd widths, mixed kinds, masks",
	jobs: func() []Job {
		var out []Job
		add := func(j ResampleJob) {
			j.suite = "forms"
			out = append(out, &j)
		}
		for _, s := range []ResampleJob{{B: 64, S: 4096, T: 1024, D: 32}, {B: 32, S: 500, T: 250, D: 256}} {
			for _, f := range []Form{{Values: "f32"}, {Values: "f16"}, {Times: "i64"}, {Times: "f64"}, {Clock: "gapped"}, {Shuffle: true}} {
				s.Form = f
				add(s)
			}
		}
		for _, d := range []int{3, 7, 14, 26, 44, 75} {
			add(ResampleJob{B: 256, S: 500, T: 250, D: d})
		}
		add(ResampleJob{B: 64, S: 500, T: 4096, D: 32})
		add(ResampleJob{B: 1, S: 1_000_000, T: 250_000, D: 14, Form: Form{Values: "f32", Times: "i64"}})
		pose := []ChannelShape{{"linear", 3}, {"slerp", 4}}
		add(ResampleJob{B: 256, S: 500, T: 250, D: 7, Channels: pose, Form: Form{Values: "f32", Times: "i64"}})
		add(ResampleJob{B: 64, S: 1000, T: 500, D: 14, Channels: append(pose, ChannelShape{"previous", 1}, ChannelShape{"angle", 6}), Form: Form{Values: "f32", Times: "i64"}})
		add(ResampleJob{B: 256, S: 500, T: 250, D: 22, Channels: append(pose, ChannelShape{"linear", 14}, ChannelShape{"previous", 1}), Form: Form{Values: "f32", Times: "i64"}})
		masked := ResampleJob{B: 64, S: 4096, T: 1024, D: 32, Form: Form{Valid: true}}
		add(masked)
		masked.Age = true
		add(masked)
		masked.Clock, masked.MaxGap = "gapped", 100
		add(masked)
		return out
	},
	empty: func() Job { return &ResampleJob{suite: "forms"} },
	random: func(rng *rand.Rand) Job {
		for {
			j := &ResampleJob{suite: "forms", B: logUniform(rng, 1, 512), S: logUniform(rng, 2, 1<<20), T: logUniform(rng, 1, 16384), D: logUniform(rng, 1, 512)}
			j.Form.random(rng)
			switch rng.IntN(8) {
			case 0:
				j.Kind = []string{"previous", "nearest", "angle", "pchip"}[rng.IntN(4)]
			case 1:
				j.D = 7 + logUniform(rng, 1, 64)
				j.Channels = []ChannelShape{{"linear", 3}, {"slerp", 4}, {"previous", j.D - 7}}
			}
			if j.B*j.D*(j.S+j.T) <= 1<<27 && j.B*j.S <= 1<<24 {
				return j
			}
		}
	},
}
