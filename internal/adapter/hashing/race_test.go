//go:build race

package hashing

const raceDetector = true
