package policy

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// Execution is the rule by which [Runner.Action] takes actions from chunks.
type Execution struct {
	// Steps is how many actions in a chunk are executed before the next prediction. 0 is Recipe.Execute, or the whole chunk if that is
	// 0 too.
	Steps int
	// Ensemble predicts a chunk at every anchor instead. The action is the mean over all chunks that have one for the anchor. The
	// weight of the i-th oldest chunk is exp(-Decay*i). Zhao et al. ("Learning fine-grained bimanual manipulation with low-cost
	// hardware", 2023) use 0.01.
	Ensemble bool
	Decay    float64
}

// recentChunk is a chunk [C,A] that was predicted at an anchor.
type recentChunk struct {
	anchor  int64
	actions []float64
}

// Action returns the action [A] for an anchor, in the action's unit. It calls Act if it needs a new chunk, with the same errors.
// Anchors usually are consecutive ticks of the policy's clock. After an anchor before the latest one, or without a chunk that
// reaches it, Action starts again. The next Action reuses the returned memory.
func (r *Runner) Action(ctx context.Context, anchor int64, e Execution) ([]float64, error) {
	c := r.predictor.policy.config
	a := len(c.Targets)
	steps := min(cmp.Or(e.Steps, c.Recipe.Execute, c.Recipe.Chunk), c.Recipe.Chunk)
	if e.Ensemble {
		steps = c.Recipe.Chunk
	}
	tick := func(k recentChunk) int { return int(math.Round(float64(anchor-k.anchor) * c.Hz / 1e9)) }
	r.recent = slices.DeleteFunc(r.recent, func(k recentChunk) bool { return tick(k) < 0 || tick(k) >= steps })
	if e.Ensemble || len(r.recent) == 0 {
		chunk, err := r.Act(ctx, anchor)
		if err != nil {
			return nil, err
		}
		r.recent = append(r.recent, recentChunk{anchor, slices.Clone(chunk)})
	}
	r.action = append(r.action[:0], make([]float64, a)...)
	sum := 0.0
	for i, k := range r.recent {
		weight := math.Exp(-e.Decay * float64(i))
		sum += weight
		for j, v := range k.actions[tick(k)*a:][:a] {
			r.action[j] += weight * v
		}
	}
	for j := range r.action {
		r.action[j] /= sum
	}
	return r.action, nil
}
