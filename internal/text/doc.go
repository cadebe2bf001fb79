// Package text writes numbers and lists of names for people, and finds the name nearest to one that is misspelt. It imports the standard library only.
package text
