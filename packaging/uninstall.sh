#!/bin/sh
# uninstall.sh, in a build folder: removes what cmake --install wrote (install_manifest.txt), then folders of ours that are empty.
set -eu
list=install_manifest.txt
if [ ! -f $list ]; then echo "no $list here: nothing was installed from this build folder" >&2; exit 1; fi
while IFS= read -r file || [ -n "$file" ]; do rm -f -- "${DESTDIR:-}$file"; done <$list
sed 's,/[^/]*$,,' $list | sort -ru | grep '/surety\(/\|$\)' | while IFS= read -r folder; do
    rmdir -- "${DESTDIR:-}$folder" 2>/dev/null || true
done
rm $list
