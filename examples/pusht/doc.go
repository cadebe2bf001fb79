// Package main is PushT.
package main
