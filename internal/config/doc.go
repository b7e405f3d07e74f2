// Package config reads the settings: defaults in code, overridden by a YAML file, then by the
// environment, then by flags.
//
// Open first: settings.go for the settings, load.go for their precedence.
package config
