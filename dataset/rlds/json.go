package rlds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// maxJSON limits a JSON file, in bytes. Large datasets have a few hundred kilobytes.
const maxJSON = 64 << 20

// readJSON reads a JSON file into v.
func readJSON(path string, v any) error {
	st, err := storage.Stat(context.Background(), path)
	if err != nil {
		return err
	}
	if !st.IsRegular() || st.Size > maxJSON {
		return formatError(dataset.ErrUnsupported, path, -1, "JSON", fmt.Sprintf("%v of %d bytes", st.Mode, st.Size), fmt.Sprintf("a file of at most %d", maxJSON))
	}
	data, err := storage.ReadFile(context.Background(), path)
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	bad := formatError(dataset.ErrCorrupt, path, -1, "JSON", "", "")
	bad.Err = err
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		bad.Offset = syntax.Offset
	case errors.As(err, &typed):
		bad.Offset = typed.Offset
	}
	return dataset.StandIn(context.Background(), bad, path)
}

// number is an integer, which protobuf's JSON writes as a string; null is -1.
type number int64

func (n *number) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		*n = -1
		return nil
	}
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("got %s, want a whole number", b[:min(len(b), 60)])
	}
	*n = number(v)
	return nil
}

// shapeJSON is a shape: {"dimensions":["7"]}, or before 2022 [7]. Open dimensions are -1.
type shapeJSON []number

func (s *shapeJSON) UnmarshalJSON(b []byte) error {
	if b[0] != '{' {
		return json.Unmarshal(b, (*[]number)(s))
	}
	var v struct{ Dimensions []number }
	err := json.Unmarshal(b, &v)
	*s = v.Dimensions
	return err
}

// featureJSON is a feature in features.json: protobuf's JSON, or the format before 2022 with Type and Content.
type featureJSON struct {
	Class string `json:"pythonClassName"`
	Dict  *struct {
		Features map[string]*featureJSON
	} `json:"featuresDict"`
	Sequence    *sequenceJSON
	Tensor      *tensorJSON
	Image       *tensorJSON
	Video       *tensorJSON
	Audio       *tensorJSON
	BoundingBox *tensorJSON
	ClassLabel  *struct{ NumClasses *number }

	Type    string
	Content json.RawMessage
}

type sequenceJSON struct {
	Feature *featureJSON
	Length  *number
}

type tensorJSON struct {
	Shape    shapeJSON
	DType    string
	Encoding string
	Optional bool

	EncodingFormat string
	OldFormat      string `json:"encoding_format"`
}

// datasetJSON is the content of dataset_info.json.
type datasetJSON struct {
	Name, Version, ConfigName, FileFormat, Description, Citation string

	Splits []splitJSON
}

type splitJSON struct {
	Name             string
	ShardLengths     []number
	NumShards        *number
	FilepathTemplate string
}
