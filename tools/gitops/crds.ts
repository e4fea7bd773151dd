// The CRDs of Argo CD and Flux with which docs/helm.md installs, as they are published with their Go modules.
import { moduleFiles } from '../control-plane/go-module.ts'

const MODULES = [
  {
    module: 'github.com/argoproj/argo-cd/v3@v3.5.0',
    sum: 'h1:iqnPFSKaQ0l3hREMH2Rk55VDcxrvBFaSO0g9bifZKzc=',
    files: ['manifests/crds/application-crd.yaml'],
  },
  {
    module: 'github.com/fluxcd/source-controller@v1.9.3',
    sum: 'h1:Zj1gfvK/2MFIm/K3vh5fSHoJBoggLKMuLWf5ZEmaF0w=',
    files: ['config/crd/bases/source.toolkit.fluxcd.io_ocirepositories.yaml'],
  },
  {
    module: 'github.com/fluxcd/helm-controller@v1.6.0',
    sum: 'h1:jlS5X11SG26gspubB5aLrdVSCm0q0tA4ULsY+vwSkL0=',
    files: ['config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml'],
  },
]

/**
 * Files with the CRDs of Application, OCIRepository and HelmRelease.
 *
 * @throws Error when Go is missing, can't get a module, or gets another than the one pinned here
 */
export async function gitOpsCrds(): Promise<readonly string[]> {
  const files = MODULES.map((module) => moduleFiles(module, 'install Go'))
  return (await Promise.all(files)).flat()
}
