// Package errs holds the kinds of error that several packages of the module tell apart, one value a meaning. A package that
// returns one exports it under its own Err name, so that errors.Is finds it whichever package's name a caller uses.
//
// A kind that only one package knows is declared there.
package errs
