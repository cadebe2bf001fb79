// Package cli has the terminal side of robocache's commands: standard streams, JSON, remarks, progress, signals, pipe names, and flag
// values.
//
//	app := cli.New(os.Stdin, os.Stdout, os.Stderr)
//	defer app.Interrupts.Watch()()
//	done := app.Step("reading flight.ulg")
package cli
