package rosbag2

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/message"
	"github.com/robocache/robocache/dataset/internal/message/defs"
	"github.com/robocache/robocache/dataset/internal/topics"
)

const (
	mostSamples = 16 // messages of a topic that are tried
	mostTried   = 16 // parts that are looked through for them
)

// Definition is the text of a type that the bag itself does not define.
func (b *bag) Definition(name string) string { return b.define(name) }

// undefined returns the types of ROS 2 that the bag does not define, of those that there is a definition for.
func (b *bag) undefined(set *defs.Set) (known []string) {
	for _, c := range b.Channels() {
		if c.Encoding == "cdr" && len(c.Schema.Data) == 0 && !slices.Contains(known, c.Schema.Name) && set.Choices(c.Schema.Name) != nil {
			known = append(known, c.Schema.Name)
		}
	}
	return known
}

// choose decides which distribution's definitions are taken of the types that the bag does not define: those of the one that wrote it, or where nobody
// says which that is, of the newest whose definitions its messages fit. It returns what to say about it.
func (b *bag) choose(ctx context.Context, set *defs.Set) (remark string, err error) {
	b.define = set.Lookup(b.distro)
	types := b.undefined(set)
	if len(types) == 0 {
		return "", nil
	}
	remark = fmt.Sprintf("the bag lacks the definitions of its messages: those of the caller's files are taken, or else of ROS 2 %s", title(defs.Known(b.distro)))
	if defs.Known(b.distro) == b.distro {
		return remark, nil
	}
	newest := defs.Known("")
	candidates := slices.Clone(defs.Distros())
	slices.Reverse(candidates)
	for _, name := range types {
		choices := set.Choices(name)
		if len(choices) == 1 {
			continue
		}
		samples, err := b.samples(ctx, name)
		if err != nil {
			return "", err
		}
		candidates = slices.DeleteFunc(candidates, func(distro string) bool { return !fits(set, distro, name, samples) })
	}
	why := "which is the newest"
	if b.distro != "" {
		why += ", since " + b.distro + " is not known"
	}
	switch {
	case len(candidates) == 0:
		why += "; messages that differ between distributions fit none of them"
	case candidates[0] != newest:
		b.define = set.Lookup(candidates[0])
		remark, why = strings.Replace(remark, title(newest), title(candidates[0]), 1), "the newest that its messages fit"
	}
	return remark + ", " + why, nil
}

func title(distro string) string { return strings.ToUpper(distro[:1]) + distro[1:] }

var errEnough = errors.New("enough messages")

// samples returns messages of a type, from the first parts.
func (b *bag) samples(ctx context.Context, name string) (list [][]byte, err error) {
	for part := range min(len(b.parts), mostTried) {
		err := b.Each(ctx, part, new(dataset.Damages), func(m topics.Message) error {
			if b.Channels()[m.Channel].Schema.Name != name {
				return nil
			}
			if list = append(list, slices.Clone(m.Data)); len(list) == mostSamples {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fits reports whether all of some messages are of a type as a distribution has it.
func fits(set *defs.Set, distro, name string, samples [][]byte) bool {
	d, err := message.New("cdr", message.Schema{Name: name}, set.Lookup(distro))
	if err != nil {
		return false
	}
	for _, data := range samples {
		if err := d.Append(new(message.Rows), data); err != nil {
			return false
		}
	}
	return true
}
