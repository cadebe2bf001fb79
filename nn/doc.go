// Package nn trains networks: layers, losses and an optimiser over plans of package ops, with parameters in one arena, and a step that is one graph.
package nn
