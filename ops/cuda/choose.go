package cuda

import (
	"math"
	"slices"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
)

// whyNot says why a variant is not launched by the heuristic for a job; "" if it can be.
func (v *variant) whyNot(b *gpu, j *backend.FuseJob) string {
	why := v.supports(b, j)
	if why == "" && v.prefers != nil {
		why = v.prefers(b, j)
	}
	return why
}

// choose decides on a job: by the tuned table if it has the key, else by the list. It is the one place where that is done.
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

// apply is a policy's variant and what it makes of the job; nil if it cannot be.
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

// candidates are the heuristic's policy, and then those that give other launches than it and each other.
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
