package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/serve"
)

func (a *app) serveCommand() *cobra.Command {
	var fd int
	cmd := &cobra.Command{
		Use:    "serve",
		Hidden: true, // only the Python package starts it
		Short:  "The child of the Python package",
		Long: `serve is the child process of the Python package, which starts it with a Unix socket
at a file descriptor. It plans, reads, decodes and computes on the CPU for that process, and ends with it.
Linux only.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			// A terminal sends these to the whole process group. The parent decides, and this process ends with it.
			signal.Ignore(os.Interrupt, syscall.SIGHUP)
			err := serve.Run(context.Background(), fd, versionOf().Version, func() {
				atomicfile.Abandon()
				os.Exit(exitGood)
			})
			var socket *serve.SocketError
			if errors.As(err, &socket) {
				return usagef("--fd: got %v, want the Unix socket that the Python package gives it", socket)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&fd, "fd", 3, "the socket's file descriptor")
	return cmd
}
