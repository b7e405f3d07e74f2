// Package generations is how one embedding model gives way to another while
// searches go on. A generation is an index of one model: its topic, its stage,
// its folder. The plan says which generations there are and which one is the
// target; whoever embeds or searches watches it and does its part by itself. A
// replica switches once its own copy of the target is verified to be complete.
package generations
