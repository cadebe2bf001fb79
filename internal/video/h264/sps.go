package h264

import (
	"math"

	"github.com/robocache/robocache/internal/video/picture"
)

// Limits in the greatest level, 6.2 (table A-1).
const (
	mostMacroblocks = 139_264
	mostAcross      = 1055 // the square root from 8 x mostMacroblocks
	mostReferences  = 16
)

// Values for profile_idc.
const (
	profileBaseline = 66
	profileMain     = 77
	profileExtended = 88
	profileHigh     = 100
)

// sps is a sequence parameter set. Two sets with equal content are equal.
type sps struct {
	frameNumBits  int
	orderType     int // pic_order_cnt_type
	orderBits     int // in pic_order_cnt_lsb, if the type is 0
	deltaZero     bool
	offsetNonRef  int
	offsetBottom  int
	cycle         int // how many offsets are used
	offsets       [255]int32
	references    int // max_num_ref_frames
	gapsAllowed   bool
	width, height int // a frame's, in macroblocks
	frameOnly     bool
	direct8x8     bool
	crop          [4]int // left, right, top, bottom, in pixels
	scaling       scaling
	fullRange     bool
	colour        [3]uint8
	anyOrder      bool // slices may be in any order
}

func parseSPS(unit []byte) (id int, s *sps, err error) {
	f, s := newFields(unit), &sps{colour: [3]uint8{2, 2, 2}}
	profile := f.number("profile_idc", 8)
	f.flag("constraint_set0_flag")
	s.anyOrder = !f.flag("constraint_set1_flag") && profile == profileBaseline
	f.number("constraint_set_flags", 6)
	f.number("level_idc", 8)
	id = f.ue("seq_parameter_set_id", 31)
	switch profile {
	case profileBaseline, profileMain, profileExtended:
	case profileHigh, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135:
		s.highProfile(f, profile)
	default:
		f.fail(unsupported(picture.Profile, profile))
	}
	if profile != profileBaseline && profile != profileMain && profile != profileHigh {
		f.fail(unsupported(picture.Profile, profile))
	}
	s.frameNumBits = 4 + f.ue("log2_max_frame_num_minus4", 12)
	s.pictureOrder(f)
	s.references = f.ue("max_num_ref_frames", mostReferences)
	s.gapsAllowed = f.flag("gaps_in_frame_num_value_allowed_flag")
	s.size(f)
	if f.flag("vui_parameters_present_flag") {
		s.colours(f)
	}
	if f.err != nil {
		s = nil
	}
	return id, s, f.err
}

// highProfile reads the elements that only the High profiles have.
func (s *sps) highProfile(f *fields, profile int) {
	if chroma := f.ue("chroma_format_idc", 3); chroma != 1 {
		f.fail(unsupported(picture.Chroma, chroma))
	}
	for _, element := range []string{"bit_depth_luma_minus8", "bit_depth_chroma_minus8"} {
		if more := f.ue(element, 6); more > 0 {
			f.fail(unsupported(picture.BitDepth, 8+more))
		}
	}
	if f.flag("qpprime_y_zero_transform_bypass_flag") {
		f.fail(unsupported(picture.Profile, profile))
	}
	if f.flag("seq_scaling_matrix_present_flag") {
		s.scaling.parse(f, 8)
	}
}

func (s *sps) pictureOrder(f *fields) {
	s.orderType = f.ue("pic_order_cnt_type", 2)
	switch s.orderType {
	case 0:
		s.orderBits = 4 + f.ue("log2_max_pic_order_cnt_lsb_minus4", 12)
	case 1:
		s.deltaZero = f.flag("delta_pic_order_always_zero_flag")
		s.offsetNonRef = f.se("offset_for_non_ref_pic", math.MinInt32, math.MaxInt32)
		s.offsetBottom = f.se("offset_for_top_to_bottom_field", math.MinInt32, math.MaxInt32)
		s.cycle = f.ue("num_ref_frames_in_pic_order_cnt_cycle", len(s.offsets))
		for i := range s.cycle {
			s.offsets[i] = int32(f.se("offset_for_ref_frame", math.MinInt32, math.MaxInt32))
		}
	}
}

func (s *sps) size(f *fields) {
	s.width = 1 + f.ue("pic_width_in_mbs_minus1", math.MaxInt32)
	s.height = 1 + f.ue("pic_height_in_map_units_minus1", math.MaxInt32)
	rows := 1 // macroblock rows in a map unit
	if s.frameOnly = f.flag("frame_mbs_only_flag"); !s.frameOnly {
		rows = 2
		if f.flag("mb_adaptive_frame_field_flag") {
			f.fail(unsupported(picture.Interlaced, 1))
		}
	}
	s.height *= rows
	if across := max(s.width, s.height); across > mostAcross || s.width*s.height > mostMacroblocks {
		f.fail(unsupported(picture.Resolution, 16*across))
	}
	s.direct8x8 = f.flag("direct_8x8_inference_flag")
	if !f.flag("frame_cropping_flag") {
		return
	}
	for i, side := range []string{"left", "right", "top", "bottom"} {
		unit, pixels := 2, 16*s.width
		if i >= 2 {
			unit, pixels = 2*rows, 16*s.height
		}
		left := pixels - 1
		if i%2 == 1 {
			left -= s.crop[i-1]
		}
		s.crop[i] = unit * f.ue("frame_crop_"+side+"_offset", left/unit)
	}
}

// colours reads the video usability information up to the colours.
func (s *sps) colours(f *fields) {
	if f.flag("aspect_ratio_info_present_flag") && f.number("aspect_ratio_idc", 8) == 255 {
		f.number("sar_width", 16)
		f.number("sar_height", 16)
	}
	if f.flag("overscan_info_present_flag") {
		f.flag("overscan_appropriate_flag")
	}
	if !f.flag("video_signal_type_present_flag") {
		return
	}
	f.number("video_format", 3)
	s.fullRange = f.flag("video_full_range_flag")
	if f.flag("colour_description_present_flag") {
		for i, element := range []string{"colour_primaries", "transfer_characteristics", "matrix_coefficients"} {
			s.colour[i] = uint8(f.number(element, 8))
		}
	}
}

func (s *sps) format() picture.Format {
	w, h := 16*s.width, 16*s.height
	return picture.Format{
		Width: w, Height: h, Crop: [4]int{s.crop[0], s.crop[2], w - s.crop[1], h - s.crop[3]}, Bits: 8,
		Surfaces: s.references + 1, Colour: s.colour, FullRange: s.fullRange,
	}
}

// numMask is MaxFrameNum - 1.
func (s *sps) numMask() int { return 1<<s.frameNumBits - 1 }
