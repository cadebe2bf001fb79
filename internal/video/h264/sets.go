package h264

// Values for nal_unit_type.
const (
	nalSlice      = 1
	nalPartitionA = 2
	nalPartitionC = 4
	nalIDR        = 5
	nalSEI        = 6
	nalSPS        = 7
	nalPPS        = 8
	nalLayer      = 20
	nalDepthLayer = 21
)

// parameterSets are the parameter sets that a stream has sent, by their identifiers.
type parameterSets struct {
	sequence [32]*sps
	picture  [256]*pps
}

// read stores a parameter set. A damaged one removes the one that it replaces.
func (p *parameterSets) read(nal []byte) (err error) {
	id := 0
	switch nal[0] & 31 {
	case nalSPS:
		var s *sps
		id, s, err = parseSPS(nal)
		p.sequence[id] = s
	case nalPPS:
		var s *pps
		id, s, err = parsePPS(nal)
		p.picture[id] = s
	}
	return err
}
