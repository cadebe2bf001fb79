package view

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// badRequest is a request that cannot be answered as it is.
type badRequest struct{ arg, got, want string }

func (e *badRequest) Error() string {
	return e.arg + ": got " + strconv.Quote(e.got) + ", want " + e.want
}

// missing is something that the episode does not have.
type missing struct{ what string }

func (e *missing) Error() string { return "no " + e.what }

// fail writes an error as the page reads it.
func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message}) // who has gone needs no answer
}

// failWith chooses the status by the error.
func failWith(w http.ResponseWriter, err error) {
	var bad *badRequest
	var none *missing
	status := http.StatusUnprocessableEntity // the recording is to blame
	switch {
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.As(err, &none), errors.Is(err, dataset.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, context.Canceled):
		status = 499 // the client has gone
	}
	fail(w, status, err.Error())
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // who has gone needs no answer
}

// number reads a finite number of a request; fallback where there is none.
func number(r *http.Request, arg string, fallback, least, most float64) (float64, error) {
	text := r.FormValue(arg)
	if text == "" {
		return fallback, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= least && v <= most) {
		return 0, &badRequest{arg, text, "a number from " + strconv.FormatFloat(least, 'g', -1, 64) + " to " + strconv.FormatFloat(most, 'g', -1, 64)}
	}
	return v, nil
}

// integer reads a whole number of a request.
func integer(r *http.Request, arg string, fallback, least, most int) (int, error) {
	v, err := number(r, arg, float64(fallback), float64(least), float64(most))
	if err == nil && v != math.Trunc(v) {
		err = &badRequest{arg, r.FormValue(arg), "a whole number"}
	}
	return int(v), err
}

// appendNumber writes a number, null where it is none.
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

// appendTimes writes timestamps in seconds from a start.
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

// writeBytes sends JSON that was put together here.
func writeBytes(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b) // who has gone needs no answer
}
