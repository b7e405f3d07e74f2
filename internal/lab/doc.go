// Package lab is the laboratory, which measures, trains and tunes the product.
//
// Data sets enter; figures, weights and models leave. The laboratory ranks with the code that
// serves. The serving code does not import the laboratory.
//
// Open first: commands/commands.go, the commands of toolstream-lab, then
// evaluator/evaluator.go.
package lab
