// Package logtest has tests that every container format for robot logs must pass.
package logtest
