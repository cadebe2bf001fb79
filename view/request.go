package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"math"
	"net/http"
	"os/exec"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
)

// badRequest is an invalid argument in a request.
type badRequest struct{ arg, got, want string }

func (e *badRequest) Error() string {
	return e.arg + ": got " + strconv.Quote(e.got) + ", want " + e.want
}

// missing is the error for a stream, a camera or a cloud that the episode does not have.
type missing struct{ what string }

func (e *missing) Error() string { return "no " + e.what }

// errBusy is a request's error while the server works on another one.
var errBusy = errors.New("another resampling is at work: try again in a second")

// fail writes an error as JSON for the page: {"error": "no stream", "system": false, "what_to_do": ""}. The field system is true if the
// system or the network failed, and what_to_do has package doctor's advice, or "".
func fail(w http.ResponseWriter, status int, message, advice string) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	// An error here means that the client has gone.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": message, "system": status == http.StatusServiceUnavailable, "what_to_do": advice})
}

// refuse answers a request with status 403: with a page if a browser opens it as a page, else with JSON as fail does.
func refuse(w http.ResponseWriter, r *http.Request, message string) {
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		fail(w, http.StatusForbidden, message, "")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">`+
		`<title>robocache view</title><main><h1>robocache view</h1><p>%s</p></main>`, html.EscapeString(message))
}

// failWith writes an error with its type's status.
func failWith(w http.ResponseWriter, err error) {
	var bad *badRequest
	var none *missing
	status := http.StatusUnprocessableEntity // the recording is broken
	switch {
	case errors.As(err, &bad):
		status = http.StatusBadRequest
	case errors.As(err, &none), errors.Is(err, dataset.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, errBusy):
		status = http.StatusTooManyRequests
		w.Header().Set("Retry-After", "1")
	case errors.Is(err, context.Canceled):
		status = 499 // the client has gone
	case dataset.IsSystem(err):
		status = http.StatusServiceUnavailable // the next request may get it
	}
	advice := ""
	switch noFile := errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist); {
	case noFile && errors.Is(err, dataset.ErrUnsupported): // the file is ffmpeg
		advice = doctor.NoDecoder
	case status == http.StatusUnprocessableEntity:
		advice = doctor.Unopened("", err).Findings[0].WhatToDo
	}
	fail(w, status, err.Error(), advice)
}

// number returns the number in a request's argument; fallback if the request has none. If it is no number from least to most, the error is
// a *badRequest.
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

// integer is like number for a whole number.
func integer(r *http.Request, arg string, fallback, least, most int) (int, error) {
	v, err := number(r, arg, float64(fallback), float64(least), float64(most))
	if err == nil && v != math.Trunc(v) {
		err = &badRequest{arg, r.FormValue(arg), "a whole number"}
	}
	return int(v), err
}

// columnsOf returns the indices for the columns that a request names, or all indices below width if it names none. An invalid index is an
// error.
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
