package message

import "github.com/robocache/robocache/dataset"

// media finds the fields of an image or a cloud.
type media struct{ kind Media }

func (m *media) what() Media {
	if m == nil {
		return NoMedia
	}
	return m.kind
}

func mediaOf(t *Type) *media { return nil }

// Frame decodes an image.
func (d *ros) Frame(data []byte) (Frame, error) {
	return Frame{}, bad(d.format, 0, dataset.ErrUnsupported, "frame", d.typ.Name, "an image")
}

// Cloud decodes a cloud.
func (d *ros) Cloud(data []byte) (*dataset.Cloud, error) {
	return nil, bad(d.format, 0, dataset.ErrUnsupported, "cloud", d.typ.Name, "a cloud")
}
