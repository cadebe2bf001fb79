//go:build !amd64

package cpu

func fastest() *arithmetic { return &plain }
