package storage

import (
	"cmp"
	"strings"
)

// RequestError reports a request to a store that failed. An *fs.PathError around it has the URL.
type RequestError struct {
	Kind      error // fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid, or nil for ErrSystem
	Got, Want string
	Err       error // the cause; nil if it adds nothing
}

func (e *RequestError) Error() string {
	var parts []string
	if e.Got != "" {
		parts = append(parts, "got "+e.Got)
	}
	if e.Want != "" {
		parts = append(parts, "want "+e.Want)
	}
	text := strings.Join(parts, ", ")
	if e.Err == nil {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + e.Err.Error()
}

// Unwrap returns the kind and the cause.
func (e *RequestError) Unwrap() []error {
	var list []error
	for _, err := range []error{cmp.Or(e.Kind, ErrSystem), e.Err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}
