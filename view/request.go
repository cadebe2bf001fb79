package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

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

// parseNumber reads the number of an episode.
func parseNumber(text string, n int) (int, error) {
	i, err := strconv.Atoi(text)
	if err != nil {
		return 0, &badRequest{"episode", text, "a number from 0"}
	}
	if i < 0 || i >= n {
		return 0, &dataset.RangeError{What: "episode", Got: i, Len: n}
	}
	return i, nil
}

// columnsOf reads the indices of columns that a request asks for, all unless it does.
func columnsOf(r *http.Request, width int) ([]int, error) {
	text, list := r.FormValue("columns"), []int{}
	if text == "" {
		for k := range width {
			list = append(list, k)
		}
		return list, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		k, err := strconv.Atoi(part)
		if err != nil || k < 0 || k >= width || len(list) >= width {
			return nil, &badRequest{"columns", text, fmt.Sprintf("numbers of columns from 0 to %d, with commas", width-1)}
		}
		list = append(list, k)
	}
	return list, nil
}
