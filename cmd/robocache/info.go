package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

// deviceInfo is a device that could be opened, or why it could not.
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

type infoResult struct {
	buildVersion
	Backends []string     `json:"backends"`
	Devices  []deviceInfo `json:"devices"`
	Auto     deviceInfo   `json:"auto"`
}

func (a *app) infoCommand() *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use:   "info",
		Short: "Say which backends, devices and kernels there are",
		Long: `Info opens every backend and says what it found: the driver, the devices, which kernel
image was chosen and why, or why there is no GPU. It ends with what --backend auto takes.
With --backend it opens that one only, and exits with 4 if it is not there.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("backend") {
				d, err := probe(backend)
				if err != nil {
					return err
				}
				return a.info(infoResult{buildVersion: versionOf(), Backends: ops.Backends(), Devices: []deviceInfo{d}, Auto: d}, backend)
			}
			return a.info(survey(), "auto")
		},
	}
	cmd.Flags().StringVar(&backend, "backend", "", "open only this one: auto, cpu, cuda or cuda:N")
	complete(cmd, "backend", backendNames)
	return cmd
}

// survey opens every device of every backend.
func survey() infoResult {
	r := infoResult{buildVersion: versionOf(), Backends: ops.Backends()}
	for _, name := range r.Backends {
		first, err := probe(name)
		r.Devices = append(r.Devices, first)
		if err != nil {
			continue
		}
		// A backend of numbered devices called its first one "cuda:0"; there are more until one cannot be opened.
		base, number, ok := strings.Cut(first.Name, ":")
		for n, _ := strconv.Atoi(number); ok; {
			n++
			next, err := probe(base + ":" + strconv.Itoa(n))
			if err != nil {
				break
			}
			r.Devices = append(r.Devices, next)
		}
	}
	r.Auto, _ = probe("auto")
	return r
}

func probe(name string) (deviceInfo, error) {
	d, err := ops.Open(name)
	if err != nil {
		kind, _, _ := strings.Cut(name, ":")
		failed := deviceInfo{Backend: kind, Error: err.Error()}
		if open := (*ops.OpenError)(nil); errors.As(err, &open) && open.Err != nil {
			failed.Error = open.Err.Error()
		}
		return failed, err
	}
	defer d.Close()
	i := d.Info()
	return deviceInfo{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Shapes: i.Shapes, Why: i.Why}, nil
}

func (a *app) info(r infoResult, asked string) error {
	if a.json {
		return a.writeJSON(r)
	}
	fmt.Fprintln(a.out, r.buildVersion)
	for _, d := range r.Devices {
		fmt.Fprintln(a.out)
		if err := d.write(a.out); err != nil {
			return err
		}
	}
	why, _, _ := strings.Cut(r.Auto.Why, ": ") // what follows is in the list above
	_, err := fmt.Fprintf(a.out, "\n%s takes %s: %s\n", asked, r.Auto.Name, why)
	return err
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
