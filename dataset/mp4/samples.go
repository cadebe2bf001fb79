package mp4

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

// read reads the track from its boxes.
func (t *Track) read(mvhd, edts box, mdia map[string]box) error {
	f := t.file
	var err error
	if t.Timescale, err = f.timescale(mdia["mdhd"], "mdhd"); err != nil {
		return err
	}
	minf := t.children(mdia["minf"])
	stbl := t.children(minf["stbl"])
	for _, name := range []string{"stsd", "stts", "stsc", "stsz/stz2", "stco/co64"} {
		first, second, _ := strings.Cut(name, "/")
		if stbl[first].kind == "" && stbl[second].kind == "" {
			return f.fail(minf["stbl"].at, dataset.ErrCorrupt, "stbl, the tables of the frames", "none of "+name, "one")
		}
	}
	if err := t.describe(stbl["stsd"], minf["dinf"]); err != nil {
		return err
	}
	if err := t.place(stbl); err != nil {
		return err
	}
	if err := t.clock(stbl); err != nil {
		return err
	}
	if err := t.keys(stbl); err != nil {
		return err
	}
	return t.present(mvhd, edts)
}

// damaged keeps an error as damage.
func (t *Track) damaged(err error) {
	if bad, ok := dataset.AsBroken(err); ok {
		t.Notes.AddDamage(dataset.CodeBoxBroken, 0, bad)
	}
}

// children returns the boxes in a box. If their list is broken, that is damage.
func (t *Track) children(b box) map[string]box {
	first, _, broken := t.file.children(b, "")
	t.damaged(broken)
	return first
}

// table reads a table. Fewer entries than declared are damage.
func (t *Track) table(b box, head, entry int) (table, error) {
	tab, err := t.file.table(b, head, entry)
	if tab.short != nil {
		t.Notes.AddDamage(dataset.CodeFrameTableShort, 0, tab.short)
	}
	return tab, err
}

// codecs are the names of the codecs by the four letters of a sample description.
var codecs = map[string]string{
	"avc1": "h264", "avc3": "h264", "hvc1": "hevc", "hev1": "hevc", "av01": "av1", "vp08": "vp8", "vp09": "vp9", "mp4v": "mpeg4",
}

// visualHead is how long the fixed part of a video's sample description is.
const visualHead = 86

// describe reads the first sample description.
func (t *Track) describe(stsd, dinf box) error {
	f := t.file
	var entry box
	var err error
	if stsd.size() >= 16 {
		if entry, err = f.box(stsd.body+8, stsd.end); err != nil {
			return err
		}
	}
	if entry.end-entry.at < visualHead {
		return f.fail(stsd.at, dataset.ErrCorrupt, "stsd, the description of the frames", fmt.Sprintf("%d bytes", entry.end-entry.at), fmt.Sprintf("at least %d", visualHead))
	}
	if t.stsd, err = f.read("stsd", entry.at, entry.end-entry.at); err != nil {
		return err
	}
	t.Codec = codecs[entry.kind]
	if t.Codec == "" {
		t.Codec = strings.TrimSpace(strings.ToValidUTF8(entry.kind, "?"))
	}
	t.Width, t.Height = int(binary.BigEndian.Uint16(t.stsd[32:])), int(binary.BigEndian.Uint16(t.stsd[34:]))
	for b, err := range f.boxes(entry.at+visualHead, entry.end) {
		if err != nil {
			t.damaged(err)
			break
		}
		switch b.kind {
		case "avcC", "hvcC", "av1C", "vpcC", "esds":
			if t.Config == nil {
				t.Config = t.stsd[b.body-entry.at : b.end-entry.at : b.end-entry.at]
				t.Bits = bitsOf(b.kind, t.Config)
			}
		}
	}
	return t.ownMedia(dinf, int(binary.BigEndian.Uint16(t.stsd[14:])))
}

// ownMedia refuses a track with frames in another file.
func (t *Track) ownMedia(dinf box, index int) error {
	dref, i := t.children(dinf)["dref"], 0
	for b, err := range t.file.boxes(dref.body+8, dref.end) {
		if err != nil {
			break
		}
		if i++; i != index {
			continue
		}
		flags, err := t.file.read("dref", b.body, min(b.size(), 4))
		if err == nil && len(flags) == 4 && flags[3]&1 == 0 && b.kind != "alis" {
			return t.file.fail(b.at, dataset.ErrUnsupported, "where the frames are", fmt.Sprintf("another file (%q)", b.kind), "this one")
		}
	}
	return nil
}

