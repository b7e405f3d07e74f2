package onnx

import (
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"io"
	"os"
)

// platform is what a library was built for, in Go's words where it has them.
type platform struct{ system, processor string }

func (p platform) String() string { return p.system + "/" + p.processor }

// platformOf reads the header of a library.
func platformOf(path string) (platform, error) {
	file, err := os.Open(path)
	if err != nil {
		return platform{}, err
	}
	defer file.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(file, head); err != nil {
		return platform{}, errors.New("it is too short to be a library")
	}
	switch {
	case bytes.Equal(head, []byte("\x7fELF")):
		return elfPlatform(file)
	case bytes.HasPrefix(head, []byte("MZ")):
		return pePlatform(file)
	}
	if p, err := machoPlatform(file); err == nil {
		return p, nil
	}
	return platform{}, fmt.Errorf("it begins with %q: neither ELF, Mach-O nor a DLL", head)
}

func elfPlatform(r io.ReaderAt) (platform, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return platform{}, fmt.Errorf("damaged ELF file: %w", err)
	}
	known := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64", elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le", elf.EM_S390: "s390x"}
	return platform{"linux", named(known, f.Machine)}, nil
}

func machoPlatform(r io.ReaderAt) (platform, error) {
	f, err := macho.NewFile(r)
	if err != nil {
		return platform{}, err
	}
	known := map[macho.Cpu]string{macho.CpuAmd64: "amd64", macho.CpuArm64: "arm64"}
	return platform{"darwin", named(known, f.Cpu)}, nil
}

func pePlatform(r io.ReaderAt) (platform, error) {
	f, err := pe.NewFile(r)
	if err != nil {
		return platform{}, fmt.Errorf("damaged DLL: %w", err)
	}
	known := map[uint16]string{pe.IMAGE_FILE_MACHINE_AMD64: "amd64", pe.IMAGE_FILE_MACHINE_ARM64: "arm64"}
	return platform{"windows", named(known, f.Machine)}, nil
}

func named[K comparable](known map[K]string, machine K) string {
	if name, ok := known[machine]; ok {
		return name
	}
	return fmt.Sprintf("an unknown processor (%v)", machine)
}
