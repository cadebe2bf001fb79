package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/ops"
)

// deviceInfo is a device, or the reason that it cannot be opened.
type deviceInfo struct {
	Backend string `json:"backend"`
	Name    string `json:"name,omitempty"`
	Product string `json:"product,omitempty"`
	Driver  string `json:"driver,omitempty"`
	Kernels string `json:"kernels,omitempty"`
	Shapes  string `json:"shapes,omitempty"`
	Why     string `json:"why,omitempty"`
	Error   string `json:"error,omitempty"`
}

func (d deviceInfo) write(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if d.Error != "" {
		fmt.Fprintf(t, "%s\tnot available\n  why\t%s\n", d.Backend, strings.ReplaceAll(d.Error, "; ", ";\n\t"))
		return t.Flush()
	}
	fmt.Fprintf(t, "%s\t%s\n", d.Name, d.Product)
	for _, line := range [][2]string{{"driver", d.Driver}, {"kernels", d.Kernels}, {"shapes", d.Shapes}} {
		if line[1] != "" {
			fmt.Fprintf(t, "  %s\t%s\n", line[0], line[1])
		}
	}
	return t.Flush()
}

func deviceOf(i ops.Info) deviceInfo {
	return deviceInfo{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Why: i.Why}
}

func probe(name string) (deviceInfo, error) {
	d, err := ops.Open(name)
	if err != nil {
		kind, _, _ := strings.Cut(name, ":")
		failed := deviceInfo{Backend: kind, Error: plainText(err, err.Error())}
		if open := (*ops.OpenError)(nil); errors.As(err, &open) && open.Err != nil {
			failed.Error = plainText(err, open.Err.Error())
		}
		return failed, err
	}
	defer d.Close()
	found := deviceOf(d.Info())
	found.Shapes = d.Info().Shapes
	return found, nil
}
