package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			return con.show(v, func() {
				con.printName(v.Version)
				con.printf("toolstream %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			})
		},
	}
}

type version struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// release is set by the linker (-X main.release=v1.2.3) where the build does not
// see the repository, as that of the image.
var release = "(devel)"

func buildVersion() version {
	v := version{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && release == "(devel)" {
		v.Version = info.Main.Version
	}
	return v
}
