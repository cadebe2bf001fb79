// Package memtest sees what reading a dataset of gigabytes takes in memory.
package memtest
