#!/bin/sh
# After an installation and an upgrade, of deb and rpm. It neither enables nor starts the
# service; one that runs is restarted with the new program.
set -e
systemd-sysusers toolstream.conf
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart toolstream.service
fi
