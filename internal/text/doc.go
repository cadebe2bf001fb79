// Package text writes numbers and lists of names for people.
package text
