// Package planorigin has the places of the keys of a plan in the file that it was read from.
package planorigin
