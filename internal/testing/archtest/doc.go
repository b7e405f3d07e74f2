// Package archtest tests the architecture: which package may import which, that
// every exported name is documented, and which code is banned. It has no code of
// its own.
package archtest
