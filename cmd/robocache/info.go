package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

type infoResult struct {
	buildVersion
	Backends []string     `json:"backends"`
	Devices  []deviceInfo `json:"devices"`
	Auto     deviceInfo   `json:"auto"`

	Video []video.Choice `json:"video"`
}

func (a *app) infoCommand() *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use:   "info",
		Short: "List devices, kernels and video decoders",
		Long: `Info opens every backend and prints the driver, the devices, which kernel
image was chosen and why, or why there is no GPU. Then it prints the decoder for each video
codec, and the packages with others. It ends with the choice for --backend auto.
With --backend it opens that one only, and exits with 4 if it is not there.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("backend") {
				d, err := probe(backend)
				if err != nil {
					return err
				}
				return a.info(infoResult{
					buildVersion: versionOf(), Backends: ops.Backends(), Devices: []deviceInfo{d}, Auto: d, Video: video.Survey(cmd.Context()),
				}, backend)
			}
			return a.info(survey(cmd.Context()), "auto")
		},
	}
	backendFlag(cmd, &backend, "", "open only this one: auto, cpu, cuda or cuda:N")
	return cmd
}

// survey opens each device on each backend, and each video decoder.
func survey(ctx context.Context) infoResult {
	r := infoResult{buildVersion: versionOf(), Backends: ops.Backends(), Video: video.Survey(ctx)}
	for _, name := range r.Backends {
		first, err := probe(name)
		r.Devices = append(r.Devices, first)
		if err != nil {
			continue
		}
		// Devices are numbered: "cuda:0" was opened, and the next numbers follow until one cannot be opened.
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

func (a *app) info(r infoResult, asked string) error {
	if a.JSON {
		return a.WriteJSON(schema.Info, r)
	}
	fmt.Fprintln(a.Out, r.buildVersion)
	for _, d := range r.Devices {
		fmt.Fprintln(a.Out)
		if err := d.write(a.Out); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.Out, "\nvideo")
	t := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, c := range r.Video {
		line := cmp.Or(c.Decoder, "no decoder")
		for _, other := range c.Absent {
			line += "; " + other.Decoder + ": " + other.Why
			switch {
			case strings.HasPrefix(other.Cure, "the package"):
				line += ", install " + other.Cure
			case other.Cure != "":
				line += ", set " + other.Cure
			}
		}
		fmt.Fprintf(t, "  %s\t%s\n", c.Codec, line)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, name := range []string{"ROBOCACHE_DEVICE", "ROBOCACHE_LIBNVCUVID", "ROBOCACHE_LIBDAV1D", "ROBOCACHE_FFMPEG"} {
		if value := os.Getenv(name); value != "" {
			fmt.Fprintf(a.Out, "  %s is %s\n", name, value)
		}
	}
	why, _, _ := strings.Cut(r.Auto.Why, ": ") // the list above has the rest
	_, err := fmt.Fprintf(a.Out, "\n%s takes %s: %s\n", asked, r.Auto.Name, why)
	return err
}
