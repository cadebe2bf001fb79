package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/serve"
)

// serveSocket is the descriptor that the program's starter left it, a Unix stream socket.
const serveSocket = 3

func (a *app) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "The child of the Python package; not for people",
		Long: `serve is the child process of the Python package, which starts it with a socket at file
descriptor 3. It plans, reads, decodes and computes on the CPU for that process, and ends with it.
Linux only.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			// A terminal sends these to all of a group. The process that started this one decides what they mean, and this one ends with it.
			signal.Ignore(os.Interrupt, syscall.SIGHUP)
			return serve.Run(context.Background(), serveSocket, versionOf().Version, func() {
				atomicfile.Abandon()
				os.Exit(exitGood)
			})
		},
	}
}
