// Package cli has the terminal side of robocache's commands: the standard streams, JSON, remarks, progress, signals, names of pipes, and
// flag values.
//
//	app := cli.New(os.Stdin, os.Stdout, os.Stderr)
//	defer app.Interrupts.Watch()()
//	done := app.Step("reading flight.ulg")
package cli
