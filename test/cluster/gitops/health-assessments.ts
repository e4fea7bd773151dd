// How Argo CD and Flux assess the health of objects with the shipped files.
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

/** The health of an object in Argo CD. */
export interface ArgoHealth {
  readonly status: string
  readonly message: string
}

/** The status of an object in Flux; `error` when an expression can't be evaluated. */
export interface FluxHealth {
  readonly status: string
  readonly error?: string
}

/** The assessments of both tools with the shipped files. */
export interface Health {
  argocd(object: KubeObject): Promise<ArgoHealth>
  flux(object: KubeObject): Promise<FluxHealth>
  /** kstatus without a shipped file. */
  plain(object: KubeObject): Promise<FluxHealth>
}

/** Builds the interpreters of the tools if they are missing. */
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

/** The key of the health script of a kind in ConfigMap argocd-cm. */
export const argoKey = (kind: string): string => `resource.customizations.health.${GROUP}_${kind}`

function argocd(programs: HealthPrograms, script: string, object: KubeObject): Promise<ArgoHealth> {
  return ask<ArgoHealth>(programs.argocd, { script, objects: [object] })
}

/** The output of a program for an object. @throws Error with its standard error when it fails */
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
