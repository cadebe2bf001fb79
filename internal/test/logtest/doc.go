// Package logtest has tests that every container of a robot log must pass.
package logtest
