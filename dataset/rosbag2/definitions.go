package rosbag2

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/message/defs"
	"github.com/robocache/robocache/internal/logs/topics"
)

const (
	mostSamples = 16 // messages of a type that are tried
	mostTried   = 16 // parts that are searched for them
)

// Definition returns the definition of a type that the bag itself does not define; empty if there is none.
func (b *bag) Definition(name string) string { return b.define(name) }

// undefined returns the ROS 2 types that the bag does not define and for which another definition exists.
func (b *bag) undefined(set *defs.Set) (known []string) {
	seen := map[string]bool{}
	for _, c := range b.Channels() {
		if c.Encoding != "cdr" || len(c.Schema.Data) > 0 || seen[c.Schema.Name] {
			continue
		}
		if seen[c.Schema.Name] = true; set.Choices(c.Schema.Name) != nil {
			known = append(known, c.Schema.Name)
		}
	}
	return known
}

// choose selects the distribution with the definitions for types that the bag does not define: the distribution that wrote the bag,
// or if that is unknown, the newest one that fits the messages. It returns a note about the choice.
func (b *bag) choose(ctx context.Context, set *defs.Set) (notes dataset.Notes, err error) {
	distro := defs.Known(b.distro)
	b.define = set.Lookup(distro)
	types := b.undefined(set)
	if len(types) == 0 {
		return nil, nil
	}
	n := dataset.Note{Code: dataset.CodeDefinitionsAssumed}
	if b.distro == "" || distro != b.distro {
		if distro, n.Code, err = b.fitting(ctx, set, types); err != nil {
			return nil, err
		}
		b.define, n.Want = set.Lookup(distro), b.distro
	}
	n.Got = strings.ToUpper(distro[:1]) + distro[1:]
	return dataset.Notes{n}, nil
}

// fitting returns the newest ROS distribution with definitions that fit the sampled messages of the types, and the code for the note about
// this choice.
func (b *bag) fitting(ctx context.Context, set *defs.Set, types []string) (distro string, code dataset.Code, err error) {
	candidates := slices.Clone(defs.Distros())
	slices.Reverse(candidates)
	newest := candidates[0]
	for _, name := range types {
		if len(set.Choices(name)) == 1 {
			continue
		}
		samples, err := b.samples(ctx, name)
		if err != nil {
			return "", "", err
		}
		candidates = slices.DeleteFunc(candidates, func(distro string) bool {
			return !fits(message.Schema{Name: name}, set.Lookup(distro), samples)
		})
	}
	switch {
	case len(candidates) == 0:
		return newest, dataset.CodeDefinitionsUnfit, nil
	case candidates[0] == newest:
		return newest, dataset.CodeDefinitionsNewest, nil
	}
	return candidates[0], dataset.CodeDefinitionsFitting, nil
}

// replace drops the bag's own definitions that fit none of the sampled messages, if other definitions fit them. It returns a note
// about each.
func (b *bag) replace(ctx context.Context, set *defs.Set) (notes dataset.Notes, err error) {
	channels := slices.Clone(b.Channels())
	tried := map[string][][]byte{}
	for i := range channels {
		own := channels[i].Schema
		if channels[i].Encoding != "cdr" || len(own.Data) == 0 || set.Choices(own.Name) == nil {
			continue
		}
		samples, known := tried[own.Name]
		if !known {
			if samples, err = b.samples(ctx, own.Name); err != nil {
				return nil, err
			}
			tried[own.Name] = samples
		}
		if other := (message.Schema{Name: own.Name}); len(samples) > 0 && !fits(own, b.define, samples[:1]) && fits(other, b.define, samples) {
			channels[i].Schema = other
			notes.Add(dataset.Note{Code: dataset.CodeDefinitionReplaced, Subject: channels[i].Topic, Detail: dataset.Detail{Got: own.Name}})
		}
	}
	if notes != nil {
		b.mu.Lock()
		b.channels = append(channels, b.channels[len(channels):]...)
		b.mu.Unlock()
	}
	return notes, nil
}

// lacks adds advice to the notes about topics with an undefined type.
func (b *bag) lacks(list dataset.Notes) {
	if len(list) == 0 {
		return
	}
	missing := map[string]string{} // the types of topics, the first without a definition
	for _, c := range b.Channels() {
		if _, known := missing[c.Topic]; !known && c.Encoding == "cdr" && len(c.Schema.Data) == 0 && b.define(c.Schema.Name) == "" {
			missing[c.Topic] = c.Schema.Name
		}
	}
	for i := range list {
		if n := &list[i]; (n.Code == dataset.CodeNoDecoder || n.Code == dataset.CodeUndecodedMessages) && missing[n.Subject] != "" {
			n.Code, n.Detail = dataset.CodeUndefinedType, dataset.Detail{Got: missing[n.Subject]}
		}
	}
}

var errEnough = errors.New("enough messages")

// samples returns up to mostSamples messages of a type, from the first mostTried parts.
func (b *bag) samples(ctx context.Context, name string) (list [][]byte, err error) {
	for part := range min(len(b.parts), mostTried) {
		err := b.Each(ctx, part, new(dataset.Notes), func(m topics.Message) error {
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

// fits reports whether all samples can be decoded with a schema.
func fits(schema message.Schema, lookup func(string) string, samples [][]byte) bool {
	d, err := message.New("cdr", schema, lookup)
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
