package hevc

import "github.com/robocache/robocache/internal/video/picture"

// usability is a sequence's video usability information: how to show its samples.
type usability struct {
	colour    [3]uint8
	fullRange bool
}

func (r *reader) vui(u *usability, layers int) {
	if r.flag() && r.bits(8) == 255 { // aspect_ratio_idc: EXTENDED_SAR
		r.Skip(32)
	}
	if r.flag() { // overscan_info_present_flag
		r.Skip(1)
	}
	if r.flag() {
		r.Skip(3) // video_format
		u.fullRange = r.flag()
		if r.flag() {
			for i := range u.colour {
				u.colour[i] = uint8(r.bits(8))
			}
		}
	}
	if r.flag() { // chroma_loc_info_present_flag
		r.ignored()
		r.ignored()
	}
	r.Skip(1) // neutral_chroma_indication_flag
	if r.flag() {
		r.fail(unsupported(picture.Interlaced, 1)) // field_seq_flag
	}
	r.Skip(1)
	if r.flag() { // default_display_window_flag
		for range 4 {
			r.ignored()
		}
	}
	if r.flag() { // vui_timing_info_present_flag
		r.Skip(64)
		if r.flag() {
			r.ignored()
		}
		if r.flag() {
			r.hypotheticalDecoder(layers)
		}
	}
	if r.flag() { // bitstream_restriction_flag
		r.Skip(3)
		for range 5 {
			r.ignored()
		}
	}
}

// hypotheticalDecoder leaves hrd_parameters out.
func (r *reader) hypotheticalDecoder(layers int) {
	nal, vcl, sub := r.flag(), r.flag(), false
	if nal || vcl {
		if sub = r.flag(); sub {
			r.Skip(8 + 5 + 1 + 5)
		}
		r.Skip(4 + 4)
		if sub {
			r.Skip(4)
		}
		r.Skip(5 + 5 + 5)
	}
	for range layers + 1 {
		fixed, delayed, count := r.flag(), false, 1
		if fixed || r.flag() { // fixed_pic_rate_within_cvs_flag is 1 if fixed_pic_rate_general_flag is
			r.ignored() // elemental_duration_in_tc_minus1
		} else {
			delayed = r.flag()
		}
		if !delayed {
			count += r.unsigned("cpb_cnt_minus1", 31)
		}
		for _, present := range []bool{nal, vcl} {
			for range count {
				if !present {
					break
				}
				r.ignored()
				r.ignored()
				if sub {
					r.ignored()
					r.ignored()
				}
				r.Skip(1)
			}
		}
	}
}
