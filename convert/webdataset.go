package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"
	"iter"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/webdataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

// WebDataset returns the target for tar files with samples, one file per shard. Each row in an episode is a sample EPISODE-ROW.
// STREAM.npy [D] has the values for each stream. CAMERA.jpg or CAMERA.png has the frame for each camera, as recorded, or a PNG of
// raw pixels. Video frames become JPEG, depth becomes CAMERA.npy [H,W,1], and frames without a decoder stay as recorded,
// CAMERA.ENCODING. EPISODE-ROW.json has the episode and row numbers, the row's time in ns, the task, and with a plan the list of
// valid members.
func WebDataset() Target { return samples{} }

type samples struct{}

func (samples) Name() string { return "webdataset" }

func (samples) Traits() Traits { return Traits{Rows: true, Whole: true, Ext: ".tar"} }

func (samples) Settings() any { return struct{}{} }

func (samples) Create(_ context.Context, path string, _ Piece) (Writer, error) {
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	return &samplesWriter{f, webdataset.NewWriter(f)}, nil
}

type samplesWriter struct {
	*atomicfile.File
	to *webdataset.Writer
}

func (w *samplesWriter) Commit(context.Context) error {
	if err := w.to.Close(); err != nil {
		return err
	}
	return w.File.Commit()
}

// sample is a sample's .json. Its JSON names are a contract.
type sample struct {
	Episode int               `json:"episode"`
	Name    string            `json:"name"`
	Row     int               `json:"row"`
	Time    int64             `json:"time_ns"`
	Task    string            `json:"task,omitempty"`
	Success *bool             `json:"success,omitempty"`
	Texts   map[string]string `json:"texts,omitempty"` // the row's texts, except the task
	Valid   map[string]bool   `json:"valid,omitempty"` // by the names of the tar file's members, without extensions
}

// part is a stream or camera of an episode. It makes one member (a file in the tar archive) for each sample.
type part struct {
	name   string
	member string
	valid  []uint8 // nil without a plan
	// next takes the next row, in order, and returns its encoder, which may be called from any goroutine.
	next func() (encode func() ([]byte, error))
}

// encoded has the encoded members of one row.
type encoded struct {
	members []webdataset.Member
	bad     map[int]error // errors of frames that cannot be decoded, by the part's index
	err     error
}

// atOnce is how many rows are encoded at a time.
const atOnce = 16

func (w *samplesWriter) Add(ctx context.Context, e *Episode) (kept Kept, err error) {
	kept.Samples = map[string]int{}
	kept.leaveAttributes(e, "webdataset", true)
	var parts []part
	var stops []func()
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for i := range e.Streams {
		p, err := streamPart(e, i)
		if refused := (*RefusedError)(nil); errors.As(err, &refused) {
			kept.leave(p.name, len(e.Times), dataset.Note{Code: dataset.CodeStreamRefused, Detail: dataset.Detail{Cause: err}})
			continue
		}
		if err != nil {
			return kept, err
		}
		parts = append(parts, p)
	}
	for i := range e.Media {
		if m := &e.Media[i]; m.Encoding != "png" && m.Encoding != "jpeg" && m.Decodes() { // the others are written as they are
			if why := undecoded(ctx, m); why.Code != "" {
				kept.leave(m.Name, m.Len(), why)
				continue
			}
		}
		p, stop := mediaPart(ctx, &e.Media[i], false)
		parts, stops = append(parts, p), append(stops, stop)
	}
	if len(parts) == 0 {
		return kept, &RefusedError{fmt.Errorf("nothing that webdataset has a place for; left out: %w", &LostError{kept.Notes})}
	}
	held, before := kept.undecoded(e.Episode), make([]webdataset.Member, len(parts))
	var early []encoded // rows that wait for the first good frame of a camera
	for first := 0; first < len(e.Times); first += atOnce {
		n := min(atOnce, len(e.Times)-first)
		jobs := make([][]func() ([]byte, error), n)
		for k := range jobs {
			for i := range parts {
				jobs[k] = append(jobs[k], parts[i].next())
			}
		}
		for k, made := range inorder.Each(ctx, n, runtime.GOMAXPROCS(0), n, func(encoded) int { return n }, func(ctx context.Context, k int) encoded {
			return encode(ctx, e, parts, jobs[k], first+k)
		}) {
			if made.err != nil {
				return kept, made.err
			}
			early = append(early, made)
			whole := true
			for i := range parts {
				m := &made.members[i]
				if err := made.bad[i]; err != nil {
					if err := held(parts[i].name, first+k, err); err != nil {
						return kept, err
					}
					m.Data = before[i].Data
				}
				whole = whole && (m.Data != nil || made.bad[i] == nil)
				for _, row := range early {
					if row.bad[i] != nil && row.members[i].Data == nil {
						row.members[i].Data = m.Data
					}
				}
			}
			before = made.members
			if !whole && first+k < len(e.Times)-1 {
				continue
			}
			for n, row := range early {
				at := first + k + 1 - len(early) + n
				members := slices.DeleteFunc(slices.Clone(row.members), func(m webdataset.Member) bool { return m.Data == nil })
				err := w.to.Add(fmt.Sprintf("%06d-%06d", e.Number, at), members...)
				var format *dataset.FormatError
				if errors.As(err, &format) && at == 0 { // a name that the format does not allow in any sample
					err = &RefusedError{err}
				}
				if err != nil {
					return kept, err
				}
			}
			early = early[:0]
		}
	}
	for i := range parts {
		kept.Samples[parts[i].name] = len(e.Times)
	}
	return kept, nil
}

