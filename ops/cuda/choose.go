package cuda

import (
	"math"
	"slices"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
)

// whyNot returns the reason why the heuristic does not launch a variant for a job; "" if it can launch it.
func (v *variant) whyNot(b *gpu, j *backend.FuseJob) string {
	why := v.supports(b, j)
	if why == "" && v.prefers != nil {
		why = v.prefers(b, j)
	}
	return why
}

// choose returns the variant and launch shapes for a job. They come from the tuned table if it has the job's key, or else from the
// first accepting variant's heuristic. No other function decides this.
func (p *plan) choose(list []*variant, j *backend.FuseJob) (*variant, []shape) {
	v := list[slices.IndexFunc(list, func(v *variant) bool { return v.whyNot(p.b, j) == "" })]
	d := &decision{list: list, job: j, heuristic: v.heuristic(p.b, j)}
	d.heuristic.Variant = v.name
	shapes := v.configure(p.b, j, d.heuristic)
	d.heuristic.Prefetch = prefetches(shapes)
	d.key, d.policy = keyOf(j, v.name, shapes), d.heuristic
	p.chosen = d
	if c, ok := p.b.table.Load().Lookup(d.key); ok {
		if other, shapes := d.apply(p.b, c); other != nil {
			d.policy, d.tuned = c, true
			return other, shapes
		}
	}
	return v, shapes
}

// apply returns a policy's variant and the shapes that it gives for the job. It returns nil if the policy does not fit the job.
func (d *decision) apply(b *gpu, c tuned.Policy) (*variant, []shape) {
	i := slices.IndexFunc(d.list, func(v *variant) bool { return v.name == c.Variant })
	if i < 0 || d.list[i].supports(b, d.job) != "" || c != d.heuristic && !d.list[i].tunable.Allows(c) {
		return nil, nil
	}
	shapes := d.list[i].configure(b, d.job, c)
	if blocksOf(shapes) > math.MaxInt32 {
		return nil, nil
	}
	return d.list[i], shapes
}

// candidates returns the heuristic's policy, followed by every policy with a launch unlike the earlier ones in the list.
func (d *decision) candidates(b *gpu) []tuned.Policy {
	_, shapes := d.apply(b, d.heuristic)
	list, seen := []tuned.Policy{d.heuristic}, map[string][][]shape{d.heuristic.Variant: {shapes}}
	for _, v := range d.list {
		for _, c := range v.tunable.All(v.name) {
			applied, shapes := d.apply(b, c)
			if applied == nil || slices.ContainsFunc(seen[v.name], func(s []shape) bool { return slices.Equal(s, shapes) }) {
				continue
			}
			list, seen[v.name] = append(list, c), append(seen[v.name], shapes)
		}
	}
	return list
}

func keyOf(j *backend.FuseJob, name string, shapes []shape) tuned.Key {
	pieces, timestamps := 0, 0
	for i, part := range j.Parts {
		pieces += shapes[i].chunks
		if j.Check && part.SrcTimes != nil {
			timestamps += part.Timestamps()
		}
	}
	return tuned.Key{Variant: name, Bytes: log2(j.D * j.Dst.DType().Size()), Pieces: log2(pieces), Targets: log2(j.Rows()), Timestamps: log2(timestamps), Ready: inputsReady(j)}
}
