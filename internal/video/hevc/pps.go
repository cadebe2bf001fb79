package hevc

import (
	"slices"

	"github.com/robocache/robocache/internal/video/picture"
)

// pictureSet is a picture parameter set.
type pictureSet struct {
	id, sequence                      int // sequence is the sequence parameter set's identifier
	dependent, outputFlag             bool
	extraBits                         int
	signHiding, cabacInit             bool
	active                            [2]int // num_ref_idx_l0_default_active_minus1 and l1
	initQP                            int
	constrainedIntra, transformSkip   bool
	qpDelta                           bool
	qpDepth, cb, cr                   int
	sliceChroma, weighted, biweighted bool
	transquantBypass, synchronised    bool
	tiles, uniform                    bool
	columns, rows                     tiling
	acrossTiles, acrossSlices         bool
	deblockOverride, deblockDisabled  bool
	beta, tc                          int
	lists                             *scalingLists // nil for the sequence's
	listsModification                 bool
	log2Merge                         int
	headerExtension                   bool
}

// tiling divides a picture's width or height into tiles. Sizes are in coding tree blocks.
type tiling struct {
	count int
	sizes []int // all but the last one; nil if the spacing is uniform
}

// apply returns all tile sizes. It reports false if they do not fit into total.
func (t tiling) apply(total int) (sizes []int, valid bool) {
	at := 0
	for i := range t.count {
		end := total
		switch {
		case t.sizes == nil:
			end = (i + 1) * total / t.count
		case i < len(t.sizes):
			end = at + t.sizes[i]
		}
		if end <= at || end > total {
			return nil, false
		}
		sizes = append(sizes, end-at)
		at = end
	}
	return sizes, true
}

// The smallest tile in pixels that the Main profiles allow (A.3). An H200 decodes some with narrower columns wrongly, without an error.
const (
	leastColumn = 256
	leastRow    = 64
)

// tiling returns the tile sizes in a sequence's pictures, and an error if the sequence does not allow a value in the set.
func (s *pictureSet) tiling(seq *sequence) (columns, rows []int, err error) {
	width, height := seq.size()
	columns, columnsFit := s.columns.apply(width)
	rows, rowsFit := s.rows.apply(height)
	switch {
	case !columnsFit:
		err = invalid("num_tile_columns_minus1", s.columns.count-1)
	case !rowsFit:
		err = invalid("num_tile_rows_minus1", s.rows.count-1)
	case s.qpDepth > seq.log2DiffBlock:
		err = invalid("diff_cu_qp_delta_depth", s.qpDepth)
	case s.log2Merge > seq.log2CTB():
		err = invalid("log2_parallel_merge_level_minus2", s.log2Merge-2)
	case s.tiles && slices.Min(columns)<<seq.log2CTB() < leastColumn:
		err = unsupported(picture.Tiles, slices.Min(columns)<<seq.log2CTB())
	case s.tiles && slices.Min(rows)<<seq.log2CTB() < leastRow:
		err = unsupported(picture.Tiles, slices.Min(rows)<<seq.log2CTB())
	case s.initQP < -26-6*(seq.bits-8):
		err = invalid("init_qp_minus26", s.initQP)
	}
	return columns, rows, err
}

func readPictureSet(unit []byte) (*pictureSet, error) {
	r := newReader(unit)
	s := &pictureSet{columns: tiling{count: 1}, rows: tiling{count: 1}, uniform: true, acrossTiles: true}
	s.id = r.unsigned("pps_pic_parameter_set_id", 63)
	s.sequence = r.unsigned("pps_seq_parameter_set_id", 15)
	s.dependent = r.flag()
	s.outputFlag = r.flag()
	s.extraBits = r.bits(3)
	s.signHiding = r.flag()
	s.cabacInit = r.flag()
	s.active[0] = r.unsigned("num_ref_idx_l0_default_active_minus1", 14)
	s.active[1] = r.unsigned("num_ref_idx_l1_default_active_minus1", 14)
	s.initQP = r.signed("init_qp_minus26", -26-6*(12-8), 25)
	s.constrainedIntra = r.flag()
	s.transformSkip = r.flag()
	if s.qpDelta = r.flag(); s.qpDelta {
		s.qpDepth = r.unsigned("diff_cu_qp_delta_depth", 3)
	}
	s.cb = r.signed("pps_cb_qp_offset", -12, 12)
	s.cr = r.signed("pps_cr_qp_offset", -12, 12)
	s.sliceChroma = r.flag()
	s.weighted = r.flag()
	s.biweighted = r.flag()
	s.transquantBypass = r.flag()
	s.tiles = r.flag()
	s.synchronised = r.flag()
	if s.tiles {
		r.tiles(s)
	}
	s.acrossSlices = r.flag()
	if r.flag() { // deblocking_filter_control_present_flag
		s.deblockOverride = r.flag()
		if s.deblockDisabled = r.flag(); !s.deblockDisabled {
			s.beta = r.signed("pps_beta_offset_div2", -6, 6)
			s.tc = r.signed("pps_tc_offset_div2", -6, 6)
		}
	}
	if r.flag() {
		s.lists = r.scalingLists()
	}
	s.listsModification = r.flag()
	s.log2Merge = 2 + r.unsigned("log2_parallel_merge_level_minus2", 4)
	s.headerExtension = r.flag()
	if r.flag() {
		r.extensions()
	}
	return s, r.err("pic_parameter_set_rbsp")
}

func (r *reader) tiles(s *pictureSet) {
	s.columns.count += r.unsigned("num_tile_columns_minus1", maxColumns-1)
	s.rows.count += r.unsigned("num_tile_rows_minus1", maxRows-1)
	if s.uniform = r.flag(); !s.uniform {
		s.columns.sizes = r.tileSizes("column_width_minus1", s.columns.count)
		s.rows.sizes = r.tileSizes("row_height_minus1", s.rows.count)
	}
	s.acrossTiles = r.flag()
}

func (r *reader) tileSizes(element string, count int) []int {
	sizes := make([]int, count-1)
	for i := range sizes {
		sizes[i] = 1 + r.unsigned(element, maxSide/16)
	}
	return sizes
}