// encode runs the encoders in jobs, one for each part, and returns the members of a row.
func encode(ctx context.Context, e *Episode, parts []part, jobs []func() ([]byte, error), row int) (made encoded) {
	if made.err = ctx.Err(); made.err != nil {
		return made
	}
	about := sample{Episode: e.Number, Name: e.Name, Row: row, Time: e.Times[row], Task: e.TaskAt(e.Times[row]), Success: e.Attributes.Success}
	for i := range e.Texts {
		if t := &e.Texts[i]; !t.Task {
			if about.Texts == nil {
				about.Texts = map[string]string{}
			}
			about.Texts[t.Name] = t.At(about.Time)
		}
	}
	for i := range parts {
		data, err := jobs[i]()
		bad := damaged(err)
		if err != nil && !bad {
			return encoded{err: err}
		}
		if bad && made.bad == nil {
			made.bad = map[int]error{}
		}
		if bad {
			made.bad[i], data = err, nil
		}
		made.members = append(made.members, webdataset.Member{Ext: parts[i].member, Data: data})
		if bad || parts[i].valid != nil {
			if about.Valid == nil {
				about.Valid = map[string]bool{}
			}
			about.Valid[webdataset.Ext(parts[i].name)] = !bad && parts[i].valid[row] == 1
		}
	}
	text, err := json.Marshal(about)
	made.members = append(made.members, webdataset.Member{Ext: "json", Data: text})
	made.err = err
	return made
}

// oneFrame is a frame as it was encoded.
type oneFrame []byte

func (f oneFrame) ReadFrame(context.Context, int) ([]byte, error) { return f, nil }

// streamPart returns the part for stream i, which encodes each row as .npy [D].
func streamPart(e *Episode, i int) (part, error) {
	s := &e.Streams[i]
	p := part{name: s.Name, member: webdataset.Ext(s.Name) + ".npy"}
	if s.Values.DType() == tensor.BF16 {
		return p, &RefusedError{fmt.Errorf("values of bf16 in %s, want f32, f64 or f16: numpy has no bf16", s.Name)}
	}
	if e.Aligned != nil {
		var err error
		if p.valid, err = tensor.Data[uint8](e.Aligned.Streams[i].Valid); err != nil {
			return p, err
		}
	}
	next := 0
	p.next = func() func() ([]byte, error) {
		row := next
		next++
		return func() ([]byte, error) {
			values, err := s.Values.Slice(0, row, row+1)
			if err == nil {
				values, err = values.Reshape(len(s.Columns))
			}
			var b bytes.Buffer
			if err == nil {
				err = npy.Write(&b, values)
			}
			return b.Bytes(), err
		}
	}
	return p, nil
}

