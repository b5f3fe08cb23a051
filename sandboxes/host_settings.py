"""What a build borrows from the host and never keeps: certificates, package indexes, proxies."""

import configparser
import os
import shlex
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
BORROWED = "/mnt"
"""Inside the container: a folder that every Debian image has, so that binding over it leaves no mount point
in the layer; mount points below it are made in the folder that is bound there."""

_PIP_SETTINGS = frozenset(
    {
        "index-url",
        "extra-index-url",
        "no-index",
        "find-links",
        "trusted-host",
        "client-cert",
        "proxy",
        "timeout",
        "default-timeout",
        "retries",
        "constraint",
        "prefer-binary",
        "only-binary",
        "no-binary",
    }
)
"""Settings that say where packages come from. Those that say where they go (target, cache-dir) stay home."""
_FILE_SETTINGS = frozenset({"client-cert", "constraint"})
_INDEX_SETTINGS = frozenset({"index-url", "extra-index-url"})
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy", "ftp_proxy")
_LOOPBACK = ("localhost", "127.", "[::1]", "::1")


@dataclass
class HostSettings:
    """env: for each command of the build; binds: host path to container path, all read-only; links: where the
    bound folders must also be found, since the indexes' own files name them so, to the bound path.

    on_host_network: a proxy or index listens on the host's loopback, which only the host's network reaches.
    """

    env: dict[str, str] = field(default_factory=dict)
    binds: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    on_host_network: bool = False


def host_settings(
    folder: Path, environ: Mapping[str, str] | None = None, files: list[Path] | None = None
) -> HostSettings:
    """Read the host's settings; folder is an empty private folder that gets copies of the small files.

    environ and files (pip's configuration files, the last one wins) default to this process's own.
    """
    environ = os.environ if environ is None else environ
    settings = HostSettings()
    folder.chmod(0o755)
    settings.binds[str(folder)] = BORROWED
    if bundle := _certificates(environ):
        settings.binds[str(bundle)] = CERTIFICATES
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"):
            settings.env[name] = CERTIFICATES
        settings.env["NODE_EXTRA_CA_CERTS"] = CERTIFICATES
    for name in _PROXIES:
        for spelling in (name, name.upper()):
            if value := environ.get(spelling):
                settings.env[spelling] = value
                settings.on_host_network |= name != "no_proxy" and _on_loopback(value)
    config = configparser.RawConfigParser()
    for path in _pip_files(environ) if files is None else files:
        try:
            config.read(path, encoding="utf-8")
        except (OSError, configparser.Error):
            continue  # pip itself would refuse the file; the host's own pip says so better than we can
    merged = configparser.RawConfigParser()
    for section in config.sections():
        if section not in ("global", "install", "download", "wheel"):
            continue
        for key, value in config.items(section):
            name = key.replace("_", "-")
            if name in _PIP_SETTINGS:
                if not merged.has_section(section):
                    merged.add_section(section)
                merged.set(section, name, _borrow(settings, folder, name, value))
    with (folder / "pip.conf").open("w", encoding="utf-8") as written:
        merged.write(written)
    settings.env["PIP_CONFIG_FILE"] = f"{BORROWED}/pip.conf"
    for variable, value in environ.items():
        name = variable.removeprefix("PIP_").lower().replace("_", "-")
        if variable.startswith("PIP_") and name in _PIP_SETTINGS:
            settings.env[variable] = _borrow(settings, folder, name, value)
    settings.env |= {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
    }
    netrc = Path(environ.get("NETRC") or Path.home() / ".netrc")
    if netrc.is_file():
        _copy(netrc, folder / "netrc")
        settings.env["NETRC"] = f"{BORROWED}/netrc"
    return settings


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    """pip's configuration files in the order in which it reads them (pip's user guide, "Configuration")."""
    home = Path.home()
    shared = (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    own = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    found = [Path(folder) / "pip/pip.conf" for folder in reversed(shared) if folder]
    found += [
        Path("/etc/pip.conf"),
        home / ".pip/pip.conf",
        own / "pip/pip.conf",
        Path(sys.prefix) / "pip.conf",
    ]
    if named := environ.get("PIP_CONFIG_FILE"):
        found.append(Path(named))
    return [path for path in found if path.is_file()]


def _certificates(environ: Mapping[str, str]) -> Path | None:
    defaults = ssl.get_default_verify_paths()
    named = [
        environ.get(name) for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
    ]
    usual = [CERTIFICATES, defaults.cafile, defaults.openssl_cafile, "/etc/pki/tls/certs/ca-bundle.crt"]
    for candidate in [*named, *usual]:
        if candidate and (path := Path(candidate)).is_file():
            return path.resolve()
    return None


def _borrow(settings: HostSettings, folder: Path, name: str, value: str) -> str:
    """The value as the container should see it; what it points to on the host is bound or copied."""
    words = []
    for word in value.split():
        path = Path(unquote(urlsplit(word).path) if word.startswith("file:") else word)
        if name in _FILE_SETTINGS and path.is_file():
            copy = f"{name}-{len(list(folder.iterdir()))}"
            _copy(path, folder / copy)
            word = f"{BORROWED}/{copy}"
        elif path.is_absolute() and path.exists():
            # A folder in the shape of an index links to files beside it, so its parent comes along.
            root = path.parent if name in _INDEX_SETTINGS and path.parent != path.parent.parent else path
            if str(root) not in settings.binds:
                point = f"bound-{len(settings.binds)}"
                (folder / point).mkdir() if root.is_dir() else (folder / point).touch()
                settings.links[str(root)] = settings.binds[str(root)] = f"{BORROWED}/{point}"
        elif "://" in word:
            settings.on_host_network |= _on_loopback(word)
        words.append(word)
    return "\n".join(words) if name in ("find-links", "extra-index-url") else " ".join(words)


def _on_loopback(url: str) -> bool:
    host = urlsplit(url if "://" in url else f"//{url}").hostname or ""
    return host.startswith(_LOOPBACK)


def _copy(source: Path, target: Path) -> None:
    target.write_bytes(source.read_bytes())
    target.chmod(0o644)


def linking_command(links: Mapping[str, str]) -> str:
    """A shell command that makes each link where nothing is, and prints what it made, deepest first."""
    lines = []
    for place, target in links.items():
        name, inside = shlex.quote(place), shlex.quote(target)
        lines.append(
            f"if [ ! -e {name} ] && [ ! -L {name} ]; then echo {name}; above=$(dirname {name}); "
            'while [ ! -e "$above" ]; do echo "$above"; above=$(dirname "$above"); done; '
            f"mkdir -p $(dirname {name}) && ln -s {inside} {name}; fi"
        )
    return "; ".join([*lines, "true"])


def unlinking_command(made: list[str]) -> str:
    """A shell command that takes away what linking_command made, folders only where they are empty."""
    return (
        "; ".join(f"rm -f {shlex.quote(p)} 2>/dev/null || rmdir {shlex.quote(p)} 2>/dev/null" for p in made)
        or ":"
    )
