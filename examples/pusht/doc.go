// Package main is PushT.
package main

func main() {}
