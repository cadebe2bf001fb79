// Package memuse sees what reading a dataset of gigabytes takes in memory.
package memuse