// place finds where the samples lie: from their sizes, the chunks' places, and how many samples the chunks have.
func (t *Track) place(stbl map[string]box) error {
	f := t.file
	size, n, err := t.sizes(stbl)
	if err != nil {
		return err
	}
	stco, width := stbl["stco"], 4
	if stco.kind == "" {
		stco, width = stbl["co64"], 8
	}
	chunks, err := t.table(stco, 4, width)
	if err != nil {
		return err
	}
	stsc, err := t.table(stbl["stsc"], 4, 12)
	if err != nil {
		return err
	}
	lost := dataset.Note{Code: dataset.CodeFrameCut}
	lose := func(at uint64, size uint32) {
		if lost.Count == 0 {
			lost.Cause = f.fail(min(int64(at), f.size), dataset.ErrTruncated, fmt.Sprintf("sample %d", len(t.samples)+1), fmt.Sprintf("%d bytes at byte %d of a file of %d", size, at, f.size), "bytes in the file")
		}
		lost.Count++
		lost.Bytes += int64(size)
	}
	t.samples = memory.Must[sample]("samples", n)[:0]
	before := int64(-1)
	for run := range stsc.n {
		from, to := int64(stsc.u32(run, 0))-1, int64(chunks.n)
		if run+1 < stsc.n {
			to = min(to, int64(stsc.u32(run+1, 0))-1)
		}
		if from <= before || run == 0 && from != 0 {
			return f.fail(stbl["stsc"].at, dataset.ErrCorrupt, "stsc: first chunk of a run", fmt.Sprint(from+1), "1, and rising numbers")
		}
		before = from
		each := stsc.u32(run, 4)
		if each > 0 && from < to && len(t.samples) < n && stsc.u32(run, 8) != 1 {
			return f.fail(stbl["stsc"].at, dataset.ErrUnsupported, "frames' description", fmt.Sprintf("number %d", stsc.u32(run, 8)), "1 for all frames: a track that keeps its codec")
		}
		for c := from; c < to && len(t.samples) < n && each > 0; c++ {
			at := uint64(0)
			if width == 8 {
				at = min(chunks.u64(int(c), 0), math.MaxInt64)
			} else {
				at = uint64(chunks.u32(int(c), 0))
			}
			for range each {
				if len(t.samples) == n {
					break
				}
				s := sample{size: size(len(t.samples))}
				next := min(at+uint64(s.size), math.MaxInt64)
				if s.at = int64(at); s.size == 0 || next > uint64(f.size) {
					lose(at, s.size)
					s.size = 0
				}
				at = next
				t.samples = append(t.samples, s)
			}
		}
	}
	if lost.Count > 0 {
		t.Notes = append(t.Notes, lost)
	}
	if missing := n - len(t.samples); missing > 0 {
		t.missing(missing, f.fail(stco.at, dataset.ErrCorrupt, "frames' places", fmt.Sprintf("chunks for %d frames", len(t.samples)), fmt.Sprint(n)))
	}
	return nil
}

// missing counts frames at the end that a table leaves out.
func (t *Track) missing(n int, why *dataset.FormatError) {
	t.Notes = append(t.Notes, dataset.Note{Code: dataset.CodeFrameUnlisted, Count: n, Detail: dataset.Detail{Cause: why}})
}

// sizes returns the samples' sizes, and how many there are.
func (t *Track) sizes(stbl map[string]box) (size func(i int) uint32, n int, err error) {
	f, b := t.file, stbl["stsz"]
	if b.kind == "" {
		b = stbl["stz2"]
	}
	head, err := f.read(b.kind, b.body, min(b.size(), 12))
	if err != nil {
		return nil, 0, err
	}
	if len(head) < 12 {
		return nil, 0, f.fail(b.at, dataset.ErrCorrupt, b.kind, fmt.Sprintf("%d bytes", b.size()), "at least 12")
	}
	fixed, count := binary.BigEndian.Uint32(head[4:]), int64(binary.BigEndian.Uint32(head[8:]))
	tab := table{}
	if b.kind == "stsz" && fixed == 0 {
		if tab, err = t.table(b, 8, 4); err != nil {
			return nil, 0, err
		}
		count = int64(tab.n)
	}
	// A frame has at least 4 bytes, so this bounds the memory for any table.
	if most := min(f.size/4, math.MaxInt32); count > most {
		return nil, 0, f.fail(b.at, dataset.ErrTooLarge, b.kind, fmt.Sprintf("%d frames", count), fmt.Sprintf("at most %d in a file of this size", most))
	}
	if b.kind == "stz2" {
		return t.compact(b, int(fixed&0xff), int(count))
	}
	if fixed != 0 {
		return func(int) uint32 { return fixed }, int(count), nil
	}
	return func(i int) uint32 { return tab.u32(i, 0) }, tab.n, nil
}

