#!/bin/sh
# Prints the path of a Python that this project runs on (3.11 or newer). If there is none, it says what to install.
# Versions that the locks were tried with come first; a newer one is taken when it is all there is.

version_of() { # as 311 for 3.11; empty where the command does not run
    "$1" -c 'import sys; print("%d%02d" % sys.version_info[:2])' 2>/dev/null
}

newer=
for name in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.14; do
    path=$(command -v "$name") || continue
    version=$(version_of "$path")
    [ -n "$version" ] && [ "$version" -ge 311 ] || continue
    if [ "$version" -le 314 ]; then
        echo "$path"
        exit 0
    fi
    newer=${newer:-$path}
done
if [ -n "$newer" ]; then
    echo "$newer"
    exit 0
fi
echo "setup: no Python 3.11 or newer was found (looked for python3, python3.11 to python3.14, and \$PYTHON)." >&2
echo "setup: install one: sudo apt-get install python3 python3-venv   (Debian 12 and later)" >&2
exit 1
