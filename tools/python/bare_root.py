"""Lays out a root directory that has Python, NumPy, libstdc++, the libraries that these need, and nothing else.

  bare_root.py ROOT INTERPRETER

The files are those of this system's Debian packages, so that it takes seconds and no network. An interpreter that is no Debian
package is copied from its own folder. It gets no NumPy.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = re.compile(r"/usr/(share/(doc|man|locale|info|lintian)|include)/|/usr/lib/python3[^/]*/(test|config-)")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def closure(names):
    """The installed packages with these names, and those that they depend on."""
    depends, provides = {}, {}
    form = "${db:Status-Abbrev}\t${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
    for line in run("dpkg-query", "-W", "-f", form).splitlines():
        status, name, provided, needed = line.split("\t")
        if not status.startswith("ii"):
            continue
        depends.setdefault(name, needed)
        for other in re.split(r"[,\s]+", re.sub(r"\([^)]*\)", "", provided)):
            provides.setdefault(other, name)
    found, open_names = set(), list(names)
    while open_names:
        name = open_names.pop()
        if name in found:
            continue
        found.add(name)
        for group in depends[name].split(","):
            choices = [re.sub(r"[\s:(].*", "", choice.strip()) for choice in group.split("|")]
            installed = [choice if choice in depends else provides.get(choice) for choice in choices if choice]
            open_names += [choice for choice in installed if choice][:1]
    return sorted(found)


def copy(path, root):
    """Copies one file or link to where it really lies here."""
    there = root / os.path.realpath(path.parent).lstrip("/") / path.name
    there.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        if not there.is_symlink():
            there.symlink_to(os.readlink(path))
    elif path.is_file() and not there.exists():
        shutil.copy2(path, there)


def alternatives(root):
    """The links of update-alternatives to files that are in the root."""
    for link in pathlib.Path("/etc/alternatives").iterdir():
        if not (root / str(link.resolve()).lstrip("/")).exists():
            continue
        copy(link, root)
        query = subprocess.run(["update-alternatives", "--query", link.name], capture_output=True, text=True)
        for place in re.findall(r"^Link: (.*)", query.stdout, re.M):
            copy(pathlib.Path(place), root)


def main():
    root, interpreter = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    prefix = pathlib.Path(run(interpreter, "-c", "import os, sys; print(os.path.realpath(sys.base_prefix))").strip())
    system = prefix == pathlib.Path("/usr")
    # NumPy of PyPI needs libstdc++, as every wheel may; that of Debian does not.
    packages = ["python3", "libstdc++6"] + (["python3-numpy"] if system else [])
    missing = [name for name in packages if run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}", name).strip() != "ii"]
    if missing:
        sys.exit(f"bare_root.py: these Debian packages are missing: {' '.join(missing)} (tools/setup --with-python installs them)")
    names = closure(packages)
    for folder in ("bin", "sbin", "lib", "lib64"):  # links to those of /usr
        if (pathlib.Path("/") / folder).is_symlink():
            copy(pathlib.Path("/") / folder, root)
    for path in run("dpkg-query", "-L", *names).splitlines():
        if path.startswith("/") and path != "/." and not SKIPPED.match(path):
            if not os.path.isdir(path) or os.path.islink(path):
                copy(pathlib.Path(path), root)
    alternatives(root)
    if not system:
        shutil.copytree(prefix, root / prefix.relative_to("/"), symlinks=True,
                        ignore=shutil.ignore_patterns("test", "tests", "site-packages", "__pycache__", "*.a"))
    (root / "tmp").mkdir(exist_ok=True)
    print(f"{len(names)} packages: {' '.join(names)}")


if __name__ == "__main__":
    main()
