// Package inorder works on a list in parallel and gives the results in its order.
package inorder
