// Package cli is what the commands of robocache share on the side of the terminal: the streams that they print to, JSON, remarks, progress, signals,
// the name of a pipe, and flag values.
//
//	app := cli.New(os.Stdin, os.Stdout, os.Stderr)
//	defer app.Interrupts.Watch()()
//	done := app.Step("reading flight.ulg")
package cli
