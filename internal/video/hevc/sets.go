package hevc

import "reflect"

// parameterSets are the sets that a stream has sent, by their identifiers. A picture's slices name a picture parameter set.
type parameterSets struct {
	sequences [16]*sequence
	pictures  [64]*pictureSet
}

// read reads a NAL unit if it is a parameter set. A sequence that is repeated stays the same pointer.
func (p *parameterSets) read(unit []byte, h unitHeader) error {
	switch h.kind {
	case spsUnit:
		s, err := readSequence(unit)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(s, p.sequences[s.id]) {
			p.sequences[s.id] = s
		}
	case ppsUnit:
		s, err := readPictureSet(unit)
		if err != nil {
			return err
		}
		p.pictures[s.id] = s
	}
	return nil
}