// mediaPart returns the part for a camera, which yields its frames in order. With lossless, video frames and depth become PNG. The caller
// calls stop after the last row.
func mediaPart(ctx context.Context, m *dataset.Media, lossless bool) (p part, stop func()) {
	p = part{name: m.Name}
	video := m.IsVideo()
	if picked, ok := m.Source.(*Picked); ok {
		p.valid = picked.Valid
		video = picked.Recorded.IsVideo()
	}
	row := 0
	frame := func() func() ([]byte, error) {
		data, err := m.Frame(ctx, row)
		row++
		return func() ([]byte, error) {
			one := dataset.Media{Name: m.Name, Times: []int64{0}, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Source: oneFrame(data)}
			if err == nil && m.Decodes() && !m.IsWhole(data) {
				if _, err := one.Decode(ctx, 0); damaged(err) {
					return nil, err
				}
			}
			return data, err
		}
	}
	switch m.Encoding {
	case "jpeg":
		p.member, p.next = webdataset.Ext(m.Name)+".jpg", frame
		return p, func() {}
	case "png":
		p.member, p.next = webdataset.Ext(m.Name)+".png", frame
		return p, func() {}
	}
	if !m.Decodes() {
		p.member, p.next = webdataset.Ext(m.Name)+"."+webdataset.Ext(m.Encoding), frame
		return p, func() {}
	}
	switch next, stop := iter.Pull2(m.DecodeRange(ctx, 0, m.Len())); {
	case video && !lossless:
		p.member = webdataset.Ext(m.Name) + ".jpg"
		p.next = decoded(m, next, func(b *bytes.Buffer, t *tensor.Tensor) error {
			return jpeg.Encode(b, picture(t), &jpeg.Options{Quality: jpegQuality})
		})
		return p, stop
	case wide(m.Encoding) && !lossless:
		p.member = webdataset.Ext(m.Name) + ".npy"
		p.next = decoded(m, next, func(b *bytes.Buffer, t *tensor.Tensor) error { return npy.Write(b, t) })
		return p, stop
	default:
		p.member = webdataset.Ext(m.Name) + ".png"
		p.next = decoded(m, next, func(b *bytes.Buffer, t *tensor.Tensor) error {
			shown := deepPicture(t, m.Encoding)
			if shown == nil {
				shown = picture(t)
			}
			return (&png.Encoder{CompressionLevel: png.BestSpeed, BufferPool: &pngs}).Encode(b, shown)
		})
		return p, stop
	}
}

// decoded returns part.next for a camera: it takes a decoded frame from next, and its encoder writes the frame with encode. After the last
// frame it returns the decoder's error, or a *dataset.RangeError.
func decoded(m *dataset.Media, next func() (*tensor.Tensor, error, bool), encode func(*bytes.Buffer, *tensor.Tensor) error,
) func() func() ([]byte, error) {
	var last error = &dataset.RangeError{What: "frame of " + m.Name, Got: m.Len(), Len: m.Len()}
	return func() func() ([]byte, error) {
		t, err, ok := next()
		if err != nil {
			last = err
		}
		if !ok { // a decoder that ended, with an error as a rule
			err = last
		}
		return func() ([]byte, error) {
			var b bytes.Buffer
			if err == nil {
				err = encode(&b, t)
			}
			return b.Bytes(), err
		}
	}
}

// film encodes a camera's frames, several at a time, and passes them to add, in order. next takes the next frame and returns its encoder.
// check may be nil; its error means that an encoded frame is damaged. A damaged frame shows the one before it, or else the first good one,
// after a call of held, whose error ends the work.
func film(ctx context.Context, m *dataset.Media, next func() func() ([]byte, error), check func([]byte) error,
	held func(media string, row int, err error) error, add func([]byte) error) error {
	type encoded struct {
		data []byte
		err  error
	}
	var good []byte
	waiting := 0 // rows that good is for
	for first := 0; first < m.Len(); first += atOnce {
		n := min(atOnce, m.Len()-first)
		jobs := make([]func() ([]byte, error), n)
		for k := range jobs {
			jobs[k] = next()
		}
		for k, made := range inorder.Each(ctx, n, runtime.GOMAXPROCS(0), n, func(encoded) int { return n }, func(_ context.Context, k int) (made encoded) {
			made.data, made.err = jobs[k]()
			return made
		}) {
			err := made.err
			if err == nil && check != nil {
				err = check(made.data)
			}
			if err == nil {
				good = made.data
			} else if !damaged(err) {
				return err
			} else if err := held(m.Name, first+k, err); err != nil {
				return err
			}
			for waiting++; good != nil && waiting > 0; waiting-- {
				if err := add(good); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}
