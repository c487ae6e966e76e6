"""Plans or installs Python packages; started in a sandbox by the crate skills-deps.

Reads `request.json` in its directory and writes `result.json` there. Uses `uv` if the request names
it, else `venv` and `pip` of the interpreter that runs this file. Executes no code of a package, unless
the request allows builds from source.
"""

import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

DIRECTORY = os.path.dirname(os.path.abspath(__file__))
CERTIFICATES = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
]


MAX_ANSWER_BYTES = 32 << 20
MAX_PACKAGE_BYTES = 1 << 40
ANSWER_SECONDS = 20


class Failure(Exception):
    """A step that failed, with the end of its output."""


def path(name):
    return os.path.join(DIRECTORY, name)


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def read(name):
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def run(arguments):
    result = subprocess.run(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=DIRECTORY,
    )
    output = result.stdout.decode("utf-8", "replace")
    if result.returncode != 0:
        raise Failure(output.strip()[-4000:] or "%s failed" % arguments[0])
    return output


def environment(request):
    """Configures the package managers: no settings of the user, no credentials."""
    temporary = path("tmp")
    os.makedirs(temporary, exist_ok=True)
    os.environ.update(
        TMPDIR=temporary,
        UV_CACHE_DIR=os.path.join(request["cache"], "uv"),
        UV_NO_CONFIG="1",
        UV_NO_ENV_FILE="1",
        UV_NO_PROGRESS="1",
        UV_PYTHON_DOWNLOADS="never",
        UV_KEYRING_PROVIDER="disabled",
        PIP_CONFIG_FILE=os.devnull,
        PIP_CACHE_DIR=os.path.join(request["cache"], "pip"),
        PIP_NO_INPUT="1",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
    )
    for certificates in CERTIFICATES:
        if os.path.exists(certificates):
            os.environ.update(SSL_CERT_FILE=certificates, PIP_CERT=certificates)
            break


def version_of_uv(uv):
    """Returns the version of uv, if it exists and writes standard lock files."""
    try:
        if uv is not None and "pylock" in run([uv, "pip", "compile", "--help"]):
            return run([uv, "--version"]).strip()
    except (Failure, OSError):
        pass
    return None


def make_venv(target, *options):
    try:
        run([sys.executable, "-m", "venv", *options, target])
    except Failure as error:
        raise Failure("`python -m venv` failed: %s" % error) from error
    return os.path.join(target, "bin", "python")


def share_interpreter(target):
    """Lets an environment find the packages of its interpreter after its own ones.

    This is the last step, so that the package managers install into an environment without them. An
    environment of a virtual environment would find those of another interpreter.
    """
    if sys.prefix != sys.base_prefix:
        return
    name = "include-system-site-packages"
    configuration = os.path.join(target, "pyvenv.cfg")
    with open(configuration, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line.split("=")[0].strip() != name]
    with open(configuration, "w", encoding="utf-8") as file:
        file.write("\n".join([*lines, name + " = true"]) + "\n")


def plan_with_uv(request, uv, requirements, constraints):
    options = [] if request["builds"] else ["--no-build"]
    arguments = ["pip", "compile", requirements, "--constraint", constraints]
    arguments += ["--format", "pylock.toml", "--output-file", path("pylock.toml")]
    arguments += ["--python", sys.executable, "--default-index", request["index"], "--quiet"]
    run([uv, *arguments, *options])
    return {"lock": read("pylock.toml")}


def plan_with_pip(request, requirements, constraints):
    # In an environment of its own, since a system can refuse pip outside of one.
    python = make_venv(path("planner"))
    options = [] if request["builds"] else ["--only-binary", ":all:"]
    arguments = ["install", "--dry-run", "--ignore-installed", "--quiet", "--report", path("report")]
    arguments += ["--index-url", request["index"], "-r", requirements, "-c", constraints]
    run([python, "-m", "pip", *arguments, *options])
    version = run([python, "-m", "pip", "--version"]).split()[:2]
    shutil.rmtree(path("planner"))
    return {"report": read("report"), "tool": " ".join(version)}


