// Package nth selects from a list what sorting would put at a place.
package nth