// compact returns the sizes of stz2, which take 4, 8 or 16 bits each.
func (t *Track) compact(b box, width, count int) (size func(i int) uint32, n int, err error) {
	f := t.file
	if width != 4 && width != 8 && width != 16 {
		return nil, 0, f.fail(b.at, dataset.ErrCorrupt, "stz2: bits of a size", fmt.Sprint(width), "4, 8 or 16")
	}
	data, err := f.read("stz2", b.body+12, min(b.size()-12, (int64(count)*int64(width)+7)/8))
	if room := len(data) * 8 / width; room < count {
		t.missing(count-room, f.fail(b.at, dataset.ErrCorrupt, "stz2", fmt.Sprintf("room for %d entries", room), fmt.Sprint(count)))
		count = room
	}
	return func(i int) uint32 {
		switch width {
		case 4:
			return uint32(data[i/2]>>(4*(1-i%2))) & 15
		case 8:
			return uint32(data[i])
		}
		return uint32(binary.BigEndian.Uint16(data[2*i:]))
	}, count, err
}

// clock gives the samples their times: when they are decoded, from their durations, and how much later they are shown.
func (t *Track) clock(stbl map[string]box) error {
	stts, err := t.table(stbl["stts"], 4, 8)
	if err != nil {
		return err
	}
	i, now := 0, int64(0)
	for run := range stts.n {
		count, step := int64(stts.u32(run, 0)), int64(stts.u32(run, 4))
		for end := min(int64(len(t.samples)), int64(i)+count); int64(i) < end; i++ {
			t.samples[i].time = now
			now = min(now+step, maxTime)
		}
	}
	t.keep(i, stbl["stts"])
	if stts.n == 1 || stts.n == 2 && stts.u32(1, 0) == 1 {
		t.step = stts.u32(0, 4)
	} else if len(t.samples) > 16 {
		common := int64(0)
		for k := 4; k < min(len(t.samples), 21); k++ {
			for step := t.samples[k].time - t.samples[k-1].time; step > 0; {
				common, step = step, common%step
			}
		}
		if common > max(1, int64(t.Timescale)/500) {
			t.step = uint32(common)
		}
	}
	b, ok := stbl["ctts"]
	if !ok {
		return nil
	}
	ctts, err := t.table(b, 4, 8)
	if err != nil {
		return err
	}
	i = 0
	for run := range ctts.n {
		// Offsets are unsigned in version 0. But files with negative ones exist, and readers accept them.
		count, later := int64(ctts.u32(run, 0)), int64(int32(ctts.u32(run, 4)))
		for end := min(int64(len(t.samples)), int64(i)+count); int64(i) < end; i++ {
			t.samples[i].time += later
		}
	}
	t.keep(i, b)
	return nil
}

// keep leaves out the samples from number n on, because a table has no more.
func (t *Track) keep(n int, b box) {
	if lost := len(t.samples) - n; lost > 0 {
		t.missing(lost, t.file.fail(b.at, dataset.ErrCorrupt, b.kind, fmt.Sprintf("times of %d frames", n), fmt.Sprint(len(t.samples))))
		t.samples = t.samples[:n]
	}
}

// keys marks the key frames: the ones in stss, or all.
func (t *Track) keys(stbl map[string]box) error {
	b, ok := stbl["stss"]
	if !ok {
		for i := range t.samples {
			t.samples[i].key = true
		}
		return nil
	}
	stss, err := t.table(b, 4, 4)
	for i := range stss.n {
		if n := int(stss.u32(i, 0)); n >= 1 && n <= len(t.samples) {
			t.samples[n-1].key = true
		}
	}
	return err
}