def fetch(url, accepted):
    """Returns a JSON value of the index, or `None`: an index does not have to answer."""
    try:
        request = urllib.request.Request(url, headers={"Accept": accepted})
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
            return json.loads(answer.read(MAX_ANSWER_BYTES))
    except (OSError, ValueError, RecursionError, http.client.HTTPException):
        return None


def member(value, name, kind):
    """Returns a member of a JSON value of the index, or an empty value if it has another type.

    Text is ASCII: dates, digests and names of users are, and a lone surrogate is not valid in a result.
    """
    found = value.get(name) if isinstance(value, dict) else None
    if type(found) is not kind or (kind is str and not found.isascii()):
        return kind()
    return found


def describe(request, name):
    """Asks the index since when it has a package, who owns it, and for the sizes of its files."""
    index = request["index"].rstrip("/")
    quoted = urllib.parse.quote(name, safe="")
    page = fetch("%s/%s/" % (index, quoted), "application/vnd.pypi.simple.v1+json")
    files = member(page, "files", list)
    times = [member(file, "upload-time", str) for file in files]
    sizes = {}
    for file in files:
        digest = member(member(file, "hashes", dict), "sha256", str)
        size = member(file, "size", int)
        if digest and 0 < size <= MAX_PACKAGE_BYTES:
            sizes[digest] = size
    owners = []
    if index.endswith("/simple"):
        url = "%s/pypi/%s/json" % (index[: -len("/simple")], quoted)
        ownership = member(fetch(url, "application/json"), "ownership", dict)
        roles = member(ownership, "roles", list)
        roles = [role for role in roles if member(role, "role", str) == "Owner"]
        owners = [member(ownership, "organization", str)]
        owners += [member(role, "user", str) for role in roles]
    first = min(filter(None, times), default=None)
    return {"name": name, "first": first, "owners": list(filter(None, owners)), "sizes": sizes}


def describe_all(request):
    return {"origins": [describe(request, name) for name in request["described"]]}


def plan(request):
    requirements = write("requirements.in", "\n".join(request["requirements"]) + "\n")
    constraints = write("constraints.txt", "\n".join(request["constraints"]) + "\n")
    version = version_of_uv(request["uv"])
    if version is not None:
        result = plan_with_uv(request, request["uv"], requirements, constraints)
        result["tool"] = version
    else:
        result = plan_with_pip(request, requirements, constraints)
    result.update(describe_all(request))
    result["python"] = "Python %d.%d.%d" % sys.version_info[:3]
    return result


def install(request):
    target = path("python")
    index = request["index"]
    uv = request["uv"]
    if uv is not None:
        options = [] if request["builds"] else ["--no-build"]
        lock = write("pylock.toml", request["lock"])
        run([uv, "venv", "--quiet", "--python", sys.executable, "--no-project", target])
        python = os.path.join(target, "bin", "python")
        arguments = ["pip", "sync", lock, "--python", python, "--compile-bytecode", "--quiet"]
        run([uv, *arguments, "--default-index", index, *options])
    else:
        options = [] if request["builds"] else ["--only-binary", ":all:"]
        lock = write("locked.txt", request["lock"])
        python = make_venv(target)
        arguments = ["install", "--no-deps", "--require-hashes", "--quiet", "-r", lock]
        run([python, "-m", "pip", *arguments, "--index-url", index, *options])
    if request["shared"]:
        share_interpreter(target)
    return {}


def list_packages(request):
    """Lists the packages that this interpreter has, with what their extras need."""
    import importlib.metadata

    packages = []
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"]
        extras = [required for required in found.requires or [] if "extra" in required]
        if name:
            packages.append({"name": name, "version": found.version, "extras": extras})
    return {"packages": packages, "minor_version": sys.version_info[1]}


ACTIONS = {"plan": plan, "describe": describe_all, "install": install, "list": list_packages}


def main():
    request = json.loads(read("request.json"))
    environment(request)
    try:
        result = ACTIONS[request["action"]](request)
    except (Failure, OSError, ValueError) as error:
        result = {"error": str(error)}
    shutil.rmtree(path("tmp"), ignore_errors=True)
    write("result.json", json.dumps(result))


main()
