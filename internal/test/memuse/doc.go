// Package memuse measures the memory that reading a dataset of gigabytes takes.
package memuse
