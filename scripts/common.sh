# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts share. Sourced, never run.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
SCRIPTS=$TOP/scripts
KERNELS=${KERNELS:-6.1 6.12 6.12-rt}
# all there are but for those that are built here, see make check-debug
[ "$KERNELS" != all ] || KERNELS=$(awk '/^[0-9]/ && $2 != "debug-kernel" { print $1 }' "$SCRIPTS/kernels.txt" | xargs)

say() { printf '%s\n' "$*"; }
warn() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { warn "$*"; exit 1; }

# Run a command that ends with this shell, be that by a signal that the command does not
# get: it would leave a virtual machine running. Not for a pipe, which has a shell between.
bound() {
	# shellcheck disable=SC2016 # for the inner shell: what died before is not heard of
	setpriv --pdeathsig TERM sh -c '[ $PPID -eq "$0" ] || exit 143; exec "$@"' "$BASHPID" "$@"
}

# The kernel whose modules run on kernel KEY: a variant runs those of its base.
modules_of() { cat "$BUILD/kernels/$1/base" 2>/dev/null || say "$1"; }

# What was built for a kernel of that name is of no use for another one.
forget_modules() { # key
	rm -rf "$BUILD"/{module,selftest-modules,bench-modules,lttng-modules,module-sparse}/"$1"
}

# Run a command with root's rights.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "'$*' needs root: run it as root, or install sudo"
	fi
}

# Run apt-get with root's rights, its output in a file of build/. A machine just booted
# has one of its own at work: that is waited for, up to five minutes. Of apt's
# locks it would itself wait for dpkg's alone.
apt_get() { # file argument...
	local log=$BUILD/$1 tries=60
	shift
	until as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1; do
		if [ $tries -eq 0 ] || ! grep -q 'Could not get lock' "$log"; then
			tail -n 20 "$log" >&2
			return 1
		fi
		[ $tries -lt 60 ] || say "waiting for another apt-get to finish"
		tries=$((tries - 1))
		sleep 5
	done
}

# Bring apt's lists up to date, unless that was done minutes ago.
apt_update() {
	mkdir -p "$BUILD"
	[ -z "$(find "$BUILD/.apt-updated" -mmin -10 2>/dev/null)" ] || return 0
	say "apt-get update"
	apt_get update.log update ||
		die "apt-get update failed (see above): is there a network, and is /etc/apt/sources.list right?"
	touch "$BUILD/.apt-updated"
}

# Download packages (not install them) into a directory.
apt_fetch() {
	local dir=$1
	shift
	say "downloading $*"
	# apt hands the transfer to an unprivileged user who cannot write here;
	# it then says so and does it itself. Only its errors are of interest.
	(cd "$dir" && apt-get -qq -o APT::Sandbox::User=root download "$@") ||
		die "could not download $*: is there a network, and does 'apt-cache policy $1' know the package?"
}

# The version apt would install now.
apt_candidate() {
	apt-cache policy "$1" | sed -n 's/^  Candidate: //p' | grep -v '^(none)$'
}

# One set-up at a time, whoever starts it. Held until the script ends; scripts
# started by the holder do not ask again.
setup_lock() {
	[ -z "${KTB_SETUP_LOCKED:-}" ] || return 0
	mkdir -p "$BUILD"
	exec 9>"$BUILD/.setup.lock"
	flock -n 9 || { say "waiting for another set-up to finish"; flock 9; }
	export KTB_SETUP_LOCKED=1
}

# One at a time builds, or packs what was built for a machine. Held until the script ends.
build_lock() {
	mkdir -p "$BUILD"
	exec 7>"$BUILD/.build.lock"
	flock -w 10 7 || { warn "waiting for another build to finish"; flock 7; }
}

# From here on, apt-get and apt-cache of this script know these suites alone, from
# the mirror the host uses, with lists and folders of their own below $TMP/apt.
# They prefer the last one, and take nothing for installed.
apt_use_suites() { # [--arch ARCHITECTURE] suite...
	local apt=$TMP/apt arch=amd64 mirror suite
	if [ "$1" = --arch ]; then
		arch=$2
		shift 2
	fi
	# shellcheck disable=SC2016 # for apt-get to expand
	mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
		awk '$2 == "bookworm" && $3 == "Debian" { print $1; exit }')
	[ "$mirror" ] || die "apt has no source for Debian 12 (bookworm), whose mirror would have $* too"
	mkdir -p "$apt"/{state/lists/partial,cache/archives/partial}
	: >"$apt/nothing"
	for suite; do
		say "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$apt/state";
		Dir::State::status "$apt/nothing";
		Dir::Cache "$apt/cache";
		APT::Architecture "$arch";
		APT::Architectures { "$arch"; };
		APT::Default-Release "$suite";
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
	END
	export APT_CONFIG=$apt/apt.conf
	say "apt-get update for $*"
	apt-get -qq update || die "apt-get update failed for $*: is there a network?"
}

# Unpack packages and all that they need into a directory.
apt_unpack() { # directory package...
	local root=$1 deb
	shift
	say "downloading $1 and what it needs"
	apt-get -qq --yes --download-only install "$@" >/dev/null ||
		die "could not download $*: is there a network?"
	mkdir -p "$root"
	# base-files first: it makes /bin, /lib, /sbin links into /usr
	for deb in "$TMP"/apt/cache/archives/base-files_*.deb "$TMP"/apt/cache/archives/*.deb; do
		[ ! -f "$deb" ] || dpkg -x "$deb" "$root"
	done
}

# A directory to unpack into, on the same file system as its later place, gone
# when the script ends: what is unfinished never has its final name.
make_tmp() {
	mkdir -p "$BUILD"
	TMP=$(mktemp -d "$BUILD/.tmp.XXXXXX")
	trap 'rm -rf "$TMP"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
}

# Give a finished directory its final name.
put_in_place() {
	mkdir -p "$(dirname "$2")"
	chmod 755 "$1"
	rm -rf "$2"
	mv -T "$1" "$2"
}
