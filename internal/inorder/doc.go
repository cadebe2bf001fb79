// Package inorder processes a list in parallel and returns the results in list order.
package inorder
