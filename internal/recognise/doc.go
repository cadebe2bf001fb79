// Package recognise finds the kinds of a stream's columns by their names and values, for example quaternions, angles and switches, and a stream's role by
// its name, for example action or command.
package recognise
