// Package recognise finds out by names and values what the columns of a stream are, such as quaternions, angles and switches, and by its name what a
// stream is for, such as an action or a command.
package recognise
