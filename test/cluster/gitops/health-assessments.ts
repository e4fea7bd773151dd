// What Argo CD and Flux show of objects, by the files that are shipped for them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parse } from 'yaml'
import { GROUP } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { type HealthPrograms, ensureHealthPrograms } from '../../../tools/gitops/programs.ts'
import type { TestControlPlane } from '../../support/control-plane.ts'

const SHIPPED = join(import.meta.dirname, '../../../config/gitops')

/** What Argo CD shows of an object. */
export interface ArgoHealth {
  readonly status: string
  readonly message: string
}

/** What Flux makes of an object; `error` where an expression could not be evaluated. */
export interface FluxHealth {
  readonly status: string
  readonly error?: string
}

/** Both tools with the shipped files. */
export interface Health {
  argocd(object: KubeObject): Promise<ArgoHealth>
  flux(object: KubeObject): Promise<FluxHealth>
  /** By no file at all: what kstatus reads out of status. */
  plain(object: KubeObject): Promise<FluxHealth>
}

/** The tools; their interpreters are built when they are not there yet. */
export async function healthTools({ kubectl }: Pick<TestControlPlane, 'kubectl'>): Promise<Health> {
  const programs = await ensureHealthPrograms(console.log)
  const { stdout } = await kubectl(['kustomize', join(SHIPPED, 'argocd')])
  const scripts = (parse(stdout) as { readonly data: Readonly<Record<string, string>> }).data
  const kustomization: unknown = parse(
    readFileSync(join(SHIPPED, 'flux/platform-keys.yaml'), 'utf8'),
  )
  return {
    argocd: (object) => argocd(programs, scripts[argoKey(object.kind)] ?? '', object),
    flux: (object) => ask<FluxHealth>(programs.flux, { kustomization, objects: [object] }),
    plain: (object) => ask<FluxHealth>(programs.flux, { kustomization: {}, objects: [object] }),
  }
}

/** Where Argo CD looks for the health script of one of our kinds, in its ConfigMap argocd-cm. */
export const argoKey = (kind: string): string => `resource.customizations.health.${GROUP}_${kind}`

function argocd(programs: HealthPrograms, script: string, object: KubeObject): Promise<ArgoHealth> {
  return ask<ArgoHealth>(programs.argocd, { script, objects: [object] })
}

/** The program's answer for the one object. @throws Error with what it printed when it fails */
async function ask<Answer>(program: string, input: object): Promise<Answer> {
  const child = spawn(program, { stdio: 'pipe' })
  const exited = once(child, 'close')
  child.stdin.end(JSON.stringify(input))
  const [output, complaint] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await exited
  if (code !== 0) throw new Error(`${program}: ${complaint}`)
  const [answer] = JSON.parse(output) as readonly [Answer]
  return answer
}
