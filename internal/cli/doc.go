// Package cli holds the commands of toolstream, a file each.
//
// Arguments and streams enter; output and an exit code leave. A command is a function that
// takes the console: the terminal and the server that it talks to (connection.go). Package program
// holds the parts that the commands of toolstream-lab need too: the terminal, exit codes, usage
// errors, the flags of output. The commands of toolstream-lab are in
// internal/lab.
//
// Open first: root.go, which lists the commands.
package cli
