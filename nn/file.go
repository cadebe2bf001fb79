package nn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// SaveFile writes the parameters to a safetensors file, F32, with torch's names and shapes, and adds the caller's texts. It
// writes the whole file or nothing. If a parameter is not finite, it writes nothing. The caller must have synchronised the queues
// that train the model.
func (m *Model) SaveFile(ctx context.Context, path string, texts map[string]string) error {
	return safetensors.WriteFile(path, func(w *safetensors.Writer) error {
		if err := addTexts(w, texts); err != nil {
			return err
		}
		return m.add(ctx, w, "", m.params)
	})
}

// LoadFile reads parameters from a file by SaveFile or torch, and returns its texts. Moments and the number of steps do not
// change. The file must have exactly the model's parameters, in their shapes, as F32, BF16, F16 or F64, and all finite. Otherwise
// nothing is changed, and the *Error has the reason.
func (m *Model) LoadFile(ctx context.Context, path string) (map[string]string, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	host, err := m.read(f, "LoadFile", "", m.names(""))
	if err != nil {
		return nil, err
	}
	return f.Metadata(), m.write(ctx, host)
}

// The contents of a checkpoint: prefixes of parameter names, the tensor with the state, and a text.
const (
	ofParams  = "parameters."
	ofM       = "adamw.m."
	ofV       = "adamw.v."
	ofAverage = "ema."
	ofState   = "state"
	ofText    = "robocache.training" // the settings, as JSON
)

// SaveState writes one file with everything that training needs to continue: parameters, moments, the number of steps, and the
// settings of the training. It adds the caller's texts, for example the loader's position. It writes the whole file or nothing.
// The caller must have synchronised the step's queue.
func (s *Step) SaveState(ctx context.Context, path string, texts map[string]string) error {
	settings, err := s.settings("SaveState")
	if err != nil {
		return err
	}
	m := s.model
	return safetensors.WriteFile(path, func(w *safetensors.Writer) error {
		if err := addTexts(w, texts); err != nil {
			return err
		}
		if err := w.AddText(ofText, settings); err != nil {
			return err
		}
		for _, part := range m.arenas() {
			if err := m.add(ctx, w, part.prefix, part.t); err != nil {
				return err
			}
		}
		words, err := download[int64](ctx, m.device, m.state)
		if err != nil {
			return err
		}
		state, err := tensor.Of(words, len(words))
		if err != nil {
			return err
		}
		return w.Add(ofState, state)
	})
}

// LoadState reads a file by SaveState and returns its texts. Training then continues with the same bits as without the
// interruption. The file must have the same network and the same Training; otherwise nothing is changed, and the *Error has the
// difference. No work may be running on the step's queue.
func (s *Step) LoadState(ctx context.Context, path string) (map[string]string, error) {
	settings, err := s.settings("LoadState")
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	texts := f.Metadata()
	if got := texts[ofText]; got != settings {
		return nil, &Error{Op: "LoadState", Layer: path, Arg: "Train", Kind: ops.ErrOption, Got: strconv.Quote(got), Want: strconv.Quote(settings)}
	}
	delete(texts, ofText)
	m, names := s.model, []string{ofState}
	for _, part := range m.arenas() {
		names = append(names, m.names(part.prefix)...)
	}
	var parts []*tensor.Tensor
	for _, part := range m.arenas() {
		host, err := m.read(f, "LoadState", part.prefix, names)
		if err != nil {
			return nil, err
		}
		parts = append(parts, host)
	}
	state, err := f.Tensor(ofState)
	if err != nil {
		return nil, err
	}
	if state.DType() != tensor.I64 || tensor.FormatShape(state.Shape()) != tensor.FormatShape(m.state.Shape()) {
		return nil, &Error{Op: "LoadState", Layer: ofState, Kind: ops.ErrShape, Got: state.String(), Want: m.state.String()}
	}
	words, err := tensor.Data[int64](state)
	if err != nil {
		return nil, err
	}
	words[backend.StateTicket] = 0
	if s.first, err = s.steps("LoadState", words); err != nil {
		return nil, err
	}
	errs := []error{m.write(ctx, parts[0]), m.device.Copy(ctx, m.state, state)}
	for i, part := range m.arenas()[1:] {
		errs = append(errs, m.device.Copy(ctx, part.t, parts[i+1]))
	}
	return texts, errors.Join(errs...)
}

