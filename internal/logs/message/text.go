package message

import (
	"encoding/json"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/robocache/robocache/dataset"
)

// TextOf returns a function that reads a message's text, or nil if the messages have none. The text is the message's own text field
// with a usual name, or else its only text field. For a JSON message without such a field it is "".
func TextOf(of Decoder) func(data []byte) (string, error) {
	if _, learns := of.(Learner); !learns && of.Shape().Media != NoMedia {
		return nil
	}
	var names []string
	switch d := of.(type) {
	case *ros:
		for _, f := range d.typ.Fields {
			if f.Kind == String && f.Array == One {
				names = append(names, f.Name)
			}
		}
		if name := textField(names); name != "" {
			return func(data []byte) (string, error) {
				w, err := d.whole(data)
				if err != nil {
					return "", err
				}
				return w.text[name], nil
			}
		}
	case *protoDecoder:
		fields := d.of.Fields()
		for i := range fields.Len() {
			if f := fields.Get(i); f.Kind() == protoreflect.StringKind && !f.IsList() {
				names = append(names, string(f.Name()))
			}
		}
		if name := textField(names); name != "" {
			number := fields.ByName(protoreflect.Name(name)).Number()
			return func(data []byte) (string, error) { return protoText(data, number) }
		}
	case *jsonDecoder:
		return func(data []byte) (string, error) {
			var values map[string]any
			if err := json.Unmarshal(data, &values); err != nil {
				return "", jsonError(-1, dataset.ErrCorrupt, "message", err.Error(), "an object")
			}
			var names []string
			for name, v := range values {
				if _, is := v.(string); is {
					names = append(names, name)
				}
			}
			text, _ := values[textField(names)].(string)
			return text, nil
		}
	}
	return nil
}

// textField returns the name of the field with a message's text; empty if there is none.
func textField(names []string) string {
	names = slices.DeleteFunc(names, func(s string) bool { return s == "frame_id" || s == "child_frame_id" || s == "parent_frame_id" })
	for _, usual := range []string{"data", "text", "task", "instruction", "language_instruction", "prompt", "message"} {
		if slices.Contains(names, usual) {
			return usual
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return ""
}

// protoText returns a text field's last value.
func protoText(data []byte, number protowire.Number) (text string, err error) {
	for len(data) > 0 {
		field, wire, n := protowire.ConsumeTag(data)
		if n >= 0 {
			data = data[n:]
			if field == number && wire == protowire.BytesType {
				var value []byte
				value, n = protowire.ConsumeBytes(data)
				text = string(value)
			} else {
				n = protowire.ConsumeFieldValue(field, wire, data)
			}
		}
		if n < 0 {
			return "", protoError(-1, dataset.ErrCorrupt, "message", protowire.ParseError(n).Error(), "fields")
		}
		data = data[n:]
	}
	return text, nil
}
