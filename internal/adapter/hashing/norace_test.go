//go:build !race

package hashing

const raceDetector = false
