// Package failure takes errors apart: what is known of one, whatever package it comes from, in the fields of one struct, for those who send or print it.
package failure
