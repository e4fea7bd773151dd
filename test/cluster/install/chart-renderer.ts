// Objects of a chart by `helm template`, and those of an overlay by kustomize.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as pathOf } from 'node:path'
import { stringify } from 'yaml'
import { CHARTS } from '../../../tools/charts/files.ts'
import { type Ended, runCommand } from '../../support/run-command.ts'
import { CONFIG, type Manifest, objectsIn } from './installer.ts'

/** A Helm with a folder of its own. `remove` removes that. */
export interface ChartRenderer {
  /** A folder for copies of charts. */
  readonly folder: string
  /** Renders a chart: its folder, or its name within `charts/`. Never throws. */
  template(chart: string, values: object, ...flags: readonly string[]): Promise<Ended>
  /** Installs nothing: `helm install --dry-run`, without a cluster. Helm 3 needs one for that, and renders. Never throws. */
  dryRun(chart: string, values: object): Promise<Ended>
  /** Its objects without hooks. @throws Error with Helm's message */
  objects(chart: string, values: object, ...flags: readonly string[]): Promise<readonly Manifest[]>
  remove(): void
}

/** Renders by this Helm. */
export function chartRenderer(helm: string, version: 3 | 4 = 4): ChartRenderer {
  const folder = mkdtempSync(join(tmpdir(), 'charts-'))
  const env = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder }
  let calls = 0
  const run = (command: string, chart: string, values: object, flags: readonly string[]) => {
    const file = join(folder, `values-${(calls += 1)}.yaml`)
    writeFileSync(file, stringify(values))
    const args = [command, 'test', pathOf(CHARTS, chart), ...flags, '--values', file]
    return runCommand(helm, args, { env })
  }
  const renderer: ChartRenderer = {
    folder,
    template: (chart, values, ...flags) => run('template', chart, values, flags),
    dryRun: (chart, values) =>
      version === 4
        ? run('install', chart, values, ['--dry-run=client'])
        : run('template', chart, values, []),
    objects: async (chart, values, ...flags) => {
      const { code, stdout, stderr } = await renderer.template(
        chart,
        values,
        '--no-hooks',
        ...flags,
      )
      if (code !== 0) throw new Error(stderr)
      return objectsIn(stdout).filter((one) => one !== null)
    },
    remove: () => rmSync(folder, { recursive: true }),
  }
  return renderer
}

/** Builds a kustomization of config/, such as `default`, changed by the fields of an overlay. @throws Error when kustomize fails */
export async function overlaid(
  kubectl: string,
  name: string,
  overlay: object,
): Promise<readonly Manifest[]> {
  const root = mkdtempSync(join(tmpdir(), 'overlay-'))
  try {
    for (const part of ['config', 'crds'])
      cpSync(join(CONFIG, '..', part), join(root, part), { recursive: true })
    const folder = join(root, 'config/overlays/test')
    mkdirSync(folder)
    const kustomization = {
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: [`../../${name}`],
      ...overlay,
    }
    writeFileSync(join(folder, 'kustomization.yaml'), stringify(kustomization))
    const { code, stdout, stderr } = await runCommand(kubectl, ['kustomize', folder])
    if (code !== 0) throw new Error(stderr)
    return objectsIn(stdout)
  } finally {
    rmSync(root, { recursive: true })
  }
}
