#!/bin/sh
# Before a removal: dpkg says "remove", rpm says 0. An upgrade leaves the service alone.
# The user and /var/lib/toolstream stay.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now toolstream.service
	fi
	;;
esac
