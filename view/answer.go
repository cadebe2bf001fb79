package view

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
)

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // an error here means that the client has gone
}

const jsonType = "application/json"

// send writes an answer with its media type.
func send(w http.ResponseWriter, kind string, b []byte) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b) // an error here means that the client has gone
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// appendNumber appends a number, or null if it is not finite.
func appendNumber(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	if f := float32(v); float64(f) == v {
		return strconv.AppendFloat(b, v, 'g', -1, 32)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

func appendNumbers(b []byte, list []float64) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	return append(b, ']')
}

// appendTimes appends timestamps in seconds from a start.
func appendTimes(b []byte, start int64, times ...int64) []byte {
	b = append(b, '[')
	for i, t := range times {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(t-start)/1e9, 'g', -1, 64)
	}
	return append(b, ']')
}
