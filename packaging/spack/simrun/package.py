# Copyright of simrun's contributors. SPDX-License-Identifier: (Apache-2.0 OR MIT)
"""simrun for Spack. It has no public address yet, so its source is a checkout:

spack repo add packaging/spack
spack develop --path CHECKOUT simrun@main
spack install simrun@main
"""

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Simrun(CargoPackage):
    """Simulates message-passing programs on modelled machines: deterministic runs with
    up to millions of ranks, model checking, and real runs of the same program."""

    license("Apache-2.0 OR MIT", checked_by="simrun")

    version("main")

    variant("tools", default=True, description="Studies, analyses, timelines, calibration")

    depends_on("c", type="build")
    depends_on("rust@1.91:", type="build")

    # The root is a workspace without a package.
    build_directory = "."

    def build(self, spec, prefix):
        pass

    def install(self, spec, prefix):
        features = ["--bin", "simrun", "--features", "compiled"]
        cargo("install", "--locked", "--path", "crates/cli", *features, "--root", prefix)
        if spec.satisfies("+tools"):
            cargo("install", "--locked", "--path", "crates/tools", "--root", prefix)
        install_tree("platforms", prefix.share.simrun.platforms)

    def check(self):
        cargo("test", "--locked", "--package", "simrun-sim-core")
