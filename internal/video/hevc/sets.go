package hevc

import "reflect"

// parameterSets are the sets that a stream has sent, by their identifiers. A picture's slices name a picture parameter set.
type parameterSets struct {
	sequences [16]*sequence
	pictures  [64]*pictureSet
}

// read reads a NAL unit if it is a parameter set. A sequence that is repeated stays the same pointer. A damaged set removes the one that
// it replaces.
func (p *parameterSets) read(unit []byte, h unitHeader) error {
	switch h.kind {
	case spsUnit:
		s, err := readSequence(unit)
		old := &p.sequences[s.id]
		if err != nil {
			*old = nil
			return err
		}
		if !reflect.DeepEqual(s, *old) {
			*old = s
		}
	case ppsUnit:
		s, err := readPictureSet(unit)
		p.pictures[s.id] = s
		if err != nil {
			p.pictures[s.id] = nil
		}
		return err
	}
	return nil
}
