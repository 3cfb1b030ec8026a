"""Checks the recipes, and runs what they run where the tools of their systems cannot be installed.

Use: tests.py TARGET STATIC, the target folder of a release build and the folder of the static
executable, which python/tests/offline.sh builds. The output names what is not built.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET, STATIC = (Path(argument).resolve() for argument in sys.argv[1:])
ENVIRONMENT = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "CARGO_NET_OFFLINE": "true"}


def shell(command: str, **variables: str) -> None:
    subprocess.run(["bash", "-euc", command], check=True, cwd=ROOT, env={**ENVIRONMENT, **variables})


def check_tests(commands: "list[str]", prefix: Path) -> None:
    path = f"{prefix}/bin:{os.environ['PATH']}"
    for command in commands:
        shell(command, PREFIX=str(prefix), PATH=path)


def conda(work: Path) -> None:
    """Renders the recipe, then runs its commands and its tests without the compilers of conda."""
    from rattler_build import Stage0Recipe, VariantConfig

    recipe = Stage0Recipe.from_file(HERE / "conda/recipe.yaml")
    variants = VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
    [variant] = recipe.render(variants)
    rendered = variant.recipe.to_dict()
    for command in rendered["build"]["script"]:
        if command.startswith("cargo-bundle-licenses") and not shutil.which("cargo-bundle-licenses"):
            continue
        shell(command, PREFIX=str(work))
    for test in rendered["tests"]:
        check_tests(test.get("script", []), work)
        for name in test.get("package_contents", {}).get("bin", []):
            assert (work / "bin" / name).is_file(), name
    for name in rendered["about"]["license_file"]:
        assert name == "THIRDPARTY.yml" or (ROOT / name).is_file(), name


def spack(work: Path) -> None:
    """Runs the package's installation with stand-ins for Spack's names."""
    told: "list[tuple[str, str]]" = []

    def directive(name: str):  # type: ignore[no-untyped-def]
        return lambda value, **_: told.append((name, value))

    names = {
        **{name: directive(name) for name in ("version", "variant", "depends_on", "license")},
        "install_tree": lambda source, target: shutil.copytree(ROOT / source, str(target)),
        "cargo": lambda *words: subprocess.run(["cargo", *map(str, words)], check=True, cwd=ROOT, env=ENVIRONMENT),
    }
    modules = {
        "spack": types.ModuleType("spack"),
        "spack.package": types.ModuleType("spack.package"),
        **{
            name: types.ModuleType(name)
            for name in (
                "spack_repo",
                "spack_repo.builtin",
                "spack_repo.builtin.build_systems",
                "spack_repo.builtin.build_systems.cargo",
            )
        },
    }
    vars(modules["spack.package"]).update(names)
    vars(modules["spack_repo.builtin.build_systems.cargo"])["CargoPackage"] = object
    sys.modules.update(modules)

    class Prefix(str):
        def __getattr__(self, name: str) -> "Prefix":
            return Prefix(f"{self}/{name}")

    class Spec:
        def satisfies(self, constraint: str) -> bool:
            return constraint == "+tools"

    package = runpy.run_path(str(HERE / "spack/simrun/package.py"))["Simrun"]
    minimum = re.search(r'rust-version = "([^"]+)"', (ROOT / "Cargo.toml").read_text("utf-8"))
    assert minimum is not None and ("depends_on", f"rust@{minimum[1]}:") in told, told
    package().install(Spec(), Prefix(work))
    check_tests(["simrun --version", "simrun-tools --version"], work)
    assert (work / "share/simrun/platforms/cluster.toml").is_file()


def docker() -> None:
    """Looks for mistakes in the Dockerfile; its stages need images and a builder."""
    subprocess.run(["hadolint", str(HERE / "Dockerfile")], check=True)


def apptainer(work: Path) -> None:
    """Runs the tests of the definition in a root that has nothing but the static executable."""
    text = (HERE / "simrun.def").read_text("utf-8")
    assert text.startswith("Bootstrap: docker\nFrom: ")
    sections = dict(re.findall(r"^%(\w+)\n(.*?)(?=^%|\Z)", text, re.DOTALL | re.MULTILINE))
    assert set(sections) == {"arguments", "files", "runscript", "test", "help"}
    executable = STATIC / "simrun"
    if not executable.is_file():
        print("NOT BUILT: the static executable, and with it the contents of the Apptainer image", flush=True)
        return
    root = work / "root"
    for line in sections["files"].strip().splitlines():
        *sources, target = line.replace("{{ SIMRUN }}", str(executable)).split()
        place = Path(f"{root}{target}")
        if target.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
        for source in sources:
            copied = ROOT / source
            if copied.is_dir():
                shutil.copytree(copied, place)
            else:
                shutil.copy(copied, place)
    for command in sections["test"].strip().splitlines():
        words = command.split()
        subprocess.run(["chroot", str(root), f"/usr/local/bin/{words[0]}", *words[1:]], check=True)


def release() -> None:
    """Compares the versions of all files, and the page with the names of packages."""
    subprocess.run([sys.executable, str(HERE / "release.py"), "check"], check=True)
    whole = runpy.run_path(str(HERE / "release.py"))["with_whole_links"]
    notes = whole("[a](docs/a.md#b) [c](https://d) [e](#f)", "https://host/blob/v1")
    assert notes == "[a](https://host/blob/v1/docs/a.md#b) [c](https://d) [e](#f)", notes


with tempfile.TemporaryDirectory() as folder:
    for check in (conda, spack, apptainer):
        check(Path(folder) / check.__name__)
        print(f"{check.__name__}: ok", flush=True)
    docker()
    print("docker: ok", flush=True)
    release()
print("NOT BUILT here: images of Docker and Apptainer, packages of conda and Spack; see docs/packaging.md")