// steps returns the number of steps in a state. It is an error if the last one is not whole, because steps have other Batches.
func (s *Step) steps(op string, state []int64) (int64, error) {
	n, batches := state[backend.StateStep], int64(s.opts.Train.batches())
	if n < 0 || n > mostSteps || n%batches != 0 {
		want := fmt.Sprintf("a multiple of %d, at most %d", batches, mostSteps)
		return 0, &Error{Op: op, Layer: ofState, Kind: ops.ErrOption, Got: fmt.Sprintf("%d batches", n), Want: want}
	}
	return n / batches, nil
}

// mostSteps limits the number of batches in a checkpoint: more are impossible in practice, and positions in the ring stay
// countable.
const mostSteps = 1 << 53

// settings returns the training settings as text.
func (s *Step) settings(op string) (string, error) {
	if s.opts.Train == nil {
		return "", &Error{Op: op, Arg: "Train", Kind: ops.ErrMissing, Got: "a step that does not train", Want: "one that does"}
	}
	text, err := json.Marshal(s.opts.Train)
	return string(text), err
}

func addTexts(w *safetensors.Writer, texts map[string]string) error {
	names := make([]string, 0, len(texts))
	for name := range texts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := w.AddText(name, texts[name]); err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) names(prefix string) []string {
	var list []string
	for _, p := range m.net.parameters {
		list = append(list, prefix+p.name)
	}
	return list
}

// view returns a parameter in an arena, without padding.
func (p *parameter) view(arena *tensor.Tensor) (*tensor.Tensor, error) {
	if p.columns == 0 {
		return arena.Slice(0, p.offset, p.offset+p.rows)
	}
	return arena.AsStrided([]int{p.rows, p.columns}, []int{pad(p.columns), 1}, p.offset)
}

// add adds an arena's parameters to a file.
func (m *Model) add(ctx context.Context, w *safetensors.Writer, prefix string, arena *tensor.Tensor) error {
	host, err := tensor.New(tensor.F32, m.size)
	if err != nil {
		return err
	}
	if err := m.device.Copy(ctx, host, arena); err != nil {
		return err
	}
	for _, p := range m.net.parameters {
		v, err := p.view(host)
		if err != nil {
			return err
		}
		list, err := tensor.Floats(v)
		if err == nil {
			err = finiteAll("Save", prefix+p.name, list)
		}
		if err == nil {
			err = w.Add(prefix+p.name, v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finiteAll returns an *Error if a number is not finite, because such weights are useless.
func finiteAll(op, name string, list []float64) error {
	for i, v := range list {
		if !finite(float32(v)) {
			return &Error{Op: op, Layer: name, Kind: ops.ErrValue, Got: fmt.Sprintf("%g at element %d", v, i), Want: "finite numbers"}
		}
	}
	return nil
}

// read reads an arena from a file with exactly the named tensors.
func (m *Model) read(f *safetensors.File, op, prefix string, names []string) (*tensor.Tensor, error) {
	for _, name := range f.Names() {
		if !slices.Contains(names, name) {
			return nil, &Error{Op: op, Layer: name, Kind: ops.ErrOption, Got: "a tensor that the network does not have", Want: "its parameters alone"}
		}
	}
	host, err := tensor.New(tensor.F32, m.size)
	if err != nil {
		return nil, err
	}
	data, err := tensor.Data[float32](host)
	if err != nil {
		return nil, err
	}
	for _, p := range m.net.parameters {
		name := prefix + p.name
		want := fmt.Sprintf("f32 %s", tensor.FormatShape(p.shape()))
		if !f.Has(name) {
			return nil, &Error{Op: op, Layer: name, Kind: ops.ErrMissing, Got: "no tensor of this name", Want: want}
		}
		h, err := f.Header(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains([]string{"F32", "BF16", "F16", "F64"}, h.DType) || !slices.Equal(h.Shape, p.shape()) {
			return nil, &Error{Op: op, Layer: name, Kind: ops.ErrShape, Got: h.String(), Want: want}
		}
		t, err := f.Tensor(name)
		if err != nil {
			return nil, err
		}
		list, err := tensor.Floats(t)
		if err == nil {
			err = finiteAll(op, name, list)
		}
		if err != nil {
			return nil, err
		}
		columns := max(p.columns, 1)
		for i, v := range list {
			data[p.offset+i/columns*p.stride()+i%columns] = float32(v)
		}
	}
	return host, nil
}
