package lerobot

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/storage"
)

// Limits for a JSON file, and for a line in a JSON Lines file, in bytes.
const (
	maxJSON = 64 << 20
	maxLine = 16 << 20
)

func formatError(kind error, path string, at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "lerobot", Path: path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

// openParquet opens a table in the dataset.
func openParquet(path string) (*parquet.File, error) { return parquet.Open("lerobot", path) }

// readObject reads a file with a JSON object, and keeps the order of its members.
func readObject(path string) ([]orderjson.Member, error) {
	st, err := storage.Stat(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if !st.IsRegular() || st.Size > maxJSON {
		return nil, formatError(dataset.ErrUnsupported, path, -1, "JSON", fmt.Sprintf("%v of %d bytes", st.Mode, st.Size),
			fmt.Sprintf("a file of at most %d", maxJSON))
	}
	data, err := storage.ReadFile(context.Background(), path)
	if err != nil {
		return nil, err
	}
	list, err := orderjson.Members(data)
	if err != nil {
		bad := formatError(dataset.ErrCorrupt, path, -1, "JSON", "", "")
		bad.Err = err
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			bad.Offset = syntax.Offset
		}
		return nil, dataset.StandIn(context.Background(), bad, path)
	}
	return list, nil
}

// get returns a member's value, or nil.
func get(list []orderjson.Member, key string) json.RawMessage {
	for _, m := range list {
		if m.Name == key {
			return m.Value
		}
	}
	return nil
}

// text returns a JSON string, and false for other values.
func text(raw json.RawMessage) (s string, ok bool) {
	return s, raw != nil && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
}

// number returns a finite JSON number, also from a string, and false for other values.
func number(raw json.RawMessage) (v float64, ok bool) {
	if s, is := text(raw); is {
		raw = json.RawMessage(s)
	}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) || json.Unmarshal(raw, &v) != nil {
		return 0, false
	}
	return v, !math.IsInf(v, 0)
}

// wholeNumber returns a JSON number if it is an integer within 2^53.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	v, ok := number(raw)
	if !ok || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, false
	}
	return int64(v), true
}

// plain returns a JSON value as an attribute's text: a string without its quotes, other values without spaces.
func plain(raw json.RawMessage) string {
	if s, ok := text(raw); ok {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// readLines calls use for each line in a JSON Lines file, and bad for a line that is not a JSON object.
func readLines(path string, use func(m []orderjson.Member) error, bad func(*dataset.FormatError)) error {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(storage.Reader(f))
	s.Buffer(nil, maxLine)
	for line := 1; s.Scan(); line++ {
		if len(bytes.TrimSpace(s.Bytes())) == 0 {
			continue
		}
		m, err := orderjson.Members(bytes.Clone(s.Bytes()))
		if err == nil {
			err = use(m)
		}
		if err != nil {
			broken := formatError(dataset.ErrCorrupt, path, -1, "JSON", "", "")
			broken.Line, broken.Err = line, err
			bad(broken)
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return formatError(dataset.ErrTooLarge, path, -1, "line", "a longer one", fmt.Sprintf("at most %d bytes", maxLine))
	}
	return s.Err()
}

// numbersIn returns the numbers in a list or nested list, or a single number. null and other values become NaN.
func numbersIn(raw json.RawMessage) (list []float64) {
	if raw == nil {
		return nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts); parts == nil {
		s, is := text(raw)
		if !is {
			s = string(raw)
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			v = math.NaN()
		}
		return []float64{v}
	}
	for _, p := range parts {
		list = append(list, numbersIn(p)...)
	}
	return list
}
